/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests new code, copies, extracts, and the errors that validation must find. */
#include "unit.h"

#include "fixture.h"

#include <errno.h>

static unsigned validate(struct module *t)
{
	t->diags->len = t->diags->errors = 0;
	return ptx_validate(t->m, t->diags);
}

static void expect_valid(struct module *t)
{
	if (validate(t))
		no_errors(t);
}

static void append_code(void **state)
{
	struct module t = kernel("mov.u32 %r1, %tid.x;\nL: bra L;\n");
	ptx_body body = {0};
	struct ptx_sym *done = ptx_new_label(t.m, t.f, "done");
	uint32_t fresh = ptx_new_reg(t.m, t.f, &body, "u32", "count");
	char name[64];

	assert_int_equal(ptx_append(t.m, t.f, &body, t.diags,
				 ".reg .pred %%hd_p<2>;\nmov.u32 %s, %d;\n"
				 "setp.eq.u32 %%hd_p1, %%r1, %s;\n@%%hd_p1 bra %s;\n",
				 ptx_reg_name(t.f, fresh, name, sizeof(name)), 7, name, done->name),
		0);
	no_errors(&t);
	for (size_t i = 0; i < t.f->body.len; i++)
		assert_true(VEC_PUSH(&body, t.f->body.at[i]));
	/* An appended text may use names that an earlier text declares, and may jump to a label
	 * that only a later text defines. */
	assert_int_equal(
		ptx_append(t.m, t.f, &body, t.diags, "@!%%hd_p1 bra $hd_late;\n%s:\n", done->name),
		0);
	assert_int_equal(
		ptx_append(t.m, t.f, &body, t.diags, "$hd_late: st.global.u32 [out], %%r1; ret;"),
		0);
	VEC_FREE(&t.f->body);
	t.f->body = body;
	/* The kernel's first body, with its declarations, now follows code that uses its registers,
	 * so validation fails. */
	assert_int_not_equal(validate(&t), 0);
	finish(&t);
}

/* The parser's memory limit depends on the length of the text. Appended code may exceed it, since
 * it has a budget of its own. */
static void append_much(void **state)
{
	struct module t = kernel("ret;\n");
	ptx_body body = {0};
	size_t had = t.m->arena.limit_bytes;

	assert_true(had > 0);
	while (t.m->arena.used_bytes <= had)
		if (ptx_append(t.m, t.f, &body, t.diags,
			    "st.global.v2.u32 [%%rd1+8], {%%r1, %%r2};\n"
			    "st.global.v2.u32 [%%rd1+16], {%%r1, %%r2};\n"
			    "st.global.v2.u32 [%%rd1+24], {%%r1, %%r2};\n"
			    "st.global.v2.u32 [%%rd1+32], {%%r1, %%r2};\n") < 0)
			fail_msg("after %zu statements", body.len);
	VEC_FREE(&body);
	finish(&t);
}

/* New code raises the module's version to what its instructions need, and no further. Names and
 * other text stay as they were. */
