/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels that a host runs together (host/corun.h), as what is remembered of them knows them. */
#ifndef HEDDLE_HOST_TOGETHER_H
#define HEDDLE_HOST_TOGETHER_H

#include "host/corun.h"
#include "model/store.h"

/* What the kernels of a set are, launched so, on this device. The names are d's, the kernels the
 * caller's. */
void model_identify(const struct host_device *d, const struct host_set *s,
	struct model_kernel kernels[HOST_MAX], struct model_together *ret);

/* Asks `find` for the way that is known of these kernels, and of two kernels also in the other
 * order, for which it mirrors the way. The way is parsed; ret_text is the way for the kernels in
 * their own order. find returns 0, -ENOENT where nothing is known, or another negative errno, which
 * is passed on. -EINVAL with *ret_wrong (in the arena): what was kept is no way. */
typedef int model_find_fn(void *user, const struct model_together *what, char ret[MODEL_WAY_MAX]);
int model_find_way(struct arena *a, const struct model_together *what, model_find_fn *find,
	void *user, char ret_text[MODEL_WAY_MAX], enum dev_how *ret_how, struct dev_merging *io,
	const char **ret_wrong);

#endif
