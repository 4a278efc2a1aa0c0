/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes leaves as text: expands the marks of leaves.def, and writes the leaves that need more
 * than a line. */
#include "text.h"

#include <stdio.h>
#include <string.h>

#define LEAF(w, l, n, f, t) {w, GEN_##l, n, f, t},
#define ENTRY               LEAF_ENTRY
#define FULL                LEAF_FULL
#define MASK                LEAF_MASK
#define SHARED              GEN_SHARED
#define BARRIERS            GEN_BARRIERS
#define WARP_OPS            GEN_WARP_OPS
#define ATOMICS             GEN_ATOMICS
#define LOCAL               GEN_LOCAL
#define MODULE              GEN_MODULE
#define ASYNC               GEN_ASYNC
#define FLOAT               GEN_FLOAT
#define NAMED               GEN_NAMED
#define FOUND               GEN_FOUND
const struct gen_leaf gen_leaves[] = {
#include "leaves.def"
};
const unsigned gen_n_leaves = ARRAY_LEN(gen_leaves);

/* ---- marks of leaves.def ---- */
static void pool(struct gen_text *t, const char *name, unsigned n)
{
	strbuf_printf(&t->body, "%%%s%u", name, rng_below(&t->r, n));
}

static void made(struct gen_text *t, char kind, unsigned n)
{
	unsigned at = MIN(t->n_made, (unsigned)ARRAY_LEN(t->made) - 1);
	char lower[2] = {(char)(kind | 32), 0};

	snprintf(t->made[at], sizeof(t->made[at]), "%%%s%u", lower, rng_below(&t->r, n));
	t->made_kind[at] = lower[0];
	t->n_made = at + 1;
	strbuf_puts(&t->body, t->made[at]);
}

static void varying(struct gen_text *t)
{
	uint32_t k = rng_below(&t->r, 20);

	if (k < 15)
		pool(t, "v", GEN_REGS_V);
	else if (k < 17)
		pool(t, "u", GEN_REGS_U);
	else if (k < 18)
		pool(t, "w", GEN_REGS_W);
	else
		strbuf_puts(&t->body, k == 18 ? "%lin" : "%bid");
}

static void operand(struct gen_text *t)
{
	static const char *const numbers[] = {"0", "1", "2", "5", "31", "32", "255", "65535", "-1",
		"0x7fffffff", "1664525", "-2147483648"};

	if (rng_percent(&t->r, 70))
		varying(t);
	else
		strbuf_puts(&t->body, numbers[rng_below(&t->r, ARRAY_LEN(numbers))]);
}

static void special(struct gen_text *t, bool narrow)
{
	static const char *const ids[] = {"tid", "ntid", "ctaid", "nctaid"};

	if (!narrow && rng_percent(&t->r, 15))
		strbuf_puts(&t->body, rng_percent(&t->r, 60) ? "%laneid" : "%lanemask_lt");
	else
		strbuf_printf(
			&t->body, "%%%s.%c", ids[rng_below(&t->r, 4)], "xyz"[rng_below(&t->r, 3)]);
}

/* `text` is what follows "$("; writes one alternative, and returns what follows the ")". */
static const char *one_of(struct gen_text *t, const char *text)
{
	const char *end = strchr(text, ')'), *from = text, *bar;
	unsigned n = 1, pick;

	for (const char *s = text; s < end; s++)
		n += *s == '|';
	pick = rng_below(&t->r, n);
	while (pick--)
		from = strchr(from, '|') + 1;
	bar = memchr(from, '|', (size_t)(end - from));
	strbuf_add(&t->body, from, (size_t)((bar ? bar : end) - from));
	return end + 1;
}

static void compare(struct gen_text *t)
{
	static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};

	strbuf_puts(&t->body, names[rng_below(&t->r, 6)]);
}

static void mark(struct gen_text *t, char c)
{
	struct rng *r = &t->r;

	switch (c) {
	case 'V':
		made(t, c, GEN_REGS_V);
		break;
	case 'U':
		made(t, c, GEN_REGS_U);
		break;
	case 'Y':
		mark(t, t->p->features & GEN_FOUND ? 'U' : 'V');
		break;
	case 'W':
		made(t, c, GEN_REGS_W);
		break;
	case 'D':
		made(t, c, GEN_REGS_D);
		break;
	case 'F':
		made(t, c, GEN_REGS_F);
		break;
	case 'G':
		made(t, c, GEN_REGS_G);
		break;
	case 'H':
		made(t, c, GEN_REGS_H);
		break;
	case 'v':
		varying(t);
		break;
	case 'u':
		pool(t, "u", GEN_REGS_U);
		break;
	case 'w':
		pool(t, "w", GEN_REGS_W);
		break;
	case 'd':
		pool(t, "d", GEN_REGS_D);
		break;
	case 'f':
		pool(t, "f", GEN_REGS_F);
		break;
	case 'g':
		pool(t, "g", GEN_REGS_G);
		break;
	case 'h':
		pool(t, "h", GEN_REGS_H);
		break;
	case 'o':
		operand(t);
		break;
	case 'i':
		strbuf_printf(&t->body, "%u", rng_below(r, 32));
		break;
	case 'j':
		strbuf_printf(&t->body, "%u", rng_below(r, 8));
		break;
	case 'k':
		strbuf_printf(&t->body, "0x%x", (unsigned)rng_next(r));
		break;
	case 'c':
		compare(t);
		break;
	case 's':
		special(t, false);
		break;
	case 'S':
		special(t, true);
		break;
	case 'm':
		strbuf_puts(&t->body, t->mask);
		break;
	case 'n':
		strbuf_puts(&t->body, t->suffix);
		break;
	case 'L':
		strbuf_printf(&t->body, "%u", t->ids);
		break;
	case 'T':
		strbuf_printf(&t->body, "%u", (gen_threads(t->p) + 31) / 32 * 32);
		break;
	}
}

