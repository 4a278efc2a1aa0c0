/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a program's tree as PTX. The body is written first, so that the declarations and first
 * values before it cover only what it uses. */
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char gen_head[] = ".version 7.8\n.target sm_80\n.address_size 64\n";

void gen_kernel_name(const struct gen_program *p, char name[GEN_NAME_BYTES])
{
	snprintf(name, GEN_NAME_BYTES, "k_%llu", (unsigned long long)p->seed);
}

static void write_list(struct gen_text *t, const gen_list *list);

static bool asks_for_lanes(const gen_list *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct gen_node *n = &list->at[i];

		if (n->kind == GEN_LEAF ? gen_leaves[n->index].needs & LEAF_MASK
					: n->kind == GEN_CALL || asks_for_lanes(&n->kids) ||
						  asks_for_lanes(&n->other))
			return true;
	}
	return false;
}

/* Whether a node of the list uses the mask of active lanes. */
static bool needs_mask(const struct gen_text *t, const gen_list *list)
{
	return (t->p->features & GEN_WARP_OPS) && asks_for_lanes(list);
}

/* Sets %p<id> to a condition that all threads of the level decide alike, and that is true about
 * one time in `of` (a power of 2).
 *
 * A test for 1 is written as a flipped bit and a test for 0. If ptxas 13.0 can infer from the
 * bits that a value is 1, it takes a vote on "== 1" for a vote on false (on sm_90 and sm_100;
 * correct on sm_80, and in branches). The resulting empty mask makes the lanes fault with an
 * illegal instruction. */
static void condition(struct gen_text *t, const struct gen_node *n, unsigned id, unsigned of)
{
	static const char *const from[] = {"$v", "$w", "$u"};
	uint32_t value;

	strbuf_puts(&t->body, "and.b32 %t0, ");
	gen_put(t, from[n->level]);
	strbuf_printf(&t->body, ", %u;\n", of - 1);
	if (of == 2 || rng_percent(&t->r, 60)) {
		value = rng_below(&t->r, of);
		if (value == 1)
			strbuf_puts(&t->body, "xor.b32 %t0, %t0, 1;\n");
		strbuf_printf(
			&t->body, "setp.eq.u32 %%p%u, %%t0, %u;\n", id, value == 1 ? 0 : value);
	} else {
		strbuf_printf(&t->body, "setp.lt.u32 %%p%u, %%t0, %u;\n", id,
			1 + rng_below(&t->r, MAX(of / 4, 1u)));
	}
}

/* Puts the mask of the lanes for which %p<id> holds into a new register. */
static void narrow(struct gen_text *t, const char *reg, unsigned id, const char *sign)
{
	if (t->mask)
		strbuf_printf(&t->body, "vote.sync.ballot.b32 %s%u, %s%%p%u, %s;\n", reg, id, sign,
			id, t->mask);
}

/* Writes a list that only some lanes run; mask is its register's name without the number. */
static void write_arm(
	struct gen_text *t, const gen_list *list, bool lanes, const char *reg, unsigned id)
{
	const char *outer = t->mask;
	char mask[16];

	if (lanes) {
		snprintf(mask, sizeof(mask), "%s%u", reg, id);
		t->mask = outer && needs_mask(t, list) ? mask : NULL;
	}
	write_list(t, list);
	t->mask = outer;
}

static void write_if(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;
	bool lanes = n->level == GEN_LANE;

	condition(t, n, id, rng_percent(&t->r, 50) ? 2 : 4);
	if (lanes && needs_mask(t, &n->kids))
		narrow(t, "%m", id, "");
	if (lanes && needs_mask(t, &n->other))
		narrow(t, "%n", id, "!");
	strbuf_printf(&t->body, "@!%%p%u bra%s else_%u;\n", id,
		!lanes && rng_percent(&t->r, 30) ? ".uni" : "", id);
	write_arm(t, &n->kids, lanes, "%m", id);
	if (n->other.len)
		strbuf_printf(&t->body, "bra end_%u;\n", id);
	strbuf_printf(&t->body, "else_%u:\n", id);
	write_arm(t, &n->other, lanes, "%n", id);
	if (n->other.len)
		strbuf_printf(&t->body, "end_%u:\n", id);
}

