/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Executes blocks, warps and their fragments (groups of lanes at one point of the code). Of a
 * warp's fragments, the one in the deepest call runs next; if several are equally deep, the one
 * that is first in code order. So a fragment that is behind reaches the others and merges with
 * them. If one fragment loops for long while others could run, the one that has waited longest gets
 * a time slice, so lanes of one warp can wait for each other. The order of execution depends only
 * on the executed code, the given budgets, and the seed of vgpu_set_turns. */
#include "exec_ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weak.h"

#define QUANTUM 500 /* warp instructions that a warp executes per turn */

static uint64_t turns_seed;

void vgpu_set_turns(uint64_t seed)
{
	turns_seed = seed;
}

static uint64_t garbage_seed;

void vgpu_set_garbage(uint64_t seed)
{
	garbage_seed = seed;
}

static void fill_memory(struct vgpu_block *b, void *at, size_t bytes)
{
	uint64_t z = b->garbage = random_bits(b->garbage, bytes) | 1;

	for (size_t i = 0; i < bytes; i += sizeof(z)) {
		z ^= z << 13;
		z ^= z >> 7;
		z ^= z << 17;
		memcpy((char *)at + i, &z, MIN(sizeof(z), bytes - i));
	}
}

/* ---- frames ---- */

/* Fills a frame's registers and local memory with random values (see vgpu_set_garbage). */
static void fill_frame(struct vgpu_block *b, struct vframe *f)
{
	uint32_t fixed = sizeof(uint32_t); /* the predicate at offset 0, which is always true */

	fill_memory(b, f->regs + fixed, f->fn->reg_bytes - fixed);
	fill_memory(b, f->local, (size_t)f->fn->local_bytes * LANES);
}

struct vframe *vx_frame_new(struct vgpu_block *b, const struct vfunc *fn)
{
	struct vframe *f = b->free_frames[fn->index];
	size_t bytes = sizeof(*f) + 63 + fn->reg_bytes + (size_t)fn->local_bytes * LANES;

	if (f) {
		b->free_frames[fn->index] = f->parent;
		if (b->garbage)
			fill_frame(b, f);
		return f;
	}
	f = calloc(1, bytes);
	if (!f)
		return NULL;
	f->fn = fn;
	f->regs = (char *)(((uintptr_t)(f + 1) + 63) & ~(uintptr_t)63);
	f->local = f->regs + fn->reg_bytes;
	*(uint32_t *)f->regs = ~0u; /* the predicate at offset 0, which is always true */
	if (b->garbage)
		fill_frame(b, f);
	return f;
}

void vx_frame_free(struct vgpu_block *b, struct vframe *f)
{
	f->parent = b->free_frames[f->fn->index];
	b->free_frames[f->fn->index] = f;
}

/* ---- fragments ---- */

void vx_load(struct vx *x, struct vfrag *f)
{
	x->f = f;
	x->active = f->mask;
	x->base[0] = f->frame->regs;
	x->base[1] = (char *)f->frame->fn->consts - 1;
	f->ran = ++x->w->turns;
}

struct vfrag *vx_split(struct vx *x, uint32_t lanes, const struct vinsn *pc)
{
	struct vfrag *n = &x->w->frag[x->w->n++];

	*n = *x->f;
	n->mask = lanes;
	n->pc = pc;
	n->state = VF_READY;
	x->f->mask &= ~lanes;
	x->active = x->f->mask;
	return n;
}

/* Removes a fragment (a group of lanes); the last fragment of the warp moves into its slot. */
void vx_remove(struct vx *x, struct vfrag *f)
{
	struct vwarp *w = x->w;
	struct vfrag *last = &w->frag[--w->n];

	if (x->f == f)
		x->f = NULL;
	else if (x->f == last)
		x->f = f;
	if (f != last)
		*f = *last;
}

/* Returns true if fragment a comes before b in code order. */
static bool comes_before(const struct vfrag *a, const struct vfrag *b)
{
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	if (a->frame->fn != b->frame->fn)
		return a->frame->fn->index < b->frame->fn->index;
	return a->pc < b->pc;
}

const struct vinsn *vx_goto(struct vx *x, const struct vinsn *pc)
{
	struct vwarp *w = x->w;

	x->f->pc = pc;
	if (w->spin >= VX_SPIN_LIMIT)
		return NULL;
	if (w->slicing)
		return pc;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == VF_READY && &w->frag[i] != x->f &&
			comes_before(&w->frag[i], x->f))
			return NULL;
	return pc;
}

/* Merges fragments (groups of lanes) that are at the same instruction in the same frame and can
 * run. Called after a barrier or another wait has released fragments. */
