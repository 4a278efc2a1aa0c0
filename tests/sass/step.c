/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Chooses the part of a warp that runs, and for how long. Warps run in turn. In each, the part
 * that ran last continues until it waits or yields; then the next part that can run follows. A
 * part that does neither keeps its warp for PART_TURN instructions, and loses it at the next
 * backward jump. (The parts of a warp share its uniform registers, in which ptxas holds values
 * in code that only some lanes run.) With SASS_TURNS=SEED, warps get turns of random length and
 * order. */
#include "sass_ops.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define QUANTUM   300
#define PART_TURN 4000000

enum vgpu_state __wrap_vgpu_block_step(
	struct vgpu_block *b, uint64_t budget, uint64_t *io_thread_insns, uint64_t *io_clock);

void sass_fault(struct sass_x *x, const struct sass_insn *in, enum vgpu_fault_kind kind,
	unsigned lane, const char *fmt, ...)
{
	struct vgpu_fault *f = &x->b->fault;
	char text[200];
	va_list ap;

	if (f->kind)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f->kind = kind;
	for (unsigned k = 0; k < 3; k++) {
		f->block[k] = x->b->ctaid[k];
		f->thread[k] = x->w->tid[k][lane];
	}
	snprintf(f->message, sizeof(f->message),
		"kernel %s, block (%u,%u,%u), thread (%u,%u,%u), at 0x%x: %s", x->b->kernel->name,
		f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2],
		in->at, text);
	snprintf(f->source, sizeof(f->source), "%s", in->text);
}

enum sass_next sass_unknown(struct sass_x *x, const struct sass_insn *in, const char *what)
{
	sass_fault(x, in, VGPU_FAULT_INSTRUCTION, 0, "not run: %s", what);
	return N_WAIT;
}

static uint32_t guard_of(const struct sass_x *x, const struct sass_insn *in)
{
	uint32_t v;

	if (in->guard == PT)
		v = ~0u;
	else if (in->guard_uniform)
		v = x->w->upred >> in->guard & 1 ? ~0u : 0;
	else
		v = x->w->pred[in->guard];
	return in->guard_not ? ~v : v;
}

/* Runs up to n instructions of the current part; returns how many it ran. */
static uint64_t run_part(struct sass_x *x, uint64_t n, uint64_t *io_threads)
{
	struct vgpu_block *b = x->b;
	struct sass_warp *w = x->w;
	uint64_t did = 0;

	while (did < n) {
		const struct sass_insn *in;
		enum sass_next next = N_NEXT;
		uint32_t at;

		x->part = &w->part[w->current];
		at = x->part->pc;
		in = &x->code->insns[at];
		x->active = x->part->mask;
		x->mask = x->active & guard_of(x, in);
		did++;
		w->ran++;
		b->clock++;
		*io_threads += (unsigned)__builtin_popcount(x->mask);
		if (!in->fn)
			next = sass_unknown(x, in, "instruction not known");
		else if (x->mask)
			next = in->fn(x, in);
		if (b->fault.kind)
			return did;
		if (next == N_NEXT) {
			if (x->part->pc + 1 >= x->code->n_insns ||
				x->code->insns[x->part->pc + 1].section != in->section) {
				sass_fault(x, in, VGPU_FAULT_PC, 0, "ran off the end of the code");
				return did;
			}
			x->part->pc++;
		} else if (next == N_WAIT) {
			return did;
		} else if (w->ran > PART_TURN && x->part->pc <= at) {
			sass_give_turn(w);
			return did;
		}
	}
	return did;
}

/* Chooses the next part that can run, starting with the current one. Returns false if there is
 * none. */
static bool choose(struct sass_warp *w)
{
	for (uint32_t k = 0; k < w->n; k++) {
		uint32_t at = (w->current + k) % w->n;

		if (w->part[at].state == P_READY) {
			w->ran = k ? 0 : w->ran;
			w->current = at;
			return true;
		}
	}
	return false;
}

static uint32_t turn_bits(struct vgpu_block *b)
{
	b->random = b->random * 1664525u + 1013904223u;
	return b->random >> 16;
}

static uint64_t turn_length(struct vgpu_block *b)
{
	const char *seed = b->ran ? NULL : getenv("SASS_TURNS");

	if (seed)
		b->random = 2 * (uint32_t)(atoi(seed) + (int)b->index) + 1;
	b->ran = 1;
	return b->random ? 1ull << (turn_bits(b) & 15) : QUANTUM;
}

static void deadlock(struct sass_x *x)
{
	struct vgpu_block *b = x->b;
	char parts[120] = "";
	size_t n = 0;

	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct sass_warp *w = &b->warps[k];

		if (!w->live)
			continue;
		x->w = w;
		for (uint32_t l = 0; l < w->n && n < sizeof(parts); l++)
			n += (size_t)snprintf(parts + n, sizeof(parts) - n, " %08x at 0x%x",
				w->part[l].mask, x->code->insns[w->part[l].pc].at);
		sass_fault(x, &x->code->insns[w->part[0].pc], VGPU_FAULT_DEADLOCK,
			(unsigned)__builtin_ctz(w->part[0].mask),
			"no part of any warp can go on; of this warp wait lanes%s", parts);
		return;
	}
}

enum vgpu_state __wrap_vgpu_block_step(
	struct vgpu_block *b, uint64_t budget, uint64_t *io_thread_insns, uint64_t *io_clock)
{
	struct sass_x x = {.b = b};
	uint32_t stuck = 0, asleep = 0;
	bool live = false, moved = false;

	if (b->fault.kind)
		return VGPU_FAULT;
	x.code = b->kernel->code;
	b->clock = *io_clock;
	for (uint32_t k = 0; k < b->n_warps; k++)
		b->warps[k].asleep = false;
	while (budget && stuck < b->n_warps) {
		if (b->random && moved)
			b->turn = turn_bits(b) % b->n_warps;
		moved = false;
		struct sass_warp *w = &b->warps[b->turn];
		uint64_t left = MIN(budget, turn_length(b)), did;

		b->turn = b->turn + 1 < b->n_warps ? b->turn + 1 : 0;
		x.w = w;
		stuck++;
		while (left && !w->asleep && w->n && choose(w)) {
			did = run_part(&x, left, io_thread_insns);
			left -= MIN(left, did);
			budget -= MIN(budget, did);
			stuck = 0;
			moved = true;
			if (b->fault.kind) {
				*io_clock = b->clock;
				return VGPU_FAULT;
			}
		}
	}
	*io_clock = b->clock;
	for (uint32_t k = 0; k < b->n_warps; k++) {
		live |= b->warps[k].live != 0;
		asleep += b->warps[k].asleep;
	}
	if (!live)
		return VGPU_DONE;
	if (stuck < b->n_warps)
		return VGPU_RUNNING;
	if (asleep)
		return VGPU_IDLE;
	deadlock(&x);
	return VGPU_FAULT;
}
