/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares def-use chains with a slow and simple search. Tests graphs made from drafts, and the
 * uniformity analysis if the caller states the uniformity of some registers. */
#include "unit.h"

#include "../ptx/fixture.h"

#include "cfg/chains.h"
#include "draft_from.h"

#include <errno.h>

/* ---- def-use chains ---- */
static uint32_t asked;
static int role_found;

static void find_role(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	if (reg == asked)
		role_found |= role;
}

static int role_of(const struct ptx_func *f, uint32_t stmt, uint32_t reg)
{
	asked = reg;
	role_found = 0;
	ptx_visit_regs(f, &f->body.at[stmt], find_role, NULL);
	return role_found;
}

/* Follows the code from a write, and sets `reached` to 1 for statements that the value may
 * reach. */
static void walk_from(const struct cfg *g, uint32_t stmt, uint32_t reg, uint8_t *reached)
{
	const struct ptx_func *f = g->f;
	const struct cfg_block *b = &g->at[g->block_of[stmt]];
	uint32_t next[80], n = 0;

	if (stmt + 1 < b->end)
		next[n++] = stmt + 1;
	for (uint32_t i = 0; stmt + 1 == b->end && i < b->n_succ; i++)
		if (b->succ[i] != g->exit)
			next[n++] = g->at[b->succ[i]].first;
	for (uint32_t i = 0; i < n; i++) {
		if (reached[next[i]])
			continue;
		reached[next[i]] = 1;
		if (!(role_of(f, next[i], reg) & PTX_DEF) ||
			f->body.at[next[i]].guard != PTX_NO_REG)
			walk_from(g, next[i], reg, reached);
	}
}

/* Marks the nodes that a definition's value may reach. */
static void follow_chains(const struct cfg_chains *c, uint32_t node, uint8_t *reached)
{
	for (uint32_t i = c->to_of[node]; i < c->to_of[node + 1]; i++) {
		uint32_t to = c->to[i];

		assert_in_range(to, c->n_defs, c->n_nodes - 1);
		if (!reached[to]) {
			reached[to] = 1;
			follow_chains(c, to, reached);
		}
	}
}

/* Checks that exactly one node leads to each use, and that none leads to a definition or to the
 * entry value. */
static void count_inputs(const struct cfg_chains *c)
{
	uint32_t *n = calloc(c->n_nodes, sizeof(*n)), *from = calloc(c->n_nodes, sizeof(*from));
	uint32_t entry = c->n_defs + c->n_uses;

	for (uint32_t node = 0; node < c->n_nodes; node++)
		for (uint32_t i = c->to_of[node]; i < c->to_of[node + 1]; i++) {
			n[c->to[i]] += node != from[c->to[i]] || !n[c->to[i]];
			from[c->to[i]] = node;
		}
	for (uint32_t node = 0; node < c->n_nodes; node++)
		if (node <= entry)
			assert_int_equal(n[node], node >= c->n_defs && node < entry);
	free(n);
	free(from);
}

static void compare_chains(struct module *t)
{
	const struct ptx_func *f = t->f;
	struct arena a;
	struct cfg *g;
	struct cfg_chains *c;
	uint32_t *only;

	arena_init(&a, 0);
	assert_int_equal(cfg_build(&a, f, &g), 0);
	assert_int_equal(cfg_chains(&a, g, &c), 0);
	count_inputs(c);
	for (uint32_t s = 0; s < f->body.len; s++)
		for (uint32_t r = 0; r < f->regs.len; r++) {
			uint32_t def = cfg_find_def(c, r, s), use = cfg_find_use(c, r, s);

			assert_int_equal(def != CFG_NONE, (role_of(f, s, r) & PTX_DEF) != 0);
			assert_int_equal(use != CFG_NONE, (role_of(f, s, r) & PTX_USE) != 0);
		}
	only = malloc((c->n_uses + 1) * sizeof(*only));
	memset(only, 0xff, (c->n_uses + 1) * sizeof(*only));
	for (uint32_t d = 0; d < c->n_defs; d++) {
		uint8_t *reached = calloc(f->body.len, 1), *nodes = calloc(c->n_nodes, 1);

		walk_from(g, c->def[d].stmt, c->def[d].reg, reached);
		follow_chains(c, d, nodes);
		for (uint32_t u = 0; u < c->n_uses; u++) {
			bool there = c->use[u].reg == c->def[d].reg && reached[c->use[u].stmt];

			if (nodes[c->n_defs + u] != there)
				fail_msg("register %u: statement %u to %u", c->def[d].reg,
					c->def[d].stmt, c->use[u].stmt);
			if (there)
				only[u] = only[u] == CFG_NONE ? d : CFG_SEVERAL;
		}
		free(reached);
		free(nodes);
	}
	assert_memory_equal(only, c->only + c->n_defs, c->n_uses * sizeof(*only));
	free(only);
	arena_finish(&a);
}

