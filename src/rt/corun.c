/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle_corun: launches checked, a way found, kernels run as they are or as one launch. */
#include "rt/rt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the launches ---- */

static int check_launch(struct heddle *h, const struct heddle_launch *l, struct rt_kernel *k)
{
	uint64_t threads = 1;

	for (int d = 0; d < 3; d++) {
		if (!l->grid[d] || !l->block[d])
			return rt_fail(h, -EINVAL, "every part of grid and block is at least 1",
				"kernel '%s': grid %u,%u,%u, block %u,%u,%u", k->name, l->grid[0],
				l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
		threads *= l->block[d];
	}
	if (threads > 1024)
		return rt_fail(h, -EINVAL, "1024 at most", "kernel '%s': a block of %llu threads",
			k->name, (unsigned long long)threads);
	for (uint32_t i = 0; i < k->n_params; i++)
		if (!l->params || !l->params[i])
			return rt_fail(h, -EINVAL, "params has a pointer to the value of each",
				"kernel '%s': parameter %u of %u is missing", k->name, i + 1,
				k->n_params);
	return 0;
}

static int find_all(struct heddle *h, const struct heddle_launch *l, unsigned n, struct rt_set *s)
{
	if (n < 1 || n > RT_MAX || !l)
		return rt_fail(h, -EINVAL, NULL, "%u kernels: 1 to %d can run together", n, RT_MAX);
	*s = (struct rt_set){.n = n, .launch = l};
	for (unsigned i = 0; i < n; i++) {
		struct rt_kernel *k = l[i].kernel ? rt_find(h, l[i].kernel) : NULL;
		int r, fit;

		if (l[i].size != sizeof(l[i]))
			return rt_fail(h, -EINVAL, "set it to sizeof(struct heddle_launch)",
				"launch %u has the size %zu", i + 1, l[i].size);
		if (!k)
			return rt_fail(h, -ENOENT, "heddle_load gives kernels their names",
				"launch %u: no kernel is called '%s'", i + 1,
				l[i].kernel ? l[i].kernel : "");
		r = check_launch(h, &l[i], k);
		if (r < 0)
			return r;
		s->of[i] = k;
		if (l[i].shared_bytes > 48 << 10)
			RT_TRY(h,
				h->cu.cuFuncSetAttribute(k->fn,
					CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					(int)l[i].shared_bytes),
				"dynamic shared memory");
		RT_TRY(h,
			h->cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, k->fn,
				(int)(l[i].block[0] * l[i].block[1] * l[i].block[2]),
				l[i].shared_bytes),
			k->name);
		s->fit[i] = (uint32_t)fit;
	}
	return 0;
}

/* ---- the way ---- */

/* *ret_mirrored: the way was kept for the two kernels in the other order. */
static int look_up(
	struct heddle *h, const struct rt_set *s, const char *store, char *ret, bool *ret_mirrored)
{
	const char *hint = "heddle tune measures them, and keeps the best way";
	struct model_kernel kernels[RT_MAX];
	struct model_together what = {
		.device = h->name, .driver = h->driver, .kernels = kernels, .n = s->n};
	char path[4096];
	int r;

	for (unsigned i = 0; i < s->n; i++) {
		struct model_kernel *k = &kernels[i];

		memcpy(k->digest, s->of[i]->digest, sizeof(k->digest));
		memcpy(k->grid, s->launch[i].grid, sizeof(k->grid));
		memcpy(k->block, s->launch[i].block, sizeof(k->block));
		k->shared_bytes = s->launch[i].shared_bytes;
	}
	*ret_mirrored = false;
	r = model_plain_path(store, &what, path, sizeof(path));
	if (r == 0)
		r = model_plain_get(path, ret);
	if (r == -ENOENT && s->n == 2) {
		const struct model_kernel first = kernels[0];

		kernels[0] = kernels[1];
		kernels[1] = first;
		*ret_mirrored = true;
		r = model_plain_path(store, &what, path, sizeof(path));
		if (r == 0)
			r = model_plain_get(path, ret);
	}
	if (r == -ENOENT)
		return rt_fail(h, -ENOENT, hint,
			"these kernels, launched so, have not been measured on this device");
	return r < 0 ? rt_fail(h, r, hint, "%s: %s", path, strerror(-r)) : 0;
}

static int find_way(struct heddle *h, const struct rt_set *s, const char *way, const char *store,
	char *ret_text, enum dev_how *ret_how, struct dev_merging *ret_m)
{
	bool mirrored = false;
	struct arena a;
	const char *wrong;
	int r = 0;

	if (!way || !strcmp(way, "tuned")) {
		r = look_up(h, s, store, ret_text, &mirrored);
		if (r < 0 && way)
			return r;
		if (r < 0)
			snprintf(ret_text, MODEL_WAY_MAX, "sequential");
		mirrored &= r == 0;
	} else if (strlen(way) >= MODEL_WAY_MAX) {
		return rt_fail(
			h, -EINVAL, "heddle(3) lists them", "no way is as long as \"%.40s\"", way);
	} else {
		snprintf(ret_text, MODEL_WAY_MAX, "%s", way);
	}
	arena_init(&a, 0);
	wrong = dev_way_parse(&a, ret_text, s->n, ret_how, ret_m);
	if (wrong)
		r = rt_fail(h, -EINVAL,
			"\"sequential\", \"streams\", \"green=1:1\", \"merge steal chunk=8\", "
			"\"merge partition=3:1 help\", \"vertical\", \"weave\" are; a share for "
			"each kernel",
			"\"%s\" is no way of running %u kernels: %s", ret_text, s->n, wrong);
	else
		r = 0;
	arena_finish(&a);
	if (!wrong && mirrored) {
		dev_way_mirror(ret_m);
		dev_way_print(*ret_how, ret_m, s->n, ret_text, MODEL_WAY_MAX);
	}
	return r;
}

