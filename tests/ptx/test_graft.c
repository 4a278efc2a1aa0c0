/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests grafts (copies of one function's statements in another function), flattening (the removal
 * of inner scopes), and bounds on registers. tests/exec/graft.sh tests that real kernels leave the
 * same memory when they are grafted. */
#include "unit.h"

#include "fixture.h"

#include "ptx/graft.h"

#include <errno.h>
#include <time.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static void expect_valid(struct module *t)
{
	t->diags->len = t->diags->errors = 0;
	if (ptx_validate(t->m, t->diags))
		no_errors(t);
}

static struct ptx_func *new_host(struct module *t, const char *text)
{
	assert_int_equal(ptx_add_text(t->m, t->diags, text, strlen(text)), 0);
	return ptx_find_func(t->m, "host");
}

static struct ptx_graft *put(struct module *t, struct ptx_func *host, const struct ptx_func *source)
{
	struct ptx_graft *g;

	assert_int_equal(ptx_graft_new(t->m, host, source, t->diags, &g), 0);
	for (size_t i = 0; i < source->params.len && host != source; i++)
		ptx_graft_map(g, source->params.at[i], host->params.at[i]);
	for (size_t i = 0; i < source->body.len; i++)
		assert_true(VEC_PUSH(&host->body, ptx_graft_stmt(g, &source->body.at[i])));
	assert_int_equal(ptx_graft_error(g), 0);
	return g;
}

/* Grafts a function with every kind of name twice into one host function. */
static void names(void **state)
{
	struct module t = parse_ok(HEAD
		".global .u32 shared_by_all;\n"
		".entry k(.param .u64 p)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\n.reg .b32 %r5;\n"
		".reg .b64 %rd<2>;\n.shared .align 4 .b8 buf[16];\n.local .b32 x<2>;\n"
		"L:\nld.param.u64 %rd1, [p];\nmov.u64 %rd0, buf;\nst.local.u32 [x1], %r1;\n"
		"ld.global.u32 %r5, [shared_by_all];\nsetp.eq.u32 %p1|%p0, %r1, %r5;\n"
		"@!%p1 bra L;\nT: .branchtargets L, M;\nbrx.idx %r2, T;\n.pragma \"nounroll\";\n"
		"M:\nvote.sync.any.pred %p1, !%p1, -1;\nmov.b32 {%r1.b0, _}, %r2;\nbra.uni "
		"M;\n}\n");
	struct ptx_func *k = ptx_find_func(t.m, "k");
	struct ptx_func *host = new_host(&t, ".visible .entry host(.param .u64 q)\n{\n}\n");
	struct ptx_graft *a = put(&t, host, k), *b = put(&t, host, k);

	expect_valid(&t);
	assert_int_equal(host->regs.len, 2 * k->regs.len);
	assert_int_equal(ptx_graft_reg(a, 3), 3);
	assert_int_equal(ptx_graft_reg(b, 3), k->regs.len + 3);
	assert_int_equal(ptx_graft_reg(b, PTX_NO_REG), PTX_NO_REG);
	assert_true(prints(&t, "ld.param.u64 %hd_0_rd1, [q];"));
	assert_true(prints(&t, ".reg .b32 %hd_0_r<3>;"));
	assert_true(prints(&t, ".reg .b32 %hd_1_r<3>;"));
	/* A name that ends in a digit could belong to another family, so it gets a suffix. */
	assert_true(prints(&t, ".reg .b32 %hd_0_r5_;"));
	assert_true(prints(&t, "@!%hd_1_p1 bra $hd_1_L;"));
	assert_true(prints(&t, "$hd_1_T: .branchtargets $hd_1_L, $hd_1_M;"));
	assert_true(prints(&t, "brx.idx %hd_0_r2, $hd_0_T;"));
	assert_true(prints(&t, ".pragma \"nounroll\";\n$hd_0_M:"));
	assert_true(prints(&t, ".shared .align 4 .b8 hd_1_buf[16];"));
	assert_true(prints(&t, ".local .b32 hd_1_x1;"));
	assert_true(prints(&t, "st.local.u32 [hd_1_x1], %hd_1_r1;"));
	assert_true(prints(&t, "ld.global.u32 %hd_0_r5_, [shared_by_all];"));
	assert_true(prints(&t, "mov.b32 {%hd_0_r1.b0, _}, %hd_0_r2;"));
	ptx_graft_free(a);
	ptx_graft_free(b);
	finish(&t);
}

