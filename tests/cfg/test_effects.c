/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the effects of single instructions, which pairs of instructions must keep their order, and
 * the execution units. tests/exec/graft.sh shuffles the code of real kernels with cfg_tool, and
 * compares the results. */
#include "unit.h"

#include "../ptx/fixture.h"

#include "must_order.h"

static struct cfg_effects effects(struct module *t, const char *code)
{
	ptx_body body = {0};
	struct cfg_effects e;

	assert_int_equal(ptx_append(t->m, t->f, &body, t->diags, "%s", code), 0);
	e = cfg_effects_of(&body.at[body.len - 1]);
	VEC_FREE(&body);
	return e;
}

#define G CFG_GLOBAL
#define S CFG_SHARED

static void memory(void **state)
{
	static const struct {
		const char *code;
		int reads, writes;
	} cases[] = {
		{"add.s32 %r1, %r2, %r3;", 0, 0},
		{"ld.global.nc.u32 %r1, [%rd1];", G, 0},
		{"ld.u32 %r1, [%rd1];", CFG_GENERIC, 0},
		{"st.u32 [%rd1], %r1;", 0, CFG_GENERIC},
		{"st.shared::cta.u32 [%r1], %r1;", 0, S},
		{"ld.const.u32 %r1, [%rd1];", CFG_CONST, 0},
		{"ld.param.u64 %rd1, [out];", CFG_PARAM, 0},
		{"ld.param.u64 %rd1, [%rd2];", CFG_PARAM | CFG_CALL_PARAM, 0},
		{".param .b32 arg; st.param.b32 [arg], %r1;", 0, CFG_CALL_PARAM},
		{"st.local.u32 [%rd1], %r1;", 0, CFG_LOCAL},
		{"atom.global.add.u32 %r1, [%rd1], 1;", G, G},
		{"red.shared.add.u32 [%r2], 1;", S, S},
		{"cp.async.ca.shared.global [%r1], [%rd1], 16;", G, S},
		{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], "
		 "16, [%r2];",
			G | S, G | S},
		{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", S, 0},
		{"prefetch.global.L2 [%rd1];", 0, 0},
		{"bar.sync 0;", 0, 0},
		{"frob.global.u32 %r1, [%rd1];", CFG_MEMORY, CFG_MEMORY},
	};
	struct module t = kernel("ret;");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cfg_effects e = effects(&t, cases[i].code);

		if (e.reads != cases[i].reads || e.writes != cases[i].writes)
			fail_msg("%s: %d, %d", cases[i].code, e.reads, e.writes);
	}
	finish(&t);
}

/* Returns the effects other than reads and writes as letters, in the order of the table below. */
static const char *letters(const struct cfg_effects *e)
{
	static char text[16];
	const struct {
		char c;
		bool set;
	} all[] = {{'o', e->ordered}, {'f', e->fence}, {'b', e->barrier}, {'c', e->convergent},
		{'a', e->async}, {'r', e->reads_cc}, {'w', e->writes_cc}, {'t', e->time},
		{'T', e->trap}, {'l', e->leaves}, {'C', e->call}, {'u', e->unknown}};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].set)
			text[n++] = all[i].c;
	text[n] = 0;
	return text;
}

static void others(void **state)
{
	static const struct {
		const char *code, *letters;
	} cases[] = {
		{"add.s32 %r1, %r2, %r3;", ""},
		{"st.global.u32 [%rd1], %r1;", ""},
		{"st.volatile.global.u32 [%rd1], %r1;", "o"},
		{"ld.relaxed.gpu.global.u32 %r1, [%rd1];", "o"},
		{"ld.acquire.gpu.global.u32 %r1, [%rd1];", "of"},
		{"st.release.sys.global.u32 [%rd1], %r1;", "of"},
		{"atom.global.add.u32 %r1, [%rd1], 1;", "o"},
		{"atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;", "of"},
		{"fence.acq_rel.gpu;", "of"},
		{"membar.gl;", "of"},
		{"bar.sync 0;", "ofbc"},
		{"barrier.sync 1, 64;", "ofbc"},
		{"bar.warp.sync -1;", "ofc"},
		{"barrier.cluster.arrive;", "ofbc"},
		{"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "c"},
		{"vote.sync.any.pred %p1, %p2, -1;", "c"},
		{"activemask.b32 %r1;", "oc"},
		{"cp.async.commit_group;", "oa"},
		{"cp.async.wait_group 0;", "ofa"},
		{"add.cc.u32 %r1, %r2, %r3;", "w"},
		{"addc.cc.u32 %r1, %r2, %r3;", "rw"},
		{"madc.hi.u32 %r1, %r2, %r3, %r4;", "r"},
		{"mov.u32 %r1, %clock;", "t"},
		{"mov.u64 %rd1, %globaltimer;", "t"},
		{"cvt.u64.u32 %rd1, %clock_hi;", "t"},
		{"mov.u32 %r1, %tid.x;", ""},
		{"nanosleep.u32 40;", "ot"},
		{"trap;", "oTl"},
		{"brkpt;", "oT"},
		{"@%p1 ret;", "l"},
		{"frob %r1;", "ofcarwtTCu"},
	};
	struct module t = kernel("ret;");
	struct ptx_stmt label = {.kind = PTX_LABEL, .guard = PTX_NO_REG};
	struct cfg_effects e = cfg_effects_of(&label);

	assert_string_equal(letters(&e), "");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		e = effects(&t, cases[i].code);
		if (strcmp(letters(&e), cases[i].letters) != 0)
			fail_msg("%s: %s", cases[i].code, letters(&e));
	}
	finish(&t);
}