static void append_raises(void **state)
{
	static const char old[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
				  ".visible .entry k()\n{\nret;\n}\n";
	struct module t = parse_ok(old);
	struct strbuf text = {0};
	ptx_body body = {0};

	t.f = ptx_find_func(t.m, "k");
	assert_int_equal(
		ptx_append(t.m, t.f, &body, t.diags, "fence.acq_rel.sys; bar.warp.sync -1;"), 0);
	assert_int_equal(t.m->version, 60);
	assert_int_equal(ptx_append(t.m, t.f, &body, t.diags, "nanosleep.u32 100;"), 0);
	assert_int_equal(t.m->version, 63);
	ptx_print(t.m, &text);
	assert_non_null(strstr(text.at, ".version 6.3\n.target sm_70\n"));
	assert_null(strstr(text.at, "6.0"));
	assert_int_equal(ptx_append(t.m, t.f, &body, t.diags, "mov.u32 %%hd_r, 1;"), -EINVAL);
	VEC_FREE(&body);
	strbuf_finish(&text);
	finish(&t);
}

static void append_at_end(void **state)
{
	struct module t = kernel("mov.u32 %r1, %tid.x;\n");
	ptx_body *body = &t.f->body;
	uint32_t r;
	char name[64];

	assert_int_equal(ptx_append(t.m, t.f, body, t.diags, "{ .reg .u32 x; mov.u32 x, %%r1;"), 0);
	/* The appended text leaves a scope open, but a new register belongs to the function. */
	r = ptx_new_reg(t.m, t.f, body, "b64", "wide");
	assert_int_equal(
		ptx_append(t.m, t.f, body, t.diags, "add.u32 %%r2, x, 1; bra $hd_out; }"), 0);
	assert_int_equal(ptx_append(t.m, t.f, body, t.diags, "mov.u64 %s, 0; $hd_out: ret;",
				 ptx_reg_name(t.f, r, name, 64)),
		0);
	assert_int_equal(ptx_append(t.m, t.f, body, t.diags, "add.u32 %%r2, x, 1;"), -EINVAL);
	finish(&t);
}

static void append_errors(void **state)
{
	static const char *const wrong[] = {"add.u32 %r1, %nothere, 1;", "mov.u32 %r1 %r2;",
		".reg .u32 %r<4>;", "mov.u32 %r1, unknown_name;", "@%q bra x;", "garbage here",
		"}{;"};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct module t = kernel("ret;");
		int r = ptx_append(t.m, t.f, &t.f->body, t.diags, "%s", wrong[i]);

		if (r != -EINVAL || !t.diags->errors)
			fail_msg("%s: %d", wrong[i], r);
		assert_non_null(strstr(t.diags->at[0].message, "in generated code"));
		finish(&t);
	}
}

static void add_param(void **state)
{
	struct module t = kernel("ret;");
	struct ptx_sym *p = ptx_add_param(t.m, t.f, t.diags, ".param .align 8 .b8 hd_args[64]");

	assert_non_null(p);
	assert_int_equal(p->bytes, 64);
	assert_int_equal(p->align, 8);
	assert_int_equal(t.f->params.len, 2);
	assert_int_equal(
		ptx_append(t.m, t.f, &t.f->body, t.diags, "ld.param.u64 %%rd1, [hd_args+56];"), 0);
	assert_true(prints(&t, ".param .align 8 .b8 hd_args[64]"));
	assert_null(ptx_add_param(t.m, t.f, t.diags, ".param .b8 hd_args[4]"));
	expect_valid(&t);
	finish(&t);
}

static void add_var(void **state)
{
	struct module t = kernel("mov.u32 %r1, %tid.x;\n");
	size_t n = t.f->body.len;
	struct ptx_sym *v;

	/* The appended text leaves a scope open, but a new variable belongs to the module. */
	assert_int_equal(ptx_append(t.m, t.f, &t.f->body, t.diags, "{ .reg .u32 hd_table;"), 0);
	v = ptx_add_var(t.m, t.diags, ".visible .const .align 8 .b64 hd_table[4];");
	assert_non_null(v);
	assert_int_equal(v->bytes, 32);
	assert_int_equal(v->align, 8);
	assert_int_equal(v->space, PTX_CONST);
	assert_ptr_equal(ptx_find_global(t.m, "hd_table"), v);
	t.f->body.len = n;
	assert_int_equal(ptx_append(t.m, t.f, &t.f->body, t.diags,
				 "ld.const.u64 %%rd1, [hd_table+24]; ret;"),
		0);
	no_errors(&t);
	expect_valid(&t);
	/* The variable comes before the code that names it. */
	assert_true(prints(&t, ".visible .const .align 8 .b64 hd_table[4];\n.visible .entry k("));
	assert_true(prints(&t, "ld.const.u64 %rd1, [hd_table+24];"));
	assert_null(ptx_add_var(t.m, t.diags, ".const .b64 hd_table[2];"));
	assert_ptr_equal(ptx_find_global(t.m, "hd_table"), v);
	assert_null(ptx_add_var(t.m, t.diags, ".const .b64 k;"));
	assert_null(ptx_add_var(t.m, t.diags, ".const .b64 hd_more"));
	assert_null(ptx_add_var(t.m, t.diags, ".b64 3;"));
	finish(&t);
}

