/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* preempt_tool classify FILE...        one line a kernel: name, tier, traits, reason
 * preempt_tool print FILE              the module with every kernel preemptible
 * preempt_tool lean FILE               the same without claiming ahead
 * preempt_tool live FILE               registers of the worker that live across each body
 * preempt_tool closer                  the closer's module
 * Prints what the tests of this folder compare. Exit status 1: a pass failed unexpectedly. */
#include "cfg/cfg.h"
#include "pass/pass.h"
#include "ptx/edit.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_kernel(
	const char *name, const struct pass_verdict *v, const struct pass_kernel_info *info)
{
	printf("%s: %s", name, pass_tier_name(v->tier));
	if (info) {
		printf(info->rising_order ? " rising" : "");
		printf(info->block_local ? " local" : "");
		printf(info->one_dimensional ? " 1d" : "");
		printf(info->keeps_masks ? " keeps" : "");
	}
	if (v->reason)
		printf(": %s", v->reason);
	printf("\n");
}

/* Rewrites all kernels of a module in place, one after the other. */
static struct pass_options options;

static int transform(struct ptx_module *m, bool verbose)
{
	int failed = 0;

	for (size_t i = 0; i < m->items.len; i++) {
		struct ptx_item it = m->items.at[i]; /* a copy, since the vector may grow */
		struct pass_verdict before, v = {0};
		struct pass_kernel_info info;
		int r;

		if (it.kind != PTX_ITEM_FUNC || !it.func->is_entry || !it.func->has_body)
			continue;
		pass_classify(m, it.func, &before, NULL);
		r = pass_preempt(m, it.func->sym->name, &options, &diags, &v, &info);
		if (r < 0 && r != -ENOTSUP) {
			fprintf(stderr, "%s: %s\n", it.func->sym->name, strerror(-r));
			failed = 1;
			break;
		}
		if (verbose)
			print_kernel(it.func->sym->name, &v, r == 0 ? &info : NULL);
		/* The pass may have inserted clones before the function. */
		while (i < m->items.len && m->items.at[i].func != it.func)
			i++;
	}
	return failed;
}

/* Counts registers that are live from the end of a block to the beginning of the next one: the
 * cost of putting the body in a loop. */
static void print_live(const struct ptx_func *f)
{
	struct cfg_liveness *l;
	struct cfg *g;

	if (cfg_build(&arena, f, &g) < 0 || cfg_liveness(&arena, g, &l) < 0)
		abort();
	for (uint32_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		const uint64_t *in;
		char name[64];

		if (s->kind != PTX_LABEL || strncmp(s->sym->name, "$hd_end", 7) != 0)
			continue;
		in = l->live_in + (size_t)g->block_of[i] * l->words;
		printf("%s:", f->sym->name);
		for (uint32_t r = 0; r < f->regs.len; r++)
			if (in[r / 64] >> (r % 64) & 1)
				printf(" %s", ptx_reg_name(f, r, name, sizeof(name)));
		printf("\n");
	}
}

static void print_all_live(const struct ptx_module *m)
{
	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->is_entry &&
			m->items.at[i].func->has_body)
			print_live(m->items.at[i].func);
}

static int run(const char *mode, const char *path)
{
	struct strbuf out = {0};
	struct ptx_module *m = read_module(path);
	int failed = transform(m, !strcmp(mode, "classify"));

	if (!strcmp(mode, "live"))
		print_all_live(m);
	else if (strcmp(mode, "classify") != 0)
		ptx_print(m, &out);
	if (out.at)
		fwrite(out.at, 1, out.len, stdout);
	strbuf_finish(&out);
	if (diags.errors)
		diag_render(&diags, &out);
	if (out.at)
		fwrite(out.at, 1, out.len, stderr);
	failed |= diags.errors > 0;
	strbuf_finish(&out);
	ptx_module_free(m);
	arena_finish(&arena);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 2 && !strcmp(argv[1], "closer"))
		return fputs(pass_closer_ptx(), stdout) < 0;
	if (argc < 3) {
		fprintf(stderr, "usage: preempt_tool classify|print|lean|live FILE...\n");
		return 2;
	}
	options.no_pull_ahead = !strcmp(argv[1], "lean") || !strcmp(argv[1], "live");
	for (int i = 2; i < argc; i++)
		failed |= run(argv[1], argv[i]);
	return failed;
}
