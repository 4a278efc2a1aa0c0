/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how the parser reads single statements, and malicious input. */
#include "unit.h"

#include "fixture.h"

#include "ptx/eight.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct ptx_mnem *mnem(struct module *t, const char *text)
{
	const struct ptx_mnem *mn = ptx_get_mnem(t->m, text);

	assert_non_null(mn);
	return mn;
}

static void mnemonics(void **state)
{
	static const struct {
		const char *text;
		enum ptx_op op;
		uint32_t with, without;
		const char *shape;
	} rows[] = {
		{"add.s32", PTX_OP_add, 0, PTX_F_NO_DEST | PTX_F_WRITES_CC | PTX_F_UNKNOWN, "dss"},
		{"add.cc.u32", PTX_OP_add, PTX_F_WRITES_CC, PTX_F_READS_CC, "dss"},
		{"madc.hi.cc.u32", PTX_OP_madc, PTX_F_WRITES_CC | PTX_F_READS_CC, 0, "dsss"},
		{"ld.global.f32", PTX_OP_ld, PTX_F_READS_MEM,
			PTX_F_VOLATILE | PTX_F_SIDE_EFFECT | PTX_F_WRITES_MEM, NULL},
		{"ld.volatile.global.u32", PTX_OP_ld, PTX_F_VOLATILE | PTX_F_SIDE_EFFECT, 0, NULL},
		{"ld.relaxed.sys.u32", PTX_OP_ld, PTX_F_VOLATILE, 0, NULL},
		{"st.release.gpu.u32", PTX_OP_st, PTX_F_VOLATILE | PTX_F_WRITES_MEM | PTX_F_NO_DEST,
			PTX_F_READS_MEM, NULL},
		{"bar.sync", PTX_OP_bar, PTX_F_BARRIER | PTX_F_NO_DEST, PTX_F_WARP_SYNC, "ss?"},
		{"bar.red.popc.u32", PTX_OP_bar, PTX_F_BARRIER, PTX_F_NO_DEST, "dss?s"},
		{"bar.warp.sync", PTX_OP_bar_warp, PTX_F_WARP_SYNC, PTX_F_BARRIER, "s"},
		{"barrier.cta.red.and.pred", PTX_OP_barrier, PTX_F_BARRIER, PTX_F_NO_DEST, "dss?s"},
		{"barrier.cluster.arrive.release", PTX_OP_barrier_cluster, PTX_F_GRID,
			PTX_F_BARRIER, ""},
		{"griddepcontrol.wait", PTX_OP_griddepcontrol, PTX_F_GRID, 0, ""},
		{"shfl.sync.bfly.b32", PTX_OP_shfl, PTX_F_WARP_SYNC | PTX_F_CONVERGENT,
			PTX_F_BARRIER, NULL},
		{"cp.async.ca.shared.global", PTX_OP_cp_async, PTX_F_ASYNC | PTX_F_NO_DEST, 0,
			NULL},
		{"cp.async.wait_group", PTX_OP_cp_async_wait_group, PTX_F_ASYNC, PTX_F_READS_MEM,
			"s"},
		{"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
			PTX_OP_cp_async_bulk_tensor, PTX_F_ASYNC, PTX_F_GRID, NULL},
		{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
		 "cluster",
			PTX_OP_cp_async_bulk, PTX_F_ASYNC | PTX_F_GRID, 0, NULL},
		{"mbarrier.arrive.expect_tx.shared::cta.b64", PTX_OP_mbarrier_arrive, PTX_F_ASYNC,
			PTX_F_NO_DEST, NULL},
		{"mbarrier.init.shared::cta.b64", PTX_OP_mbarrier_init, PTX_F_NO_DEST, 0, NULL},
		{"wmma.load.a.sync.aligned.row.m16n16k16.f16", PTX_OP_wmma_load, PTX_F_READS_MEM,
			PTX_F_NO_DEST, NULL},
		{"wmma.store.d.sync.aligned.row.m16n16k16.f32", PTX_OP_wmma_store,
			PTX_F_WRITES_MEM | PTX_F_NO_DEST, 0, NULL},
		{"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", PTX_OP_wgmma_mma_async,
			PTX_F_ASYNC, PTX_F_NO_DEST, NULL},
		{"tcgen05.wait::ld.sync.aligned", PTX_OP_tcgen05_wait, PTX_F_FENCE, 0, ""},
		{"tcgen05.ld.sync.aligned.32x32b.x1.b32", PTX_OP_tcgen05_ld, PTX_F_ASYNC, 0, NULL},
		{"red.async.relaxed.cluster.shared::cluster.u32.add", PTX_OP_red_async,
			PTX_F_ATOMIC, 0, NULL},
		{"red.global.add.f32", PTX_OP_red, PTX_F_ATOMIC | PTX_F_NO_DEST, PTX_F_ASYNC, NULL},
		{"tensormap.cp_fenceproxy.global.shared::cta", PTX_OP_tensormap_cp_fenceproxy,
			PTX_F_FENCE, 0, NULL},
		{"fence.acq_rel.gpu", PTX_OP_fence, PTX_F_FENCE, PTX_F_VOLATILE, NULL},
		{"trap", PTX_OP_trap, PTX_F_EXIT, 0, ""},
		{"frobnicate.u32", PTX_OP_RAW, PTX_F_UNKNOWN | PTX_F_SIDE_EFFECT, PTX_F_NO_DEST,
			""},
		{"adder.u32", PTX_OP_RAW, PTX_F_UNKNOWN, 0, NULL},
	};
	struct module t = parse_ok("");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct ptx_mnem *mn = mnem(&t, rows[i].text);

		if (mn->op != rows[i].op || (mn->flags & rows[i].with) != rows[i].with ||
			(mn->flags & rows[i].without) ||
			(rows[i].shape && strcmp(mn->shape, rows[i].shape) != 0))
			fail_msg("%s: op %s, flags %x, shape %s", rows[i].text,
				ptx_ops[mn->op].name, mn->flags, mn->shape);
		assert_ptr_equal(mn, mnem(&t, rows[i].text));
	}
	finish(&t);
}