static void count_of(struct gen_text *t, const struct gen_node *n, unsigned id, bool from_one)
{
	static const char *const from[] = {"$v", "$w", "$u"};
	unsigned trips = MAX(n->trips, 1);

	if (n->level != GEN_LANE && rng_percent(&t->r, 40)) {
		strbuf_printf(&t->body, "mov.u32 %%c%u, %u;\n", id, trips);
		return;
	}
	strbuf_puts(&t->body, "and.b32 %t0, ");
	gen_put(t, from[n->level]);
	strbuf_printf(&t->body, ", 7;\nmin.u32 %%c%u, %%t0, %u;\n", id, trips - from_one);
	if (from_one)
		strbuf_printf(&t->body, "add.u32 %%c%u, %%c%u, 1;\n", id, id);
}

static void write_loop(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;
	const char *outer = t->mask;
	bool lanes = n->level == GEN_LANE, masked = lanes && outer && needs_mask(t, &n->kids);
	bool tested_last = rng_percent(&t->r, 40), breaks = rng_percent(&t->r, 20);
	char mask[16];

	snprintf(mask, sizeof(mask), "%%m%u", id);
	count_of(t, n, id, tested_last);
	if (masked)
		strbuf_printf(&t->body, "mov.b32 %s, %s;\n", mask, outer);
	if (lanes)
		t->mask = masked ? mask : NULL;
	strbuf_printf(&t->body, "loop_%u:\n", id);
	if (!tested_last) {
		strbuf_printf(&t->body, "setp.eq.u32 %%p%u, %%c%u, 0;\n", id, id);
		if (masked)
			narrow(t, "%m", id, "!");
		strbuf_printf(&t->body, "@%%p%u bra out_%u;\n", id, id);
	}
	write_list(t, &n->kids);
	if (breaks) {
		condition(t, n, id, 4);
		if (masked)
			narrow(t, "%m", id, "!");
		strbuf_printf(&t->body, "@%%p%u bra out_%u;\n", id, id);
	}
	strbuf_printf(&t->body, "sub.u32 %%c%u, %%c%u, 1;\n", id, id);
	if (tested_last) {
		strbuf_printf(&t->body, "setp.ne.u32 %%p%u, %%c%u, 0;\n", id, id);
		if (masked)
			narrow(t, "%m", id, "");
		strbuf_printf(&t->body, "@%%p%u bra loop_%u;\nout_%u:\n", id, id, id);
	} else {
		strbuf_printf(&t->body, "bra loop_%u;\nout_%u:\n", id, id);
	}
	t->mask = outer;
}

static void write_switch(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;
	const char *outer = t->mask;

	gen_expand(t, n->level == GEN_BLOCK  ? "and.b32 %t0, $u, 3;"
		      : n->level == GEN_WARP ? "and.b32 %t0, $w, 3;"
					     : "and.b32 %t0, $v, 3;");
	strbuf_printf(&t->body,
		"table_%u: .branchtargets one_%u, two_%u, end_%u, one_%u;\n"
		"brx.idx %%t0, table_%u;\none_%u:\n",
		id, id, id, id, id, id, id);
	if (n->level == GEN_LANE)
		t->mask = NULL;
	write_list(t, &n->kids);
	strbuf_printf(&t->body, "bra end_%u;\ntwo_%u:\n", id, id);
	write_list(t, &n->other);
	strbuf_printf(&t->body, "end_%u:\n", id);
	t->mask = outer;
}

/* In a function: returns to the caller with the checksum. */
static void write_back(struct gen_text *t, unsigned id)
{
	strbuf_printf(&t->body, "@!%%p%u bra stay_%u;\nst.param.b32 [r], %%acc;\nret;\nstay_%u:\n",
		id, id, id);
	t->mask = NULL;
}

