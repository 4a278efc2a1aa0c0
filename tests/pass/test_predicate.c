/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests pass/fuse/predicate.h, which replaces a branch around a region by guards on the region's
 * instructions: which regions the pass finds, and that its check finds faults planted in a
 * rewritten body. tests/exec/merge.sh woven tests that rewritten kernels leave the same memory.
 */
#include "unit.h"

#include "cfg/contract.h"
#include "pass/fuse/predicate.h"

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

/* Returns the rewritten kernel; "" if nothing changes. */
static const char *rewritten(const char *text)
{
	static char out[4096];
	struct ptx_module *m = parse(text), *made = NULL;
	struct pass_kernel g = {.m = m, .name = "k", .block = {64, 1, 1}};
	struct strbuf b = {0};

	assert_int_equal(pass_predicate(&g, false, &diags, &made), 0);
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
	/* Nested regions, and an instruction with a guard of its own. */
	t = rewritten(KERNEL("@%p1 bra L;\n@%p2 bra M;\nadd.u32 %r2, %r1, 1;\nM:\n"
			     "@!%p2 sub.u32 %r2, %r2, 1;\nL:\n"));
	has(t, "and.pred");
	assert_null(strstr(t, "bra"));
}

/* Regions that the pass leaves unchanged. */
static void refused(void **state)
{
	static const char *const stay[] = {
		/* a condition that is the same for a warp */
		KERNEL("mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra L;\n"
		       "add.u32 %r2, %r1, 1;\nL:\n"),
		/* all threads, or a warp's lanes, synchronize in the region */
		KERNEL("@%p1 bra L;\nbar.warp.sync -1;\nL:\n"),
		KERNEL("@%p1 bra L;\nbar.sync 0;\nL:\n"),
		/* the region writes its own condition */
		KERNEL("@%p1 bra L;\nsetp.eq.u32 %p1, %r1, 9;\nadd.u32 %r2, %r1, 1;\nL:\n"),
		/* another branch leads into the region */
		KERNEL("@%p1 bra E;\nadd.u32 %r2, %r1, 1;\nbra.uni L;\nE:\nsub.u32 %r2, %r1, 1;\n"
		       "L:\n@%p2 bra E;\n"),
		/* the carry flag is no register */
		KERNEL("@%p1 bra L;\nadd.cc.u32 %r2, %r1, 1;\nL:\n"),
		/* a backward branch */
		KERNEL("L:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 50;\n@%p1 bra L;\n"),
	};

	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		assert_string_equal(rewritten(stay[i]), "");
}

/* ---- contraction by the assembler (cfg/contract.h) ---- */
#define FUSED(body)                                                                 \
	KERNEL(".reg .f32 %f<8>; .reg .f64 %e<4>; ld.global.f32 %f1, [%d1];\n" body \
	       "st.global.f32 [%d1], %f4;\nst.global.f32 [%d1+4], %f5;\n")

static bool pinned(const char *text)
{
	return strstr(rewritten(text), "mul.rn.f32") != NULL;
}

/* Counts the sums that ptxas contracts with a product. *ret_turns: for some sum it is unknown
 * whether ptxas does, for example since its product comes from the loop's previous iteration. */
static unsigned sums(const char *text, bool *ret_turns)
{
	struct ptx_module *mod = parse(text);
	struct contract c;
	struct cfg *g;

	assert_int_equal(cfg_build(&arena, ptx_find_func(mod, "k"), &g), 0);
	assert_int_equal(contract_find(&arena, g, &c), 0);
	ptx_module_free(mod);
	if (ret_turns)
		*ret_turns = c.doubtful != CFG_NONE;
	return c.n;
}