static void mnemonic_parts(void **state)
{
	struct module t = parse_ok("");
	const struct ptx_mnem *mn = mnem(&t, "cvt.rn.f16x2.f32");

	assert_int_equal(mn->n_types, 2);
	assert_int_equal(mn->type[0], PTX_F16X2);
	assert_int_equal(mn->type[1], PTX_F32);
	mn = mnem(&t, "ld.relaxed.gpu.global.v4.u32");
	assert_int_equal(mn->vec, 4);
	assert_int_equal(mn->space, PTX_GLOBAL);
	assert_true(ptx_has_mod(mn, "relaxed"));
	assert_false(ptx_has_mod(mn, "relax"));
	mn = mnem(&t, "setp.hs.and.u32");
	assert_int_equal(mn->cmp, PTX_HS);
	mn = mnem(&t, "mul.hi.s32");
	assert_int_equal(mn->cmp, PTX_CMP_NONE);
	mn = mnem(&t, "mbarrier.arrive.expect_tx.shared::cluster.b64");
	assert_int_equal(mn->space, PTX_SHARED);
	assert_true(ptx_has_mod(mn, "shared::cluster"));
	mn = mnem(&t, "tex.2d.v4.f32.s32");
	assert_int_equal(mn->space, PTX_TEX);
	finish(&t);
}