static void write_return(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;
	const char *out = t->in_func || rng_percent(&t->r, 40) ? "exit" : "ret";

	condition(t, n, id, n->level == GEN_LANE ? 16 : 8);
	if (t->in_func && n->index == 0) {
		write_back(t, id);
		return;
	}
	if (n->index == 2 && !t->in_func) {
		/* Lanes that exit must not run further code if other lanes of their warp wait
		 * at a barrier meanwhile. At the reconvergence point before such code, the
		 * hardware would make the exiting lanes wait for those at the barrier.
		 */
		bool work =
			n->level != GEN_LANE || !(t->p->features & (GEN_BARRIERS | GEN_WARP_OPS));

		if (!work)
			strbuf_printf(&t->body, "@%%p%u st.global.u32 [%%own], %%acc;\n", id);
		strbuf_printf(&t->body, "@%%p%u bra %s;\n", id, work ? "end" : "gone");
	} else if (n->index == 1) {
		if (n->level == GEN_LANE && needs_mask(t, &n->kids))
			narrow(t, "%m", id, "");
		strbuf_printf(&t->body, "@!%%p%u bra stay_%u;\n", id, id);
		write_arm(t, &n->kids, n->level == GEN_LANE, "%m", id);
		strbuf_printf(&t->body,
			"st.global.u32 [%%own], %%acc;\nst.global.u32 [%%own+4], "
			"%u;\n%s;\nstay_%u:\n",
			id, out, id);
	} else {
		strbuf_printf(&t->body, "@%%p%u st.global.u32 [%%own], %%acc;\n@%%p%u %s;\n", id,
			id, out);
	}
}

static void write_call(struct gen_text *t, const struct gen_node *n)
{
	bool uni = n->level == GEN_BLOCK && rng_percent(&t->r, 40);

	if (t->p->func[n->index].len == 0)
		return;
	gen_expand(t, "{\n.param .b32 pa, pm, pc, pr;\n.param .b64 po, pi, ps;\n"
		      "st.param.b32 [pa], $v;\nst.param.b32 [pc], %acc;\nst.param.b64 [po], %own;\n"
		      "st.param.b64 [pi], %in;\nst.param.b64 [ps], %sum;");
	strbuf_printf(&t->body,
		"st.param.b32 [pm], %s;\ncall%s (pr), f%u%s, (pa, pm, pc, po, pi, ps);\n",
		t->mask ? t->mask : "0", uni ? ".uni" : "", n->index, t->suffix);
	gen_expand(t, "ld.param.b32 %acc, [pr];\n}\nxor.b32 $V, %acc, $v;");
	gen_fold(t);
}

/* Every lane reaches one of two barrier instructions. The hardware executes only one of the two for
 * all lanes of a warp, and writes all results to its destination register. ptxas may give the other
 * instruction another register, though both name the same one in PTX. So the program reads the
 * results only on devices that are known to handle this correctly. */
static void write_split(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;
	bool red = rng_percent(&t->r, 40);
	const gen_list *arms[2] = {&n->kids, &n->other};

	condition(t, n, id, 2);
	for (int i = 0; i < 2; i++)
		if (needs_mask(t, arms[i]))
			narrow(t, i ? "%n" : "%m", id, i ? "!" : "");
	strbuf_printf(&t->body, "@!%%p%u bra else_%u;\n", id, id);
	for (int i = 0; i < 2; i++) {
		write_arm(t, arms[i], true, i ? "%n" : "%m", id);
		gen_expand(t, red ? "setp.$c.u32 %q0, $v, $o;\nbarrier.red.popc.u32 %t5, 0, %q0;"
				  : "barrier.sync 0;");
		if (i == 0)
			strbuf_printf(&t->body, "bra end_%u;\nelse_%u:\n", id, id);
	}
	strbuf_printf(&t->body, "end_%u:\n", id);
	if (red && (t->p->features & GEN_APART))
		gen_expand(t, "mov.u32 $Y, %t5;");
	gen_fold(t);
}

static void write_gather(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;

	strbuf_puts(&t->body, "red.shared.and.b32 [%ssum], 0;\n");
	gen_barrier(t);
	write_list(t, &n->kids);
	strbuf_printf(
		&t->body, "setp.ne.u32 %%p%u, %%lin, %u;\n@%%p%u ", id, rng_below(&t->r, 64), id);
	gen_expand(t, "red.shared.$(add.u32|xor.b32|add.u32|max.u32) [%ssum], $v;");
	gen_barrier(t);
	gen_expand(t, rng_percent(&t->r, 50) ? "ld.shared.u32 $Y, [%ssum];"
					     : "ld.shared.u32 $V, [%ssum];");
	gen_barrier(t);
	gen_fold(t);
}

