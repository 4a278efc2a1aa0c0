/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether a driver would compile a PTX text for a device. Only the first two directives
 * count:
 * - .version: a driver knows the PTX ISA of its own CUDA version and all older ones.
 * - .target: a device runs code for its own and for lower architectures. A target with suffix a,
 *   such as sm_90a, is only for that compute capability (9.0). A target with suffix f, such as
 *   sm_100f, is for devices of the same major version with the same or a higher minor version. */
#include "drv_accept.h"
#include "base/number.h"

#include "drv.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct head {
	const char *s, *line_start;
	uint32_t line;
};

static void skip_one(struct head *h)
{
	if (*h->s++ == '\n') {
		h->line++;
		h->line_start = h->s;
	}
}

/* Skips white space and comments. */
static void skip_gaps(struct head *h)
{
	for (;;) {
		if (*h->s && strchr(" \t\r\n\f\v", *h->s)) {
			skip_one(h);
		} else if (!strncmp(h->s, "//", 2)) {
			while (*h->s && *h->s != '\n')
				h->s++;
		} else if (!strncmp(h->s, "/*", 2)) {
			const char *end = strstr(h->s + 2, "*/");

			while (*h->s && (!end || h->s < end + 2))
				skip_one(h);
		} else {
			return;
		}
	}
}

/* Reads a directive and the white space that follows it. */
static bool read_directive(struct head *h, const char *name)
{
	size_t len = strlen(name);

	skip_gaps(h);
	if (strncmp(h->s, name, len) != 0 || !strchr(" \t\r\n\f\v/", h->s[len]))
		return false;
	h->s += len;
	skip_gaps(h);
	return true;
}

static uint32_t column_of(const struct head *h)
{
	return (uint32_t)(h->s - h->line_start) + 1;
}

static bool device_runs(unsigned sm, char variant)
{
	if (variant == 'a')
		return sm == DRV_DEVICE_CC;
	if (variant == 'f')
		return sm <= DRV_DEVICE_CC && sm / 10 == DRV_DEVICE_CC / 10;
	return sm <= DRV_DEVICE_CC;
}

CUresult drv_accept_ptx(const char *ptx, struct diag_list *diags)
{
	struct head h = {ptx, ptx, 1};
	struct number major, minor = {0}, sm;
	const char *end;

	if (!read_directive(&h, ".version"))
		return CUDA_SUCCESS;
	major = number_digits(h.s, SIZE_MAX, 10);
	end = h.s + major.len;
	if (*end == '.') {
		minor = number_digits(end + 1, SIZE_MAX, 10);
		end += 1 + minor.len;
	}
	if (major.value > DRV_PTX_VERSION / 10 ||
		(major.value == DRV_PTX_VERSION / 10 && minor.value > DRV_PTX_VERSION % 10)) {
		diag_add(diags, DIAG_ERROR, h.line, column_of(&h), (uint32_t)(end - h.s),
			"unsupported .version %lu.%lu: this driver (CUDA %d.%d) compiles PTX of "
			"%d.%d at most",
			(unsigned long)major.value, (unsigned long)minor.value,
			CU_CUDA_VERSION / 1000, CU_CUDA_VERSION % 1000 / 10, DRV_PTX_VERSION / 10,
			DRV_PTX_VERSION % 10);
		diag_hint(diags, "compile the program with CUDA %d.%d or older",
			CU_CUDA_VERSION / 1000, CU_CUDA_VERSION % 1000 / 10);
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	}
	h.s = end;
	if (!read_directive(&h, ".target") || strncmp(h.s, "sm_", 3) != 0)
		return CUDA_SUCCESS;
	sm = number_digits(h.s + 3, SIZE_MAX, 10);
	end = h.s + 3 + sm.len;
	if (!sm.len || device_runs((unsigned)MIN(sm.value, 100000), *end))
		return CUDA_SUCCESS;
	end += *end == 'a' || *end == 'f';
	diag_add(diags, DIAG_ERROR, h.line, column_of(&h), (uint32_t)(end - h.s),
		".target %.*s: this device is sm_%d and cannot run it", (int)MIN(end - h.s, 40),
		h.s, DRV_DEVICE_CC);
	diag_hint(diags, "compile the program for compute_%d or older", DRV_DEVICE_CC);
	return CUDA_ERROR_INVALID_PTX;
}

/* Returns true on the first call with this flag. */
static bool is_first(bool *said)
{
	return !__atomic_exchange_n(said, true, __ATOMIC_RELAXED);
}

/* Finds the file that an address belongs to. Returns whether that is the program itself. */
static bool find_owner(const void *address, char *ret, size_t max)
{
	struct link_map *map = NULL;
	Dl_info info;
	ssize_t n;

	snprintf(ret, max, "a library");
	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	if (*map->l_name) {
		snprintf(ret, max, "%s", map->l_name);
		return false;
	}
	n = readlink("/proc/self/exe", ret, max - 1);
	if (n >= 0)
		ret[n] = 0;
	return true;
}

void drv_say_runtime(const void *caller)
{
	const char *todo = "Run the program on a GPU; a library of your own can be built again "
			   "with NVCC_APPEND_FLAGS='-cudart shared'";
	char owner[400], *slash;
	static bool said;

	if (!is_first(&said))
		return;
	if (find_owner(caller, owner, sizeof(owner)))
		todo = "Build it again with NVCC_APPEND_FLAGS='-cudart shared' in the environment "
		       "and start it with heddle run, or run it on a GPU";
	slash = strrchr(owner, '/');
	if (strncmp(slash ? slash + 1 : owner, "libcudart.so", 12) == 0)
		todo = "heddle run puts heddle's own in the place of those of CUDA 12 and 13 that "
		       "LD_LIBRARY_PATH can reach; or run the program on a GPU";
	drv_report("virtual GPU: %s has NVIDIA's CUDA runtime inside, which needs NVIDIA's driver: "
		   "the runtime's calls fail (error 500). %s.\n",
		owner, todo);
}

void drv_say_no_ptx(void)
{
	static bool said;

	if (is_first(&said))
		drv_report("virtual GPU: this program's code has no PTX that sm_%d can run, and a "
			   "cubin runs on a GPU only (error 209). Run it on a GPU, or compile it "
			   "with -gencode arch=compute_%d,code=compute_%d.\n",
			DRV_DEVICE_CC, DRV_DEVICE_CC, DRV_DEVICE_CC);
}