static void operands(void **state)
{
	struct module t =
		kernel(".shared .u32 s[4];\n"
		       "ld.global.v2.u32 {%r1, _}, [%rd1+-8];\n"
		       "setp.lt.and.s32 %p1|%p2, %r1, 0x10, !%p3;\n"
		       "mov.f32 %f1, 0fBF800000;\nmov.u32 %r1, %tid.x;\n"
		       "vadd.s32.s32.s32 %r1, -%r2.b1, %r3.h1, 1;\n"
		       "mov.u64 %rd1, s+8;\nmov.u32 %r2, (1+2)*3;\nst.shared.u32 [s+4], -5;\n"
		       "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1, %f2}];\n");
	const struct ptx_opd *o = insn(&t, 0)->opd;

	assert_int_equal(o[0].kind, PTX_OPD_VECTOR);
	assert_int_equal(o[0].n, 2);
	assert_int_equal(o[0].list[1].kind, PTX_OPD_SINK);
	assert_int_equal(o[1].kind, PTX_OPD_ADDR);
	assert_int_equal(o[1].list[0].kind, PTX_OPD_REG);
	assert_int_equal((int64_t)o[1].value, -8);
	o = insn(&t, 1)->opd;
	assert_int_equal(o[0].kind, PTX_OPD_PAIR);
	assert_int_equal(o[2].value, 16);
	assert_string_equal(o[2].name, "0x10");
	assert_int_equal(o[3].negated, '!');
	assert_int_equal(insn(&t, 2)->opd[1].kind, PTX_OPD_FLOAT);
	assert_int_equal(insn(&t, 2)->opd[1].value, 0xBF800000);
	o = insn(&t, 3)->opd;
	assert_int_equal(o[1].kind, PTX_OPD_SPECIAL);
	assert_int_equal(o[1].value, PTX_SR_TID_X);
	o = insn(&t, 4)->opd;
	assert_int_equal(o[1].negated, '-');
	assert_int_equal(o[1].selector, PTX_SEL_B1);
	assert_int_equal(o[2].selector, PTX_SEL_H1);
	o = insn(&t, 5)->opd;
	assert_int_equal(o[1].kind, PTX_OPD_SYM);
	assert_int_equal(o[1].value, 8);
	assert_int_equal(o[1].sym->bytes, 16);
	assert_int_equal(insn(&t, 6)->opd[1].value, 9);
	o = insn(&t, 7)->opd;
	assert_int_equal(o[0].list[0].kind, PTX_OPD_SYM);
	assert_int_equal((int64_t)o[1].value, -5);
	o = insn(&t, 8)->opd;
	assert_int_equal(o[1].n, 2);
	assert_int_equal(o[1].list[1].kind, PTX_OPD_VECTOR);
	finish(&t);
}

/* Numbers have the right value, and print as they were written. */
static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {{"0", 0}, {"7", 7}, {"99", 99}, {"100", 100}, {"999", 999}, {"1000", 1000},
		{"007", 7}, {"010", 8}, {"0x1F", 31}, {"0b101", 5}, {"5U", 5}, {"-1", UINT64_MAX},
		{"-0", 0}, {"123456789012345678", 123456789012345678},
		{"1234567890123456789", 1234567890123456789}, {"18446744073709551615", UINT64_MAX}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char code[200];
		struct module t;

		snprintf(code, sizeof(code),
			"mov.u64 %%rd1, %s;\nld.global.u32 %%r1, [%%rd1+%s];\n"
			"mov.b64 {%%r1, %%r2}, {%s, %s};\n",
			rows[i].text, rows[i].text, rows[i].text, rows[i].text);
		t = kernel(code);
		if (insn(&t, 0)->opd[1].value != rows[i].value ||
			insn(&t, 1)->opd[1].value != rows[i].value)
			fail_msg("%s: %llu", rows[i].text,
				(unsigned long long)insn(&t, 0)->opd[1].value);
		for (char *line = strtok(code, "\n"); line; line = strtok(NULL, "\n"))
			if (!prints(&t, line))
				fail_msg("not printed: %s", line);
		finish(&t);
	}
}

/* Tests names of single registers and of register families (as in %r<3>), whose prefixes have any
 * length, may contain digits, and may hide each other. */
static void register_names(void **state)
{
	struct module t = kernel(".reg .b32 %long_prefix<12>, %r1_<4>, %abc<2>, plain<3>, %r77;\n"
				 "add.u32 %long_prefix11, %r1_3, %abc1;\n"
				 "add.u32 plain2, %r77, %r7;\n"
				 "{ .reg .b32 %r1<5>;\nadd.u32 %r14, %r4, %r1; }\n");
	const struct ptx_opd *o;
	struct module bad;

	assert_true(prints(&t, "add.u32 %long_prefix11, %r1_3, %abc1;"));
	assert_true(prints(&t, "add.u32 plain2, %r77, %r7;"));
	assert_true(prints(&t, "add.u32 %r14, %r4, %r1;"));
	o = insn(&t, 2)->opd;
	assert_int_equal(func(&t)->regs.at[o[0].reg].number, 4);
	assert_string_equal(func(&t)->regs.at[o[0].reg].sym->name, "%r1");
	assert_string_equal(func(&t)->regs.at[o[2].reg].sym->name, "%r");
	assert_int_equal(func(&t)->regs.at[o[2].reg].number, 1);
	finish(&t);
	for (size_t i = 0; i < 4; i++) {
		static const char *const wrong[] = {"%r9", "%r01", "%r1x", "%r4294967297"};
		char text[200];

		snprintf(text, sizeof(text), ".entry k() { .reg .b32 %%r<9>; mov.u32 %%r1, %s; }",
			wrong[i]);
		assert_int_equal(try_parse(&bad, text, strlen(text)), 0);
		if (bad.diags->errors != 1)
			fail_msg("%s is taken", wrong[i]);
		finish(&bad);
	}
}