static void raise_align(void **state)
{
	static const char *const printed[] = {".shared .align 16 .b8 odd[20];",
		".shared .align 16 .u32 some[5];", ".shared .align 32 .b8 wide[64];"};
	struct module t = kernel(".shared .align 1 .b8 odd[20];\n.shared .u32 some[5];\n"
				 ".shared .align 32 .b8 wide[64];\nret;");

	for (size_t i = 0; i < t.f->body.len; i++)
		if (t.f->body.at[i].kind == PTX_DECL && t.f->body.at[i].sym->space == PTX_SHARED)
			assert_int_equal(ptx_raise_align(t.m, t.f->body.at[i].sym, 16), 0);
	for (size_t i = 0; i < ARRAY_LEN(printed); i++)
		assert_true(prints(&t, printed[i]));
	expect_valid(&t);
	finish(&t);
}

static const char two[] =
	".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n.file 2 \"b.cu\"\n"
	".extern .func (.param .b32 r) outside(.param .b32 x);\n"
	".extern .func never(.param .b32 x);\n"
	".global .u32 used = 5;\n.global .u32 unused;\n.global .u64 ptr = used_too;\n"
	".global .u64 table[2] = {generic(used), leaf};\n.const .u32 c[2];\n.shared .u32 s[4];\n"
	".func (.param .b32 r) leaf(.param .b32 x)\n{ .reg .u32 %r<2>; ld.param.u32 %r1, [x];\n"
	"st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) middle(.param .b32 x)\n{ .reg .u32 %r<3>; { .param .b32 a; .param "
	".b32 b;\n"
	"ld.global.u32 %r1, [used]; st.param.b32 [a], %r1; call (b), outside, (a); }\n"
	"st.param.b32 [r], %r1; ret; }\n"
	".entry one(.param .u64 out)\n{ .reg .u32 %r<5>; .reg .u64 %rd<3>; .reg .pred %p<2>;\n"
	".loc 1 3 4, function_name $info, inlined_at 1 2 3\n"
	"mov.u64 %rd1, table; ld.global.u64 %rd1, [%rd1]; ld.const.u32 %r3, [c]; ld.shared.u32 "
	"%r3, [s];\n"
	"P: .callprototype (.param .b32 _) _ (.param .b32 _);\nL: { .param .b32 a; .param .b32 b;\n"
	"st.param.b32 [a], %r3; call (b), middle, (a); call (b), %rd1, (a), P; }\n"
	"setp.eq.u32 %p1, %r3, 0; { .reg .u32 t; @%p1 bra L; mov.u32 t, %r3; L: bra L; } bra T;\n"
	"X: .branchtargets T, L;\nT: brx.idx %r3, X; }\n"
	".entry other() { ret; }\n";

static void clone(void **state)
{
	char text[sizeof(two)];
	struct module t;
	struct ptx_func *f, *copy;
	struct strbuf a = {0}, b = {0};

	memcpy(text, two, sizeof(two));
	memcpy(strstr(text, "used_too"), "used    ", 8);
	t = parse_ok(text);
	expect_valid(&t);
	f = ptx_find_func(t.m, "one");
	copy = ptx_clone_func(t.m, f, "uno", ptx_find_func(t.m, "other"));
	assert_non_null(copy);
	assert_null(ptx_clone_func(t.m, f, "uno", NULL));
	expect_valid(&t);
	ptx_print_func(t.m, f, &a);
	ptx_print_func(t.m, copy, &b);
	assert_non_null(strstr(b.at, ".entry uno("));
	memcpy(strstr(b.at, "uno"), "one", 3);
	assert_string_equal(a.at, b.at);
	/* A copy shares nothing that may change: renaming in the copy does not change the
	 * original. */
	for (size_t i = 0; i < copy->body.len; i++) {
		struct ptx_stmt *s = &copy->body.at[i];

		if (s->kind == PTX_LABEL) {
			s->sym->name = "renamed";
			s->sym->name_len = 7;
		} else if (s->kind == PTX_INSN && s->n) {
			s->opd[0].kind = PTX_OPD_SINK;
		}
	}
	strbuf_finish(&b);
	ptx_print_func(t.m, f, &b);
	assert_string_equal(a.at, b.at);
	strbuf_finish(&a);
	strbuf_finish(&b);
	finish(&t);
}

