/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle_corun: checks the launches, chooses a way, and runs the kernels unmodified or as one
 * launch. */
#include "rt/rt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checking the launches ---- */

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

/* Copies the launch's parameters into one buffer of the arena, in the driver's layout. */
static void *pack_params(struct arena *a, const struct heddle_launch *l, const struct rt_kernel *k)
{
	char *params = arena_zalloc(a, k->host.bytes + 1);

	for (uint32_t i = 0; params && i < k->n_params; i++)
		memcpy(params + k->offsets[i], l->params[i], k->sizes[i]);
	return params;
}

static int find_all(struct heddle *h, struct arena *a, const struct heddle_launch *l, unsigned n,
	struct host_set *s)
{
	if (n < 1 || n > RT_MAX || !l)
		return rt_fail(h, -EINVAL, NULL, "%u kernels: 1 to %d can run together", n, RT_MAX);
	*s = (struct host_set){.forms = &h->forms};
	for (unsigned i = 0; i < n; i++) {
		struct rt_kernel *k = l[i].kernel ? rt_find(h, l[i].kernel) : NULL;
		struct host_shape shape = {.shared_bytes = l[i].shared_bytes};
		struct host_fault f;
		void *params;
		int r;

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
		params = pack_params(a, &l[i], k);
		if (!params)
			return rt_out_of_memory(h);
		memcpy(shape.grid, l[i].grid, sizeof(shape.grid));
		memcpy(shape.block, l[i].block, sizeof(shape.block));
		r = host_set_add(&h->d, s, &k->host, &shape, params, &f);
		if (r < 0)
			return rt_host_failed(h, &f, s, NULL);
	}
	return 0;
}

/* ---- choosing the way ---- */

struct kept { /* The stored ways: the folder `store` has one file for each set of kernels. */
	const char *store;
	char path[4096];
};

static int find_kept(void *user, const struct model_together *what, char ret[MODEL_WAY_MAX])
{
	struct kept *k = user;
	int r = model_plain_path(k->store, what, k->path, sizeof(k->path));

	return r == 0 ? model_plain_get(k->path, ret) : r;
}

static int is_no_way(struct heddle *h, const char *text, unsigned n, const char *wrong)
{
	return rt_fail(h, -EINVAL,
		"\"sequential\", \"streams\", \"green=1:1\", \"merge steal chunk=8\", "
		"\"merge partition=3:1 help\", \"vertical\", \"weave\" are; a share for each "
		"kernel",
		"\"%s\" is no way of running %u kernels: %s", text, n, wrong);
}

static int look_up(struct heddle *h, struct arena *a, const struct host_set *s, const char *store,
	char *ret_text, enum host_way *ret_way, struct host_merging *ret_m)
{
	const char *hint = "heddle tune measures them, and keeps the best way", *wrong;
	struct model_kernel kernels[HOST_MAX];
	struct model_together what;
	struct kept kept = {.store = store};
	int r;

	host_identify(&h->d, s, kernels, &what);
	r = host_find_way(a, &what, find_kept, &kept, ret_text, ret_way, ret_m, &wrong);
	if (wrong)
		return is_no_way(h, ret_text, s->n, wrong);
	if (r == -ENOENT)
		return rt_fail(h, -ENOENT, hint,
			"these kernels, launched so, have not been measured on this device");
	return r < 0 ? rt_fail(h, r, hint, "%s: %s", kept.path, strerror(-r)) : 0;
}

/* If text is NULL, uses the measured way; if none is stored, "sequential". */
static int find_way(struct heddle *h, struct arena *a, const struct host_set *s, const char *text,
	const char *store, char *ret_text, enum host_way *ret_way, struct host_merging *ret_m)
{
	const char *wrong;

	if (!text || !strcmp(text, "tuned")) {
		int r = look_up(h, a, s, store, ret_text, ret_way, ret_m);

		if (r == 0 || text)
			return r;
		text = "sequential";
	}
	if (strlen(text) >= MODEL_WAY_MAX)
		return rt_fail(
			h, -EINVAL, "heddle(3) lists them", "no way is as long as \"%.40s\"", text);
	snprintf(ret_text, MODEL_WAY_MAX, "%s", text);
	wrong = host_way_parse(a, ret_text, s->n, ret_way, ret_m);
	return wrong ? is_no_way(h, ret_text, s->n, wrong) : 0;
}

/* ---- running ---- */

/* If the kernels could not be woven (interleaved) and were fused vertically instead, reports that
 * way and the reason. */
static void see_woven(struct heddle *h, const struct host_set *s, const struct host_form *form,
	struct heddle_result *ret)
{
	const struct pass_woven *w = &form->form.woven;
	struct strbuf text = {0};

	if (!w->why.reason)
		return;
	host_explain_woven(w, s->of[w->which]->name, 0, &text);
	snprintf(ret->way, sizeof(ret->way), "%s", host_way_names[HOST_WAY_VERTICAL]);
	rt_fail(h, 0, NULL, "%s", text.at ? text.at : "");
	strbuf_finish(&text);
}

static int run_corun(struct heddle *h, struct arena *a, const struct heddle_launch *launches,
	unsigned n, const char *text, const char *tuned, struct heddle_result *ret)
{
	struct host_merging m = {.chunk = 1};
	struct host_merge_plan p;
	struct host_times times;
	struct host_fault f;
	struct host_set s;
	enum host_way way;
	int r = find_all(h, a, launches, n, &s);

	if (r == 0)
		r = find_way(h, a, &s, text, tuned, ret->way, &way, &m);
	if (r < 0)
		return r;
	r = host_prepare(&h->d, &s, way, &m, &f);
	if (r == 0)
		r = host_plan(&h->d, &s, way, &m, &p, &f);
	if (r == 0)
		r = host_run(&h->d, &s, way, &m, &p, false, &times, &f);
	if (r < 0)
		return rt_host_failed(h, &f, &s, NULL);
	ret->ms = times.ms;
	ret->launches = times.launches;
	ret->workers = way == HOST_WAY_MERGE ? p.workers : 0;
	for (unsigned k = 0; k < s.n; k++)
		ret->workers += p.own[k].workers;
	if (way == HOST_WAY_WEAVE)
		see_woven(h, &s, host_form_find(&s, way, &m), ret);
	return 0;
}

RT_API int heddle_corun(struct heddle *h, const struct heddle_launch *launches, unsigned n,
	const char *way, const char *tuned, struct heddle_result *ret)
{
	struct heddle_result res = {.size = sizeof(res)};
	struct arena arena;
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
		arena_init(&arena, 0);
		r = run_corun(h, &arena, launches, n, way, tuned, &res);
		arena_finish(&arena);
		rt_pools_release();
	}
	rt_leave(h);
	if (r == 0 && ret)
		*ret = res;
	return r;
}