struct roles {
	char text[256];
	const struct ptx_func *f;
};

static void note_role(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct roles *r = user;
	char name[64];
	size_t n = strlen(r->text);

	snprintf(r->text + n, sizeof(r->text) - n, "%s%s%s ", role & PTX_USE ? "u" : "",
		role & PTX_DEF ? "d" : "", ptx_reg_name(r->f, reg, name, sizeof(name)));
}

static void defs_and_uses(void **state)
{
	static const struct {
		const char *code, *roles;
	} rows[] = {
		{"@!%p1 add.s32 %r1, %r2, %r3;", "u%p1 d%r1 u%r2 u%r3 "},
		{"ld.global.v2.u32 {%r1, %r2}, [%rd1];", "d%r1 d%r2 u%rd1 "},
		{"st.global.v2.u32 [%rd1], {%r1, %r2};", "u%rd1 u%r1 u%r2 "},
		{"shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;", "d%r1 d%p1 u%r2 "},
		{"bar.red.popc.u32 %r1, 0, %p1;", "d%r1 u%p1 "},
		{"bar.sync %r1, %r2;", "u%r1 u%r2 "},
		{"atom.global.add.u32 %r1, [%rd1], %r2;", "d%r1 u%rd1 u%r2 "},
		{"red.global.add.u32 [%rd1], %r2;", "u%rd1 u%r2 "},
		{"vadd2.s32.s32.s32 %r1.h0, %r2, %r3, %r4;", "ud%r1 u%r2 u%r3 u%r4 "},
		{"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, %p1, "
		 "1, 1, "
		 "0, 0;",
			"ud%f1 ud%f2 u%rd1 u%rd2 u%p1 "},
		{"frob.u32 %r1, %r2;", "ud%r1 u%r2 "},
		{"frob.u32 [%r1], %r2;", "u%r1 u%r2 "},
		{"tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];",
			"d%f1 d%f2 d%f3 d%f4 u%rd1 u%f5 u%f6 "},
		{"setp.eq.s32 %p1|%p2, %r1, %r2;", "d%p1 d%p2 u%r1 u%r2 "},
		{"cp.async.ca.shared.global [%r1], [%rd1], 4;", "u%r1 u%rd1 "},
		{"mbarrier.arrive.shared.b64 %rd1, [%r1], %r2;", "d%rd1 u%r1 u%r2 "},
		{"lop3.b32 %r1, %r2, %r3, %r4, 5;", "d%r1 u%r2 u%r3 u%r4 "},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct module t = kernel(rows[i].code);
		struct roles r = {"", func(&t)};

		ptx_visit_regs(r.f, insn(&t, 0), note_role, &r);
		if (strcmp(r.text, rows[i].roles) != 0)
			fail_msg("%s: %s, not %s", rows[i].code, r.text, rows[i].roles);
		finish(&t);
	}
}

static void call_roles(void **state)
{
	struct module t = parse_ok(".func (.reg .u32 r) f(.reg .u32 a) { mov.u32 r, a; ret; }\n"
				   ".func g() { .reg .u32 x, y; .reg .u64 p;\n"
				   "call (x), f, (y);\n"
				   "P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n"
				   "call (x), p, (y), P;\ncall g; ret; }\n");
	struct roles r = {"", ptx_find_func(t.m, "g")};

	t.f = ptx_find_func(t.m, "g");
	ptx_visit_regs(r.f, insn(&t, 0), note_role, &r);
	assert_string_equal(r.text, "dx uy ");
	r.text[0] = 0;
	ptx_visit_regs(r.f, insn(&t, 1), note_role, &r);
	assert_string_equal(r.text, "dx up uy ");
	assert_int_equal(insn(&t, 1)->opd[3].sym->kind, PTX_SYM_PROTO);
	assert_ptr_equal(insn(&t, 2)->opd[0].sym, r.f->sym);
	finish(&t);
}

