/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Imports kernels of one module into another: which names change, which symbols are shared, and
 * which modules cannot be combined.
 */
#include "unit.h"

#include "fixture.h"

#include "ptx/graft.h"

#include <errno.h>

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"

static const char into_text[] = HEAD("7.8",
	"sm_80") "// a\n"
		 ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		 ".extern .shared .align 4 .b8 dyn[];\n"
		 ".visible .global .u32 count;\n"
		 ".weak .func (.param .b32 r) alike(.param .b32 x)\n{\n.reg .b32 %r<2>;\n"
		 ".loc 1 2 3\nld.param.b32 %r1, [x];\nst.param.b32 [r], %r1;\nret;\n}\n"
		 ".weak .func counts()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [count];\nret;\n}\n"
		 ".weak .func other()\n{\ntrap;\n}\n"
		 ".visible .entry host()\n{\nret;\n}\n";

static const char from_text[] = HEAD("8.3",
	"sm_90, debug") ".file 1 \"x.cu\"\n"
			".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
			".extern .global .u32 elsewhere;\n"
			".extern .shared .align 16 .b8 mine[];\n.extern .shared .align 8 .b8 "
			"too[];\n"
			".global .u32 never;\n"
			".visible .global .u32 count = 3;\n"
			".extern .global .u32 later;\n"
			".global .u64 table[3] = {generic(count), leaf, vprintf};\n"
			".weak .func (.param .b32 r) alike(.param .b32 x)\n{\n.reg .b32 %r<2>;\n"
			".loc 1 7 3\nld.param.b32 %r1, [x];\nst.param.b32 [r], %r1;\nret;\n}\n"
			".weak .func counts()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, "
			"[count];\nret;\n}\n"
			".weak .func other()\n{\nret;\n}\n.weak .func fresh()\n{\nret;\n}\n"
			".func leaf()\n{\nret;\n}\n.func twin()\n{\ncall leaf;\nret;\n}\n.alias "
			"same, twin;\n"
			".func same();\n.visible .global .u32 later = 1;\n"
			".visible .entry k(.param .u64 k_param_0)\n.maxntid 64, 1, 1\n{\n.reg .b64 "
			"%rd<3>;\n"
			".reg .b32 %r<4>;\n.loc 1 9 1\nmov.u64 %rd1, table;\nmov.u64 %rd2, mine;\n"
			"ld.shared.u32 %r1, [too+4];\nld.global.u32 %r2, "
			"[elsewhere];\nld.global.u32 %r2, [later];\n"
			"frob ++ count, %r1;\n{ .param .b32 a; .param .b32 b; st.param.b32 [a], "
			"%r1;\n"
			"call (b), alike, (a); }\ncall counts;\ncall other;\ncall fresh;\ncall "
			"same;\nret;\n}\n"
			".section .debug_abbrev\n{\n.b8 1\n}\n";

static struct ptx_func *import(struct module *t, const struct module *from, const char *prefix)
{
	struct ptx_func *f;

	assert_int_equal(ptx_import(t->m, from->m, "k", prefix, t->diags, &f), 0);
	no_errors(t);
	if (ptx_validate(t->m, t->diags))
		no_errors(t);
	return f;
}

