/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Regions under guards (pass/predicate.h): which ones there are, and that the check finds what is
 * planted in a body that was rewritten. That they compute the same: tests/exec/merge.sh, woven. */
#include "unit.h"

#include "pass/predicate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KERNEL(body)                                                                      \
	".version 7.0\n.target sm_70\n.address_size 64\n"                                 \
	".visible .entry k(.param .u64 p)\n{\n"                                           \
	".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<3>;\n"                           \
	"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\nsetp.lt.u32 %p2, %r1, 3;\n" body \
	"st.global.u32 [%d1], %r2;\nret;\n}\n"

static struct arena arena;
static struct diag_list diags;

static struct ptx_module *parse(const char *text)
{
	struct ptx_module *m;

	diag_init(&diags, &arena, "k", text, strlen(text));
	assert_int_equal(ptx_parse(text, strlen(text), 0, &diags, &m), 0);
	assert_int_equal(diags.errors, 0);
	return m;
}

/* What becomes of the kernel; "": nothing. */
static const char *rewritten(const char *text)
{
	static char out[4096];
	struct ptx_module *m = parse(text), *made = NULL;
	struct pass_guest g = {.m = m, .name = "k", .block = {64, 1, 1}};
	struct strbuf b = {0};

	assert_int_equal(pass_predicate(&g, &diags, &made), 0);
	if (made)
		ptx_print_func(made, ptx_find_func(made, "k"), &b);
	snprintf(out, sizeof(out), "%s", b.at ? b.at : "");
	strbuf_finish(&b);
	ptx_module_free(made);
	ptx_module_free(m);
	return out;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no `%s` in\n%s", what, text);
}

static int begin(void **state)
{
	arena_init(&arena, 0);
	return 0;
}

static int end(void **state)
{
	arena_finish(&arena);
	return 0;
}

static void regions(void **state)
{
	const char *t = rewritten(KERNEL("@%p1 bra L;\nadd.u32 %r2, %r1, 1;\nL:\n"));

	has(t, "@!%p1 add.u32");
	assert_null(strstr(t, "bra"));
	t = rewritten(KERNEL("@!%p1 bra E;\nadd.u32 %r2, %r1, 1;\nbra.uni L;\nE:\n"
			     "sub.u32 %r2, %r1, 1;\nL:\n"));
	has(t, "@%p1 add.u32");
	has(t, "@!%p1 sub.u32");
	t = rewritten(KERNEL("@%p1 bra E;\nbra.uni F;\nE:\nadd.u32 %r2, %r1, 1;\nbra.uni L;\nF:\n"
			     "sub.u32 %r2, %r1, 1;\nL:\n"));
	has(t, "@%p1 add.u32");
	has(t, "@!%p1 sub.u32");
	/* One within another, and a guard of its own. */
	t = rewritten(KERNEL("@%p1 bra L;\n@%p2 bra M;\nadd.u32 %r2, %r1, 1;\nM:\n"
			     "@!%p2 sub.u32 %r2, %r2, 1;\nL:\n"));
	has(t, "and.pred");
	assert_null(strstr(t, "bra"));
}

/* These stay as they are. */
static void refused(void **state)
{
	static const char *const stay[] = {
		/* a whole warp's */
		KERNEL("mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra L;\n"
		       "add.u32 %r2, %r1, 1;\nL:\n"),
		/* all threads, or a warp's lanes, meet in it */
		KERNEL("@%p1 bra L;\nbar.warp.sync -1;\nL:\n"),
		KERNEL("@%p1 bra L;\nbar.sync 0;\nL:\n"),
		/* what it hangs on is written */
		KERNEL("@%p1 bra L;\nsetp.eq.u32 %p1, %r1, 9;\nadd.u32 %r2, %r1, 1;\nL:\n"),
		/* something else leads into it */
		KERNEL("@%p1 bra E;\nadd.u32 %r2, %r1, 1;\nbra.uni L;\nE:\nsub.u32 %r2, %r1, 1;\n"
		       "L:\n@%p2 bra E;\n"),
		/* the carry flag is no register */
		KERNEL("@%p1 bra L;\nadd.cc.u32 %r2, %r1, 1;\nL:\n"),
		/* a way back */
		KERNEL("L:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 50;\n@%p1 bra L;\n"),
	};

	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		assert_string_equal(rewritten(stay[i]), "");
}

