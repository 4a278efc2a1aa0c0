/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measurements that outlive the process: the times of sets of kernels in each way that was
 * tried, and heddled's records of kernels (kept.h). An SQLite file, safe against kills and a
 * full disk. Any number of processes may read; one may write at a time, and others wait up to
 * five seconds. A store is not thread safe. */
#ifndef HEDDLE_MODEL_STORE_H
#define HEDDLE_MODEL_STORE_H

#include "base/base.h"

#define MODEL_WAY_MAX 96

struct model_store;

/* $XDG_STATE_HOME/heddle/measured.db, else under ~/.local/state. -ENOENT: no home folder;
 * -ENAMETOOLONG. */
int model_store_path(char *buf, size_t size);
/* path NULL: the default path. write: creates the file and its folders if needed. 0; -ENOENT:
 * there is no file; -EPROTO: a later heddle wrote it; -EIO: any other error. After a failure of
 * any function here, model_store_why has the reason until the next call, also without a store. */
int model_store_open(const char *path, bool write, struct model_store **ret);
void model_store_close(struct model_store *s);
const char *model_store_why(void);

/* A set of kernels, their launches, and the device. The order of kernels counts. */
struct model_kernel {
	uint8_t digest[32]; /* SHA-256 of the kernel's code and of all code that it reaches */
	uint32_t grid[3], block[3], shared_bytes;
};
struct model_together {
	const char *device, *driver; /* as the driver reports them */
	const struct model_kernel *kernels;
	unsigned n;
};

/* One way of running the set. */
struct model_way {
	char name[MODEL_WAY_MAX]; /* "sequential", "merge partition=3:1" */
	double ms;                /* median */
	double spread;            /* range of the middle half of the runs, relative to ms */
	unsigned runs;
	bool chosen; /* the way to use; one way of each set */
};

/* Replaces all ways of this set in one transaction. */
int model_ways_put(struct model_store *s, const struct model_together *t,
	const struct model_way *ways, unsigned n);
/* The chosen way. -ENOENT: none is known. */
int model_ways_chosen(struct model_store *s, const struct model_together *t, struct model_way *ret);

#endif
