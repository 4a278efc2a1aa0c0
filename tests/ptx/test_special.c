/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests special registers as operands: what the parser accepts and refuses, compared with ptxas
 * (special_operands.txt), and how the parser rewrites special registers in vectors.
 *   test_special FOLDER */
#include "unit.h"

#include "base/file.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static struct strbuf head; /* the beginning of kernel k, to which the statements are appended */

/* Returns whether the statement is accepted. *ret_m is the module, unless ret_m is NULL. */
static bool parse(const char *statement, struct ptx_module **ret_m, char *ret_why, size_t size)
{
	struct strbuf text = {0};
	struct diag_list diags;
	struct ptx_module *m = NULL;
	struct arena a;
	bool ok;

	arena_init(&a, 0);
	strbuf_printf(&text, "%s\t%s\n\tret;\n}\n", head.at, statement);
	diag_init(&diags, &a, "special", text.at, text.len);
	assert_int_equal(ptx_parse(text.at, text.len, 0, &diags, &m), 0);
	ok = !diags.errors;
	snprintf(ret_why, size, "%s", diags.len ? diags.at[0].message : "");
	strbuf_finish(&text);
	arena_finish(&a);
	if (ok && ret_m)
		*ret_m = m;
	else
		ptx_module_free(m);
	return ok;
}

static void find_left(void *user, struct ptx_opd *o)
{
	unsigned *left = user;

	for (uint32_t i = 0; o->kind >= PTX_OPD_ADDR && o->kind <= PTX_OPD_PAIR && i < o->n; i++)
		*left += o->list[i].kind == PTX_OPD_SPECIAL;
}

/* Fails if a special register is an operand of an instruction other than mov and cvt. */
static void check_form(const struct ptx_module *m, const char *statement)
{
	struct ptx_func *f = ptx_find_func(m, "k");

	for (size_t i = 0; i < f->body.len; i++) {
		struct ptx_stmt s = f->body.at[i];
		unsigned left = 0;

		if (s.kind != PTX_INSN)
			continue;
		ptx_visit_opds(&s, find_left, &left);
		for (unsigned k = 0; k < s.n; k++)
			left += s.opd[k].kind == PTX_OPD_SPECIAL && s.mn->op != PTX_OP_mov &&
				s.mn->op != PTX_OP_cvt;
		if (left)
			fail_msg("a special register is left inside an operand: %s", statement);
	}
}

static void operands(void **state)
{
	char path[512], line[512], why[300];
	unsigned n = 0, accepted = 0;
	FILE *in;

	(void)state;
	snprintf(path, sizeof(path), "%s/special_operands.txt", folder);
	in = fopen(path, "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		struct ptx_module *m;
		bool wanted = line[0] == '+', ok;

		if (line[0] != '+' && line[0] != '-')
			continue;
		line[strcspn(line, "\n")] = 0;
		n++;
		ok = parse(line + 2, &m, why, sizeof(why));
		if (ok != wanted)
			fail_msg("ptxas %s, the parser does not: %s (%s)",
				wanted ? "accepts" : "refuses", line + 2, why);
		if (!ok)
			continue;
		accepted++;
		check_form(m, line + 2);
		ptx_module_free(m);
	}
	fclose(in);
	assert_true(n > 800 && accepted > 200);
}

/* Tests the messages of refusals. */
static void refusals(void **state)
{
	static const struct {
		const char *statement, *why;
	} rows[] = {
		{"mad.lo.u32 %r1, %ctaid.x, %r1, %r2;", "use mov to copy it to a register first"},
		{"st.global.u32 [%d1], %ctaid.x;", "use mov to copy it to a register first"},
		{"mov.u64 %d2, %tid.x;", "its size is not that of the instruction's type"},
		{"mov.f32 %f1, %tid.x;", "with integer types only"},
		{"ld.shared.u32 %r1, [%tid.x];", "an address is a register or a variable"},
		{"mov.u32 %tid.x, 1;", "cannot be written"},
		{"mov.b64 %d2, {%clock64, %r1};", "its size is not that of the element"},
		{"mov.u32 %r1, %tid;", "mov.v4.u32 only"},
	};
	char why[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_false(parse(rows[i].statement, NULL, why, sizeof(why)));
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].statement, why);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operands),
		cmocka_unit_test(refusals),
	};
	char path[512];
	int r;

	if (argc != 2)
		return 2;
	folder = argv[1];
	snprintf(path, sizeof(path), "%s/special_head.ptx", folder);
	if (file_read(path, false, &head) < 0)
		return 2;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	strbuf_finish(&head);
	return r;
}