static void write_subset(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids, lanes = n->index * 32u, bar = 9 + rng_below(&t->r, 3);
	const char *type = t->p->xch_bytes == 8   ? "u64"
			   : t->p->xch_bytes == 4 ? "u32"
			   : t->p->xch_bytes == 2 ? "u16"
						  : "u8";
	bool wide = t->p->xch_bytes == 8;

	if (lanes > gen_threads(t->p) / 32 * 32)
		return;
	gen_barrier(t); /* an earlier subset may still be at the barrier of the same number */
	strbuf_printf(
		&t->body, "setp.ge.u32 %%p%u, %%lin, %u;\n@%%p%u bra end_%u;\n", id, lanes, id, id);
	write_list(t, &n->kids);
	strbuf_printf(&t->body, "mad.lo.u32 %%t0, %%lin, %u, %%sxch;\nst.shared.%s [%%t0], ",
		t->p->xch_bytes, type);
	gen_expand(t, wide ? "$d;" : "$v;");
	strbuf_printf(&t->body,
		"bar.sync %u, %u;\nadd.u32 %%t0, %%lin, %u;\nrem.u32 %%t0, %%t0, %u;\n"
		"mad.lo.u32 %%t0, %%t0, %u, %%sxch;\nld.shared.%s ",
		bar, lanes, 1 + rng_below(&t->r, lanes), lanes, t->p->xch_bytes, type);
	gen_expand(t, wide ? "$D, [%t0];" : "$V, [%t0];");
	strbuf_printf(&t->body, "bar.sync %u, %u;\n", bar, lanes);
	gen_fold(t);
	strbuf_printf(&t->body, "end_%u:\n", id);
}

/* Makes the first warps run a delay loop, or the last warps, or none. */
static void linger(struct gen_text *t, unsigned id, unsigned threads)
{
	unsigned which = rng_below(&t->r, 3);

	if (which == 0)
		return;
	strbuf_printf(&t->body, "shr.u32 %%c%u, %%lin, 5;\n", id);
	if (which == 1)
		strbuf_printf(&t->body, "sub.u32 %%c%u, %u, %%c%u;\n", id, (threads - 1) / 32, id);
	strbuf_printf(&t->body,
		"mul.lo.u32 %%c%u, %%c%u, %u;\nloop_%u:\n"
		"setp.eq.u32 %%p%u, %%c%u, 0;\n@%%p%u bra out_%u;\n"
		"mad.lo.u32 %%acc, %%acc, 5, 1;\nsub.u32 %%c%u, %%c%u, 1;\nbra loop_%u;\nout_%u:\n",
		id, id, 1 + rng_below(&t->r, 100), id, id, id, id, id, id, id, id, id);
}

/* Warps run this at their own pace, so that the first warps are in the next block long before
 * the last. index: only this many warps take part, and meet at barrier 0; 0: all. */
static void write_last(struct gen_text *t, const struct gen_node *n)
{
	static const char *const types[] = {"u8", "u16", "", "u32"};
	unsigned id = ++t->ids, bytes = t->p->xch_bytes, threads = gen_threads(t->p);
	unsigned lanes = n->index ? n->index * 32u : threads;
	const char *type = bytes == 8 ? "u64" : types[bytes - 1];

	if (lanes > threads)
		return;
	if (lanes < threads)
		strbuf_printf(&t->body, "setp.ge.u32 %%p%u, %%lin, %u;\n@%%p%u bra end_%u;\n", id,
			lanes, id, id);
	strbuf_printf(&t->body, "mad.lo.u32 %%t0, %%lin, %u, %%sxch;\nst.shared.%s [%%t0], ", bytes,
		type);
	gen_expand(t, bytes == 8 ? "$d;" : "$v;");
	if (n->index)
		strbuf_printf(&t->body, "bar.sync 0, %u;\n", lanes);
	else
		gen_barrier(t);
	linger(t, id, threads);
	strbuf_printf(&t->body,
		"add.u32 %%t0, %%lin, %u;\nrem.u32 %%t0, %%t0, %u;\n"
		"mad.lo.u32 %%t0, %%t0, %u, %%sxch;\nld.shared.%s ",
		1 + rng_below(&t->r, lanes), lanes, bytes, type);
	gen_expand(t, bytes == 8 ? "$D, [%t0];" : "$V, [%t0];");
	gen_fold(t);
	strbuf_printf(&t->body, "end_%u:\n", id);
}

