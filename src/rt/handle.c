/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles: opening the device, error texts, device memory. */
#include "rt/rt.h"

#include "heddle/task.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPILING_MAX 86400 /* seconds */

int rt_fail(struct heddle *h, int err, const char *hint, const char *fmt, ...)
{
	char text[sizeof(h->error)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(h->error, sizeof(h->error), "%.700s%s%.300s", text, hint ? "; " : "",
		hint ? hint : "");
	return err;
}

int rt_cu_failed(struct heddle *h, CUresult r, const char *what)
{
	struct host_fault f;

	host_cu_failed(&f, r, what);
	return rt_host_failed(h, &f, NULL, NULL);
}

int rt_out_of_memory(struct heddle *h)
{
	return rt_fail(h, -ENOMEM, NULL, "out of memory");
}

int rt_host_failed(
	struct heddle *h, const struct host_fault *f, const struct host_set *s, const char *instead)
{
	const struct host_words words = {
		.help = "\"help\"",
		.steal = "\"merge steal\"",
		.mixed = "\"merge mixed\"",
		.streams = "\"streams\"",
		.vertical = "\"vertical\"",
		.plain = instead ? instead : "\"sequential\" and \"streams\" run any kernels",
		.time = "heddle_limit_compiling",
		.ptx = "the PTX",
	};
	struct strbuf text = {0}, hint = {0};

	host_explain(f, s, &words, &text, &hint);
	rt_fail(h, 0, hint.len ? hint.at : NULL, "%s", text.at ? text.at : "out of memory");
	strbuf_finish(&text);
	strbuf_finish(&hint);
	return host_errno(f);
}

int rt_enter(struct heddle *h)
{
	if (!h)
		return -EINVAL;
	if (!h->ready)
		return rt_fail(h, -EINVAL, "heddle_open said why", "the device is not open");
	RT_TRY(h, h->d.cu.cuCtxPushCurrent(h->d.context), "the context");
	return 0;
}

void rt_leave(struct heddle *h)
{
	CUcontext own;

	h->d.cu.cuCtxPopCurrent(&own);
}

/* ---- the device ---- */

/* Finds a file that is installed with this library, from the library's own path. Works for an
 * installed library and in a build tree. Returns false if the file is not found. */
static bool find_part(const char *const *places, size_t n, char ret[PATH_MAX])
{
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)heddle_open, &self) || !self.dli_fname)
		return false;
	slash = strrchr(self.dli_fname, '/');
	for (size_t i = 0; i < n; i++) {
		int folder = slash ? (int)(slash - self.dli_fname) : 1;
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s/%s", folder, slash ? self.dli_fname : ".",
			places[i]);
		if (realpath(path, ret))
			return true;
	}
	return false;
}

static int open_cpu(struct cu_api *ret)
{
	static const char *const places[] = {
		"heddle/cpu/libcuda.so.1", "../dev/cpu/libcuda.so.1", "../cpu/libcuda.so.1"};
	char path[PATH_MAX];
	bool found = find_part(places, ARRAY_LEN(places), path);

	return dev_open(DEV_CPU, found ? path : NULL, ret);
}

/* Opens the device. If the assembler (the separate compiler process) is not installed, PTX is
 * compiled in this process. */
static int open_device(struct heddle *h)
{
	static const char *const places[] = {"heddle/" ASSEMBLER_PART, "../" ASSEMBLER_PART};
	char path[PATH_MAX];
	bool found = find_part(places, ARRAY_LEN(places), path);
	struct host_fault f;

	if (host_device_open(&h->d, found ? path : "", &f) < 0)
		return rt_host_failed(h, &f, NULL, NULL);
	h->ready = true;
	return 0;
}

static CUresult find_device(struct heddle *h)
{
	const struct cu_api *cu = &h->d.cu;
	CUresult r = cu->cuInit(0);
	int n = 0;

	if (r == CUDA_SUCCESS)
		r = cu->cuDeviceGetCount(&n);
	h->n_devices = n;
	return r == CUDA_SUCCESS && n <= 0 ? CUDA_ERROR_NO_DEVICE : r;
}

static int begin_fails(struct heddle *h, CUresult r, const char *what, const char *hint)
{
	const char *name = cu_result_name(r), *text = cu_result_text(r);

	if (r == CUDA_ERROR_NOT_INITIALIZED) /* cuInit returns this only in a child of fork */
		return rt_fail(h, -ENODEV, "run a fresh program in the child (exec)",
			"CUDA does not work in a child of fork whose parent had used it");
	return rt_fail(h, -ENODEV, hint, "%s: %s (%s)", what, text ? text : "unknown error",
		name ? name : "?");
}

