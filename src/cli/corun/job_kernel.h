/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a kernel specification becomes on a device: a parsed module, a parameter buffer, buffers in
 * device memory. Who launches it, in which form and how often, is job.c's and corun.c's. Every
 * function says through c what failed, in terms of the specification, and returns CLI_OK or
 * CLI_FAILED. */
#ifndef HEDDLE_JOB_KERNEL_H
#define HEDDLE_JOB_KERNEL_H

#include "cli/cli.h"
#include "cli/corun/spec.h"
#include "dev/dev.h"
#include "host/assembler.h"
#include "host/managed.h"

/* The first device, its primary context current on the calling thread. */
struct job_device {
	struct cu_api cu;
	CUdevice device;
	struct assembler assembler; /* for texts that nobody has seen compiled yet */
	char name[128];
};
int job_device_open(const struct cli *c, enum dev_kind kind, struct job_device *ret);

struct job_kernel {
	struct cli *c;
	const struct spec *spec;
	struct arena arena;
	struct diag_list diags; /* of the file */
	char *text;
	size_t len;
	struct ptx_module *module;
	uint8_t *params;              /* own_bytes of arguments; the caller's room behind them */
	uint32_t own_bytes, *offsets; /* of each parameter */
	CUdeviceptr *buffers;         /* for each argument; 0: a scalar, or not filled yet */
	CUdeviceptr *initial;         /* what these begin with; 0: not needed yet, or zeros */
};

/* Reads and parses the file, and checks the arguments against the kernel's parameters; room: bytes
 * that the caller may write behind params. job_kernel_finish also after a failure. */
int job_kernel_read(struct cli *c, const struct spec *spec, size_t room, struct job_kernel *ret);
void job_kernel_finish(struct job_kernel *k);

/* Loads PTX (NUL-terminated) that came from file, and finds an entry that is launched with so much
 * dynamic shared memory. */
int job_load(const struct cli *c, const struct cu_api *cu, const char *file, const char *ptx,
	const char *entry, uint32_t shared_bytes, CUmodule *ret_module, CUfunction *ret_fn);
/* Lets an entry be launched with so much. */
int job_room(const struct cli *c, const struct cu_api *cu, CUfunction fn, uint32_t shared_bytes);
/* The buffers' initial contents, and their addresses among the parameters; waited for. Called
 * again, the same memory is filled again, from a copy on the device: each run starts from the same.
 */
int job_kernel_fill(struct job_kernel *k, const struct cu_api *cu);
/* What the specification wants written. */
int job_kernel_write(struct job_kernel *k, const struct cu_api *cu);
/* The kernel as it is, with its own parameters; nothing is waited for. */
CUresult job_kernel_launch(
	const struct job_kernel *k, const struct cu_api *cu, CUfunction fn, CUstream stream);
void job_kernel_shape(const struct spec *spec, struct dev_shape *ret);

int job_cu_failed(const struct cli *c, CUresult r, const char *what);
int job_out_of_memory(const struct cli *c);
#define JOB_TRY(c, call, what)                             \
	do {                                               \
		CUresult r_ = (call);                      \
		if (r_ != CUDA_SUCCESS)                    \
			return job_cu_failed(c, r_, what); \
	} while (0)

#endif
