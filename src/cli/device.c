/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* --device cuda:1, for every verb with this option: heddle and its children then see that device
 * alone, as the first one, through CUDA_VISIBLE_DEVICES. The number counts the devices that are
 * already visible. */
#include "cli/device.h"
#include "dev/dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VISIBLE "CUDA_VISIBLE_DEVICES"
#define FAILED  255

/* A driver reads the environment once, so a child asks it. The child ends normally, so that the
 * virtual GPU leaves nothing behind. */
static int count_devices(enum dev_kind kind)
{
	int status, n = 0, r;
	struct cu_api cu;
	pid_t pid;

	fflush(NULL); /* what is unwritten is the parent's to write */
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

/* The word of the list that stands for the device; without a list, its number. */
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