void vx_merge_equal(struct vwarp *w, struct vfrag **running)
{
	struct vfrag *now = running ? *running : NULL;

	for (uint32_t i = 0; i < w->n; i++) {
		for (uint32_t k = w->n; k-- > i + 1;) {
			struct vfrag *a = &w->frag[i], *b = &w->frag[k];

			if (a->state || b->state || a->pc != b->pc || a->frame != b->frame ||
				a == now || b == now)
				continue;
			a->mask |= b->mask;
			*b = w->frag[--w->n];
			if (now == &w->frag[w->n])
				*running = now = b;
			/* The fragment that moved into this slot was compared already. */
		}
	}
}

static struct vfrag *pick_fragment(struct vwarp *w)
{
	struct vfrag *best = NULL;

	for (uint32_t i = 0; i < w->n; i++) {
		struct vfrag *f = &w->frag[i];

		if (f->state != VF_READY)
			continue;
		if (!best || (w->slicing == VW_NEXT_SLICE          ? f->ran < best->ran
				     : w->slicing == VW_SAME_SLICE ? f->ran > best->ran
								   : comes_before(f, best)))
			best = f;
	}
	return best;
}

/* ---- running ---- */

/* Returns false if the fragment (the running group of lanes) cannot continue, and true if the
 * turn's instructions are used up. */
static inline bool run_counted(struct vx *x, uint64_t *counts)
{
	const struct vinsn *in = x->f->pc;

	while (in && x->left) {
		x->mask = x->active & (VX_PRED(x, in->guard) ^ in->guard_xor);
		if (!(in->flags & VI_PSEUDO)) {
			/* Usually the whole warp is active. Counting bits is slow on hosts without
			 * such an instruction. */
			x->threads += x->active == UINT32_MAX
					      ? LANES
					      : (uint64_t)__builtin_popcount(x->active);
			x->left--;
			if (counts)
				__atomic_fetch_add(&counts[in->line], 1, __ATOMIC_RELAXED);
		}
		x->cycles += in->cost;
		in = in->fn(x, in);
	}
	if (in)
		x->f->pc = in;
	return in != NULL;
}

static bool run_fragment(struct vx *x)
{
	uint64_t *counts = x->b->program->counts;

	return counts ? run_counted(x, counts) : run_counted(x, NULL);
}

/* Runs a warp until its turn ends or none of its fragments can continue. */
static void run_warp(struct vx *x, struct vwarp *w)
{
	x->w = w;
	while (x->left && !w->asleep && !x->b->fault.kind) {
		struct vfrag *f = pick_fragment(w);
		bool more;

		if (!f)
			return;
		vx_load(x, f);
		more = run_fragment(x);
		if (w->spin >= VX_SPIN_LIMIT && w->n > 1)
			w->slicing = VW_NEXT_SLICE;
		else if (w->slicing)
			w->slicing = more || w->asleep ? VW_SAME_SLICE : VW_IN_ORDER;
		if (w->spin >= VX_SPIN_LIMIT)
			w->spin = 0;
	}
}

static bool can_run(const struct vwarp *w)
{
	if (w->asleep)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == VF_READY)
			return true;
	return false;
}

/* Detects and reports a deadlock inside a warp: some lanes wait at a convergence point for lanes
 * that themselves wait at a barrier or a warp operation for the first ones. Returns true in that
 * case. */
static bool converge_deadlock(struct vgpu_block *b, struct vwarp *w)
{
	const struct vfrag *held = NULL, *other = NULL;
	char text[160];

	for (uint32_t i = 0; i < w->n; i++)
		if (w->frag[i].state == VF_CONVERGE)
			held = &w->frag[i];
		else
			other = &w->frag[i];
	if (!held || !other)
		return false;
	snprintf(text, sizeof(text),
		"lanes 0x%08x wait here for lanes 0x%08x of their warp, which wait at %s in line "
		"%u",
		held->mask, other->mask,
		other->state == VF_BARRIER ? "a barrier" : "an operation of the warp",
		vgpu_module_line(b->launch->kernel->mod, other->pc->line) & PTX_LINE_MASK);
	vx_fault_thread(b, w, (unsigned)__builtin_ctz(held->mask), held->pc->line,
		VGPU_FAULT_DEADLOCK, text);
	return true;
}

static void fault_deadlock(struct vgpu_block *b)
{
	for (uint32_t k = 0; k < b->n_warps; k++)
		if (converge_deadlock(b, &b->warps[k]))
			return;
	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct vwarp *w = &b->warps[k];

		if (!w->n)
			continue;
		vx_fault_thread(b, w, (unsigned)__builtin_ctz(w->frag[0].mask), w->frag[0].pc->line,
			VGPU_FAULT_DEADLOCK,
			w->frag[0].state == VF_BARRIER
				? "waits at a barrier that the others can never reach"
				: "waits for lanes of its warp that can never arrive");
		return;
	}
}