/* Two copies of a function may share registers: in operand lists, in addresses, and as guards. */
static void common(void **state)
{
	struct module t =
		parse_ok(HEAD ".entry k()\n{\n.reg .b32 %r<2>;\n.reg .b64 %a;\n"
			      ".reg .pred %p;\n"
			      "@%p st.global.v2.u32 [%a], {%r0, %r1};\nadd.u32 %r1, %r0, 1;\n}\n");
	struct ptx_func *k = ptx_find_func(t.m, "k");
	struct ptx_func *host = new_host(&t, ".visible .entry host()\n{\n}\n");
	struct ptx_graft *a = put(&t, host, k), *b;

	assert_int_equal(ptx_graft_new(t.m, host, k, t.diags, &b), 0);
	for (uint32_t reg = 1; reg <= 4; reg++) /* %r1, %a, %p, and a number of no register */
		assert_int_equal(ptx_graft_map_reg(b, reg, ptx_graft_reg(a, reg)), 0);
	assert_int_equal(ptx_graft_map_reg(b, 0, 0), -E2BIG);
	for (size_t i = 0; i < k->body.len; i++)
		assert_true(VEC_PUSH(&host->body, ptx_graft_stmt(b, &k->body.at[i])));
	expect_valid(&t);
	assert_int_equal(ptx_graft_reg(b, 1), ptx_graft_reg(a, 1));
	assert_true(prints(&t, "@%hd_0_p st.global.v2.u32 [%hd_0_a], {%hd_1_r0, %hd_0_r1};"));
	assert_true(prints(&t, "add.u32 %hd_0_r1, %hd_1_r0, 1;"));
	ptx_graft_free(a);
	ptx_graft_free(b);
	finish(&t);
}

/* Each copy's names get a tag, such as hd_0_. A copy of a copy gets a new tag in place of the old
 * one, and never a tag that occurs in the parsed text. */
static void again(void **state)
{
	struct module t = parse_ok(HEAD ".entry k()\n{\n.reg .b32 %hd_7_r<3>;\n.reg .b32 %r<3>;\n"
					"$hd_3_L: mov.u32 %hd_7_r1, %r1;\nbra $hd_3_L;\n}\n");
	struct ptx_func *k = ptx_find_func(t.m, "k");
	struct ptx_func *host = new_host(&t, ".visible .entry host()\n{\n}\n");

	ptx_graft_free(put(&t, host, k));
	expect_valid(&t);
	assert_true(prints(&t, "$hd_8_L:"));
	assert_true(prints(&t, "bra $hd_8_L;"));
	assert_true(prints(&t, ".reg .b32 %hd_8_r<3>;"));
	assert_int_equal(host->regs.len, 6);
	assert_string_not_equal(host->body.at[0].sym->name, host->body.at[1].sym->name);
	finish(&t);
}

