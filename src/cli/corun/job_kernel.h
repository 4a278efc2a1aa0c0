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
#include "cli/ptx_file.h"
#include "dev/dev.h"
#include "host/corun.h"

/* The first device, its primary context current on the calling thread. */
enum dev_kind job_device_kind(const struct cli *c); /* by --device; as it is parsed */
int job_device_open(const struct cli *c, enum dev_kind kind, struct host_device *ret);

struct job_kernel {
	struct cli *c;
	const struct spec *spec;
	struct arena arena;
	struct cli_kernel src;
	const char *entry; /* the kernel's symbol; spec->kernel is as the user wrote it */
	uint8_t *params;   /* own_bytes of arguments; the caller's room behind them */
	uint32_t own_bytes, *offsets; /* of each parameter */
	CUdeviceptr *buffers;         /* for each argument; 0: a scalar, or not filled yet */
	CUdeviceptr *initial;         /* what these begin with; 0: not needed yet, or zeros */
};

/* The PTX of a specification, parsed: of its file, or as it was recorded. */
int job_ptx_read(struct cli *c, struct arena *a, const struct spec *spec, struct cli_kernel *ret);
/* Reads and parses that, and checks the arguments against the kernel's parameters; room: bytes
 * that the caller may write behind params. job_kernel_finish also after a failure. */
int job_kernel_read(struct cli *c, const struct spec *spec, size_t room, struct job_kernel *ret);
void job_kernel_finish(struct job_kernel *k);

/* Loads a text of k's file, or made of it (NUL-terminated), to be launched as specified. Buffers
 * that are variables of the module are this module's from now on. */
int job_kernel_load(struct job_kernel *k, const struct host_device *d, const char *ptx,
	CUmodule *ret_module, CUfunction *ret_fn);
/* The buffers' initial contents, and their addresses among the parameters; waited for. Called
 * again, the same memory is filled again, from a copy on the device: each run starts from the same.
 */
int job_kernel_fill(struct job_kernel *k, const struct cu_api *cu);
/* What the specification wants written. */
int job_kernel_write(struct job_kernel *k, const struct cu_api *cu);
int job_cu_failed(const struct cli *c, CUresult r, const char *what);
extern const struct host_words job_words; /* the command line's */
/* f: of no set of kernels. */
int job_host_failed(const struct cli *c, const struct host_fault *f);
int job_out_of_memory(const struct cli *c);
#define JOB_TRY(c, call, what)                             \
	do {                                               \
		CUresult r_ = (call);                      \
		if (r_ != CUDA_SUCCESS)                    \
			return job_cu_failed(c, r_, what); \
	} while (0)

#endif