static void extract(void **state)
{
	char text[sizeof(two)];
	struct module t, x = {0};
	struct strbuf out = {0};

	memcpy(text, two, sizeof(two));
	memcpy(strstr(text, "used_too"), "unused  ", 8);
	t = parse_ok(text);
	assert_int_equal(ptx_extract(t.m, "nothing", true, &x.m), -ENOENT);
	assert_int_equal(ptx_extract(t.m, "one", true, &x.m), 0);
	ptx_print(x.m, &out);
	assert_non_null(strstr(out.at, "outside("));
	assert_non_null(strstr(out.at, "leaf("));
	assert_non_null(strstr(out.at, "middle("));
	assert_non_null(strstr(out.at, ".global .u32 used = 5"));
	assert_non_null(strstr(out.at, ".file 1"));
	assert_non_null(strstr(out.at, ".loc 1 3 4\n"));
	assert_null(strstr(out.at, "unused"));
	assert_null(strstr(out.at, "never"));
	assert_null(strstr(out.at, "other"));
	assert_int_equal(x.m->sm, 80);
	finish(&t);
	begin(&t, "", 0);
	assert_int_equal(ptx_validate(x.m, t.diags), 0);
	ptx_module_free(x.m);
	strbuf_finish(&out);
	arena_finish(t.arena);
	free(t.arena);
	free(t.diags);
}

/* Lists the functions that a kernel reaches, each once, in the order in which the module declares
 * or defines them first. Includes functions whose address is taken, and .calltargets. Excludes
 * functions that only other kernels call, or that have no body. */
static void reached(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n"
		".func late;\n.extern .func away;\n"
		".func deep\n{\n\tcall late;\n\tret;\n}\n"
		".func target\n{\n\tret;\n}\n"
		".func lone\n{\n\tret;\n}\n"
		".func late\n{\n\tcall deep;\n\tcall away;\n\tret;\n}\n"
		".func pointed\n{\n\tcall target;\n\tret;\n}\n"
		".visible .entry one()\n{\n\t.reg .b64 %rd<3>;\n\tmov.u64 %rd1, pointed;\n"
		"\tcall late;\n\tcall deep;\n\tret;\n}\n"
		".visible .entry two()\n{\n\t.reg .b64 %rd<3>;\n\tld.u64 %rd1, [0];\n"
		"list: .calltargets lone;\n\tcall %rd1, list;\n\tret;\n}\n";
	static const char *const names[] = {
		"one", "pointed", "late", "deep", "target", "two", "lone"};
	struct module t = parse_ok(text);
	ptx_func_list list = {0};

	assert_int_equal(ptx_reached(t.m, ptx_find_func(t.m, "one"), &list), 0);
	assert_int_equal(list.len, 5);
	assert_int_equal(ptx_reached(t.m, ptx_find_func(t.m, "deep"), &list), 0);
	assert_int_equal(list.len, 5);
	assert_int_equal(ptx_reached(t.m, ptx_find_func(t.m, "two"), &list), 0);
	assert_int_equal(list.len, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(list.at[i]->sym->name, names[i]);
		assert_true(list.at[i]->has_body);
	}
	VEC_FREE(&list);
	finish(&t);
}

static void extract_without_storage(void **state)
{
	char text[sizeof(two)];
	struct module t, x = {0};
	struct strbuf out = {0};

	memcpy(text, two, sizeof(two));
	memcpy(strstr(text, "used_too"), "used    ", 8);
	t = parse_ok(text);
	assert_int_equal(ptx_extract(t.m, "one", false, &x.m), 0);
	ptx_print(x.m, &out);
	assert_non_null(strstr(out.at, ".extern .global .u32 used;"));
	assert_non_null(strstr(out.at, ".extern .const .u32 c[2];"));
	assert_non_null(strstr(out.at, "\n.shared .u32 s[4];"));
	ptx_module_free(x.m);
	strbuf_finish(&out);
	/* A kernel that uses nothing of its module brings nothing along. */
	assert_int_equal(ptx_extract(t.m, "other", true, &x.m), 0);
	ptx_print(x.m, &out);
	assert_null(strstr(out.at, "global"));
	assert_null(strstr(out.at, ".file"));
	ptx_module_free(x.m);
	strbuf_finish(&out);
	finish(&t);
}

