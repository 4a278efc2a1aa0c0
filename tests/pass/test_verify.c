/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The verifier finds planted faults. Each row of the table damages one result of two kernels
 * (verify.ptx) in one way, and names the one rule that must report it. */
#include "unit.h"

#include "pass/verify/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EARLY: vertical fusion in which kernel 0 has an early exit. LEAVING: vertical fusion in which
 * kernel 0 comes last, so its threads exit at its end.
 */
enum way { MERGE, VERTICAL, HORIZONTAL, PREEMPT, EARLY, LEAVING, WEAVE, WAYS };

static struct test {
	struct arena arena;
	struct diag_list diags;
	struct ptx_module *plain, *m;
	struct pass_kernel kernels[2];
	struct pass_record record;
	struct pass_merged form;
	struct pass_result result;
	struct ptx_func *f;
} t;

static const char *path;

static struct ptx_module *read_module(void)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "rb");
	struct ptx_module *m = NULL;
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(ptx_parse(text, len, 0, &t.diags, &m), 0);
	assert_int_equal(t.diags.errors, 0);
	return m;
}

static int weave(const struct pass_kernel *kernels, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which, struct pass_record *record)
{
	static const struct pass_weave_options options = {0};
	int r = pass_weave(kernels, n, &options, diags, ret_m, ret, ret_verdict, ret_which, record);

	assert_null(ret->woven.why.reason);
	return r;
}

static void make_together(enum way way)
{
	static pass_merge_fn *const make[WAYS] = {[MERGE] = pass_merge,
		[VERTICAL] = pass_fuse_vertical,
		[HORIZONTAL] = pass_fuse_horizontal,
		[EARLY] = pass_fuse_vertical,
		[LEAVING] = pass_fuse_vertical,
		[WEAVE] = weave};
	struct pass_verdict verdict;
	unsigned which;

	if (way == EARLY) {
		t.kernels[0].name = "early";
		t.kernels[1].name = "stays";
	}
	if (way == LEAVING)
		t.kernels[0].name = "leaving";
	assert_int_equal(
		make[way](t.kernels, 2, &t.diags, &t.m, &t.form, &verdict, &which, &t.record), 0);
	t.f = ptx_find_func(t.m, CTL_MERGE_ENTRY);
	t.result.n = 2;
	t.result.form = &t.form;
}

static void make_preempt(void)
{
	struct pass_options options = {.record = &t.record};
	struct pass_verdict verdict;

	t.m = read_module();
	assert_int_equal(pass_preempt(t.m, "one", &options, &t.diags, &verdict, NULL), 0);
	assert_int_equal(verdict.tier, PASS_MANAGED);
	t.f = ptx_find_func(t.m, "one");
	t.result.n = 1;
}

/* Resets the state before a form is made. */
static void reset(void)
{
	memset(&t, 0, sizeof(t));
	arena_init(&t.arena, 0);
	diag_init(&t.diags, &t.arena, "result", NULL, 0);
	t.plain = read_module();
	t.kernels[0] = (struct pass_kernel){t.plain, "one", {64, 1, 1}, 0};
	t.kernels[1] = (struct pass_kernel){t.plain, "other", {128, 1, 1}, 64};
	t.result.kernels = t.kernels;
	t.result.record = &t.record;
}

static void begin(enum way way)
{
	reset();
	if (way == PREEMPT)
		make_preempt();
	else
		make_together(way);
	t.result.m = t.m;
	t.result.f = t.f;
	for (size_t i = 0; i < t.record.funcs.len; i++)
		if (t.record.funcs.at[i].f == t.f)
			while (t.record.funcs.at[i].of.len < t.f->body.len)
				assert_true(VEC_PUSH(&t.record.funcs.at[i].of,
					(struct pass_origin){PASS_OURS, PASS_OURS}));
}

static void finish(void)
{
	pass_record_finish(&t.record);
	ptx_module_free(t.m);
	ptx_module_free(t.plain);
	arena_finish(&t.arena);
}

/* ---- finding statements ---- */
static struct pass_recorded *recorded(void)
{
	for (size_t i = 0; i < t.record.funcs.len; i++)
		if (t.record.funcs.at[i].f == t.f)
			return &t.record.funcs.at[i];
	fail();
	return NULL;
}