/* ---- faults ---- */
static struct ptx_func *f;
static ptx_body before;
static predicate_regions list;
static uint32_t n_regs;
static struct ptx_module *m;

/* "@p bra E; A; bra L; E: B; L:", and by hand what it becomes; A has a guard of its own. */
static void make(const char *middle)
{
	ptx_body body = {0};
	uint32_t from = 0, to = 0;

	m = parse(KERNEL("@%p1 bra E;\n@%p2 add.u32 %r2, %r1, 1;\nbra.uni L;\nE:\n"
			 "sub.u32 %r2, %r1, 1;\nL:\n"));
	f = ptx_find_func(m, "k");
	before = f->body;
	n_regs = (uint32_t)f->regs.len;
	for (uint32_t i = 0; i < before.len; i++) {
		if (before.at[i].kind == PTX_INSN && before.at[i].mn->op == PTX_OP_bra && !from)
			from = i;
		if (before.at[i].kind == PTX_LABEL)
			to = i;
	}
	list.len = 0;
	for (uint32_t i = 0; i < from; i++)
		assert_true(VEC_PUSH(&body, before.at[i]));
	assert_int_equal(ptx_append(m, f, &body, &diags, "%s", middle), 0);
	/* Its statements, with the operands of the kernel's. */
	for (uint32_t i = from; i < body.len; i++)
		for (uint32_t k = from; k < to; k++)
			if (body.at[i].kind == PTX_INSN && before.at[k].kind == PTX_INSN &&
				body.at[i].mn->op == before.at[k].mn->op)
				body.at[i].opd = before.at[k].opd;
	assert_true(
		VEC_PUSH(&list, ((struct predicate_region){from, to, from, (uint32_t)body.len})));
	for (uint32_t i = to; i < before.len; i++)
		assert_true(VEC_PUSH(&body, before.at[i]));
	f->body = body;
}

static int check(void)
{
	int r = predicate_check(f, &before, n_regs, &list, &diags);

	VEC_FREE(&before);
	ptx_module_free(m);
	return r;
}

#define OURS ".reg .pred %hd_a;\n"
static void faults(void **state)
{
	static const struct {
		const char *what, *now;
		int want;
	} rows[] = {
		{"as it is",
			OURS "not.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%hd_a add.u32 %r2, %r1, 1;\n@%p1 sub.u32 %r2, %r1, 1;\n",
			0},
		{"its own guard is gone", "@!%p1 add.u32 %r2, %r1, 1;\n@%p1 sub.u32 %r2, %r1, 1;\n",
			-EINVAL},
		{"the branch's guard is gone",
			"@%p2 add.u32 %r2, %r1, 1;\n@%p1 sub.u32 %r2, %r1, 1;\n", -EINVAL},
		{"the other way round",
			OURS "not.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%hd_a add.u32 %r2, %r1, 1;\n@!%p1 sub.u32 %r2, %r1, 1;\n",
			-EINVAL},
		{"without `not`",
			OURS "mov.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%hd_a add.u32 %r2, %r1, 1;\n@%p1 sub.u32 %r2, %r1, 1;\n",
			-EINVAL},
		{"a statement is missing",
			OURS "not.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%hd_a add.u32 %r2, %r1, 1;\n",
			-EINVAL},
		{"a conjunction of before",
			OURS "not.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%p1 sub.u32 %r2, %r1, 1;\n@%hd_a add.u32 %r2, %r1, 1;\n",
			-EINVAL},
		{"one too many",
			OURS "not.pred %hd_a, %p1;\nand.pred %hd_a, %hd_a, %p2;\n"
			     "@%hd_a add.u32 %r2, %r1, 1;\n@%p1 sub.u32 %r2, %r1, 1;\n"
			     "@%p1 sub.u32 %r2, %r1, 1;\n",
			-EINVAL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(rows[i].now);
		if (check() != rows[i].want)
			fail_msg("%s", rows[i].what);
	}
	/* Beyond the region, or another region than there is. */
	make(rows[0].now);
	f->body.at[f->body.len - 2].guard = 0;
	assert_int_equal(check(), -EINVAL);
	make(rows[0].now);
	list.at[0].to--;
	assert_int_equal(check(), -EINVAL);
	VEC_FREE(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(regions, begin, end),
		cmocka_unit_test_setup_teardown(refused, begin, end),
		cmocka_unit_test_setup_teardown(faults, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