#define PRODUCT "mul.f32 %f2, %f1, %f1;\n"
#define SUM     "add.f32 %f4, %f2, %f1;\n"
static void products(void **state)
{
	bool turns;

	assert_int_equal(sums(FUSED(PRODUCT SUM), NULL), 1);
	assert_int_equal(sums(FUSED(PRODUCT "sub.f32 %f5, %f1, %f2;\n" SUM), NULL), 2);
	assert_int_equal(
		sums(FUSED(PRODUCT "neg.f32 %f3, %f2;\nadd.f32 %f4, %f3, %f1;\n"), NULL), 1);
	assert_int_equal(sums(FUSED(PRODUCT "@%p1 " SUM), NULL), 1);
	/* Not contracted: another instruction reads the product; product and sum differ in .ftz;
	 * the product or the sum has a rounding modifier; a guard may skip the product. */
	assert_int_equal(sums(FUSED(PRODUCT SUM "mov.f32 %f5, %f2;\n"), NULL), 0);
	assert_int_equal(sums(FUSED(PRODUCT "add.ftz.f32 %f4, %f2, %f1;\n"), NULL), 0);
	assert_int_equal(sums(FUSED("mul.rn.f32 %f2, %f1, %f1;\n" SUM), NULL), 0);
	assert_int_equal(sums(FUSED(PRODUCT "add.rn.f32 %f4, %f2, %f1;\n"), NULL), 0);
	assert_int_equal(sums(FUSED("@%p1 " PRODUCT SUM), NULL), 0);
	/* The sum reads the product of the previous iteration. */
	assert_int_equal(
		sums(FUSED("L:\n" SUM PRODUCT "setp.gt.f32 %p3, %f4, %f1;\n@%p3 bra L;\n"), &turns),
		0);
	assert_true(turns);
	sums(FUSED(PRODUCT SUM), &turns);
	assert_false(turns);

	/* ptxas does not contract across basic blocks. Guards make one block of product and sum, so
	 * the pass adds a rounding modifier, which keeps ptxas from contracting them. */
	assert_true(pinned(FUSED(PRODUCT "@%p1 bra L;\n" SUM "L:\n")));
	assert_true(pinned(FUSED("@%p1 bra L;\n" PRODUCT "L:\n" SUM)));
	has(rewritten(FUSED(PRODUCT "@%p1 bra L;\n" SUM "L:\n")), "@!%p1 add.f32");
	assert_false(pinned(FUSED(PRODUCT SUM)));
	/* ptxas contracts the product in an approximate division, too. A division accepts no
	 * rounding modifier, so the sum gets one. */
	assert_int_equal(sums(FUSED("div.approx.f32 %f2, %f1, %f3;\n" SUM), NULL), 1);
	assert_int_equal(sums(FUSED("div.rn.f32 %f2, %f1, %f3;\n" SUM), NULL), 0);
	has(rewritten(FUSED("div.full.f32 %f2, %f1, %f3;\n@%p1 bra L;\n" SUM "L:\n")),
		"@!%p1 add.rn.f32");
	sums(FUSED("div.full.f32 %f2, %f1, 0f40400000;\n@%p1 bra L;\n" SUM "L:\n"), &turns);
	assert_true(turns);
	/* ptxas contracts across blocks if a factor is a constant or a parameter. Then the pass
	 * writes the fma itself. */
	has(rewritten(FUSED("mul.f32 %f2, %f1, 0f40400000;\n@%p1 bra L;\n" SUM "L:\n")),
		"@!%p1 fma.rn.f32 %f4, %f1, 0f40400000, %f1;");
	has(rewritten(FUSED("mul.ftz.f32 %f2, %f1, 0f40400000;\n@%p1 bra L;\n"
			    "sub.ftz.sat.f32 %f4, %f2, %f3;\nL:\n")),
		"fma.rn.ftz.sat.f32 %f4, %f1, 0f40400000, %hd_ng_1;");
	has(rewritten(FUSED("mul.f32 %f2, %f1, 0f40400000;\n@%p1 bra L;\n"
			    "sub.f32 %f4, %f3, %f2;\nL:\n")),
		"fma.rn.f32 %f4, %hd_ng_1, 0f40400000, %f3;");
	/* Another statement changes a factor between product and sum, so there is no fma. */
	has(rewritten(FUSED(
		    "mul.f32 %f2, %f1, 0f40400000;\nmov.f32 %f1, %f5;\n@%p1 bra L;\n" SUM "L:\n")),
		"add.f32");
	assert_false(pinned(FUSED("ld.param.f32 %f3, [p];\nmul.f32 %f2, %f3, %f1;\n"
				  "@%p1 bra L;\n" SUM "L:\n")));
	assert_true(pinned(FUSED("mov.f32 %f2, %f1;\n@%p1 bra L;\nmul.f32 %f2, %f1, 0f40400000;\n"
				 "L:\n" SUM)));
	assert_true(pinned(FUSED("ld.const.f32 %f3, [%d1];\nmul.f32 %f2, %f3, %f1;\n"
				 "@%p1 bra L;\n" SUM "L:\n")));
	has(rewritten(
		    FUSED("@%p1 bra L;\nmul.f32 %f2, %f1, 0f40400000;\n@%p2 bra L;\n" SUM "L:\n")),
		"fma.rn.f32");
	/* With a guard on the product, ptxas would no longer contract it with the sum, as it does
	 * in the original kernel. So the branch stays. */
	assert_string_equal(rewritten(FUSED("@%p1 bra L;\n" PRODUCT SUM "L:\n")), "");
}

/* ---- planted faults ---- */
static struct ptx_func *f;
static ptx_body before;
static predicate_regions list;
static uint32_t n_regs;
static struct ptx_module *m;

/* Makes "@p bra E; A; bra L; E: B; L:" and its rewritten form by hand; A has its own guard. */
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
	/* The statements in `middle` get the operands of the kernel's statements. */
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
	/* Faults: a guard on a statement after the region; a region whose end is wrong. */
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
		cmocka_unit_test_setup_teardown(products, begin, end),
		cmocka_unit_test_setup_teardown(faults, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