static bool has_text(const struct ptx_func *f, size_t i, const char *text)
{
	struct strbuf out = {0};
	bool found;

	ptx_print_stmt(f, &f->body.at[i], &out);
	found = out.at && strstr(out.at, text);
	strbuf_finish(&out);
	return found;
}

/* Index of the last statement that comes from kernel k's instruction with this text. */
static size_t of(unsigned k, const char *text)
{
	const struct ptx_func *plain = ptx_find_func(t.plain, t.kernels[k].name);
	const struct pass_recorded *r = recorded();
	uint32_t insn = 0;
	size_t at;

	for (at = 0; at < plain->body.len && !has_text(plain, at, text); at++)
		insn += plain->body.at[at].kind == PTX_INSN;
	assert_true(at < plain->body.len);
	for (size_t i = r->of.len; i-- > 0;)
		if (r->of.at[i].kernel == k && r->of.at[i].insn == insn &&
			t.f->body.at[i].kind == PTX_INSN)
			return i;
	fail_msg("no statement is `%s`", text);
	return 0;
}

/* Index of the first statement with this text, at or after `from`, that comes from no kernel's
 * instruction. */
static size_t ours(size_t from, const char *text)
{
	const struct pass_recorded *r = recorded();

	for (size_t i = from; i < t.f->body.len; i++)
		if (r->of.at[i].kernel == PASS_OURS && has_text(t.f, i, text))
			return i;
	fail_msg("no statement has `%s`", text);
	return 0;
}

/* ---- ways to damage a form ---- */
static void drop(size_t at)
{
	struct pass_recorded *r = recorded();
	size_t n = t.f->body.len - at - 1;

	memmove(&t.f->body.at[at], &t.f->body.at[at + 1], n * sizeof(t.f->body.at[0]));
	memmove(&r->of.at[at], &r->of.at[at + 1], n * sizeof(r->of.at[0]));
	t.f->body.len--;
	r->of.len--;
}

/* Inserts before statement `at`; returns the number of statements. */
static size_t insert(size_t at, const char *text)
{
	struct pass_recorded *r = recorded();
	ptx_body more = {0};
	size_t n, len = t.f->body.len;

	if (ptx_append(t.m, t.f, &more, &t.diags, "%s", text) < 0)
		fail_msg("%s: %s", text, t.diags.len ? t.diags.at[0].message : "");
	n = more.len;
	for (size_t i = 0; i < n; i++) {
		assert_true(VEC_PUSH(&t.f->body, more.at[i]));
		assert_true(VEC_PUSH(&r->of, (struct pass_origin){PASS_OURS, PASS_OURS}));
	}
	memmove(&t.f->body.at[at + n], &t.f->body.at[at], (len - at) * sizeof(t.f->body.at[0]));
	memmove(&r->of.at[at + n], &r->of.at[at], (len - at) * sizeof(r->of.at[0]));
	for (size_t i = 0; i < n; i++) {
		t.f->body.at[at + i] = more.at[i];
		r->of.at[at + i] = (struct pass_origin){PASS_OURS, PASS_OURS};
	}
	VEC_FREE(&more);
	return n;
}

/* Replaces a statement by another one, which keeps its guard and origin. */
static void become(size_t at, const char *text)
{
	insert(at, text);
	t.f->body.at[at].guard = t.f->body.at[at + 1].guard;
	recorded()->of.at[at] = recorded()->of.at[at + 1];
	drop(at + 1);
}

static struct ptx_opd *address(size_t at, unsigned i)
{
	struct ptx_opd *o = &t.f->body.at[at].opd[i];

	return o->kind == PTX_OPD_ADDR ? &o->list[0] : o;
}

