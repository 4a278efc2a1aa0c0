/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See together.h. */
#include "host/together.h"

#include <errno.h>
#include <string.h>

void host_identify(const struct host_device *d, const struct host_set *s,
	struct model_kernel kernels[HOST_MAX], struct model_together *ret)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct model_kernel *k = &kernels[i];
		const struct host_shape *shape = &s->shapes[i].shape;

		memcpy(k->digest, s->of[i]->digest, sizeof(k->digest));
		memcpy(k->grid, shape->grid, sizeof(k->grid));
		memcpy(k->block, shape->block, sizeof(k->block));
		k->shared_bytes = shape->shared_bytes;
	}
	*ret = (struct model_together){
		.device = d->name, .driver = d->driver, .kernels = kernels, .n = s->n};
}

int host_find_way(struct arena *a, const struct model_together *what, host_find_way_fn *find,
	void *user, char ret_text[MODEL_WAY_MAX], enum host_way *ret_way, struct host_merging *io,
	const char **ret_wrong)
{
	int r = find(user, what, ret_text);
	bool turned = r == -ENOENT && what->n == 2;

	*ret_wrong = NULL;
	if (turned) {
		const struct model_kernel kernels[2] = {what->kernels[1], what->kernels[0]};
		struct model_together other = *what;

		other.kernels = kernels;
		r = find(user, &other, ret_text);
	}
	if (r < 0)
		return r;
	*ret_wrong = host_way_parse(a, ret_text, what->n, ret_way, io);
	if (*ret_wrong)
		return -EINVAL;
	if (turned) {
		host_way_mirror(io);
		host_way_print(*ret_way, io, what->n, ret_text, MODEL_WAY_MAX);
	}
	return 0;
}