/* Chooses a random warp that can run, and a random number of instructions for its turn. Most turns
 * are short and some are long, so that between two barriers the warps of a block are at very
 * different points. */
static uint64_t random_turn(struct vgpu_block *b)
{
	uint64_t z = random_bits(b->random, b->n_turns++);

	b->turn = (uint32_t)(z % b->n_warps);
	for (uint32_t i = 0; i < b->n_warps && !can_run(&b->warps[b->turn]); i++)
		b->turn = b->turn + 1 < b->n_warps ? b->turn + 1 : 0;
	return z >> 32 & 31 ? 1 + (z >> 40) % 64 : 1 + (z >> 40) % QUANTUM;
}

enum vgpu_state vgpu_block_step(
	struct vgpu_block *b, uint64_t budget, uint64_t *io_thread_insns, uint64_t *io_cycles)
{
	struct vx x = {.b = b, .cycles = *io_cycles};
	uint64_t sleep_ns = UINT64_MAX;
	uint32_t stuck = 0;
	bool slept = false;

	for (uint32_t k = 0; k < b->n_warps; k++)
		b->warps[k].asleep = false;
	while (budget && b->live_threads && !b->fault.kind && stuck < b->n_warps) {
		uint64_t quantum = MIN(budget, b->random ? random_turn(b) : QUANTUM);
		struct vwarp *w = &b->warps[b->turn];

		if (can_run(w)) {
			x.left = x.quantum = quantum;
			x.unused = 0;
			run_warp(&x, w);
			budget -= quantum - x.left - x.unused;
			w->polls.issued += quantum - x.left - x.unused;
			stuck = 0;
		} else {
			stuck++;
		}
		b->turn = b->turn + 1 < b->n_warps ? b->turn + 1 : 0;
	}
	*io_thread_insns += x.threads;
	*io_cycles = x.cycles;
	if (b->weak && !b->live_threads)
		weak_release(b->weak);
	else if (b->weak)
		weak_pass(b->weak, budget != 0);
	if (b->fault.kind)
		return VGPU_FAULT;
	if (!b->live_threads)
		return VGPU_DONE;
	for (uint32_t k = 0; k < b->n_warps; k++) {
		if (!b->warps[k].asleep)
			continue;
		slept = true;
		sleep_ns = MIN(sleep_ns, b->warps[k].sleep_ns);
	}
	if (!budget && stuck < b->n_warps)
		return VGPU_RUNNING;
	if (slept) {
		*io_cycles += sleep_ns;
		return VGPU_IDLE;
	}
	if (vx_barriers_take_held(&x))
		return VGPU_RUNNING;
	fault_deadlock(b);
	return VGPU_FAULT;
}

/* ---- blocks ---- */

static uint32_t special_mask(uint32_t threads)
{
	return threads >= LANES ? ~0u : (1u << threads) - 1;
}

void vgpu_block_reset(struct vgpu_block *b, uint64_t block_index)
{
	const struct vgpu_launch *l = b->launch;

	b->index = block_index;
	b->ctaid[0] = (uint32_t)(block_index % l->grid[0]);
	b->ctaid[1] = (uint32_t)(block_index / l->grid[0] % l->grid[1]);
	b->ctaid[2] = (uint32_t)(block_index / l->grid[0] / l->grid[1]);
	b->live_threads = b->n_threads;
	b->turn = 0;
	b->random = turns_seed ? random_bits(turns_seed, block_index) | 1 : 0;
	b->n_turns = 0;
	memset(b->barrier, 0, sizeof(b->barrier));
	memset(&b->fault, 0, sizeof(b->fault));
	if (b->weak)
		weak_reset(b->weak, block_index);
	b->garbage = garbage_seed ? random_bits(garbage_seed, block_index) | 1 : 0;
	if (b->garbage)
		fill_memory(b, b->shared, b->shared_bytes);
	else
		memset(b->shared, 0, b->shared_bytes);
	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct vwarp *w = &b->warps[k];
		struct vframe *f = b->entry[k];

		for (uint32_t i = 0; i < w->n; i++) {
			struct vframe *g = w->frag[i].frame, *parent;

			/* After a fault, frees the frames of callees that have not returned. */
			for (; g != f && g->lanes; g = parent) {
				parent = g->parent;
				g->lanes = 0;
				vx_frame_free(b, g);
			}
		}
		w->live = w->existing;
		w->n = 1;
		w->waiting = w->n_conv = w->cluster = 0;
		w->spin = 0;
		w->slicing = VW_IN_ORDER;
		w->turns = 0;
		w->progress = false;
		w->polls = (struct vpolls){0};
		if (b->garbage)
			fill_frame(b, f);
		f->lanes = w->existing;
		w->frag[0] = (struct vfrag){
			.mask = w->existing, .pc = f->fn->code, .frame = f, .state = VF_READY};
	}
}