/* Lanes leave the loop at its end, and some in its middle, while others reach its barrier. Lanes
 * that leave the loop exit at once. At a reconvergence point the hardware would make them wait for
 * lanes at the barrier (see write_return). */
static void write_parted(struct gen_text *t, const struct gen_node *n)
{
	unsigned id = ++t->ids;

	t->mask = NULL;
	count_of(t, n, id, true);
	strbuf_printf(&t->body, "loop_%u:\n", id);
	write_list(t, &n->kids);
	if (rng_percent(&t->r, 50)) {
		condition(t, n, id, 4);
		strbuf_printf(&t->body, "@!%%p%u bra stay_%u;\n", id, id);
		gen_expand(t, "xor.b32 $V, $v, 77;");
		gen_fold(t);
		strbuf_printf(&t->body, "st.global.u32 [%%own], %%acc;\nexit;\nstay_%u:\n", id);
	}
	strbuf_printf(&t->body,
		"bar.sync 0;\nsub.u32 %%c%u, %%c%u, 1;\nsetp.eq.u32 %%p%u, %%c%u, 0;\n"
		"@%%p%u st.global.u32 [%%own], %%acc;\n@%%p%u %s;\nbra loop_%u;\n",
		id, id, id, id, id, id, rng_percent(&t->r, 50) ? "ret" : "bra gone", id);
}

static void write_stray(struct gen_text *t, const struct gen_node *n)
{
	const struct gen_array *a = &t->p->array[GEN_OWN];
	unsigned id = ++t->ids, by = 4 * rng_below(&t->r, 40);
	static const char *const values[] = {"%lin", "%gid", "-1", "0", "1", "0x7fffffff"};
	unsigned value = rng_below(&t->r, 6);

	strbuf_printf(&t->body, "setp.eq.u32 %%p%u, %%lin, %u;\n", id,
		rng_below(&t->r, gen_threads(t->p)));
	strbuf_puts(&t->body, "mul.lo.u32 %t0, %lin, 16;\nsub.u32 %t0, %sown, %t0;\n");
	if (rng_percent(&t->r, 70))
		strbuf_printf(&t->body, "sub.u32 %%t0, %%t0, %u;\n", by + 4);
	else
		strbuf_printf(&t->body, "add.u32 %%t0, %%t0, %u;\n", a->bytes + by);
	if (n->index)
		strbuf_puts(&t->body, "bar.sync 0;\n");
	strbuf_printf(&t->body, "mov.u32 %%t1, %s;\n", values[value]);
	if (n->trips)
		strbuf_printf(&t->body, "@%%p%u st.shared.u32 [%%t0], %%t1;\n", id);
	if (n->index)
		strbuf_puts(&t->body, "bar.sync 0;\n");
}

static void write_node(struct gen_text *t, const struct gen_node *n)
{
	struct rng outer = t->r;

	t->r = (struct rng){n->seed};
	switch (n->kind) {
	case GEN_LEAF:
		gen_leaf_text(t, n);
		break;
	case GEN_IF:
		write_if(t, n);
		break;
	case GEN_LOOP:
		write_loop(t, n);
		break;
	case GEN_SWITCH:
		write_switch(t, n);
		break;
	case GEN_RETURN:
		write_return(t, n);
		break;
	case GEN_CALL:
		write_call(t, n);
		break;
	case GEN_SPLIT:
		write_split(t, n);
		break;
	case GEN_GATHER:
		write_gather(t, n);
		break;
	case GEN_SUBSET:
		write_subset(t, n);
		break;
	case GEN_LAST:
		write_last(t, n);
		break;
	case GEN_STRAY:
		write_stray(t, n);
		break;
	case GEN_PARTED:
		write_parted(t, n);
		break;
	}
	t->r = outer;
}

static void write_list(struct gen_text *t, const gen_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		write_node(t, &list->at[i]);
}

/* ---- declarations and first values ---- */
static bool uses(const struct gen_text *t, const char *reg)
{
	size_t len = strlen(reg);

	/* A program may have no statement at all. */
	for (const char *s = t->body.at; s && (s = strstr(s, reg)); s += len)
		if (!isalnum((unsigned char)s[len]) && s[len] != '_')
			return true;
	return false;
}