/* Grafts a function into itself. The function's own code does not change. */
static void itself(void **state)
{
	struct module t = kernel("L: ld.param.u64 %rd1, [out];\n@%p1 bra L;\nret;\n");
	size_t n = t.f->body.len;
	ptx_body old = t.f->body, twice = {0};
	struct ptx_graft *g;
	uint32_t fresh;

	for (size_t i = 0; i < n; i++)
		assert_true(VEC_PUSH(&twice, old.at[i]));
	assert_int_equal(ptx_graft_new(t.m, t.f, t.f, t.diags, &g), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(VEC_PUSH(&twice, ptx_graft_stmt(g, &old.at[i])));
	fresh = ptx_new_reg(t.m, t.f, &twice, "u32", "later");
	assert_int_equal(ptx_graft_reg(g, fresh), fresh);
	t.f->body = twice;
	assert_int_equal(
		ptx_append(t.m, t.f, &t.f->body, t.diags, "add.u32 %%hd_0_r1, %%r1, 1;"), 0);
	expect_valid(&t);
	assert_true(prints(&t, "ld.param.u64 %hd_0_rd1, [out];"));
	ptx_graft_free(g);
	VEC_FREE(&old);
	finish(&t);
}

/* Validation finds a parameter that is mapped to nothing. A function whose parameter is a register
 * is refused. */
static void params(void **state)
{
	struct module t = parse_ok(HEAD
		".func f(.param .u32 p)\n{\n.reg .u32 %r<2>;\nld.param.u32 %r1, [p];\nret;\n}\n");
	struct ptx_func *f = ptx_find_func(t.m, "f");
	struct ptx_func *host = new_host(&t, ".visible .entry host(.param .u32 q)\n{\n}\n");
	struct ptx_graft *g;

	assert_int_equal(ptx_graft_new(t.m, host, f, t.diags, &g), 0);
	for (size_t i = 0; i < f->body.len; i++)
		assert_true(VEC_PUSH(&host->body, ptx_graft_stmt(g, &f->body.at[i])));
	assert_int_equal(ptx_validate(t.m, t.diags), 1);
	ptx_graft_map(g, f->params.at[0], host->params.at[0]);
	host->body.len = 0;
	for (size_t i = 0; i < f->body.len; i++)
		assert_true(VEC_PUSH(&host->body, ptx_graft_stmt(g, &f->body.at[i])));
	expect_valid(&t);
	assert_true(prints(&t, "ld.param.u32 %hd_0_r1, [q];"));
	ptx_graft_free(g);
	finish(&t);
	t = parse_ok(HEAD ".func f(.reg .u32 %in)\n{\nret;\n}\n");
	f = ptx_find_func(t.m, "f");
	host = new_host(&t, ".visible .entry host()\n{\n}\n");
	assert_int_equal(ptx_graft_new(t.m, host, f, t.diags, &g), -ENOTSUP);
	assert_string_equal(t.diags->at[0].message,
		"f cannot be put into host: a register is a parameter: %in");
	finish(&t);
}

static const char unknown[] = HEAD
	".entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.shared .u32 s;\n.const .u64 c = "
	"generic(s);\n"
	"L: frob.s32 %r1 ++ s, 0xL, L;\n"
	"{ .reg .b32 %r<2>; .reg .b32 s; frob.s32 %r1 ++ s, %r2; frob2 %r1, M; M: }\nret;\n}\n";

/* Instructions that the parser keeps as text get the copy's names, too, in any scope. */
static void texts(void **state)
{
	struct module t = parse_ok(unknown);
	struct ptx_func *k = ptx_find_func(t.m, "k");
	struct ptx_func *host = new_host(&t, ".visible .entry host(.param .u64 q)\n{\n}\n");

	ptx_graft_free(put(&t, host, k));
	expect_valid(&t);
	assert_true(prints(&t, "frob.s32 %hd_0_r1 ++ hd_0_s, 0xL, $hd_0_L;"));
	assert_true(prints(&t, ".const .u64 hd_0_c = generic(hd_0_s);"));
	assert_true(prints(&t, "frob.s32 %hd_0_r_1_1 ++ %hd_0_s, %hd_0_r2;"));
	assert_true(prints(&t, "frob2 %hd_0_r_1_1, $hd_0_M;"));
	finish(&t);
}

static void refused(void **state)
{
	static const struct {
		const char *code, *why;
	} cases[] = {{".global .u32 g;", "there is only one of the variable g"},
		{"frob ++ p;", "names a parameter"},
		{".extern .const .u32 e[];", "there is only one of the variable e"}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[512];
		struct module t;
		struct ptx_graft *g;
		struct ptx_func *host;

		sprintf(text, HEAD ".entry k(.param .u64 p)\n{\n%s\nret;\n}\n", cases[i].code);
		t = parse_ok(text);
		host = new_host(&t, ".visible .entry host(.param .u64 p)\n{\n}\n");
		assert_int_equal(
			ptx_graft_new(t.m, host, ptx_find_func(t.m, "k"), t.diags, &g), -ENOTSUP);
		assert_int_equal(t.diags->len, 1);
		if (!strstr(t.diags->at[0].message, cases[i].why))
			fail_msg("%s", t.diags->at[0].message);
		finish(&t);
	}
}

/* ---- flatten ---- */
static struct module flat(const char *code)
{
	struct module t = kernel(code);

	assert_int_equal(ptx_flatten(t.m, t.f, t.diags), 0);
	no_errors(&t);
	expect_valid(&t);
	return t;
}

static void scopes(void **state)
{
	struct module t =
		flat("L: mov.u32 %r1, 1;\n"
		     "{ .reg .u32 %r<3>; .reg .u32 %r7; .shared .u32 s;\n"
		     "L: mov.u32 %r1, %r8; mov.u32 %r7, s;\n"
		     "{ .reg .u32 s; mov.u32 s, %r2; bra L; } bra N; frob ++ %r1, s; }\n"
		     "N: mov.u32 %r2, %r7;\n.reg .u32 late;\nmov.u32 late, %r1;\nbra L;\n");
	size_t decls = 0;

	for (size_t i = 0; i < t.f->body.len; i++)
		assert_true(t.f->body.at[i].kind != PTX_OPEN && t.f->body.at[i].kind != PTX_CLOSE);
	while (t.f->body.at[decls].kind == PTX_DECL)
		decls++;
	assert_int_equal(decls, 9);
	assert_true(prints(&t, ".reg .u32 %hd_0_r<3>;"));
	assert_true(prints(&t, "$hd_0_L:\n\tmov.u32 %hd_0_r1, %r8;\n\tmov.u32 %hd_0_r7_, hd_0_s;"));
	assert_true(prints(&t, "mov.u32 %hd_0_s, %hd_0_r2;\n\tbra $hd_0_L;\n\tbra N;\n"
			       "\tfrob ++ %hd_0_r1, hd_0_s;\nN:\n\tmov.u32 %r2, %r7;"));
	/* After flattening, a register that an inner scope declared belongs to the function. */
	assert_int_equal(
		ptx_append(t.m, t.f, &t.f->body, t.diags, "mov.u32 %%hd_0_r1, hd_0_s;"), 0);
	finish(&t);
}

static void calls(void **state)
{
	static const char head[] = HEAD
		".extern .func (.param .b32 r) f(.param .b32 a);\n.entry k()\n{\n.reg .b32 %r<3>;\n"
		".reg .pred %p;\n";
	static const struct {
		const char *code, *printed;
	} cases[] = {
		/* A call keeps its braces, but other declarations move out of them. */
		{"{ .reg .b32 t; .param .b32 a; .param .b32 b; st.param.b32 [a], t;\n"
		 "call (b), f, (a); ld.param.b32 %r1, [b]; }\n",
			".reg .b32 %hd_0_t;\n\t{\n\t.param .b32 a;\n\t.param .b32 b;\n"
			"\tst.param.b32 [a], %hd_0_t;\n\tcall (b), f, (a);\n"
			"\tld.param.b32 %r1, [b];\n\t}"},
		/* Braces with a branch into or out of them do not stay. */
		{"{ .param .b32 a; .param .b32 b; @%p bra L; call (b), f, (a); L: }\n",
			".param .b32 hd_0_a;\n\t.param .b32 hd_0_b;\n\t@%p bra $hd_0_L;\n"
			"\tcall (hd_0_b), f, (hd_0_a);\n$hd_0_L:"},
		/* Of two pairs of braces, the inner ones stay. */
		{"{ .param .b32 a; { .param .b32 b; call (b), f, (a); } }\n",
			".param .b32 hd_0_a;\n\t{\n\t.param .b32 b;\n"
			"\tcall (b), f, (hd_0_a);\n\t}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[1024];
		struct module t;

		sprintf(text, "%s%sret;\n}\n", head, cases[i].code);
		t = parse_ok(text);
		assert_int_equal(ptx_flatten(t.m, ptx_find_func(t.m, "k"), t.diags), 0);
		expect_valid(&t);
		assert_true(prints(&t, cases[i].printed));
		finish(&t);
	}
}

/* Flattening code without scopes keeps its lines, and a failure leaves the module as it was. */
static void unchanged(void **state)
{
	static const char plain[] = "mov.u32 %r1, 1;\n\n\nL: bra L;";
	struct module t = flat(plain);
	struct strbuf a = {0}, b = {0};

	assert_true(prints(&t, "\tmov.u32 %r1, 1;\n\n\nL: bra L;"));
	finish(&t);
	/* Fails: x means the module's variable before, and the function's variable after the
	 * function declares its own x. */
	t = parse_ok(HEAD ".global .u32 x;\n.entry k()\n{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, x;\n"
			  "{ .reg .u32 y; mov.u32 y, 1; }\n.shared .u32 x;\nmov.u64 %rd1, x;\n}\n");
	expect_valid(&t);
	ptx_print(t.m, &a);
	assert_int_equal(ptx_flatten(t.m, ptx_find_func(t.m, "k"), t.diags), -EINVAL);
	ptx_print(t.m, &b);
	assert_string_equal(a.at, b.at);
	strbuf_finish(&a);
	strbuf_finish(&b);
	finish(&t);
}

/* ---- bounds on registers ---- */
static void bounds(void **state)
{
	struct module t = parse_ok(
		HEAD ".entry k()\n.maxntid 128, 2\n.minnctapersm 3\n.pragma \"x\";\n.maxnreg "
		     "40\n{\nret;\n}\n"
		     ".entry q()\n.reqntid 0x20\n.maxnctapersm 2\n{\nret;\n}\n.entry n()\n{ret;}\n"
		     ".entry c()\n.maxntid 32\n.explicitcluster\n{ret;}\n");
	struct ptx_func *k = ptx_find_func(t.m, "k");
	struct ptx_bounds b;

	ptx_bounds_get(ptx_find_func(t.m, "n"), &b);
	assert_int_equal(ptx_bounds_threads(&b), 0);
	ptx_bounds_get(ptx_find_func(t.m, "q"), &b);
	assert_int_equal(b.reqntid[0] + b.reqntid[1] + b.reqntid[2], 34);
	assert_int_equal(b.maxntid[0], 0);
	assert_int_equal(b.minnctapersm, 2);
	assert_int_equal(ptx_bounds_threads(&b), 32);
	ptx_bounds_get(k, &b);
	assert_int_equal(b.maxntid[0], 128);
	assert_int_equal(b.maxntid[1], 2);
	assert_int_equal(b.maxntid[2], 1);
	assert_int_equal(ptx_bounds_threads(&b), 256);
	assert_int_equal(b.minnctapersm, 3);
	assert_int_equal(b.maxnreg, 40);
	b.reqntid[0] = 5;
	assert_int_equal(ptx_bounds_set(t.m, k, &b), -EINVAL);
	b.maxntid[0] = b.minnctapersm = 0;
	b.maxnreg = 32;
	assert_int_equal(ptx_bounds_set(t.m, k, &b), 0);
	assert_int_equal(k->directives.len, 3);
	assert_string_equal(k->directives.at[0], ".pragma \"x\";");
	assert_string_equal(k->directives.at[1], ".reqntid 5, 1, 1");
	assert_string_equal(k->directives.at[2], ".maxnreg 32");
	assert_int_equal(ptx_bounds_lower_maxnreg(t.m, k, 40), 0); /* the limit is lower already */
	assert_string_equal(k->directives.at[2], ".maxnreg 32");
	assert_int_equal(ptx_bounds_lower_maxnreg(t.m, k, 24), 0);
	assert_string_equal(k->directives.at[2], ".maxnreg 24");
	assert_int_equal(ptx_bounds_lower_maxnreg(t.m, ptx_find_func(t.m, "n"), 16), 0);
	ptx_bounds_get(ptx_find_func(t.m, "n"), &b);
	assert_int_equal(b.maxnreg, 16);
	assert_null(ptx_bounds_cluster(k));
	assert_string_equal(ptx_bounds_cluster(ptx_find_func(t.m, "c")), ".explicitcluster");
	finish(&t);
}

/* ptx_bounds_state_registers gives a kernel a .maxnreg: its own, or as many registers as fit if its
 * blocks have their maximum number of threads. */
static void bound_on_registers(void **state)
{
	static const struct {
		const char *directives;
		uint32_t maxnreg;
	} cases[] = {
		{"", 255},
		{".maxntid 256\n", 255},
		{".maxntid 257\n", 224},
		{".maxntid 32, 16\n", 128},
		{".reqntid 1024\n", 64},
		{".minnctapersm 2\n", 255}, /* counts only together with a limit on threads */
		{".maxntid 256\n.minnctapersm 2\n", 0},
		{".maxntid 256\n.maxnreg 40\n", 40},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[256];
		struct ptx_bounds b;
		struct module t;

		sprintf(text, "%s.entry k()\n%s{\nret;\n}\n", HEAD, cases[i].directives);
		t = parse_ok(text);
		assert_int_equal(ptx_bounds_state_registers(t.m, ptx_find_func(t.m, "k")), 0);
		ptx_bounds_get(ptx_find_func(t.m, "k"), &b);
		assert_int_equal(b.maxnreg, cases[i].maxnreg);
		finish(&t);
	}
}

/* ---- time for large inputs ---- */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the CPU time for flattening and grafting this many scopes, each with a register and a
 * label. */
static double time_scopes(size_t n)
{
	struct strbuf code = {0};
	struct ptx_func *host;
	struct module t;
	double from;

	for (size_t i = 0; i < n; i++)
		strbuf_puts(&code, "{ .reg .u32 %r<2>; .reg .pred p; setp.eq.u32 p, %r1, 0;\n"
				   "@p bra L; frob ++ p; L: mov.u32 %r1, %r5; }\n");
	t = kernel(code.at);
	host = new_host(&t, ".visible .entry host(.param .u64 p)\n{\n}\n");
	from = seconds();
	ptx_graft_free(put(&t, host, t.f));
	assert_int_equal(ptx_flatten(t.m, t.f, t.diags), 0);
	assert_int_equal(ptx_flatten(t.m, host, t.diags), 0);
	ptx_graft_free(put(&t, t.f, host));
	from = seconds() - from;
	expect_valid(&t);
	strbuf_finish(&code);
	finish(&t);
	return from;
}

static void is_linear(void **state)
{
	double few = time_scopes(4000), many = time_scopes(32000);

	print_message("%.3f s, eight times as many %.3f s\n", few, many);
	/* Quadratic time would be 64 times as long. */
	assert_true(many < 24 * few + 0.2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(common),
		cmocka_unit_test(again),
		cmocka_unit_test(itself),
		cmocka_unit_test(params),
		cmocka_unit_test(texts),
		cmocka_unit_test(refused),
		cmocka_unit_test(scopes),
		cmocka_unit_test(calls),
		cmocka_unit_test(unchanged),
		cmocka_unit_test(bounds),
		cmocka_unit_test(bound_on_registers),
		cmocka_unit_test(is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