static int make_warps(struct vgpu_block *b)
{
	const struct vgpu_launch *l = b->launch;

	for (uint32_t k = 0; k < b->n_warps; k++) {
		struct vwarp *w = &b->warps[k];

		w->index = k;
		w->existing = special_mask(b->n_threads - k * LANES);
		for (uint32_t i = 0; i < LANES; i++) {
			uint32_t t = k * LANES + i;

			w->tid[0][i] = t % l->block[0];
			w->tid[1][i] = t / l->block[0] % l->block[1];
			w->tid[2][i] = t / l->block[0] / l->block[1];
		}
		b->entry[k] = vx_frame_new(b, &b->program->funcs[0]);
		if (!b->entry[k])
			return -ENOMEM;
		b->entry[k]->parent = NULL;
	}
	return 0;
}

int vgpu_block_create(const struct vgpu_launch *l, uint64_t block_index, uint32_t smid,
	uint32_t slot, struct vgpu_block **ret)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	struct vprogram *p;
	struct vgpu_block *b;
	int r = vgpu_program_of(l->kernel, &p);

	if (r)
		return r;
	if (!threads || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 ||
		threads > 1024 || !l->grid[0] || !l->grid[1] || !l->grid[2] ||
		l->dynamic_shared_bytes > (16u << 20))
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->launch = l;
	b->program = p;
	b->mem = l->kernel->mod->mem;
	b->smid = smid;
	b->slot = slot;
	b->n_threads = (uint32_t)threads;
	b->n_warps = (b->n_threads + LANES - 1) / LANES;
	b->own_shared_bytes =
		(uint32_t)round_up(p->static_shared_bytes, 16) + l->dynamic_shared_bytes;
	b->shared_bytes = b->own_shared_bytes;
	/* the reserved memory comes first; without it, accesses to it are faults */
	if (p->reserved)
		b->shared_bytes += VGPU_SHARED_RESERVED;
	b->shared = aligned_alloc(128, round_up(b->shared_bytes + 1u, 128));
	b->warps = aligned_alloc(64, round_up(b->n_warps * sizeof(*b->warps), 64));
	b->ranges = calloc(p->n_ranges + 1u, sizeof(*b->ranges));
	b->free_frames = calloc(p->n_funcs, sizeof(*b->free_frames));
	b->entry = calloc(b->n_warps, sizeof(*b->entry));
	b->weak = weak_on() ? weak_create(b->mem) : NULL;
	if (b->warps)
		memset(b->warps, 0, b->n_warps * sizeof(*b->warps));
	if (!b->shared || !b->warps || !b->ranges || !b->free_frames || !b->entry ||
		(weak_on() && !b->weak)) {
		vgpu_block_destroy(b);
		return -ENOMEM;
	}
	if (make_warps(b)) {
		vgpu_block_destroy(b);
		return -ENOMEM;
	}
	vgpu_block_reset(b, block_index);
	*ret = b;
	return 0;
}

void vgpu_block_destroy(struct vgpu_block *b)
{
	if (!b)
		return;
	for (uint32_t k = 0; b->warps && b->entry && k < b->n_warps; k++) {
		for (uint32_t i = 0; i < b->warps[k].n; i++) {
			struct vframe *g = b->warps[k].frag[i].frame, *parent;

			for (; g != b->entry[k] && g->lanes; g = parent) {
				parent = g->parent;
				g->lanes = 0;
				vx_frame_free(b, g);
			}
		}
		free(b->entry[k]);
		free(b->warps[k].conv);
	}
	for (uint32_t k = 0; b->free_frames && k < b->program->n_funcs; k++) {
		struct vframe *f = b->free_frames[k], *next;

		for (; f; f = next) {
			next = f->parent;
			free(f);
		}
	}
	weak_destroy(b->weak);
	free(b->entry);
	free(b->free_frames);
	free(b->ranges);
	free(b->warps);
	free(b->shared);
	free(b);
}

const struct vgpu_fault *vgpu_block_fault(const struct vgpu_block *b)
{
	return b->fault.kind ? &b->fault : NULL;
}