/* Counts how often one text occurs in another. */
static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void names(void **state)
{
	struct module t = parse_ok(into_text), from = parse_ok(from_text), again;
	struct strbuf out = {0};
	struct ptx_func *k;

	k = import(&t, &from, "k1_");
	assert_string_equal(k->sym->name, "k1_k");
	assert_ptr_equal(ptx_find_func(t.m, "k1_k"), k);
	assert_true(k->is_entry && k->linkage == PTX_VISIBLE);
	assert_string_equal(import(&t, &from, "k2_")->sym->name, "k2_k");
	ptx_print(t.m, &out);
	again = parse_ok(out.at);
	assert_int_equal(ptx_validate(again.m, again.diags), 0);
	finish(&again);
	assert_int_equal(count(out.at, ".extern .func"), 1);
	assert_int_equal(count(out.at, ".extern .global .u32 elsewhere;"), 1);
	/* The dynamic shared memory of both modules becomes one variable, with the larger
	 * alignment. */
	assert_int_equal(count(out.at, ".extern .shared"), 1);
	assert_non_null(strstr(out.at, ".extern .shared .align 16 .b8 dyn[];"));
	assert_non_null(strstr(out.at, "mov.u64 %rd2, dyn;\n\tld.shared.u32 %r1, [dyn+4];"));
	/* Functions that are equal in both modules and use no other symbols are shared. Functions
	 * that differ, or that use symbols of their module, are copied. */
	assert_int_equal(count(out.at, "alike("), 2); /* declared and defined */
	assert_int_equal(count(out.at, "call (b), alike, (a);"), 2);
	assert_non_null(strstr(out.at, "call k1_counts;\n\tcall k1_other;\n\tcall fresh;\n"));
	assert_non_null(strstr(out.at, "ld.global.u32 %r1, [k1_count];"));
	assert_int_equal(count(out.at, ".weak .func fresh()"), 2); /* declared and defined */
	/* Initialisers, aliases, unknown text, and a function declared before its definition. */
	assert_non_null(strstr(out.at, "k1_table[3] = {generic(k1_count), k1_leaf, vprintf};"));
	assert_non_null(strstr(out.at, ".alias k2_same, k2_twin;"));
	assert_non_null(strstr(out.at, "call k1_same;"));
	assert_non_null(strstr(out.at, "frob ++ k1_count, %r1;"));
	assert_non_null(strstr(out.at, ".visible .global .u32 k1_later = 1;"));
	assert_int_equal(count(out.at, "[k2_later]"), 1);
	assert_null(strstr(out.at, "never"));
	assert_int_equal(count(out.at, ".loc"), 1); /* only the host module's own */
	assert_null(strstr(out.at, ".section"));
	assert_null(strstr(out.at, ".file"));
	/* The result has the higher version and the higher target of both modules. */
	assert_non_null(strstr(out.at, ".version 8.3\n.target sm_90\n"));
	assert_int_equal(t.m->version, 83);
	assert_int_equal(t.m->sm, 90);
	assert_string_equal(t.m->target, "sm_90");
	/* The imported symbols come before any code that may name them. */
	assert_true(strstr(out.at, "k2_table") < strstr(out.at, ".entry host"));
	assert_true(strstr(out.at, ".func k2_twin") < strstr(out.at, ".entry host"));
	assert_non_null(strstr(out.at, ".maxntid 64, 1, 1"));
	strbuf_finish(&out);
	finish(&t);
	finish(&from);
}

/* Imports a module's own kernel into it again: the copy has its own storage. */
static void itself(void **state)
{
	struct module t = parse_ok(from_text);

	import(&t, &t, "again_");
	assert_true(prints(&t, ".visible .global .u32 again_count = 3;"));
	/* The copy gets its own copy of the weak function `counts`: a shared one would write the
	 * variable of only one of the two kernels. */
	assert_true(prints(&t, "call again_counts;"));
	assert_true(prints(&t, "call other;"));
	finish(&t);
}