static void declare_registers(const struct gen_text *t, struct strbuf *out)
{
	strbuf_printf(out,
		".reg .b32 %%v<%d>;\n.reg .b32 %%u<%d>;\n.reg .b32 %%w<%d>;\n.reg .b64 %%d<%d>;\n"
		".reg .f32 %%f<9>;\n.reg .f64 %%g<%d>;\n.reg .b16 %%h<%d>;\n.reg .b32 %%t<10>;\n"
		".reg .pred %%q<4>;\n.reg .b64 %%b<4>;\n"
		".reg .b32 %%acc, %%lin, %%bid, %%gid, %%arg, %%mask, %%sown, %%sxch, %%ssum, "
		"%%sfill;\n"
		".reg .b64 %%in, %%own, %%sum;\n",
		GEN_REGS_V, GEN_REGS_U, GEN_REGS_W, GEN_REGS_D, GEN_REGS_G, GEN_REGS_H);
	strbuf_printf(out,
		".reg .pred %%p<%u>;\n.reg .b32 %%c<%u>;\n.reg .b32 %%m<%u>;\n.reg .b32 %%n<%u>;\n",
		t->ids + 1, t->ids + 1, t->ids + 1, t->ids + 1);
}

static const char find_ids[] =
	"mov.u32 %t0, %tid.x;\nmov.u32 %t1, %tid.y;\nmov.u32 %t2, %tid.z;\nmov.u32 %t3, %ntid.x;\n"
	"mov.u32 %t4, %ntid.y;\nmad.lo.u32 %t5, %t2, %t4, %t1;\nmad.lo.u32 %lin, %t5, %t3, %t0;\n"
	"mov.u32 %t0, %ctaid.x;\nmov.u32 %t1, %ctaid.y;\nmov.u32 %t2, %ctaid.z;\n"
	"mov.u32 %t3, %nctaid.x;\nmov.u32 %t4, %nctaid.y;\nmad.lo.u32 %t5, %t2, %t4, %t1;\n"
	"mad.lo.u32 %bid, %t5, %t3, %t0;\n";

/* Sets first values of the registers that leaves use. */
static void first_values(const struct gen_text *t, struct strbuf *out)
{
	static const struct {
		const char *kind, *text;
		unsigned n;
	} kinds[] = {
		{"v", "mad.lo.u32 %%v%u, %%gid, %u, %%arg;\n", GEN_REGS_V},
		{"u", "mad.lo.u32 %%u%u, %%bid, %u, 1;\n", GEN_REGS_U},
		{"w", "shr.u32 %%w%u, %%lin, 5;\nadd.u32 %%w%u, %%w%u, %u;\n", GEN_REGS_W},
		{"d", "mul.wide.u32 %%d%u, %%gid, %u;\n", GEN_REGS_D},
		{"f", "cvt.rn.f32.u32 %%f%u, %%gid;\n", GEN_REGS_F},
		{"g", "cvt.rn.f64.u32 %%g%u, %%gid;\n", GEN_REGS_G},
		{"h", "cvt.u16.u32 %%h%u, %%gid;\n", GEN_REGS_H},
	};
	struct rng r = {t->p->seed ^ 0x5eed};
	char reg[16];

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
		for (unsigned i = 0; i < kinds[k].n; i++) {
			unsigned number = 1 + rng_below(&r, 99999);

			snprintf(reg, sizeof(reg), "%%%s%u", kinds[k].kind, i);
			if (!uses(t, reg))
				continue;
			if (kinds[k].kind[0] == 'w')
				strbuf_printf(out, "shr.u32 %s, %%lin, 5;\nadd.u32 %s, %s, %u;\n",
					reg, reg, reg, number & 7);
			else
				strbuf_printf(out, kinds[k].text, i, number);
		}
}

static const char *const array_names[GEN_ROLES] = {"own", "xch", "sum", "fill"};
static const char *const array_regs[GEN_ROLES] = {"%sown", "%sxch", "%ssum", "%sfill"};

static bool uses_array(const struct gen_text *t, enum gen_role role)
{
	return (t->p->features & GEN_SHARED) &&
	       (t->p->fill == GEN_FILL_UP ||
		       (role == GEN_FILL ? t->p->fill != 0 : uses(t, array_regs[role])));
}