/* The same name means another register or label in an inner scope. */
static void scopes(void **state)
{
	struct module t = kernel("mov.u32 %r1, 1;\nbra L;\n{ .reg .u32 %r<2>;\nmov.u32 %r1, 2;\n"
				 "mov.u32 %r2, 3;\nbra L;\nbra M;\nL: { bra L; bra M; } }\n"
				 "mov.u32 %r1, 4;\nL: ret;\nM: ret;\n");
	const struct ptx_sym *outer, *inner;

	assert_int_equal(insn(&t, 0)->opd[0].reg, insn(&t, 8)->opd[0].reg);
	assert_int_not_equal(insn(&t, 0)->opd[0].reg, insn(&t, 2)->opd[0].reg);
	/* An inner family of two registers hides only the outer registers of the same numbers: %r2
	 * is still the outer one. */
	assert_int_equal(insn(&t, 3)->opd[0].reg, insn(&t, 0)->opd[0].reg + 1);
	outer = insn(&t, 1)->opd[0].sym;
	inner = insn(&t, 4)->opd[0].sym;
	assert_ptr_not_equal(outer, inner);
	assert_ptr_equal(insn(&t, 6)->opd[0].sym, inner);
	assert_ptr_equal(insn(&t, 5)->opd[0].sym, insn(&t, 7)->opd[0].sym);
	assert_true(insn(&t, 7)->opd[0].sym->placed);
	finish(&t);
}

static void unknown_is_kept(void **state)
{
	const char *code = "frob.x::y.u32 %r1, {%r2, %q7}, [%r3+4], name;\n"
			   "@%p1 odd 1 2 3 <- [[x]];\n.strange 1, 2;\nplain;\n";
	struct module t = kernel(code);

	assert_int_equal(insn(&t, 0)->n, 4);
	assert_int_equal(insn(&t, 0)->mn->op, PTX_OP_RAW);
	assert_int_equal(insn(&t, 0)->opd[1].list[1].kind, PTX_OPD_TEXT);
	assert_int_equal(insn(&t, 1)->n, 0);
	assert_string_equal(insn(&t, 1)->text, "1 2 3 <- [[x]]");
	assert_int_equal(insn(&t, 2)->n, 0);
	assert_null(insn(&t, 2)->text);
	assert_true(prints(&t, "frob.x::y.u32 %r1, {%r2, %q7}, [%r3+4], name;"));
	assert_true(prints(&t, "@%p1 odd 1 2 3 <- [[x]];"));
	assert_true(prints(&t, ".strange 1, 2;"));
	finish(&t);
}

/* Refuses a register's name in an expression that is kept as text: when a pass renames the
 * register, the text would keep the old name. */
static void names_in_expressions(void **state)
{
	static const struct {
		const char *code;
		bool is_right;
	} rows[] = {{"mov.u32 y, +y;", false}, {"add.u32 y, y, (y);", false},
		{"add.u32 y, y, 4+y;", false}, {"add.u32 y, -y, /* y */ +4;", true},
		{"mov.u32 y, +4*(2+WARP_SZ);", true}, {"mov.u64 %rd1, (.u64)0x1F/0;", true},
		{"frob y, +z;", true}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct module t;
		char text[400];

		snprintf(text, sizeof(text),
			".version 8.0\n.target sm_80\n.address_size 64\n"
			".entry k() { .reg .b32 y; .reg .b64 %%rd<2>; %s ret; }",
			rows[i].code);
		assert_int_equal(try_parse(&t, text, strlen(text)), 0);
		if ((t.diags->errors == 0) != rows[i].is_right)
			fail_msg("%s: %u errors", rows[i].code, t.diags->errors);
		if (t.diags->errors)
			assert_non_null(strstr(t.diags->at[0].message, "a name cannot stand"));
		finish(&t);
	}
}