/* ---- as they are ---- */

static const CUstream *split_of(
	struct heddle *h, const struct rt_set *s, const struct dev_merging *m)
{
	struct rt_split *split = h->splits;
	CUresult r;

	while (split && (split->n != s->n ||
				memcmp(split->share, m->share, s->n * sizeof(m->share[0])) != 0))
		split = split->next;
	if (split)
		return split->green.streams;
	split = calloc(1, sizeof(*split));
	if (!split) {
		rt_out_of_memory(h);
		return NULL;
	}
	split->n = s->n;
	memcpy(split->share, m->share, sizeof(split->share));
	r = dev_green_create(&h->cu, s->n, m->share, &split->green);
	if (r != CUDA_SUCCESS) {
		free(split);
		rt_fail(h, -ENOTSUP, "\"streams\"", "green contexts: %s (they come with CUDA 12.4)",
			cu_result_name(r));
		return NULL;
	}
	split->next = h->splits;
	h->splits = split;
	return split->green.streams;
}

static CUresult launch_all(struct heddle *h, const struct rt_set *s, const CUstream *streams)
{
	const struct cu_api *cu = &h->cu;
	CUresult r = cu->cuEventRecord(h->began, h->main);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < s->n; i++) {
		const struct heddle_launch *l = &s->launch[i];
		CUstream on = streams ? streams[i] : h->main;

		if (streams)
			r = cu->cuStreamWaitEvent(on, h->began, 0);
		if (r == CUDA_SUCCESS)
			r = cu->cuLaunchKernel(s->of[i]->fn, l->grid[0], l->grid[1], l->grid[2],
				l->block[0], l->block[1], l->block[2], l->shared_bytes, on,
				l->params, NULL);
		if (r == CUDA_SUCCESS && streams)
			r = cu->cuEventRecord(h->done[i], on);
	}
	for (unsigned i = 0; r == CUDA_SUCCESS && streams && i < s->n; i++)
		r = cu->cuStreamWaitEvent(h->main, h->done[i], 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(h->ended, h->main);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

static int run_plain(struct heddle *h, const struct rt_set *s, enum dev_how how,
	const struct dev_merging *m, struct heddle_result *ret)
{
	const CUstream *streams = how == DEV_STREAMS ? h->streams : NULL;
	float ms;

	if (how == DEV_GREEN && !(streams = split_of(h, s, m)))
		return -ENOTSUP;
	RT_TRY(h, h->cu.cuCtxSynchronize(), "what was launched before");
	RT_TRY(h, launch_all(h, s, streams), "the kernels together");
	RT_TRY(h, h->cu.cuEventElapsedTime(&ms, h->began, h->ended), "an event");
	ret->ms = (double)ms;
	ret->launches = s->n;
	return 0;
}

static int corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret)
{
	struct dev_merging m = {.chunk = 1};
	struct rt_set s;
	struct rt_form *f;
	enum dev_how how;
	int r = find_all(h, launches, n, &s);

	if (r == 0)
		r = find_way(h, &s, way, tuned, ret->way, &how, &m);
	if (r < 0)
		return r;
	if (how < DEV_MERGE)
		return run_plain(h, &s, how, &m, ret);
	if (how == DEV_WEAVE && n != 2)
		return rt_fail(h, -ENOTSUP, "\"vertical\" fuses more",
			"two kernels can be woven, not %u", n);
	r = rt_form_get(h, &s, how, &m, &f);
	if (r == 0) {
		RT_TRY(h, h->cu.cuCtxSynchronize(), "what was launched before");
		r = rt_form_run(h, &s, f, &m, ret);
	}
	if (r == 0 && f->not_woven) {
		snprintf(ret->way, sizeof(ret->way), "%s", dev_hows[DEV_VERTICAL]);
		rt_fail(h, 0, NULL, "not woven but fused vertically: %s", f->not_woven);
	}
	return r;
}

RT_API int heddle_corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret)
{
	struct heddle_result res = {.size = sizeof(res)};
	int r = rt_enter(h);

	_Static_assert(sizeof(res.way) == MODEL_WAY_MAX, "heddle.h says how long");
	if (r < 0)
		return r;
	if (ret && ret->size != sizeof(res))
		r = rt_fail(h, -EINVAL, "set it to sizeof(struct heddle_result)",
			"the result has the size %zu", ret->size);
	if (r == 0)
		r = rt_pools_hold(h);
	if (r == 0) {
		r = corun(h, launches, n, way, tuned, &res);
		rt_pools_release();
	}
	rt_leave(h);
	if (r == 0 && ret)
		*ret = res;
	return r;
}
