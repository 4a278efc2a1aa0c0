/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What was measured and outlives the process: how long kernels took together, each way that was
 * tried, and what heddled has learnt of kernels (kept.h). An SQLite file, safe under kills and a
 * full disk; any number of readers, one writer at a time (others wait for it, up to five seconds).
 * A store is not thread safe. */
#ifndef HEDDLE_MODEL_STORE_H
#define HEDDLE_MODEL_STORE_H

#include "base/base.h"

#define MODEL_WAY_MAX 96

struct model_store;

/* $XDG_STATE_HOME/heddle/measured.db, else below ~/.local/state. -ENOENT: no home; -ENAMETOOLONG.
 */
int model_store_path(char *buf, size_t size);
/* path NULL: that one. write: made if it is not there, with its folders. 0; -ENOENT: there is none;
 * -EPROTO: of a later heddle; -EIO: anything else. Of all functions here: text that says why, until
 * the next call, is at model_store_why (also of a store that could not be opened). */
int model_store_open(const char *path, bool write, struct model_store **ret);
void model_store_close(struct model_store *s);
const char *model_store_why(void);

/* Kernels together: which, launched how, on what. In this order. */
struct model_kernel {
	uint8_t digest[32]; /* SHA-256 of the kernel's code and what it reaches */
	uint32_t grid[3], block[3], shared_bytes;
};
struct model_together {
	const char *device, *driver; /* as they call themselves */
	const struct model_kernel *kernels;
	unsigned n;
};

/* One way of running them. */
struct model_way {
	char name[MODEL_WAY_MAX]; /* "sequential", "merge partition=3:1" */
	double ms;                /* median */
	double spread;            /* of the middle half of the runs, relative to ms */
	unsigned runs;
	bool chosen; /* the one to take: of one set's ways one */
};

/* Replaces all that is known of them, in one step. */
int model_ways_put(struct model_store *s, const struct model_together *t,
	const struct model_way *ways, unsigned n);
/* The chosen one. -ENOENT: nothing is known. */
int model_ways_chosen(struct model_store *s, const struct model_together *t, struct model_way *ret);

#endif