static void drop_barrier(void)
{
	drop(of(0, "bar.sync 1;"));
}
static void drop_barrier_in_loop(void)
{
	drop(of(1, "bar.sync 2;"));
}
static void add_barrier(void)
{
	insert(of(1, "ld.global.u32 %r10"), "barrier.sync 3;\n");
}
static void other_count(void)
{
	t.f->body.at[of(0, "bar.sync 1;")].opd[1].value = 96;
}
static void no_count(void)
{
	become(of(0, "bar.sync 1;"), "barrier.sync 1;\n");
}
static void other_number(void)
{
	t.f->body.at[of(0, "bar.sync 1;")].opd[0].value = 9;
}
static void two_numbers_one(void)
{
	t.f->body.at[of(0, "bar.sync 1;")].opd[0].value = 0;
}
static void aligned(void)
{
	t.f->body.at[of(0, "bar.sync 0;")].mn = ptx_get_mnem(t.m, "bar.sync");
}
static void one_number_for_both(void)
{
	t.f->body.at[of(1, "bar.sync 0;")].opd[0].value = 1;
}
static void other_threads(void)
{
	size_t at = ours(0, "vote.sync.any.pred");

	while (t.f->body.at[at].mn->op != PTX_OP_setp)
		at--;
	t.f->body.at[at].opd[2].value += 32;
}
static size_t first_of(struct pass_origin origin, size_t from)
{
	const struct pass_recorded *r = recorded();

	while (r->of.at[from].kernel != origin.kernel || r->of.at[from].insn != origin.insn)
		assert_true(++from < r->of.len);
	return from;
}
/* Gives the second kernel's barriers the same numbers as the first kernel's. */
static void same_numbers(void)
{
	for (size_t i = 0; i < t.f->body.len; i++)
		if (recorded()->of.at[i].kernel == 1 && t.f->body.at[i].kind == PTX_INSN &&
			t.f->body.at[i].mn->flags & PTX_F_BARRIER)
			t.f->body.at[i].opd[0].value -= 2;
}
/* Moves a barrier of the second kernel before a barrier of the first kernel, so that both kernels'
 * barriers come in the wrong order. */
static void turned_order(void)
{
	struct pass_origin origin = recorded()->of.at[of(1, "bar.sync 0;")];
	size_t to = first_of(recorded()->of.at[of(0, "bar.sync 1;")], 0),
	       from = first_of(origin, to);
	struct ptx_stmt s = t.f->body.at[from];

	insert(to, "barrier.sync 9;\n");
	t.f->body.at[to] = s;
	recorded()->of.at[to] = origin;
	drop(from + 1);
}
static void past_barrier(void)
{
	size_t at = of(0, "bra JOIN;"), to = of(0, "ld.global.u32 %r12");

	insert(to, "$hd_tpast:\n");
	become(at, "bra $hd_tpast;\n");
}
static void into_shuffle(void)
{
	size_t n = insert(of(0, "shfl.sync"), "$hd_tgoal:\n");

	assert_int_equal(n, 1);
	insert(of(0, "bar.sync 1;"), ".reg .pred %hd_test; .reg .b32 %hd_lane;\n"
				     "mov.u32 %hd_lane, %laneid;\n"
				     "setp.gt.u32 %hd_test, %hd_lane, 7;\n"
				     "@%hd_test bra $hd_tgoal;\n");
}
static void past_add(void)
{
	size_t at = of(0, "@%p1 bra MORE;"), to = of(0, "sub.u32 %r10");

	insert(to + 1, "$hd_tpast:\n");
	insert(at, "bra $hd_tpast;\n");
	t.f->body.at[at].guard = t.f->body.at[at + 1].guard;
	t.f->body.at[at].guard_negated = 0;
	recorded()->of.at[at] = recorded()->of.at[at + 1];
	drop(at + 1);
}
static void drop_shuffle(void)
{
	drop(of(0, "shfl.sync"));
}
/* Duplicates a shuffle, and makes lanes for which `test` sets %hd_test reach one copy and the other
 * lanes the other copy. Nothing else is wrong. */
