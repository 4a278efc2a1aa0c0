/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Identifies a set of kernels that run together (host/corun.h), so that results about them can be
 * stored and found. */
#ifndef HEDDLE_HOST_TOGETHER_H
#define HEDDLE_HOST_TOGETHER_H

#include "host/corun.h"
#include "model/store.h"

/* Identifies the kernels of a set, with these launches, on this device. The names belong to d, the
 * kernels to the caller. */
void host_identify(const struct host_device *d, const struct host_set *s,
	struct model_kernel kernels[HOST_MAX], struct model_together *ret);

/* Finds the stored way of these kernels by calling `find`. For two kernels it also tries the
 * reverse order, and mirrors the way that it finds. Parses the way, and stores its text
 * for the kernels in their own order in ret_text. `find` returns 0, -ENOENT if nothing is stored,
 * or another negative errno, which this returns. Returns -EINVAL and *ret_wrong (in the arena) if
 * the stored text is not a way. */
typedef int host_find_way_fn(
	void *user, const struct model_together *what, char ret[MODEL_WAY_MAX]);
int host_find_way(struct arena *a, const struct model_together *what, host_find_way_fn *find,
	void *user, char ret_text[MODEL_WAY_MAX], enum host_way *ret_way, struct host_merging *io,
	const char **ret_wrong);

#endif