/* A '#' after a gap with a line break must not be printed at the beginning of a line. */
static void hashes(void **state)
{
	static const char *const texts[] = {".v\n\v#(1)", ".v\n/**/# 12 \"a.cu\"\n(1)",
		".v 1,\n /* a */\t# 12 \"a.cu\"\n(b)", ".v\n# 12 \"a.cu\"\n(1)"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct module t = parse_ok(texts[i]), again;
		struct strbuf first = {0}, second = {0};

		ptx_print(t.m, &first);
		again = parse_ok(first.at);
		ptx_print(again.m, &second);
		assert_string_equal(first.at, second.at);
		assert_int_equal(!strchr(first.at, '#'), i == 3); /* a preprocessor line */
		strbuf_finish(&first);
		strbuf_finish(&second);
		finish(&t);
		finish(&again);
	}
}

/* ---- malicious input ---- */
static struct strbuf repeat(const char *head, const char *unit, size_t n, const char *tail)
{
	struct strbuf b = {0};

	strbuf_puts(&b, head);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&b, unit, (int)i, (int)i);
	strbuf_puts(&b, tail);
	return b;
}

/* Each text must parse or fail within about a second and the memory limit, without a crash. */
/* `hostile` divides each length by this; the argument "all" sets it to 1. */
static size_t part = 2;