static void part_at_shuffle_by(const char *test)
{
	size_t at = of(0, "shfl.sync"), n;
	struct ptx_stmt copy = ptx_copy_stmt(t.m, &t.f->body.at[at]);
	struct pass_origin origin = recorded()->of.at[at];
	struct strbuf code = {0};

	insert(at + 1, "$hd_tmeet:\n");
	strbuf_printf(&code,
		".reg .pred %%hd_test; .reg .b32 %%hd_lane, %%hd_sum, %%hd_last;\n"
		"mov.u32 %%hd_lane, %%laneid;\n"
		"%s"
		"@%%hd_test bra $hd_tcopy;\n"
		"mov.u32 %%hd_lane, 0;\n"
		"bra $hd_tmeet;\n"
		"$hd_tcopy:\n",
		test);
	n = insert(at, code.at);
	strbuf_finish(&code);
	t.f->body.at[at + n - 3] = copy;
	recorded()->of.at[at + n - 3] = origin;
}
static void part_at_shuffle(void)
{
	part_at_shuffle_by("setp.gt.u32 %hd_test, %hd_lane, 7;\n");
}
/* The loop's branch depends on the last sum and on the lane. So the last sum differs between lanes
 * after the loop, although the loop only copies it. The analysis visits the branch first. */
static void part_at_shuffle_behind_loop(void)
{
	part_at_shuffle_by("mov.u32 %hd_last, 0;\n"
			   "$hd_tloop:\n"
			   "add.u32 %hd_sum, %hd_last, %hd_lane;\n"
			   "mov.u32 %hd_last, %hd_sum;\n"
			   "setp.lt.u32 %hd_test, %hd_sum, 99;\n"
			   "@%hd_test bra $hd_tloop;\n"
			   "setp.gt.u32 %hd_test, %hd_last, 120;\n");
}
static void move_address(void)
{
	address(of(0, "st.shared.u32 [right+8]"), 0)->value += 8;
}
static void move_offset(void)
{
	t.f->body.at[of(0, "ld.shared.u32 %r10, [left+4]")].opd[1].value += 4;
}
static void move_base(void)
{
	address(of(1, "mov.u32 %r4, own"), 1)->value -= 4;
}
/* Gives the second kernel's shared variables the addresses of the first kernel's. */
static void lay_over(void)
{
	const struct pass_recorded *r = recorded();

	for (size_t i = 0; i < r->of.len; i++)
		for (unsigned k = 0; r->of.at[i].kernel == 1 && t.f->body.at[i].kind == PTX_INSN &&
				     k < t.f->body.at[i].n;
			k++) {
			struct ptx_opd *o = address(i, k);

			if (o->kind == PTX_OPD_SYM && o->sym && !strcmp(o->sym->name, "hd_pool"))
				o->value -= 512;
		}
}
static void store_into_pool(void)
{
	insert(of(1, "ld.global.u32 %r10"), ".reg .b32 %hd_word;\nmov.u32 %hd_word, 1;\n"
					    "st.shared.u32 [hd_pool+4], %hd_word;\n");
}
static void beyond_pool(void)
{
	t.form.shared_bytes -= 16;
}
static void no_barrier_between(void)
{
	drop(ours(of(0, "st.global.u32"), "barrier.sync"));
}
static void no_barrier_between_blocks(void)
{
	drop(ours(of(0, "st.global.u32"), "barrier.sync 4, 64;"));
}
static void no_barrier_alone(void)
{
	drop(ours(of(0, "st.global.u32"), "barrier.sync"));
}
static void break_chain(void)
{
	insert(of(0, "mul.lo.u32 %r17"), ".reg .b32 %hd_sum;\n"
					 "add.cc.u32 %hd_sum, 1, 2;\n");
}
static void break_chain_on_a_way(void)
{
	insert(of(0, "mul.lo.u32 %r17"), ".reg .b32 %hd_sum; .reg .pred %hd_test;\n"
					 "setp.eq.u32 %hd_test, 1, 2;\n"
					 "@%hd_test bra $hd_tside;\n"
					 "sub.cc.u32 %hd_sum, 1, 2;\n"
					 "$hd_tside:\n");
}
static void fence_after_product(void)
{
	insert(of(0, "add.f32 %f3"), "membar.gl;\n");
}
static void part_after_product(void)
{
	insert(of(0, "add.f32 %f3"), ".reg .pred %hd_test;\nsetp.eq.u32 %hd_test, 1, 2;\n"
				     "@%hd_test bra $hd_tside;\n$hd_tside:\n");
}
static void swap_params(void)
{
	*address(of(0, "ld.param.u32 %r1, [n]"), 1) = *address(of(0, "ld.param.u32 %r2, [m]"), 1);
}
static void other_offset(void)
{
	t.f->body.at[of(0, "ld.param.u64 %rd1, [to]")].opd[1].value = 8;
}
static void others_params(void)
{
	*address(of(1, "ld.param.u32 %r1, [k]"), 1) = *address(of(0, "ld.param.u32 %r1, [n]"), 1);
}
static void other_type(void)
{
	size_t at = of(0, "ld.param.u32 %r2, [m]");

	t.f->body.at[at].mn = ptx_get_mnem(t.m, "ld.param.u16");
}
static void wrong_launch(void)
{
	t.form.of[1].param_offset += 8;
}
static void others_grid(void)
{
	size_t at = of(0, "mov.u32 %r5, %nctaid.x");

	t.f->body.at[at].opd[1].value += 4;
}
static void others_block(void)
{
	t.f->body.at[of(0, "mov.u32 %r4, %ctaid.x")].opd[1].reg =
		t.f->body.at[of(1, "mov.u32 %r7, %ctaid.x")].opd[1].reg;
}
static void block_for_thread(void)
{
	t.f->body.at[of(0, "mov.u32 %r3, %tid.x")].opd[1].reg =
		t.f->body.at[of(0, "mov.u32 %r4, %ctaid.x")].opd[1].reg;
}
static void hardware_block(void)
{
	size_t at = of(0, "mov.u32 %r4, %ctaid.x");

	insert(at, "mov.u32 %hd_n, %ctaid.x;\n");
	t.f->body.at[at + 1].opd[1] = t.f->body.at[at].opd[1];
	drop(at);
}
static void other_size(void)
{
	t.f->body.at[of(1, "mov.u32 %r8, %ntid.x")].opd[1].value = 64;
}
static void other_first_thread(void)
{
	t.f->body.at[ours(of(0, "st.global.u32"), "hd_tx, 64;")].opd[2].value = 32;
}
static void others_variable(void)
{
	struct ptx_opd *o = address(of(1, "ld.global.u32 %r10, [table]"), 1);

	o->sym = address(of(0, "ld.global.u32 %r12"), 1)->sym;
	o->name = o->sym->name;
}
static void another_variable(void)
{
	struct ptx_opd *o = address(of(0, "ld.global.u32 %r14, [soft]"), 1);

	o->sym = address(of(0, "ld.global.u32 %r13"), 1)->sym;
	o->name = o->sym->name;
}
static void other_values(void)
{
	address(of(0, "ld.global.u32 %r12"), 1)->sym->init = "{3, 5, 8, 11}";
}
static void other_write(void)
{
	size_t at = of(0, "mul.wide.u32 %rd2");
	char text[200], name[128];

	snprintf(text, sizeof(text), "mov.u32 %s, 0;\n",
		ptx_reg_name(t.f, t.f->body.at[of(0, "add.u32 %r18, %r18, %r10")].opd[0].reg, name,
			sizeof(name)));
	insert(at, text);
}
static void others_register(void)
{
	t.f->body.at[of(0, "sub.u32 %r10, %r10, %r1")].opd[2].reg =
		t.f->body.at[of(1, "add.u32 %r10, %r10, %r5")].opd[0].reg;
}
static void other_operand(void)
{
	struct ptx_stmt *s = &t.f->body.at[of(0, "sub.u32 %r10, %r10, %r1")];
	struct ptx_opd o = s->opd[1];

	s->opd[1] = s->opd[2];
	s->opd[2] = o;
}
static void other_immediate(void)
{
	t.f->body.at[of(0, "shl.b32 %r8")].opd[2].value = 3;
}
/* Replaces an atom whose result the kernel reads by a red, which has no result. */
static void lost_result(void)
{
	struct ptx_stmt *s = &t.f->body.at[of(1, "atom.global.max.u32 %r13")];

	s->mn = ptx_get_mnem(t.m, "red.global.max.u32");
	s->opd++;
	s->n--;
}
static void other_reduction(void)
{
	size_t at = of(1, "atom.global.add.u32 %r12");

	assert_int_equal(t.f->body.at[at].mn->op, PTX_OP_red);
	t.f->body.at[at].mn = ptx_get_mnem(t.m, "red.global.and.b32");
}
static void turned_branch(void)
{
	t.f->body.at[of(0, "@%p1 bra MORE;")].guard_negated = 1;
}
static void drop_add(void)
{
	drop(of(0, "add.u32 %r18, %r18, %r15"));
}
/* Makes threads exit at the first kernel's early return. They still must run the second kernel. */
static void leave_early(void)
{
	become(of(0, "@%p1 ret;"), "ret;\n");
}
static void barrier_behind(void)
{
	insert(ours(of(0, "ret;"), "ret;"), "barrier.sync 6;\n");
}
static void in_callee(void)
{
	struct ptx_func *f = NULL;

	for (size_t i = 0; i < t.record.funcs.len; i++)
		if (t.record.funcs.at[i].f != t.f)
			f = (struct ptx_func *)t.record.funcs.at[i].f;
	assert_non_null(f);
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_INSN && f->body.at[i].mn->op == PTX_OP_mad)
			f->body.at[i].opd[2].value = 3;
}