static void declare_arrays(const struct gen_text *t, enum gen_place place, struct strbuf *out)
{
	bool dynamic = false;

	for (int i = 0; i < GEN_ROLES; i++) {
		enum gen_role role = t->p->order[i];
		const struct gen_array *a = &t->p->array[role];

		if (a->place != place || !uses_array(t, role))
			continue;
		if (place == GEN_DYNAMIC) {
			if (!dynamic)
				strbuf_printf(
					out, ".extern .shared .align 16 .b8 dyn%s[];\n", t->suffix);
			dynamic = true;
		} else {
			strbuf_printf(out, ".shared .align %u .b8 %s%s[%u];\n", a->align,
				array_names[role], t->suffix, a->bytes);
		}
	}
}

/* Computes addresses in shared memory, and stores its first values. */
static void first_shared(const struct gen_text *t, struct strbuf *out)
{
	for (int role = 0; role < GEN_ROLES; role++) {
		const struct gen_array *a = &t->p->array[role];
		const char *reg = array_regs[role];

		if (!uses_array(t, (enum gen_role)role))
			continue;
		if (a->place == GEN_DYNAMIC)
			strbuf_printf(out, "mov.u32 %s, dyn%s;\nadd.u32 %s, %s, %u;\n", reg,
				t->suffix, reg, reg, a->offset);
		else
			strbuf_printf(
				out, "mov.u32 %s, %s%s;\n", reg, array_names[role], t->suffix);
		if (role == GEN_OWN)
			strbuf_puts(out, "mad.lo.u32 %sown, %lin, 16, %sown;\n"
					 "st.shared.v2.u32 [%sown], {%gid, %gid};\n"
					 "st.shared.v2.u32 [%sown+8], {%bid, %gid};\n");
		if (role == GEN_FILL) /* stores the array's last bytes, one for each thread */
			strbuf_printf(out,
				"add.u32 %%t0, %%sfill, %%lin;\nst.shared.u8 [%%t0+%u], %%gid;\n"
				"ld.shared.u8 %%acc, [%%t0+%u];\n",
				a->bytes - gen_threads(t->p), a->bytes - gen_threads(t->p));
	}
	if (!uses_array(t, GEN_XCH))
		return;
	strbuf_printf(out, "mad.lo.u32 %%t0, %%lin, %u, %%sxch;\n", t->p->xch_bytes);
	for (unsigned i = 0; i < t->p->xch_bytes; i++)
		strbuf_printf(out, "st.shared.u8 [%%t0+%u], %%gid;\n", i);
	strbuf_puts(out, "bar.sync 0;\n");
}

static void write_function(const struct gen_program *p, unsigned number, struct strbuf *out)
{
	struct gen_text t = {.p = p, .mask = "%mask", .in_func = true};

	snprintf(t.suffix, sizeof(t.suffix), "_%llu", (unsigned long long)p->seed);
	write_list(&t, &p->func[number]);
	strbuf_puts(&t.body, "st.param.b32 [r], %acc;\nret;\n");
	strbuf_printf(out,
		".func (.param .b32 r) f%u%s(.param .b32 a, .param .b32 m, .param .b32 c, "
		".param .b64 o, .param .b64 i, .param .b64 s)\n{\n",
		number, t.suffix);
	declare_registers(&t, out);
	if (uses(&t, "loc"))
		strbuf_puts(out, ".local .align 8 .b8 loc[32];\n");
	strbuf_puts(out,
		"ld.param.b32 %arg, [a];\nld.param.b32 %mask, [m];\nld.param.b32 %acc, [c];\n"
		"ld.param.b64 %own, [o];\nld.param.b64 %in, [i];\nld.param.b64 %sum, [s];\n");
	strbuf_puts(out, find_ids);
	strbuf_puts(out, "mad.lo.u32 %gid, %bid, 3, %lin;\n");
	first_values(&t, out);
	for (unsigned i = 0; uses(&t, "loc") && i < 8; i++)
		strbuf_printf(out, "st.local.u32 [loc+%u], %%gid;\n", 4 * i);
	strbuf_add(out, t.body.at, t.body.len);
	strbuf_puts(out, "}\n");
	strbuf_finish(&t.body);
}