static void refused(void **state)
{
	static const struct {
		const char *into, *from;
		int error;
		const char *why;
	} cases[] = {
		{HEAD("8.0", "sm_90"), HEAD("8.0", "sm_90a") ".entry k() { ret; }\n", -ENOTSUP,
			"written for sm_90a, the module that it goes into for sm_90"},
		{HEAD("8.0", "sm_90a"), HEAD("8.0", "sm_100") ".entry k() { ret; }\n", -ENOTSUP,
			"written for sm_100"},
		{HEAD("8.0", "sm_90a"), HEAD("8.0", "sm_80") ".entry k() { ret; }\n", 0, ""},
		{HEAD("8.0", "sm_90a"), HEAD("8.0", "sm_90a") ".entry k() { ret; }\n", 0, ""},
		{HEAD("8.0", "sm_90"),
			".version 8.0\n.target sm_80\n.address_size 32\n.entry k() { ret; }\n",
			-ENOTSUP, "32-bit"},
		{HEAD("8.0", "sm_90"),
			HEAD("8.0", "sm_90, texmode_independent") ".entry k() { ret; }\n", -ENOTSUP,
			"texmode_independent"},
		{HEAD("8.0", "sm_90"), HEAD("8.0", "sm_90") ".entry q() { ret; }\n", -ENOENT,
			"no such function"},
		{HEAD("8.0", "sm_90") ".entry p_k() { ret; }\n",
			HEAD("8.0", "sm_90") ".entry k() { ret; }\n", -EEXIST, "p_k is taken"},
		{HEAD("8.0", "sm_90"),
			HEAD("8.0", "sm_90") ".global .u32 x;\n.entry k() {\n"
					     ".reg .b64 %r; p_x: mov.u64 %r, x; ret; }\n",
			-EEXIST, "p_x is taken"},
		{HEAD("8.0", "sm_90") ".extern .func f(.param .b32 x);\n",
			HEAD("8.0", "sm_90") ".extern .func f(.param .b64 x);\n.entry k() {\n"
					     ".param .b64 a; call f, (a); ret; }\n",
			-ENOTSUP, "f is something else"},
		{HEAD("8.0", "sm_90") ".global .u32 x;\n",
			HEAD("8.0", "sm_90") ".extern .global .u32 x;\n.entry k() {\n"
					     ".reg .b32 %r; ld.global.u32 %r, [x]; ret; }\n",
			-ENOTSUP, "x is something else"},
		{HEAD("8.0", "sm_90") ".visible .global .u32 x;\n",
			HEAD("8.0", "sm_90") ".extern .global .u32 x;\n.entry k() {\n"
					     ".reg .b32 %r; ld.global.u32 %r, [x]; ret; }\n",
			0, ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct module t = parse_ok(cases[i].into), from = parse_ok(cases[i].from);
		struct strbuf before = {0}, after = {0};
		struct ptx_func *f;
		int r;

		ptx_print(t.m, &before);
		r = ptx_import(t.m, from.m, "k", "p_", t.diags, &f);
		ptx_print(t.m, &after);
		if (r != cases[i].error)
			fail_msg("case %zu: %d", i, r);
		if (r && strcmp(before.at, after.at) != 0)
			fail_msg("case %zu: has become %s", i, after.at);
		if (r && (t.diags->len != 1 || !strstr(t.diags->at[0].message, cases[i].why)))
			fail_msg("case %zu: %s", i, t.diags->len ? t.diags->at[0].message : "");
		strbuf_finish(&before);
		strbuf_finish(&after);
		finish(&t);
		finish(&from);
	}
}

static void without_prefix(void **state)
{
	struct module t = parse_ok(HEAD("7.0", "sm_70")), from = parse_ok(from_text);
	struct ptx_func *f;

	assert_string_equal(import(&t, &from, "")->sym->name, "k");
	assert_true(prints(&t, ".visible .global .u32 count = 3;"));
	assert_int_equal(ptx_import(t.m, from.m, "k", "", t.diags, &f), -EEXIST);
	finish(&t);
	finish(&from);
}

/* The host module's dynamic shared memory is called dyn. In the source module, dyn is a variable of
 * a kernel, and keeps its name there. */
static void captured(void **state)
{
	struct module t = parse_ok(HEAD("8.0", "sm_80") ".extern .shared .align 4 .b8 dyn[];\n");
	struct module from = parse_ok(HEAD(
		"8.0", "sm_80") ".extern .shared .b8 mine[];\n.entry k()\n{\n.reg .b64 %r<2>;\n"
				".shared .u32 dyn;\nmov.u64 %r1, mine;\nmov.u64 %r1, dyn;\n}\n");

	import(&t, &from, "p_");
	assert_true(prints(&t, "mov.u64 %r1, p_mine;\n\tmov.u64 %r1, dyn;"));
	finish(&t);
	finish(&from);
}

static void add_text(void **state)
{
	static const char *const wrong[] = {
		".global .u32 x = ;\n.entry a()\n{\nmov.u32 %r, 1;\n}\n", ".global .u32 count;\n",
		".version 8.0\n", ".visible .entry host()\n{\nret;\n}\n", ".entry b()\n{\n",
		"garbage"};
	struct module t = parse_ok(into_text);
	struct strbuf before = {0}, after = {0};
	const char *good = ".global .u32 own;\n.entry b()\n{\n.reg .u32 %r;\n"
			   "ld.global.u32 %r, [count];\nld.global.u32 %r, [own];\n}\n";

	ptx_print(t.m, &before);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		t.diags->len = t.diags->errors = 0;
		if (ptx_add_text(t.m, t.diags, wrong[i], strlen(wrong[i])) != -EINVAL ||
			!t.diags->errors)
			fail_msg("%s", wrong[i]);
		after.len = 0;
		ptx_print(t.m, &after);
		assert_string_equal(before.at, after.at);
		assert_int_equal(ptx_find_global(t.m, "count")->kind, PTX_SYM_VAR);
		assert_true(ptx_find_func(t.m, "host")->has_body);
		assert_null(ptx_find_global(t.m, "x"));
	}
	t.diags->len = t.diags->errors = 0;
	assert_int_equal(ptx_add_text(t.m, t.diags, good, strlen(good)), 0);
	assert_int_equal(ptx_validate(t.m, t.diags), 0);
	assert_true(prints(&t, ".global .u32 own;\n.entry b()\n{\n\t.reg .u32 %r;"));
	strbuf_finish(&before);
	strbuf_finish(&after);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(itself),
		cmocka_unit_test(refused),
		cmocka_unit_test(without_prefix),
		cmocka_unit_test(captured),
		cmocka_unit_test(add_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