static const struct mutant {
	enum way way;
	void (*damage)(void);
	enum pass_rule rule;
} mutants[] = {
	{MERGE, drop_barrier, PASS_RULE_BARRIERS},
	{MERGE, drop_barrier_in_loop, PASS_RULE_BARRIERS},
	{HORIZONTAL, drop_barrier, PASS_RULE_BARRIERS},
	{PREEMPT, drop_barrier, PASS_RULE_BARRIERS},
	{MERGE, add_barrier, PASS_RULE_BARRIERS},
	{MERGE, other_count, PASS_RULE_BARRIERS},
	{VERTICAL, no_count, PASS_RULE_BARRIERS},
	{MERGE, two_numbers_one, PASS_RULE_BARRIERS},
	{PREEMPT, other_number, PASS_RULE_BARRIERS},
	{MERGE, aligned, PASS_RULE_BARRIERS},
	{PREEMPT, aligned, PASS_RULE_BARRIERS},
	{HORIZONTAL, one_number_for_both, PASS_RULE_BARRIERS},
	{VERTICAL, other_threads, PASS_RULE_BARRIERS},
	{MERGE, past_barrier, PASS_RULE_BARRIERS},
	{EARLY, leave_early, PASS_RULE_BARRIERS},
	{LEAVING, barrier_behind, PASS_RULE_BARRIERS},
	{WEAVE, drop_barrier, PASS_RULE_BARRIERS},
	{WEAVE, turned_order, PASS_RULE_BARRIERS},
	{WEAVE, other_threads, PASS_RULE_BARRIERS},
	{MERGE, into_shuffle, PASS_RULE_CONVERGENCE},
	{WEAVE, part_at_shuffle, PASS_RULE_CONVERGENCE},
	{WEAVE, same_numbers, PASS_RULE_SHARED},
	{WEAVE, lay_over, PASS_RULE_SHARED},
	{WEAVE, break_chain, PASS_RULE_CARRY},
	{WEAVE, fence_after_product, PASS_RULE_ROUNDING},
	{WEAVE, part_after_product, PASS_RULE_ROUNDING},
	{MERGE, fence_after_product, PASS_RULE_ROUNDING},
	{PREEMPT, part_after_product, PASS_RULE_ROUNDING},
	{WEAVE, others_register, PASS_RULE_CODE},
	{WEAVE, drop_add, PASS_RULE_FLOW},
	{MERGE, drop_shuffle, PASS_RULE_CONVERGENCE},
	{MERGE, part_at_shuffle, PASS_RULE_CONVERGENCE},
	{MERGE, part_at_shuffle_behind_loop, PASS_RULE_CONVERGENCE},
	{PREEMPT, part_at_shuffle, PASS_RULE_CONVERGENCE},
	{PREEMPT, part_at_shuffle_behind_loop, PASS_RULE_CONVERGENCE},
	{HORIZONTAL, move_address, PASS_RULE_SHARED},
	{MERGE, move_offset, PASS_RULE_SHARED},
	{MERGE, move_base, PASS_RULE_SHARED},
	{HORIZONTAL, lay_over, PASS_RULE_SHARED},
	{MERGE, store_into_pool, PASS_RULE_SHARED},
	{HORIZONTAL, beyond_pool, PASS_RULE_SHARED},
	{VERTICAL, no_barrier_between, PASS_RULE_SHARED},
	{MERGE, no_barrier_between_blocks, PASS_RULE_SHARED},
	{PREEMPT, no_barrier_alone, PASS_RULE_SHARED},
	{MERGE, break_chain, PASS_RULE_CARRY},
	{PREEMPT, break_chain, PASS_RULE_CARRY},
	{VERTICAL, break_chain_on_a_way, PASS_RULE_CARRY},
	{MERGE, swap_params, PASS_RULE_PARAMS},
	{PREEMPT, swap_params, PASS_RULE_PARAMS},
	{MERGE, other_offset, PASS_RULE_PARAMS},
	{HORIZONTAL, others_params, PASS_RULE_PARAMS},
	{VERTICAL, wrong_launch, PASS_RULE_PARAMS},
	{MERGE, other_type, PASS_RULE_CODE},
	{MERGE, others_grid, PASS_RULE_IDS},
	{MERGE, others_block, PASS_RULE_IDS},
	{MERGE, block_for_thread, PASS_RULE_IDS},
	{PREEMPT, hardware_block, PASS_RULE_IDS},
	{VERTICAL, other_size, PASS_RULE_IDS},
	{HORIZONTAL, other_first_thread, PASS_RULE_IDS},
	{MERGE, others_variable, PASS_RULE_GLOBALS},
	{MERGE, another_variable, PASS_RULE_GLOBALS},
	{MERGE, other_values, PASS_RULE_GLOBALS},
	{MERGE, other_write, PASS_RULE_CODE},
	{MERGE, others_register, PASS_RULE_CODE},
	{MERGE, other_operand, PASS_RULE_CODE},
	{PREEMPT, other_immediate, PASS_RULE_CODE},
	{MERGE, lost_result, PASS_RULE_CODE},
	{MERGE, other_reduction, PASS_RULE_CODE},
	{MERGE, in_callee, PASS_RULE_CODE},
	{MERGE, turned_branch, PASS_RULE_CONVERGENCE},
	{PREEMPT, past_add, PASS_RULE_FLOW},
	{MERGE, drop_add, PASS_RULE_FLOW},
};

