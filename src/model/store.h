/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measurements that outlive the process: the times of sets of kernels in each way that was
 * tried, and heddled's records of kernels (kept.h). The store is an SQLite file, which stays intact
 * if a writer is killed or the disk is full. Any number of processes can read. Only one process can
 * write at a time; other writers wait up to five seconds. A store is not thread safe. */
#ifndef HEDDLE_MODEL_STORE_H
#define HEDDLE_MODEL_STORE_H

#include "base/base.h"

#define MODEL_WAY_MAX 96

struct model_store;

/* Returns the default path: $XDG_STATE_HOME/heddle/measured.db, or else the same under
 * ~/.local/state. Returns -ENOENT if there is no home folder, or -ENAMETOOLONG. */
int model_store_path(char *buf, size_t size);
/* Opens a store; path NULL means the default path. If `write` is set, creates the file and its
 * folders if necessary. Returns 0, -ENOENT if there is no file, -EPROTO if a later heddle wrote it,
 * -ENOMEM, -ENAMETOOLONG, or -EIO if SQLite reports an error. After any function here has failed,
 * model_store_why has the reason until the next call, even if there is no store. */
int model_store_open(const char *path, bool write, struct model_store **ret);
/* Returns 0 if rows can be written to a store that was opened for writing, or -EIO. */
int model_store_can_write(struct model_store *s);
void model_store_close(struct model_store *s);
const char *model_store_why(void);

/* One kernel and its launch, as a part of a set (struct model_together). */
struct model_kernel {
	/* SHA-256 of the kernel's code and of all code that it calls or refers to */
	uint8_t digest[32];
	uint32_t grid[3], block[3], shared_bytes;
};
/* A set of kernels that run together, their launches, and the device. The order of the kernels
 * matters. */
struct model_together {
	const char *device, *driver; /* as the driver reports them */
	const struct model_kernel *kernels;
	unsigned n;
};

/* One way of running the set of kernels, with its measured time. */
struct model_way {
	char name[MODEL_WAY_MAX]; /* such as "sequential" or "merge partition=3:1" */
	double ms;                /* median time of a run */
	double spread;            /* interquartile range of the runs, relative to ms */
	unsigned runs;
	bool chosen; /* true for the way to use; each set has one such way */
};

/* Replaces all ways of this set in one transaction. */
int model_ways_put(struct model_store *s, const struct model_together *t,
	const struct model_way *ways, unsigned n);
/* Returns the chosen way in *ret, or -ENOENT if none is known. */
int model_ways_chosen(struct model_store *s, const struct model_together *t, struct model_way *ret);

#endif
