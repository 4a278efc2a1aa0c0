/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The first messages between a process and heddled (wire/wire.h). Only tenants of the same device
 * compete, so the process sends the device's UUID. */
#include "host/tenant.h"

#include "base/environment.h"
#include "base/number.h"
#include "wire/unreached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the priority from the environment: "low", "normal", "high", or a number of up to three
 * digits. The default is normal. */
static int asked_priority(void)
{
	static const char *const names[] = {"low", "normal", "high"};
	const char *s = secure_getenv("HEDDLE_PRIORITY");
	uint64_t n;

	for (int i = 0; s && i < 3; i++) {
		if (!strcmp(s, names[i]))
			return i;
	}
	return s && number_parse(s, 0, 999, &n) == 0 ? (int)n : 1;
}

uint32_t host_attribute(const struct cu_api *cu, CUdevice dev, CUdevice_attribute which)
{
	int v = 0;

	if (cu->cuDeviceGetAttribute(&v, which, dev) != CUDA_SUCCESS || v < 0)
		return 0;
	return (uint32_t)v;
}

static void program_name(char *ret, size_t size)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash;

	if (n <= 0)
		return;
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(ret, size, "%.63s", slash ? slash + 1 : path);
}

void host_hello(const struct cu_api *cu, CUdevice dev, struct wire_hello *h)
{
	const char *group = secure_getenv("HEDDLE_CLASS");
	CUuuid id = {{0}};
	int version = 0;
	char hex[33];

	*h = (struct wire_hello){0};
	wire_head_init(&h->head, WIRE_HELLO, sizeof(*h));
	h->priority = asked_priority();
	h->weight = (uint32_t)env_number(ENV_WEIGHT);
	h->n_sms = host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	h->threads_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	h->blocks_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	h->regs_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
	h->shared_per_sm =
		host_attribute(cu, dev, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	h->is_cpu_device = dev_kind_of(cu) == DEV_CPU;
	if (cu->cuDeviceGetUuid)
		cu->cuDeviceGetUuid(&id, dev);
	hex_encode((uint8_t *)id.bytes, 16, hex);
	snprintf(h->device, sizeof(h->device), "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
		hex + 12, hex + 16, hex + 20);
	if (cu->cuDeviceGetName)
		cu->cuDeviceGetName(h->device_name, sizeof(h->device_name) - 1, dev);
	if (cu->cuDriverGetVersion && cu->cuDriverGetVersion(&version) == CUDA_SUCCESS)
		snprintf(h->driver, sizeof(h->driver), "%d", version);
	program_name(h->name, sizeof(h->name));
	if (group)
		snprintf(h->group, sizeof(h->group), "%.31s", group);
}

int host_await_answer(int sock, union host_answer *m, int fds[3])
{
	unsigned n = 0;
	int r = wire_recv(sock, m, sizeof(*m), fds, 3, &n);

	if (r > 0 && wire_check(m, (size_t)r) < 0)
		r = -EPROTO;
	if (r > 0)
		wire_plain(m);
	if (r > 0 && m->head.type == WIRE_WELCOME && n == 3)
		return 0;
	if (r == 0)
		r = -ECONNRESET;
	else if (r > 0)
		r = m->head.type == WIRE_REFUSED ? -EACCES : -EPROTO;
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	return r;
}

const char *host_greeting_failed(
	int error, bool by_folder, const char *where, const char *refusal, char buf[HOST_FAILED])
{
	struct wire_unreached u;

	if (error == -ENODEV)
		return "the device could not be asked";
	if (error == -EACCES && !by_folder) {
		snprintf(buf, HOST_FAILED, "heddled refused this program: %s", refusal);
		return buf;
	}
	wire_unreached(where, by_folder, error, &u);
	if (u.is_none)
		return "heddled does not run, so nothing is shared (\"heddled &\" starts it)";
	snprintf(buf, HOST_FAILED, "%s: %s", u.what, u.todo);
	return buf;
}