static void test_nothing(void **state)
{
	(void)state;
	for (enum way way = MERGE; way < WAYS; way++) {
		begin(way);
		assert_true(pass_verify(&t.result, &t.diags));
		assert_int_equal(t.diags.len, 0);
		finish();
	}
}

/* At a barrier with a thread count, a warp counts as 32 threads, even if some of its lanes do not
 * exist. The last warp of this kernel is not full, so the passes refuse the kernel. If a form is
 * made for full warps, but verified for this block size, the verifier reports it. */
static void test_half_a_warp_that_counts(void **state)
{
	struct pass_verdict verdict;
	unsigned which;

	(void)state;
	for (enum way way = MERGE; way < PREEMPT; way++) {
		static pass_merge_fn *const make[] = {
			pass_merge, pass_fuse_vertical, pass_fuse_horizontal};

		reset();
		t.kernels[0] = (struct pass_kernel){t.plain, "counts", {40, 1, 1}, 0};
		assert_int_equal(make[way](t.kernels, 2, &t.diags, &t.m, &t.form, &verdict, &which,
					 &t.record),
			-ENOTSUP);
		assert_int_equal(which, 0);
		assert_string_equal(verdict.reason, "its barriers have a thread count, and the "
						    "last warp of its blocks is not full");
		pass_record_finish(&t.record);
		t.kernels[0].block[0] = 64;
		make_together(way);
		t.result.m = t.m;
		t.result.f = t.f;
		assert_true(pass_verify(&t.result, &t.diags));
		t.kernels[0].block[0] = 40;
		assert_false(pass_verify(&t.result, &t.diags));
		assert_int_equal(t.diags.len, 1);
		assert_non_null(strstr(t.diags.at[0].message, "it counts lanes"));
		finish();
	}
}