void gen_put(struct gen_text *t, const char *text)
{
	const char *dollar;

	while ((dollar = strchr(text, '$'))) {
		strbuf_add(&t->body, text, (size_t)(dollar - text));
		if (dollar[1] == '(') {
			text = one_of(t, dollar + 2);
		} else {
			mark(t, dollar[1]);
			text = dollar + 2;
		}
	}
	strbuf_puts(&t->body, text);
}

void gen_expand(struct gen_text *t, const char *text)
{
	gen_put(t, text);
	strbuf_puts(&t->body, "\n");
}

void gen_fold(struct gen_text *t)
{
	static const char add[] = "mad.lo.u32 %acc, %acc, 16777619,";

	for (unsigned i = 0; i < t->n_made; i++) {
		const char *reg = t->made[i];

		switch (t->made_kind[i]) {
		case 'd':
		case 'g':
			strbuf_printf(&t->body, "mov.b64 {%%t8, %%t9}, %s;\n%s %%t8;\n%s %%t9;\n",
				reg, add, add);
			break;
		case 'f':
			strbuf_printf(&t->body, "mov.b32 %%t8, %s;\n%s %%t8;\n", reg, add);
			break;
		case 'h':
			strbuf_printf(&t->body, "cvt.u32.u16 %%t8, %s;\n%s %%t8;\n", reg, add);
			break;
		default:
			strbuf_printf(&t->body, "%s %s;\n", add, reg);
		}
	}
	t->n_made = 0;
}

/* ---- leaves of several lines ---- */
void gen_barrier(struct gen_text *t)
{
	if ((t->p->features & GEN_NAMED) && !t->in_func && rng_percent(&t->r, 20))
		gen_expand(t, "bar.sync $(1|4);");
	else
		gen_expand(t, "$(bar.sync|bar.sync|barrier.sync) 0;");
}

/* Each thread stores a value that another thread reads. */
static void exchange(struct gen_text *t)
{
	static const char *const types[] = {"u8", "u16", "", "u32"};
	unsigned bytes = t->p->xch_bytes, n = gen_threads(t->p);
	const char *type = bytes == 8 ? "u64" : types[bytes - 1];
	struct strbuf *b = &t->body;

	strbuf_printf(b, "mad.lo.u32 %%t0, %%lin, %u, %%sxch;\nst.shared.%s [%%t0], ", bytes, type);
	gen_expand(t, bytes == 8 ? "$d;" : "$v;");
	gen_barrier(t);
	strbuf_printf(b, "mad.lo.u32 %%t0, %%lin, %u, %u;\nrem.u32 %%t0, %%t0, %u;\n",
		1 + rng_below(&t->r, 9), rng_below(&t->r, n), n);
	strbuf_printf(b, "mad.lo.u32 %%t0, %%t0, %u, %%sxch;\nld.shared.%s ", bytes, type);
	gen_expand(t, bytes == 8 ? "$D, [%t0];" : "$V, [%t0];");
	gen_barrier(t);
}

/* One thread's value goes to all threads. */
static void broadcast(struct gen_text *t)
{
	strbuf_printf(&t->body, "setp.eq.u32 %%q0, %%lin, %u;\n@%%q0 st.shared.u32 [%%ssum+8], ",
		rng_below(&t->r, gen_threads(t->p)));
	gen_expand(t, "$v;");
	gen_barrier(t);
	gen_expand(t, "ld.shared.u32 $Y, [%ssum+8];");
	gen_barrier(t);
}

/* Passes values from the first warp to the second. The second warp waits at a barrier; the first
 * one arrives at it, mostly without waiting. */