/* A table that the extract only declares does not bring along the functions that it names. */
static void extract_table(void **state)
{
	static const char text[] =
		".version 7.0\n.target sm_80\n.address_size 64\n"
		".func virtual()\n{\n	ret;\n}\n"
		".global .u64 vtable[1] = {virtual};\n.global .u64 to_it = vtable;\n"
		".entry one()\n{\n	.reg .b64 %d;\n	mov.b64 %d, to_it;\n	ret;\n}\n";
	struct module t = parse_ok(text), x = {0};

	for (int keep = 0; keep < 2; keep++) {
		struct strbuf out = {0};

		assert_int_equal(ptx_extract(t.m, "one", keep, &x.m), 0);
		ptx_print(x.m, &out);
		assert_int_equal(strstr(out.at, "virtual") != NULL, keep);
		assert_int_equal(strstr(out.at, "vtable") != NULL, keep);
		assert_non_null(strstr(out.at, "to_it"));
		ptx_module_free(x.m);
		strbuf_finish(&out);
	}
	finish(&t);
}

/* Each function breaks one thing in a valid kernel; validation must find every one. */
static void break_register(struct ptx_func *f)
{
	f->body.at[6].opd[0].reg = 5000;
}
static void break_guard(struct ptx_func *f)
{
	f->body.at[6].guard = f->body.at[6].opd[0].reg;
}
static void break_braces(struct ptx_func *f)
{
	f->body.at[f->body.len - 2].kind = PTX_CLOSE;
}
static void place_twice(struct ptx_func *f)
{
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_LABEL)
			f->body.at[f->body.len - 1] = f->body.at[i];
}
static void lose_label(struct ptx_func *f)
{
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_LABEL)
			f->body.at[i].kind = PTX_DIRECTIVE, f->body.at[i].sym = NULL,
			f->body.at[i].text = ".pragma \"x\";";
}
static void capture(struct ptx_func *f)
{
	/* Gives the inner x the outer one's name. */
	for (size_t i = f->body.len; i--;) {
		struct ptx_sym *s = f->body.at[i].sym;

		if (f->body.at[i].kind == PTX_DECL && !strcmp(s->name, "x")) {
			s->name = "y";
			return;
		}
	}
}
/* Uses a register after the end of the scope that declares it. */
static void outlive(struct ptx_func *f)
{
	size_t i = f->body.len;

	while (f->body.at[--i].kind != PTX_CLOSE)
		;
	f->body.at[f->body.len - 1] = f->body.at[i - 1];
}
static void drop_declaration(struct ptx_func *f)
{
	f->body.at[4].kind = PTX_OPEN;
	f->body.at[f->body.len - 1].kind = PTX_CLOSE;
}

static void validation(void **state)
{
	static void (*const breaks[])(struct ptx_func *) = {break_register, break_guard,
		break_braces, place_twice, lose_label, capture, outlive, drop_declaration};
	const char *code = ".reg .u32 y;\n.pragma \"a\";\nadd.u32 y, %r2, 3;\n"
			   "{ mov.u32 y, 1; .reg .u32 x; mov.u32 x, y; mov.u32 y, x; }\n"
			   "L: bra L;\nret;\nret;";

	for (size_t i = 0; i < ARRAY_LEN(breaks); i++) {
		struct module t = kernel(code);

		expect_valid(&t);
		breaks[i](t.f);
		if (!validate(&t))
			fail_msg("break %zu is not found", i);
		finish(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append_code),
		cmocka_unit_test(append_much),
		cmocka_unit_test(append_raises),
		cmocka_unit_test(append_at_end),
		cmocka_unit_test(append_errors),
		cmocka_unit_test(add_param),
		cmocka_unit_test(add_var),
		cmocka_unit_test(raise_align),
		cmocka_unit_test(clone),
		cmocka_unit_test(extract),
		cmocka_unit_test(reached),
		cmocka_unit_test(extract_without_storage),
		cmocka_unit_test(extract_table),
		cmocka_unit_test(validation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