/* Each fault must be reported, and no other rule may report anything. */
static void test_mutants(void **state)
{
	static const char *const ways[WAYS] = {
		"merge", "vertical", "horizontal", "preempt", "early", "leaving", "weave"};
	unsigned bad = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mutants); i++) {
		const struct mutant *d = &mutants[i];
		const char *name = pass_rule_name(d->rule);
		bool fine = true;
		struct strbuf out = {0};

		begin(d->way);
		d->damage();
		if (t.diags.len)
			fail_msg("row %zu: %s", i, t.diags.at[0].message);
		fine = !pass_verify(&t.result, &t.diags) && t.diags.len > 0;
		for (unsigned k = 0; k < t.diags.len; k++)
			fine &= !strncmp(t.diags.at[k].message, name, strlen(name));
		if (!fine || getenv("VERBOSE")) {
			diag_render(&t.diags, &out);
			print_message("row %zu, %s: expected %s and nothing else, found\n%s", i,
				ways[d->way], name, out.at ? out.at : "nothing\n");
			strbuf_finish(&out);
		}
		bad += !fine;
		finish();
	}
	assert_int_equal(bad, 0);
}

/* ---- hardware ids in any operand ---- */
/* Replaces operand o, at `depth` levels of vectors, by a special register. */
static void plant_id(struct ptx_opd *o, unsigned depth, enum ptx_special sr, const char *name)
{
	struct ptx_opd id = {.kind = PTX_OPD_SPECIAL, .has_value = 1, .value = sr, .name = name};
	struct ptx_opd *list;

	for (; depth; depth--) {
		list = ARENA_ARRAY(&t.m->arena, struct ptx_opd, 2);
		assert_non_null(list);
		list[0] = list[1] = id;
		id = (struct ptx_opd){.kind = PTX_OPD_VECTOR, .n = 2, .list = list};
	}
	*o = id;
}