static void hostile(void **state)
{
	static const struct {
		const char *head, *unit;
		size_t n;
		const char *tail;
		int errors;
	} rows[] = {
		{".entry k() {", "{", 1000000, "", 1},
		{".entry k() {", "}", 1000000, "", 1},
		{"", "{", 1000000, "", 1},
		{"", "}", 100000, "", 1},
		{".entry k() {", ".reg .u32 a%d;", 300000, "ret;}", 0},
		{".entry k() {", "L%d:", 1000000, "ret;}", 0},
		{".entry k() {", "bra L%d;", 500000, "}", 1},
		{".entry k() { {{{{{{{{{{{{{{{{", "bra L%d;", 200000, "}}}}}}}}}}}}}}}}}", 1},
		{".entry k() {", "{bra L%d;", 100000, "}", 1},
		{".entry k() {", "{.reg .u32 x; {.reg .pred x; ", 90, "ret;", 1},
		{".entry k() { .reg .u32 r; mov.u32 r, ", "(", 1000000, ";}", 1},
		{".entry k() { .reg .u32 r; mov.u32 r, ", "1 ? ", 300000, ";}", 1},
		{".entry k() { .reg .u32 r; mov.u32 r, ", "-", 1000000, "1;}", 1},
		{".entry k() { .reg .u32 r; mov.u32 r, 1", "+1", 500000, ";}", 0},
		{".entry k() { .reg .u32 r; mov.u32 ", "{", 1000000, ";}", 1},
		{".entry k() { .reg .u32 r; mov.u32 ", "[", 1000000, ";}", 1},
		{".entry k() { .reg .u32 r; mov.u32 ", "r,", 500000, "r;}", 1},
		{".entry k() { .reg .u32 r; unknown ", "{", 1000000, ";}", 0},
		{".entry k() {", ".reg .b32 %%r<4294967295>;", 10, "}", 1},
		{".entry k() {", "{.reg .b32 %%r<4000000>;}", 1000, "}", 1},
		{".entry k() {", ".reg .b32 %%r<99999999999999999999999>;", 1, "}", 1},
		{".entry k() {", ".local .b32 x%d<4294967295>;", 1, "}", 1},
		{".entry k(", ".param .u64 p%d,", 100000, ") {}", 1},
		{".entry k(", "(", 1000000, ") {}", 1},
		{"", ".entry k%d() {ret;}\n", 50000, "", 0},
		{"", ".strange", 100000, "", 0},
		{".section .x {", "{", 1000000, "", -1},
		{".entry k() { L: .branchtargets ", "L%d, ", 100000, "L; ret; }", 1},
		{"/*", "/*", 500000, "", 1},
		{".pragma \"", "\\\"", 500000, "", -1},
		{"", "error ", 300000, "", 1},
		{"", "error; ", 300000, "", 1},
		{".entry k() {", "add.u32 x%d; { ", 50000, "", 1},
		{".entry k() { foo.", "a.", 500000, "b; }", 0},
		{".entry k() {", "m%d.x.y.z;", 100000, "}", 0},
		{".global .u32 x = ", "{", 500000, ";", -1},
		{".global .u32 x", "[4294967295]", 10000, ";", -1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = repeat(
			rows[i].head, rows[i].unit, (rows[i].n + part - 1) / part, rows[i].tail);
		struct module t;
		clock_t start = clock();
		int r = try_parse(&t, b.at, b.len);
		double s = (double)(clock() - start) / CLOCKS_PER_SEC;

		if (r != 0 && r != -E2BIG)
			fail_msg("row %zu: %d", i, r);
		if (r == 0 && rows[i].errors >= 0 && !!t.diags->errors != rows[i].errors)
			fail_msg("row %zu: %u errors", i, t.diags->errors);
		/* A generous limit, for sanitizer builds and loaded machines; quadratic code
		 * would take minutes.
		 */
		if (s > 20)
			fail_msg("row %zu: %g s", i, s);
		if (r == 0) {
			struct strbuf out = {0};

			ptx_print(t.m, &out);
			strbuf_finish(&out);
		}
		finish(&t);
		strbuf_finish(&b);
	}
}

struct pieces {
	struct strbuf out, all;
	unsigned n;
};

static void take_piece(void *user)
{
	struct pieces *p = user;

	strbuf_add(&p->all, p->out.at, p->out.len);
	p->out.len = 0;
	p->n++;
}

static void large_ones_are_printed_in_pieces(void **state)
{
	struct strbuf b = repeat(".version 8.0\n.target sm_70\n.address_size 64\n",
		".visible .entry k%d()\n{\n\tret;\n}\n", 50000, "");
	struct pieces p = {.n = 0};
	struct strbuf whole = {0};
	struct module t;

	assert_int_equal(try_parse(&t, b.at, b.len), 0);
	ptx_print(t.m, &whole);
	ptx_print_by(t.m, &p.out, take_piece, &p);
	assert_true(p.n > 3);
	take_piece(&p);
	assert_int_equal(p.all.len, whole.len);
	assert_memory_equal(p.all.at, whole.at, whole.len);
	strbuf_finish(&p.out);
	strbuf_finish(&p.all);
	strbuf_finish(&whole);
	finish(&t);
	strbuf_finish(&b);
}

static void memory_is_bounded(void **state)
{
	struct strbuf b = repeat(".entry k() {", "L%d: add.u32 x%d, 1, 2;", 100000, "}");
	struct module t;

	begin(&t, b.at, b.len);
	assert_int_equal(ptx_parse(b.at, b.len, 1 << 20, t.diags, &t.m), -E2BIG);
	finish(&t);
	strbuf_finish(&b);
}

static void zero_bytes_and_cut_texts(void **state)
{
	static const char text[] = ".version 8.0\n.entry k(.param .u64 p) .maxntid 1 {\n"
				   ".reg .u32 %r<3>; @%p1 ld.v2.u32 {%r1, %r2}, [p+4]; L: "
				   "call (a), b, (c); /* x */ \"s\" }\n";
	char copy[sizeof(text)];

	for (size_t len = 0; len < sizeof(text); len++) {
		struct module t;

		assert_int_equal(try_parse(&t, text, len), 0);
		finish(&t);
		memcpy(copy, text, sizeof(text));
		copy[len] = 0;
		assert_int_equal(try_parse(&t, copy, sizeof(text) - 1), 0);
		finish(&t);
	}
}

/* Tests parts that are kept as text. A NUL byte in such a part is an error. A comment may follow it
 * directly. */
static void kept_texts(void **state)
{
	static const char zero[] = ".global .u32 x[2] = { 1, \0 2 };\n";
	static const char comment[] = ".ver\n\t(a), // more\n.target sm_80\n";
	struct module t;

	assert_int_equal(try_parse(&t, zero, sizeof(zero) - 1), 0);
	assert_int_equal(t.diags->errors, 1);
	finish(&t);
	assert_int_equal(try_parse(&t, comment, sizeof(comment) - 1), 0);
	finish(&t);
}

/* Compares functions that test eight characters at once with ones that test a single character. */
static void eight_characters(void **state)
{
	static const char some[] = "az09AZ_$@[`{/:%. \t\n;,\x80\xff\x5f\x24";
	uint64_t random = 1;

	for (unsigned round = 0; round < 20000; round++) {
		unsigned gap = 8, other = 8;
		uint64_t w, ends, m;
		char s[9] = {0};

		for (unsigned i = 0; i < 8; i++) {
			unsigned char c;

			random = random * 6364136223846793005u + 1442695040888963407u;
			c = (unsigned char)(random >> 56);
			if (random >> 40 & 1)
				c = (unsigned char)some[c % sizeof(some)];
			else if (round & 1)
				c = (unsigned char)('0' + c % 11);
			s[i] = (char)c;
			gap = c <= ' ' && gap == 8 ? i : gap;
			other = (c < '0' || c > '9') && other == 8 ? i : other;
		}
		w = ptx_eight(s);
		ends = ptx_eight_ends(w);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(ends >> (8 * i) & 0xff,
				strchr("_$", s[i]) && s[i]                 ? 0
				: s[i] > 0 && isalnum((unsigned char)s[i]) ? 0
									   : 0x80);
		m = ptx_eight_gaps(w);
		assert_int_equal(m ? PTX_FIRST(m) : 8, gap);
		m = ptx_eight_nondigits(w);
		assert_int_equal(m ? PTX_FIRST(m) : 8, other);
		if (other)
			assert_int_equal(ptx_eight_value(w, other),
				strtoul(s, NULL, 10) * (strtoul(s, NULL, 10) < 100000000));
	}
}

/* Tests register names of up to seven characters, which the parser finds by their characters as one
 * number, and longer or similar names. */
static void short_register_names(void **state)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   ".entry k() { .reg .b64 %SP, %SPL, %longer_than_seven;\n"
				   ".reg .b32 %r<3>, %r1_, %r$1; .reg .b64 %rd<2>;\n"
				   "mov.b64 %SP, %SPL; mov.b64 %longer_than_seven, %SP;\n"
				   "{ .reg .b64 %SP; mov.b64 %SP, %rd1; } mov.b64 %SP, %rd0;\n"
				   "mov.b32 %r1, %r2; mov.b32 %r1_, %r$1; ret; }";
	static const char *const names[][2] = {{"%SP", "%SPL"}, {"%longer_than_seven", "%SP"},
		{"%SP", "%rd1"}, {"%SP", "%rd0"}, {"%r1", "%r2"}, {"%r1_", "%r$1"}};
	struct module t = parse_ok(text);
	const struct ptx_func *f = ptx_find_func(t.m, "k");
	uint32_t sp[4];
	char buf[128];
	size_t n = 0;

	for (size_t i = 0; i < f->body.len && n < ARRAY_LEN(names); i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		if (s->kind != PTX_INSN)
			continue;
		for (unsigned k = 0; k < 2; k++)
			assert_string_equal(
				ptx_reg_name(f, s->opd[k].reg, buf, sizeof(buf)), names[n][k]);
		if (n < ARRAY_LEN(sp))
			sp[n] = s->opd[n == 1].reg;
		n++;
	}
	assert_int_equal(n, ARRAY_LEN(names));
	/* The inner scope's register is a different one, and its name is gone after the scope. */
	assert_int_equal(sp[0], sp[1]);
	assert_int_not_equal(sp[0], sp[2]);
	assert_int_equal(sp[0], sp[3]);
	finish(&t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_characters),
		cmocka_unit_test(short_register_names),
		cmocka_unit_test(mnemonics),
		cmocka_unit_test(mnemonic_parts),
		cmocka_unit_test(operands),
		cmocka_unit_test(numbers),
		cmocka_unit_test(register_names),
		cmocka_unit_test(defs_and_uses),
		cmocka_unit_test(call_roles),
		cmocka_unit_test(scopes),
		cmocka_unit_test(unknown_is_kept),
		cmocka_unit_test(names_in_expressions),
		cmocka_unit_test(hashes),
		cmocka_unit_test(hostile),
		cmocka_unit_test(large_ones_are_printed_in_pieces),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(zero_bytes_and_cut_texts),
		cmocka_unit_test(kept_texts),
	};

	part = argc > 1 && !strcmp(argv[1], "all") ? 1 : 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
