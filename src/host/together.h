/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The identity of kernels that a host runs together (host/corun.h), under which results about them
 * are stored. */
#ifndef HEDDLE_HOST_TOGETHER_H
#define HEDDLE_HOST_TOGETHER_H

#include "host/corun.h"
#include "model/store.h"

/* Identifies the kernels of a set, with these launches, on this device. Names belong to d, kernels
 * to the caller. */
void model_identify(const struct host_device *d, const struct host_set *s,
	struct model_kernel kernels[HOST_MAX], struct model_together *ret);

/* Asks `find` for the stored strategy of these kernels, and of two kernels also in reverse order,
 * for which it mirrors the strategy. The strategy is parsed; ret_text has it for the kernels in
 * their own order. find returns 0, -ENOENT if none is stored, or another negative errno, which is
 * passed on. -EINVAL with *ret_wrong (in the arena): the stored text is no strategy. */
typedef int model_find_fn(void *user, const struct model_together *what, char ret[MODEL_WAY_MAX]);
int model_find_way(struct arena *a, const struct model_together *what, model_find_fn *find,
	void *user, char ret_text[MODEL_WAY_MAX], enum dev_how *ret_how, struct dev_merging *io,
	const char **ret_wrong);

#endif