static bool finds_id(const char *name)
{
	char text[64];
	bool found = false;

	snprintf(text, sizeof(text), "reads the hardware's %s,", name);
	for (unsigned i = 0; i < t.diags.len; i++)
		found |= strstr(t.diags.at[i].message, text) != NULL;
	return found;
}

/* Each id in each operand of each kind of statement, in every way, as a scalar and in vectors. */
static void test_ids_left(void **state)
{
	static const struct {
		enum ptx_special sr;
		const char *name;
		bool preempt; /* the preemptible form replaces this id, as the other forms do */
	} ids[] = {
		{PTX_SR_CTAID_X, "%ctaid.x", true},
		{PTX_SR_CTAID_Z, "%ctaid.z", true},
		{PTX_SR_NCTAID_Y, "%nctaid.y", true},
		{PTX_SR_CTAID, "%ctaid", true},
		{PTX_SR_TID_X, "%tid.x", false},
		{PTX_SR_NTID_Y, "%ntid.y", false},
		{PTX_SR_DYNAMIC_SMEM, "%dynamic_smem_size", false},
		{PTX_SR_TOTAL_SMEM, "%total_smem_size", false},
	};
	static const enum way made[] = {MERGE, HORIZONTAL, PREEMPT, WEAVE};
	static const char *const at[] = {
		"mad.lo.u32 %r7, %r4", "shl.b32 %r8, %r3", "mov.u32 %r9, left"};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(ids) * ARRAY_LEN(made) * ARRAY_LEN(at) * 3; i++) {
		unsigned id = i % ARRAY_LEN(ids), rest = i / ARRAY_LEN(ids);
		enum way way = made[rest % ARRAY_LEN(made)];
		const char *text = at[rest / ARRAY_LEN(made) % ARRAY_LEN(at)];
		struct ptx_stmt *s;
		bool fine;

		if (way == PREEMPT && !ids[id].preempt)
			continue;
		begin(way);
		s = &t.f->body.at[of(0, text)];
		plant_id(&s->opd[s->n - 1], rest / ARRAY_LEN(made) / ARRAY_LEN(at), ids[id].sr,
			ids[id].name);
		fine = !pass_verify(&t.result, &t.diags) && finds_id(ids[id].name);
		if (!fine)
			fail_msg("%s is not found in `%s`", ids[id].name, text);
		finish();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_half_a_warp_that_counts),
		cmocka_unit_test(test_ids_left),
	};

	path = argc > 1 ? argv[1] : "verify.ptx";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