/* ---- the whole kernel ---- */
static void write_variables(const struct gen_text *t, struct strbuf *out)
{
	if (t->p->features & GEN_MODULE)
		strbuf_printf(out,
			".const .align 4 .u32 cst%s[8] = {1, 2, 3, 5, 8, 13, 21, 34};\n"
			".global .align 4 .u32 tab%s[8] = {90, 81, 72, 63, 54, 45, 36, 27};\n"
			".global .align 4 .u32 cnt%s[4];\n",
			t->suffix, t->suffix, t->suffix);
	if (t->p->features & GEN_GUARD)
		strbuf_printf(out, ".func never%s()\n{\nexit;\n}\n", t->suffix);
	declare_arrays(t, GEN_OF_MODULE, out);
	declare_arrays(t, GEN_DYNAMIC, out);
}

static void write_entry(const struct gen_text *t, struct strbuf *out)
{
	static const char *const bounds[] = {NULL, ".maxntid", ".reqntid"};
	char name[GEN_NAME_BYTES];

	gen_kernel_name(t->p, name);
	strbuf_printf(out,
		".visible .entry %s(.param .u64 input%s, .param .u64 result%s, .param .u64 "
		"totals%s, "
		".param .u32 extra%s, .param .align 4 .b8 pack%s[32])\n",
		name, t->suffix, t->suffix, t->suffix, t->suffix, t->suffix);
	if (bounds[t->p->bounds])
		strbuf_printf(out, "%s %u, %u, %u\n", bounds[t->p->bounds], t->p->block[0],
			t->p->block[1], t->p->block[2]);
	strbuf_puts(out, "{\n");
}

static void first_steps(const struct gen_text *t, struct strbuf *out)
{
	strbuf_printf(out,
		"ld.param.u64 %%in, [input%s];\nld.param.u64 %%own, [result%s];\n"
		"ld.param.u64 %%sum, [totals%s];\nld.param.u32 %%arg, [extra%s];\n"
		"cvta.to.global.u64 %%in, %%in;\ncvta.to.global.u64 %%own, %%own;\n"
		"cvta.to.global.u64 %%sum, %%sum;\n",
		t->suffix, t->suffix, t->suffix, t->suffix);
	strbuf_puts(out, find_ids);
	strbuf_printf(out,
		"mad.lo.u32 %%gid, %%bid, %u, %%lin;\nmul.wide.u32 %%b0, %%gid, %d;\n"
		"add.s64 %%own, %%own, %%b0;\nmov.u32 %%acc, %%gid;\n",
		gen_threads(t->p), 4 * GEN_OWN_WORDS);
	if (t->p->features & GEN_GUARD)
		strbuf_printf(out,
			"setp.ne.u32 %%q0, %%lin, %%lin;\n@!%%q0 bra goes_on;\n"
			"call never%s;\ngoes_on:\n",
			t->suffix);
	first_values(t, out);
	for (unsigned i = 0; uses(t, "loc") && i < 8; i++)
		strbuf_printf(out, "st.local.u32 [loc+%u], %%gid;\n", 4 * i);
	first_shared(t, out);
}

void gen_text(const struct gen_program *p, struct strbuf *out)
{
	static const char *const finales[] = {"ret;\n", "exit;\n", "", "ret;\n"};
	struct gen_text t = {.p = p, .mask = "-1"};

	snprintf(t.suffix, sizeof(t.suffix), "_%llu", (unsigned long long)p->seed);
	write_list(&t, &p->body);
	write_variables(&t, out);
	for (unsigned i = 0; i < GEN_FUNCS; i++)
		if (p->func[i].len)
			write_function(p, i, out);
	write_entry(&t, out);
	declare_registers(&t, out);
	declare_arrays(&t, GEN_STATIC, out);
	if (uses(&t, "loc"))
		strbuf_puts(out, ".local .align 8 .b8 loc[32];\n");
	first_steps(&t, out);
	strbuf_add(out, t.body.at ? t.body.at : "", t.body.len);
	strbuf_puts(out, "end:\nst.global.u32 [%own], %acc;\n");
	strbuf_puts(out, "gone:\n");
	strbuf_puts(out, finales[p->finale & 3]);
	strbuf_puts(out, "}\n");
	out->failed |= t.body.failed;
	strbuf_finish(&t.body);
}