static void pairs(void **state)
{
	static const struct {
		const char *a, *b;
		bool ordered;
	} cases[] = {
		{"ld.global.u32 %r1, [%rd1];", "ld.global.u32 %r2, [%rd2];", false},
		{"ld.global.u32 %r1, [%rd1];", "st.global.u32 [%rd2], %r2;", true},
		{"st.global.u32 [%rd1], %r1;", "st.global.u32 [%rd2], %r2;", true},
		{"st.global.u32 [%rd1], %r1;", "st.shared.u32 [%r2], %r2;", false},
		{"st.shared.u32 [%r3], %r1;", "ld.local.u32 %r1, [%rd2];", false},
		{"st.u32 [%rd1], %r1;", "ld.shared.u32 %r2, [%r4];", true},
		{"st.u32 [%rd1], %r1;", "ld.param.u64 %rd2, [out];", false},
		{"st.u32 [%rd1], %r1;", "ld.const.u32 %r2, [%rd3];", false},
		{"add.cc.u32 %r1, %r2, %r3;", "add.cc.u32 %r4, %r5, %r6;", true},
		{"add.cc.u32 %r1, %r2, %r3;", "addc.u32 %r4, %r5, %r6;", true},
		{"addc.u32 %r1, %r2, %r3;", "addc.u32 %r4, %r5, %r6;", false},
		{"add.cc.u32 %r1, %r2, %r3;", "add.u32 %r4, %r5, %r6;", false},
		{"bar.sync 0;", "st.shared.u32 [%r1], %r2;", true},
		{"bar.sync 0;", "st.local.u32 [%rd1], %r2;", false},
		{"bar.sync 0;", "add.u32 %r4, %r5, %r6;", false},
		{"bar.sync 0;", "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", true},
		{"fence.acq_rel.gpu;", "ld.global.u32 %r1, [%rd1];", true},
		{"fence.acq_rel.gpu;", "ld.const.u32 %r1, [%rd1];", false},
		{"ld.volatile.global.u32 %r1, [%rd1];", "ld.volatile.shared.u32 %r2, [%r3];", true},
		{"ld.volatile.global.u32 %r1, [%rd1];", "ld.global.u32 %r2, [%rd3];", false},
		{"ld.acquire.gpu.global.u32 %r1, [%rd1];", "ld.global.u32 %r2, [%rd3];", true},
		{"shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "vote.sync.any.pred %p1, %p2, -1;",
			true},
		{"cp.async.ca.shared.global [%r1], [%rd1], 16;", "cp.async.commit_group;", true},
		{"cp.async.wait_group 0;", "ld.shared.u32 %r1, [%r2];", true},
		{"cp.async.ca.shared.global [%r1], [%rd1], 16;", "ld.global.u32 %r2, [%rd3];",
			false},
		{"mov.u32 %r1, %clock;", "mov.u32 %r2, %clock;", true},
		{"mov.u32 %r1, %clock;", "st.global.u32 [%rd1], %r2;", true},
		{"mov.u32 %r1, %clock;", "bar.sync 0;", true},
		{"mov.u32 %r1, %clock;", "add.u32 %r4, %r5, %r6;", false},
		{"@%p1 ret;", "add.u32 %r4, %r5, %r6;", true},
		{"brkpt;", "st.local.u32 [%rd1], %r2;", true},
		{"frob %r1;", "st.local.u32 [%rd1], %r2;", true},
		{"frob %r1;", "add.cc.u32 %r1, %r2, %r3;", true},
		{"frob %r1;", "add.u32 %r4, %r5, %r6;", false},
	};
	struct module t = kernel("ret;");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cfg_effects a = effects(&t, cases[i].a), b = effects(&t, cases[i].b);

		if (must_order(&a, &b) != cases[i].ordered ||
			must_order(&b, &a) != cases[i].ordered)
			fail_msg("%s %s", cases[i].a, cases[i].b);
	}
	finish(&t);
}

static void units(void **state)
{
	static const struct {
		const char *mnem;
		unsigned unit;
	} cases[] = {{"add.s32", PTX_UNIT_ALU}, {"add.f32", PTX_UNIT_FMA},
		{"add.f64", PTX_UNIT_DOUBLE}, {"fma.rn.f16x2", PTX_UNIT_HALF},
		{"fma.rn.f32", PTX_UNIT_FMA}, {"mad.lo.s32", PTX_UNIT_FMA},
		{"setp.lt.f64", PTX_UNIT_DOUBLE}, {"mov.f64", PTX_UNIT_ALU},
		{"selp.f16", PTX_UNIT_ALU}, {"ex2.approx.f32", PTX_UNIT_SFU},
		{"div.rn.f32", PTX_UNIT_DIV}, {"cvt.f16.f32", PTX_UNIT_CVT},
		{"popc.b32", PTX_UNIT_CVT}, {"ld.global.f64", PTX_UNIT_LSU},
		{"shfl.sync.idx.b32", PTX_UNIT_LSU}, {"tex.2d.v4.f32.f32", PTX_UNIT_TEX},
		{"vote.sync.any.pred", PTX_UNIT_WARP},
		{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", PTX_UNIT_TENSOR},
		{"bar.sync", PTX_UNIT_CTL}, {"bra", PTX_UNIT_CTL}, {"frob", PTX_UNIT_NONE}};
	struct module t = kernel("ret;");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (ptx_get_mnem(t.m, cases[i].mnem)->unit != cases[i].unit)
			fail_msg("%s: %u", cases[i].mnem, ptx_get_mnem(t.m, cases[i].mnem)->unit);
	for (unsigned i = 1; i < PTX_OP_COUNT; i++)
		assert_true(ptx_ops[i].unit > PTX_UNIT_NONE && ptx_ops[i].unit < PTX_UNIT_COUNT);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory),
		cmocka_unit_test(others),
		cmocka_unit_test(pairs),
		cmocka_unit_test(units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
