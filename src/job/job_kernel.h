/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel specification prepared on a device: a parsed module, a parameter buffer, and buffers in
 * device memory. job.c and run_specs.c launch the kernel. A function that can fail returns CLI_OK,
 * or CLI_FAILED after it reports the failure through c, with the words of the specification. */
#ifndef HEDDLE_JOB_KERNEL_H
#define HEDDLE_JOB_KERNEL_H

#include "dev/dev.h"
#include "front/cli.h"
#include "host/corun.h"
#include "job/ptx_file.h"
#include "job/spec.h"

/* job_device_open opens the first device and makes its primary context current on the calling
 * thread. */
/* Returns the kind of device that --device names, else DEV_AUTO. */
enum dev_kind job_device_kind(const struct cli *c);
int job_device_open(const struct cli *c, enum dev_kind kind, struct host_device *ret);

struct job_kernel {
	struct cli *c;
	const struct spec *spec;
	struct arena arena;
	struct cli_kernel src;
	const char *entry; /* the kernel's symbol; spec->kernel is the name as the user wrote it */
	uint8_t *params;   /* own_bytes bytes of arguments, then space for the caller */
	uint32_t own_bytes, *offsets; /* offsets: of each parameter in params */
	/* for each argument; 0: a scalar, or a buffer not filled yet */
	CUdeviceptr *buffers;
	/* copies of the buffers' initial contents; 0: zeros, or not made yet */
	CUdeviceptr *initial;
	bool by_workers; /* launched as workers, so no limit of the device applies to the grid */
};

/* Parses the PTX of a specification, either from the specification's file or from its recorded
 * launch. */
int job_ptx_read(struct cli *c, struct arena *a, const struct spec *spec, struct cli_kernel *ret);
/* Reads and parses the PTX, and checks the arguments against the kernel's parameters. room is the
 * number of bytes to reserve after params for the caller's use. Call job_kernel_finish even after a
 * failure. */
int job_kernel_read(struct cli *c, const struct spec *spec, size_t room, struct job_kernel *ret);
void job_kernel_finish(struct job_kernel *k);

/* Loads k's PTX, or PTX that was rewritten from it (NUL-terminated), so that the kernel can be
 * launched as its specification says. Buffers that are variables of the kernel's module then refer
 * to the newly loaded module. */
int job_kernel_load(struct job_kernel *k, const struct host_device *d, const char *ptx,
	CUmodule *ret_module, CUfunction *ret_fn);
/* Fills the buffers with their initial contents and writes their addresses to the parameters.
 * Returns when the device has finished this. A later call fills the same memory again, from a copy
 * on the device or with zeros, so each run starts with the same data. */
int job_kernel_fill(struct job_kernel *k, const struct cu_api *cu);
/* Writes to files those buffers for which the specification names a file. */
int job_kernel_write(struct job_kernel *k, const struct cu_api *cu);
int job_cu_failed(const struct cli *c, CUresult r, const char *what);
/* The command line's option names, for messages from host/. */
extern const struct host_words job_words;
/* Reports a fault that concerns no set of kernels. Returns CLI_FAILED. */
int job_host_failed(const struct cli *c, const struct host_fault *f);
int job_out_of_memory(const struct cli *c);
#define JOB_TRY(c, call, what)                             \
	do {                                               \
		CUresult r_ = (call);                      \
		if (r_ != CUDA_SUCCESS)                    \
			return job_cu_failed(c, r_, what); \
	} while (0)

#endif
