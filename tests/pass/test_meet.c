/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that the verifier (verify_meet.c) finds woven forms in which diverged lanes of a warp do
 * not reconverge before a barrier or vote. The verifier must accept the form that the pass makes.
 * The test then removes all reconvergence code (bar.warp.sync) from this form, as in forms that
 * failed on a GPU, and the verifier must report it. */
#include "unit.h"

#include <stdio.h>

#include "pass/fuse/predicate.h"
#include "pass/verify/verify.h"

static const char *paths[2];

/* static: the module refers to parts of the text. */
static struct ptx_module *read_module(unsigned k, struct diag_list *diags)
{
	static char texts[2][1 << 18];
	char *text = texts[k];
	FILE *f = fopen(paths[k], "r");
	struct ptx_module *m = NULL;
	size_t n = f ? fread(text, 1, sizeof(texts[k]) - 1, f) : 0;

	assert_true(n > 0);
	text[n] = 0;
	fclose(f);
	assert_int_equal(ptx_parse(text, n, 0, diags, &m), 0);
	return m;
}

static unsigned drop_gatherings(struct ptx_func *f, struct pass_recorded *rec)
{
	unsigned n = 0;
	size_t to = 0;

	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind == PTX_INSN && s->mn->op == PTX_OP_bar_warp) {
			n++;
			continue;
		}
		f->body.at[to] = f->body.at[i];
		rec->of.at[to++] = rec->of.at[i];
	}
	f->body.len = rec->of.len = to;
	return n;
}

static void test_gatherings(void **state)
{
	static const struct pass_weave_options options = {0};
	struct pass_kernel kernels[2] = {
		{.name = "va", .block = {256, 1, 1}}, {.name = "async_copy", .block = {64, 1, 1}}};
	struct pass_record record = {0};
	struct pass_verdict verdict;
	struct pass_merged form;
	struct diag_list diags;
	struct ptx_module *from[2], *made[2], *m;
	struct pass_result result = {.n = 2, .kernels = kernels, .record = &record, .form = &form};
	struct arena arena;
	struct ptx_func *f;
	bool diverged = false;
	unsigned which;

	(void)state;
	arena_init(&arena, 0);
	diag_init(&diags, &arena, "test", NULL, 0);
	for (unsigned k = 0; k < 2; k++) {
		kernels[k].m = from[k] = read_module(k, &diags);
		assert_int_equal(pass_predicate(&kernels[k], false, &diags, &made[k]), 0);
		if (made[k])
			kernels[k].m = made[k];
	}
	assert_int_equal(
		pass_weave(kernels, 2, &options, &diags, &m, &form, &verdict, &which, &record), 0);
	assert_null(form.woven.why.reason);
	f = ptx_find_func(m, CTL_MERGE_ENTRY);
	result.m = m;
	result.f = f;
	assert_true(pass_verify(&result, &diags));
	assert_true(drop_gatherings(f, (struct pass_recorded *)pass_record_find(&record, f)) > 0);
	/* A finding is an error, unless the caller can fall back on another form. */
	assert_false(pass_verify(&result, &diags));
	result.diverged = &diverged;
	assert_true(pass_verify(&result, &diags));
	assert_true(diverged);
	pass_record_finish(&record);
	ptx_module_free(m);
	for (unsigned k = 0; k < 2; k++) {
		ptx_module_free(made[k]);
		ptx_module_free(from[k]);
	}
	arena_finish(&arena);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_gatherings)};

	if (argc < 3)
		return 77;
	paths[0] = argv[1];
	paths[1] = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
