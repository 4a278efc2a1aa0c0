/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Recorded launches (host/record.h) as kernel specifications, written recorded:WHERE [KERNEL].
 * WHERE is a file, a folder written by heddle record, or NAME for a folder NAME.recorded. */
#ifndef HEDDLE_CLI_RECORDING_H
#define HEDDLE_CLI_RECORDING_H

#include "front/cli.h"
#include "host/record.h"
#include "job/job_kernel.h"
#include "job/spec.h"

#define RECORDING_FOLDER ".recorded" /* the suffix after the program's name */

bool recording_is(const char *word); /* returns whether word begins with "recorded:" */
/* A recorded launch's file, read into the arena. Its digest is not checked yet. */
struct recording {
	const char *path;
	const uint8_t *at;
	size_t bytes;
	struct record r;
};
/* Calls fn for each recorded launch in the folder, in the order of file names. Returns CLI_OK, or
 * CLI_FAILED after it reports an error. If fn returns anything but CLI_OK, the loop ends and
 * returns that value. */
typedef int recording_fn(void *user, const struct recording *of);
int recording_each(
	const struct cli *c, struct arena *a, const char *folder, recording_fn *fn, void *user);
/* Reads the launch that word (recorded:WHERE) names, allocated in ret->arena. kernel may be NULL if
 * there is only one launch. Returns CLI_OK, or CLI_FAILED after it reports why the launch cannot be
 * found or read. Warns about buffers whose contents were not recorded. */
int recording_read(const struct cli *c, const char *word, const char *kernel, struct spec *ret);
/* Compares k's memory on the device with the recorded result and reports differences. Buffers whose
 * result was not recorded are not compared; a warning says so. Returns CLI_OK, or CLI_FAILED after
 * it reports why a comparison is impossible. */
int recording_compare(struct job_kernel *k, const struct cu_api *cu, bool *ret_same);

#endif
