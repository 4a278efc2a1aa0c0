/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements --device cuda:N for every verb with this option. It sets CUDA_VISIBLE_DEVICES, so
 * heddle and its children see only that device, as the first one. N is an index among the devices
 * that were visible before. */
#include "front/device.h"
#include "dev/dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VISIBLE "CUDA_VISIBLE_DEVICES"
#define FAILED  255

/* Returns the number of visible devices. A child process loads the driver and counts, because a
 * driver reads the environment only once per process. The child ends normally with exit(), so that
 * the virtual GPU removes its files. */
static int count_devices(enum dev_kind kind)
{
	int status, n = 0, r;
	struct cu_api cu;
	pid_t pid;

	fflush(NULL); /* otherwise the child would write the parent's buffered output again */
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (dev_open(kind, NULL, &cu) || !cu.cuInit || !cu.cuDeviceGetCount)
			exit(FAILED);
		r = cu.cuInit(0);
		if (r == CUDA_SUCCESS)
			r = cu.cuDeviceGetCount(&n);
		exit(r == CUDA_SUCCESS || r == CUDA_ERROR_NO_DEVICE ? n : FAILED);
	}
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	return r == pid && WIFEXITED(status) && WEXITSTATUS(status) != FAILED ? WEXITSTATUS(status)
									      : -ENODEV;
}

/* Sets CUDA_VISIBLE_DEVICES to one device: to its entry in the current list or, without a list, to
 * its number. */
static int show_only(unsigned ordinal)
{
	const char *list = getenv(VISIBLE);
	char *word;
	int r;

	if (list) {
		for (unsigned i = 0; i < ordinal; i++)
			list += strcspn(list, ",") + 1;
		word = strndup(list, strcspn(list, ","));
	} else if (asprintf(&word, "%u", ordinal) < 0) {
		word = NULL;
	}
	r = word && setenv(VISIBLE, word, 1) == 0 ? 0 : -ENOMEM;
	free(word);
	return r;
}

static int no_such_device(const struct cli *c, const char *asked, int n)
{
	int len = (int)strcspn(asked, ":");
	const char *list = getenv(VISIBLE), *in = list ? " in " VISIBLE "=" : "";

	if (!n)
		return cli_usage(
			c, "--device %s: there is no such device%s%s", asked, in, list ? list : "");
	if (n == 1)
		return cli_usage(c, "--device %s: there is 1 such device%s%s: %.*s:0", asked, in,
			list ? list : "", len, asked);
	return cli_usage(c, "--device %s: there are %d such devices%s%s: %.*s:0 to %.*s:%d", asked,
		n, in, list ? list : "", len, asked, len, asked, n - 1);
}

int cli_device(struct cli *c)
{
	const char *asked = cli_value(c, "device");
	enum dev_kind kind;
	int ordinal, n;

	if (!asked || !strchr(asked, ':'))
		return 0;
	if (!dev_parse(asked, &kind, &ordinal))
		return cli_usage(c,
			"--device: '%s' names no device; cpu:0 and cuda:0 are the first ones",
			asked);
	n = count_devices(kind);
	if (n == -ENODEV)
		return cli_usage(c, "--device %s: %s (heddle doctor says what this machine has)",
			asked,
			kind == DEV_CPU ? "the virtual GPU does not start"
					: "no NVIDIA driver, or it does not start");
	if (n >= 0 && ordinal >= n)
		return no_such_device(c, asked, n);
	if (n < 0 || show_only((unsigned)ordinal) < 0)
		return cli_error(c, NULL, "--device %s: %s", asked, strerror(n < 0 ? -n : ENOMEM));
	cli_value_set(c, "device", kind == DEV_CPU ? "cpu" : "cuda");
	return 0;
}