static void hand_over(struct gen_text *t)
{
	unsigned bytes = t->p->xch_bytes, id = 6 + rng_below(&t->r, 3);
	const char *type = bytes == 8 ? "u64" : bytes == 4 ? "u32" : bytes == 2 ? "u16" : "u8";

	gen_barrier(t);
	if (gen_threads(t->p) < 64)
		return;
	gen_expand(t, "setp.ge.u32 %q0, %lin, 64;\n@%q0 bra handed_$L;\n"
		      "setp.ge.u32 %q0, %lin, 32;\n@%q0 bra waits_$L;");
	strbuf_printf(&t->body, "mad.lo.u32 %%t0, %%lin, %u, %%sxch;\nst.shared.%s [%%t0], ", bytes,
		type);
	gen_expand(t, bytes == 8 ? "$d;" : "$v;");
	gen_expand(t, "$(membar.cta|fence.acq_rel.cta);");
	strbuf_printf(
		&t->body, "%s %u, 64;\n", rng_percent(&t->r, 70) ? "bar.arrive" : "bar.sync", id);
	gen_expand(t, "bra handed_$L;\nwaits_$L:");
	strbuf_printf(&t->body,
		"bar.sync %u, 64;\nsub.u32 %%t0, %%lin, 32;\n"
		"mad.lo.u32 %%t0, %%t0, %u, %%sxch;\nld.shared.%s ",
		id, bytes, type);
	gen_expand(t, bytes == 8 ? "$D, [%t0];" : "$V, [%t0];");
	gen_expand(t, "handed_$L:");
	gen_barrier(t);
}

/* Copies from the input to the thread's own shared memory; some blocks do not wait for the copy. */
static void cp_async(struct gen_text *t)
{
	gen_expand(t, "and.b32 %t0, $v, 127;\nmul.wide.u32 %b0, %t0, 8;\nadd.s64 %b0, %in, %b0;");
	if (rng_percent(&t->r, 60)) {
		gen_expand(t,
			"cp.async.ca.shared.global [%sown], [%b0], $(4|8);\n"
			"$(cp.async.commit_group;\ncp.async.wait_group 0|cp.async.wait_all);\n"
			"ld.shared.u32 $V, [%sown];");
		return;
	}
	gen_expand(t,
		"and.b32 %t0, %bid, 1;\nsetp.eq.u32 %q0, %t0, 0;\n@%q0 bra other_$L;\n"
		"cp.async.ca.shared.global [%sown+8], [%b0], $(4|8);\nbra same_$L;\nother_$L:\n"
		"st.shared.u32 [%sown+8], $v;\nld.shared.u32 $V, [%sown+8];\nsame_$L:");
}

/* Exited or missing lanes have no value, so the result from such a lane is not used. */
static void shuffle(struct gen_text *t)
{
	static const char *const from[] = {"xor.b32 %t1, %t0, ", "sub.u32 %t1, %t0, ",
		"add.u32 %t1, %t0, ", "and.b32 %t1, $v, 31;"};
	static const char *const modes[] = {"bfly", "up", "down", "idx"};
	uint32_t mode = rng_below(&t->r, 4), by = rng_below(&t->r, 32);

	gen_expand(t, "mov.u32 %t0, %laneid;\nsetp.eq.u32 %q0, %t0, %t0;\n"
		      "vote.sync.ballot.b32 %t3, %q0, $m;");
	if (mode == 3)
		gen_expand(t, from[mode]);
	else
		strbuf_printf(&t->body, "%s%u;\n", from[mode], by);
	gen_expand(t, "and.b32 %t2, %t1, 31;\nshr.u32 %t2, %t3, %t2;\nand.b32 %t2, %t2, 1;\n"
		      "setp.ne.u32 %q1, %t2, 0;\nmov.u32 %t4, $v;");
	strbuf_printf(&t->body, "shfl.sync.%s.b32 %%t5|%%q0, %%t4, ", modes[mode]);
	if (mode == 3)
		strbuf_puts(&t->body, "%t1");
	else
		strbuf_printf(&t->body, "%u", by);
	strbuf_puts(&t->body, mode == 1 ? ", 0, " : ", 31, ");
	gen_expand(t, rng_percent(&t->r, 70) ? "$m;" : "%t3;");
	/* Up and down stop at the warp's ends: there %q0 is false, and the lane keeps its own
	 * value.
	 */
	gen_expand(t, "and.pred %q1, %q1, %q0;\nselp.b32 $V, %t5, %t4, %q1;");
}

static const struct {
	const char *name;
	void (*write)(struct gen_text *t);
} longer[] = {
	{"!exchange", exchange},
	{"!broadcast", broadcast},
	{"!hand_over", hand_over},
	{"!cp_async", cp_async},
	{"!shuffle", shuffle},
};

void gen_leaf_text(struct gen_text *t, const struct gen_node *n)
{
	const char *text = gen_leaves[n->index].text;

	t->ids++;
	t->n_made = 0;
	if (text[0] != '!')
		gen_expand(t, text);
	for (size_t i = 0; text[0] == '!' && i < ARRAY_LEN(longer); i++)
		if (!strcmp(longer[i].name, text))
			longer[i].write(t);
	gen_fold(t);
}
