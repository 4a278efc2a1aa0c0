/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Green contexts, with heddle's own prototypes. The functions are looked up here and are not in
 * cu_api.def, because nothing else calls them. The shim passes calls of these functions on to the
 * driver, like all functions that it does not know. */
#include "host/green.h"

#include <dlfcn.h>
#include <string.h>

#include "base/base.h"

/* The driver's structure, with space for fields that later drivers may add. */
struct resource {
	uint32_t type;
	uint8_t pad[92];
	uint32_t sm_count;
	uint8_t more[160];
};
_Static_assert(offsetof(struct resource, sm_count) == 96, "the driver's layout");

#define RESOURCE_SM    1
#define DEFAULT_STREAM 1u /* a flag that the driver requires for green contexts */
/* smallest group of SMs; on devices before 9.0 drivers also accept multiples of 8 */
#define UNIT 8u

struct api {
	CUresult (*get)(CUdevice, struct resource *, uint32_t type);
	CUresult (*split)(struct resource *groups, unsigned *n, const struct resource *from,
		struct resource *rest, unsigned flags, unsigned min_count);
	CUresult (*describe)(void **desc, struct resource *, unsigned n);
	CUresult (*create)(void **ctx, void *desc, CUdevice, unsigned flags);
	CUresult (*stream)(CUstream *, void *ctx, unsigned flags, int priority);
	CUresult (*destroy)(void *ctx);
};

static bool find_api(const struct cu_api *cu, struct api *ret)
{
	static const char *const names[] = {"cuDeviceGetDevResource", "cuDevSmResourceSplitByCount",
		"cuDevResourceGenerateDesc", "cuGreenCtxCreate", "cuGreenCtxStreamCreate",
		"cuGreenCtxDestroy"};
	void *at[ARRAY_LEN(names)];

	_Static_assert(sizeof(at) == sizeof(*ret), "one each");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!(at[i] = dlsym(cu->handle, names[i])))
			return false;
	memcpy(ret, at, sizeof(at));
	return true;
}

static CUresult make_stream(
	const struct api *api, CUdevice device, struct resource *sms, struct host_green *g)
{
	void *desc;
	CUresult r = api->describe(&desc, sms, 1);

	if (r == CUDA_SUCCESS)
		r = api->create(&g->contexts[g->n], desc, device, DEFAULT_STREAM);
	if (r != CUDA_SUCCESS)
		return r;
	r = api->stream(&g->streams[g->n], g->contexts[g->n], CU_STREAM_NON_BLOCKING, 0);
	g->sms[g->n++] = sms->sm_count;
	return r;
}

CUresult host_green_create(
	const struct cu_api *cu, unsigned n, const uint32_t *share, struct host_green *ret)
{
	struct host_green g = {0};
	struct resource all, left;
	struct api api;
	CUdevice device;
	uint64_t sum = 0;
	CUresult r;

	if (!find_api(cu, &api) || n < 2 || n > HOST_GREEN_MAX)
		return CUDA_ERROR_NOT_SUPPORTED;
	memset(&all, 0, sizeof(all));
	r = cu->cuCtxGetDevice(&device);
	if (r == CUDA_SUCCESS)
		r = api.get(device, &all, RESOURCE_SM);
	left = all;
	for (unsigned k = 0; k < n; k++)
		sum += share[k];
	for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++) {
		struct resource from = left, part = left;
		unsigned groups = 1;
		uint32_t want = (uint32_t)((all.sm_count * (uint64_t)share[k] + sum / 2) / sum);

		if (k + 1 < n) {
			memset(&part, 0, sizeof(part));
			memset(&left, 0, sizeof(left));
			r = api.split(
				&part, &groups, &from, &left, 0, MAX(want / UNIT * UNIT, UNIT));
		}
		if (r == CUDA_SUCCESS && (!groups || !part.sm_count))
			r = CUDA_ERROR_NOT_SUPPORTED;
		if (r == CUDA_SUCCESS)
			r = make_stream(&api, device, &part, &g);
	}
	if (r == CUDA_SUCCESS)
		*ret = g;
	else
		host_green_destroy(cu, &g);
	return r;
}

void host_green_destroy(const struct cu_api *cu, struct host_green *g)
{
	struct api api;

	for (unsigned k = 0; k < g->n; k++) {
		if (g->streams[k])
			cu->cuStreamDestroy(g->streams[k]);
		if (find_api(cu, &api))
			api.destroy(g->contexts[k]);
	}
	*g = (struct host_green){0};
}