static void chains(void **state)
{
	static const char *const bodies[] = {
		"ret;",
		"mov.u32 %r1, 1;\nmov.u32 %r1, %r1;\nadd.u32 %r1, %r1, %r1;\nret;",
		"mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;\nmov.u32 %r2, %r1;\nmov.b32 %r1.x, %r2;\n"
		"mov.u32 %r3, %r1;\nret;",
		"mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %r2;\n@%p1 bra "
		"L;\n"
		"mov.u32 %r3, %r1;\n@%p2 bra M;\nmov.u32 %r1, 5;\nbra N;\nM: @!%p1 mov.u32 %r1, "
		"6;\n"
		"N: st.global.u32 [%rd1], %r1;\nbra L;",
		"bra L;\nmov.u32 %r1, 1;\nM: mov.u32 %r2, %r1;\nret;\nL: setp.eq.u32 %p1|%p2, %r1, "
		"0;\n"
		"@%p2 bra M;\nmov.u32 %r1, 3;\nbra M;",
	};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct module t = kernel(bodies[i]);

		compare_chains(&t);
		finish(&t);
	}
}

/* Counts the links in a body and its merges, the places where definitions of a register meet. */
static void merges(void **state)
{
	static const struct {
		const char *body;
		uint32_t merges, links;
	} cases[] = {
		/* A guarded definition, and a definition without uses. */
		{"mov.u32 %r1, 1;\n@%p1 mov.u32 %r1, 2;\nmov.u32 %r2, %r1;\nret;", 1, 4},
		{"@%p1 mov.u32 %r1, 2;\nret;", 1, 2},
		/* A join, and two joins of one value. */
		{"mov.u32 %r1, 1;\n@%p1 bra L;\nmov.u32 %r1, 2;\nL: mov.u32 %r2, %r1;\nret;", 1, 4},
		{"mov.u32 %r1, 1;\n@%p1 bra L;\nmov.u32 %r3, 2;\nL: @%p1 bra M;\n"
		 "mov.u32 %r2, %r1;\nM: mov.u32 %r3, %r1;\nret;",
			0, 4},
		/* Nested loops that only read, or whose inner loop writes. */
		{"mov.u32 %r1, 1;\nL: @%p1 bra N;\nM: mov.u32 %r2, %r1;\n@%p2 bra M;\n"
		 "N: @%p3 bra L;\nmov.u32 %r2, %r1;\nret;",
			0, 5},
		{"mov.u32 %r1, 1;\nL: @%p1 bra N;\nM: add.u32 %r1, %r1, 1;\n@%p2 bra M;\n"
		 "N: @%p3 bra L;\nmov.u32 %r2, %r1;\nret;",
			3, 11},
		/* A loop with two entries: the two registers that it reads keep two merges each,
		 * although one value reaches both merges. */
		{"mov.u32 %r1, 1;\n@%p1 bra M;\nL: mov.u32 %r2, %r1;\nM: mov.u32 %r3, %r1;\n"
		 "@%p2 bra L;\nret;",
			4, 12},
		/* Unreachable code: a loop that reads the entry value, and a value that flows
		 * into reachable code.
		 */
		{"ret;\nL: mov.u32 %r2, %r1;\nbra L;", 0, 1},
		{"mov.u32 %r1, 1;\nbra L;\nmov.u32 %r1, 2;\nL: mov.u32 %r2, %r1;\nret;", 1, 3},
		/* The entry value in a loop that starts at the first block. */
		{"L: mov.u32 %r2, %r1;\nmov.u32 %r1, 2;\n@%p1 bra L;\nret;", 1, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct module t = kernel(cases[i].body);
		struct cfg_chains *c;
		struct arena a;
		struct cfg *g;

		arena_init(&a, 0);
		assert_int_equal(cfg_build(&a, t.f, &g), 0);
		assert_int_equal(cfg_chains(&a, g, &c), 0);
		if (c->n_nodes != c->n_defs + c->n_uses + 1 + cases[i].merges ||
			c->to_of[c->n_nodes] != cases[i].links)
			fail_msg("%s: %u merges, %u links", cases[i].body,
				c->n_nodes - c->n_defs - c->n_uses - 1, c->to_of[c->n_nodes]);
		arena_finish(&a);
		compare_chains(&t);
		finish(&t);
	}
}

/* Tests random bodies with a few registers and branches to any statement. */
static void random_chains(void **state)
{
	for (uint64_t seed = 0; seed < 150; seed++) {
		struct strbuf code = {0};
		struct module t;
		uint64_t i = 0;

		for (unsigned k = 0; k < 24; k++) {
			uint64_t v = random_bits(seed, i++);

			strbuf_printf(&code, "L%u: ", k);
			if (v & 0x100)
				strbuf_printf(&code, "@%%p%u ", (unsigned)(v >> 40 & 3));
			if (v % 3 == 0)
				strbuf_printf(&code, "bra L%u;\n", (unsigned)(v >> 20) % 24);
			else if (v % 3 == 1)
				strbuf_printf(&code, "add.u32 %%r%u, %%r%u, %%r%u;\n",
					(unsigned)(v >> 16 & 3), (unsigned)(v >> 20 & 3),
					(unsigned)(v >> 24 & 3));
			else
				strbuf_printf(&code, "setp.eq.u32 %%p%u, %%r%u, 0;\n",
					(unsigned)(v >> 16 & 3), (unsigned)(v >> 20 & 3));
		}
		strbuf_puts(&code, "ret;\n");
		t = kernel(code.at);
		compare_chains(&t);
		strbuf_finish(&code);
		finish(&t);
	}
}

/* ---- graphs written as code ---- */
static uint32_t add(struct module *t, struct cfg_draft *d, const char *code)
{
	uint32_t i = cfg_draft_add(d);

	assert_int_not_equal(i, CFG_NONE);
	assert_int_equal(ptx_append(t->m, t->f, &d->parts.at[i].stmts, t->diags, "%s", code), 0);
	return i;
}

static void end(struct module *t, struct cfg_part *p, const char *code, uint32_t next)
{
	ptx_body body = {0};

	p->next = next;
	if (code) {
		assert_int_equal(ptx_append(t->m, t->f, &body, t->diags, "%s", code), 0);
		p->last = body.at[body.len - 1];
	}
	VEC_FREE(&body);
}

/* Compares the text printed for a draft, without the head and with short names for new labels. */
static void expect(struct module *t, const struct cfg_draft *d, const char *text)
{
	struct ptx_func f = *t->f;
	struct strbuf out = {0};
	ptx_body body;

	assert_int_equal(cfg_write(t->m, t->f, d, &body, NULL), 0);
	f.body = body;
	for (size_t i = 0; i < body.len; i++)
		ptx_print_stmt(&f, &body.at[i], &out);
	assert_string_equal(out.at, text);
	strbuf_finish(&out);
	VEC_FREE(&body);
}

static void written(void **state)
{
	struct module t = kernel("ret;");
	struct cfg_draft d = {0};
	uint32_t a = add(&t, &d, "mov.u32 %r1, 1;"), b = add(&t, &d, "mov.u32 %r1, 2;");
	uint32_t c = add(&t, &d, "mov.u32 %r1, 3;"), e = add(&t, &d, "");
	ptx_body body;

	/* A diamond: the branch skips one side, and the other side is the fall-through. */
	end(&t, &d.parts.at[a], "@%p1 bra $x;", c);
	assert_true(VEC_PUSH(&d.parts.at[a].to, b));
	end(&t, &d.parts.at[b], NULL, e);
	end(&t, &d.parts.at[c], NULL, e);
	end(&t, &d.parts.at[e], "ret;", CFG_NONE);
	expect(&t, &d,
		"\tmov.u32 %r1, 1;\n\t@!%p1 bra $hd_part_0;\n\tmov.u32 %r1, 2;\n\tbra.uni "
		"$hd_part_1;\n$hd_part_0:\n\tmov.u32 %r1, 3;\n$hd_part_1:\n\tret;\n");
	/* No successor is the next part; a guarded exit; an exit in the middle. */
	end(&t, &d.parts.at[a], "@%p1 bra.uni $x;", e);
	d.parts.at[a].to.at[0] = c;
	end(&t, &d.parts.at[b], NULL, CFG_NONE);
	end(&t, &d.parts.at[c], "@!%p2 exit;", b);
	expect(&t, &d,
		"\tmov.u32 %r1, 1;\n\t@%p1 bra.uni $hd_part_2;\n\tbra.uni "
		"$hd_part_3;\n$hd_part_4:\n"
		"\tmov.u32 %r1, 2;\n\tret;\n$hd_part_2:\n\tmov.u32 %r1, 3;\n\t@!%p2 exit;\n"
		"\tbra.uni $hd_part_4;\n$hd_part_3:\n\tret;\n");
	/* A branch table, and a loop whose part has no statements. */
	end(&t, &d.parts.at[a], "brx.idx %r3, $t;", CFG_NONE);
	assert_true(VEC_PUSH(&d.parts.at[a].to, b) && VEC_PUSH(&d.parts.at[a].to, c));
	end(&t, &d.parts.at[b], NULL, c);
	d.parts.at[e].last.mn = NULL;
	end(&t, &d.parts.at[e], NULL, e);
	expect(&t, &d,
		"\tmov.u32 %r1, 1;\n$hd_table_8: .branchtargets $hd_part_5, $hd_part_6, "
		"$hd_part_5;\n\tbrx.idx %r3, $hd_table_8;\n$hd_part_6:\n\tmov.u32 %r1, 2;\n"
		"$hd_part_5:\n\tmov.u32 %r1, 3;\n\t@!%p2 exit;\n\tbra.uni $hd_part_6;\n"
		"$hd_part_7:\n\tbra.uni $hd_part_7;\n");
	/* Drafts that do not match their graph. */
	assert_int_equal(ptx_append(t.m, t.f, &d.parts.at[b].stmts, t.diags, "@%%p3 ret;"), 0);
	assert_int_equal(
		ptx_append(t.m, t.f, &d.parts.at[b].stmts, t.diags, "mov.u32 %%r5, 2;"), 0);
	assert_int_equal(cfg_write(t.m, t.f, &d, &body, NULL), -EINVAL);
	d.parts.at[b].stmts.len = 0;
	d.parts.at[b].next = 77;
	assert_int_equal(cfg_write(t.m, t.f, &d, &body, NULL), -EINVAL);
	cfg_draft_finish(&d);
	finish(&t);
}

static void drafts(void **state)
{
	static const struct {
		const char *code;
		int error;
	} cases[] = {
		{"L: @%p1 bra L;", 0},
		{"T: .branchtargets L, M;\n@%p1 brx.idx %r1, T;\nL: ret;\nM: bra L;", 0},
		{"T: .branchtargets L;\nfrob %r1, T;\nL: ret;", -ENOTSUP},
		{"{ .reg .u32 x; bra L; }\nL: ret;", -EINVAL},
		{"{ { mov.u32 %r1, 1; } }\nret;", -EINVAL},
		{"{ mov.u32 %r1, 1; }\nret;", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct module t = kernel(cases[i].code);
		struct cfg_draft d;
		struct arena a;
		struct cfg *g;
		ptx_body body;

		arena_init(&a, 0);
		assert_int_equal(cfg_build(&a, t.f, &g), 0);
		if (draft_from(g, &d) != cases[i].error)
			fail_msg("%s", cases[i].code);
		if (!cases[i].error) {
			assert_int_equal(d.parts.len, g->exit);
			assert_int_equal(cfg_write(t.m, t.f, &d, &body, NULL), 0);
			VEC_FREE(&t.f->body);
			t.f->body = body;
			if (ptx_validate(t.m, t.diags))
				no_errors(&t);
			cfg_draft_finish(&d);
		}
		arena_finish(&a);
		finish(&t);
	}
}

/* ---- uniformity ---- */
static void given(void **state)
{
	struct module t = kernel("ld.shared.u32 %r1, [%rd1];\nadd.u32 %r2, %r1, 1;\n"
				 "setp.lt.u32 %p1, %r2, 7;\n@%p1 bra L;\nmov.u32 %r3, 1;\nL: ret;");
	uint8_t known[64] = {0};
	struct cfg_uniformity *u;
	struct arena a;
	struct cfg *g;
	uint32_t r1, p1 = insn(&t, 3)->guard, r3 = insn(&t, 4)->opd[0].reg;

	r1 = insn(&t, 0)->opd[0].reg;
	arena_init(&a, 0);
	assert_int_equal(cfg_build(&a, t.f, &g), 0);
	assert_int_equal(cfg_uniformity_given(&a, g, 0, NULL, known, &u), 0);
	assert_int_equal(u->reg[p1], CFG_DIVERGENT);
	assert_int_equal(u->reg[r3], CFG_DIVERGENT);
	known[r1] = CFG_WARP_UNIFORM;
	assert_int_equal(cfg_uniformity_given(&a, g, 0, NULL, known, &u), 0);
	assert_int_equal(u->reg[p1], CFG_WARP_UNIFORM);
	assert_int_equal(u->block[1], CFG_WARP_UNIFORM);
	known[r1] = CFG_BLOCK_UNIFORM;
	assert_int_equal(cfg_uniformity_given(&a, g, 0, NULL, known, &u), 0);
	assert_int_equal(u->reg[p1], CFG_BLOCK_UNIFORM);
	assert_int_equal(u->reg[r3], CFG_BLOCK_UNIFORM);
	assert_int_equal(u->block[1], CFG_BLOCK_UNIFORM);
	arena_finish(&a);
	finish(&t);
}

/* ---- register estimate ---- */

/* Estimates registers for a kernel that makes n 32-bit and n 64-bit values in turn, and then
 * stores them all. */
static uint32_t estimate(const char *make, unsigned n)
{
	char text[16384] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			   ".entry k(.param .u32 p, .param .u64 q)\n{\n.reg .b32 %r<99>;\n"
			   ".reg .b64 %d<99>;\n.reg .b64 %x;\nld.param.u64 %x, [q];\n";
	struct module t;
	struct arena a;
	struct cfg *g;
	uint32_t ret;

	for (unsigned i = 0; i < n; i++)
		sprintf(text + strlen(text), make, i, i, i, i);
	for (unsigned i = n; i-- > 0;)
		sprintf(text + strlen(text),
			"st.global.u32 [%%x+%u], %%r%u;\nst.global.u64 [%%x+%u], %%d%u;\n", 4 * i,
			i, 8 * i, i);
	strcat(text, "ret;\n}\n");
	t = parse_ok(text);
	arena_init(&a, 0);
	assert_int_equal(cfg_build(&a, ptx_find_func(t.m, "k"), &g), 0);
	assert_int_equal(cfg_registers(&a, g, &ret), 0);
	arena_finish(&a);
	finish(&t);
	return ret;
}

/* 64-bit registers count twice; values that the assembler uses as immediate operands do not
 * count. */
static void registers(void **state)
{
	static const char loads[] = "ld.global.u32 %%r%u, [%%x];\nld.global.u64 %%d%u, [%%x];\n";
	static const char operands[] = "mov.u32 %%r%u, 5;\nld.param.u64 %%d%u, [q];\n";
	static const char widened[] = "ld.param.u32 %%r%u, [p];\ncvt.u64.u32 %%d%u, %%r%u;\n";
	static const char twice[] = "mov.u32 %%r%u, 5;\nadd.u32 %%r%u, %%r%u, 1;\n"
				    "mov.u64 %%d%u, 7;\n";

	(void)state;
	assert_int_equal(estimate(loads, 1), 16);
	assert_int_equal(estimate(loads, 20), 64); /* 0.85 * 60 + 8 */
	assert_int_equal(estimate(loads, 99), 255);
	assert_int_equal(estimate(operands, 99), 16);
	assert_int_equal(estimate(widened, 99), 16);
	assert_int_equal(estimate(twice, 40), 48); /* 40 registers are written twice */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains),
		cmocka_unit_test(merges),
		cmocka_unit_test(random_chains),
		cmocka_unit_test(written),
		cmocka_unit_test(drafts),
		cmocka_unit_test(given),
		cmocka_unit_test(registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