static int open_driver(struct heddle *h, enum dev_kind kind)
{
	static const char other[] = "\"cpu\" is the virtual GPU; heddle doctor says what this "
				    "machine has";
	CUresult r;

	if (kind != DEV_CPU && dev_open(DEV_CUDA, NULL, &h->d.cu) == 0) {
		r = find_device(h);
		if (r == CUDA_SUCCESS)
			return 0;
		dev_close(&h->d.cu);
		/* Not initialised: this is the child of a fork, and its parent used the GPU. Report
		 * that, because with "auto" the child would silently use the virtual GPU
		 * instead. */
		if (kind == DEV_CUDA || r == CUDA_ERROR_NOT_INITIALIZED)
			return begin_fails(h, r, "no GPU: the driver's cuInit", other);
	}
	if (kind == DEV_CUDA)
		return rt_fail(h, -ENODEV, other, "no GPU: the driver library is missing");
	if (open_cpu(&h->d.cu) < 0)
		return rt_fail(h, -ENODEV, "it is installed beside this library, in heddle/cpu",
			"no GPU, and the virtual GPU's library was not found");
	r = find_device(h);
	return r == CUDA_SUCCESS ? 0 : begin_fails(h, r, "the virtual GPU does not start", NULL);
}

RT_API int heddle_open(const char *device, struct heddle **ret)
{
	struct heddle *h = calloc(1, sizeof(*h));
	enum dev_kind kind = DEV_AUTO;
	int r = 0;

	*ret = h;
	if (!h)
		return -ENOMEM;
	if (device && !dev_parse(device, &kind, &h->d.ordinal))
		r = rt_fail(h, -EINVAL,
			"\"auto\", \"cuda\" and \"cpu\" are, and \"cuda:1\" is the second GPU",
			"\"%.40s\" is no device", device);
	if (r == 0)
		r = open_driver(h, kind);
	if (r == 0 && h->d.ordinal >= h->n_devices)
		r = rt_fail(h, -ENODEV, "numbers begin with 0; CUDA_VISIBLE_DEVICES may hide some",
			"\"%.40s\": there %s %d such device%s", device,
			h->n_devices == 1 ? "is" : "are", h->n_devices, PLURAL(h->n_devices, "s"));
	if (r == 0)
		r = open_device(h);
	return r;
}

RT_API void heddle_close(struct heddle *h)
{
	bool entered;

	if (!h)
		return;
	while (h->pools)
		if (heddle_tasks_destroy(h->pools) < 0)
			return; /* running tasks still use the memory that would be freed */
	entered = h->ready && rt_enter(h) == 0;
	if (entered && rt_pools_hold(h) < 0) { /* a pool of another handle still runs */
		rt_leave(h);
		return;
	}
	assembler_finish(&h->d.assembler);
	if (entered) {
		host_forms_free(&h->d, &h->forms);
		host_device_close(&h->d);
		for (struct rt_kernel *k = h->kernels, *next; k; k = next) {
			next = k->next;
			rt_kernel_free(h, k);
		}
		rt_leave(h);
		h->d.cu.cuDevicePrimaryCtxRelease(h->d.device);
		rt_pools_release();
	}
	/* The driver library stays loaded, because it has threads of its own. */
	free(h);
}

RT_API const char *heddle_error(const struct heddle *h)
{
	return h ? h->error : "out of memory, or NULL is no handle";
}

RT_API int heddle_limit_compiling(struct heddle *h, unsigned seconds)
{
	if (!h)
		return -EINVAL;
	if (!h->ready)
		return rt_fail(h, -EINVAL, "heddle_open said why", "the device is not open");
	if (!seconds || seconds > COMPILING_MAX)
		return rt_fail(h, -EINVAL, "1 to 86,400", "%u s are no limit", seconds);
	assembler_limit(&h->d.assembler, seconds);
	return 0;
}

RT_API const char *heddle_device(const struct heddle *h)
{
	return h ? h->d.name : "";
}

/* ---- memory ---- */

static int finish_handle(struct heddle *h, CUresult r, const char *what)
{
	rt_leave(h);
	return r == CUDA_SUCCESS ? 0 : rt_cu_failed(h, r, what);
}

RT_API int heddle_alloc(struct heddle *h, size_t bytes, uint64_t *ret_address)
{
	CUdeviceptr at;
	CUresult c;
	int r = rt_enter(h);

	if (r < 0)
		return r;
	c = h->d.cu.cuMemAlloc(&at, bytes);
	if (c == CUDA_SUCCESS)
		*ret_address = at;
	return finish_handle(h, c, "allocating device memory");
}

RT_API int heddle_free(struct heddle *h, uint64_t address)
{
	int r = rt_enter(h);

	if (r < 0)
		return r;
	r = rt_pools_hold(h);
	if (r < 0) {
		rt_leave(h);
		return r;
	}
	r = finish_handle(h, h->d.cu.cuMemFree(address), "freeing device memory");
	rt_pools_release();
	return r;
}

RT_API int heddle_write(struct heddle *h, uint64_t to, const void *from, size_t bytes)
{
	int r = rt_enter(h);

	return r < 0 ? r
		     : finish_handle(
			       h, h->d.cu.cuMemcpyHtoD(to, from, bytes), "copying to the device");
}

RT_API int heddle_read(struct heddle *h, void *to, uint64_t from, size_t bytes)
{
	int r = rt_enter(h);

	return r < 0 ? r
		     : finish_handle(
			       h, h->d.cu.cuMemcpyDtoH(to, from, bytes), "copying from the device");
}
