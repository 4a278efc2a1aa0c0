/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The state of executing blocks. The lanes of a warp are grouped in fragments: the lanes of one
 * fragment are at the same instruction and have the same chain of call frames. A fragment splits
 * where its lanes diverge, usually at a branch. Fragments merge if they meet at the start of a
 * basic block, or if a barrier or a warp operation releases them together.
 *
 * A handler executes one instruction for the lanes in x->mask and returns the next instruction. It
 * stores the state and returns NULL if the fragment cannot continue: it has ended, it waits, or
 * another fragment has to run first. */
#ifndef HEDDLE_VGPU_EXEC_H
#define HEDDLE_VGPU_EXEC_H

#include "dev/cpu/code.h"
#include "poll.h"

#define LANES         32
#define VGPU_BARRIERS 16
/* index of the cluster's barrier; a cluster is one block here */
#define VX_CLUSTER    VGPU_BARRIERS
#define VX_SPIN_LIMIT 20000
#define MAX_DEPTH     2000
#define MAX_STACK     (512u << 10) /* limit of local memory per thread, in bytes */

struct vframe {
	struct vframe *parent; /* caller's frame; in the free list: the next free frame */
	const struct vfunc *fn;
	const struct vinsn *call; /* call instruction in the caller */
	uint32_t lanes;           /* lanes that have not returned yet */
	/* local_start: offset of the frame in each lane's local memory */
	uint32_t depth, local_start;
	char *regs, *local;
};

enum vfrag_state {
	VF_READY,
	VF_BARRIER,  /* at a block barrier */
	VF_SYNC,     /* waits at a warp operation for other lanes */
	VF_CONVERGE, /* waits at a convergence point for other lanes */
};

struct vfrag {
	uint32_t mask;
	uint8_t state, barrier;
	const struct vinsn *pc;
	struct vframe *frame;
	uint64_t ran; /* number of the warp's turn in which the fragment last ran */
};

struct vconv { /* lanes that diverged, and the point where they wait for each other */
	const struct vinsn *at;
	const struct vframe *frame;
	uint32_t mask; /* lanes that have not exited */
};

enum vwarp_turn {
	VW_IN_ORDER,   /* run the fragment that comes first in code order */
	VW_NEXT_SLICE, /* run the fragment that has waited longest */
	VW_SAME_SLICE, /* run the fragment that ran last, which continues its time slice */
};

struct vwarp {
	uint32_t index, existing, live;
	uint32_t n, waiting; /* number of fragments; number of fragments in VF_SYNC */
	uint32_t cluster;    /* lanes that have arrived at the cluster barrier */
	bool asleep;         /* the warp gave up the rest of this step */
	bool progress;
	uint8_t slicing; /* enum vwarp_turn */
	uint32_t spin;   /* grows while the same fragments keep looping */
	struct vpolls polls;
	uint64_t turns, sleep_ns;
	struct vconv *conv; /* from malloc */
	uint32_t n_conv, cap_conv;
	struct vfrag frag[LANES];
	uint32_t tid[3][LANES];
};

struct vbarrier {
	uint32_t expected; /* number of threads; 0: all threads that have not exited */
	uint32_t arrived;
	bool in_use, aligned; /* aligned: all arrivals so far used the .aligned form */
	uint32_t popc, and_all, or_any;
};

struct vgpu_block {
	const struct vgpu_launch *launch;
	const struct vprogram *program;
	struct vgpu_mem *mem;
	uint64_t index;
	uint32_t ctaid[3], smid, slot;
	uint32_t n_warps, n_threads, live_threads, shared_bytes, own_shared_bytes;
	uint32_t turn; /* the warp that runs next */
	/* seeds of turns (random) and of initial contents (garbage); 0: none */
	uint64_t random, n_turns, garbage;
	char *shared;
	struct vwarp *warps;
	struct vgpu_range *ranges;
	struct vframe **free_frames; /* for each function: list of free frames */
	struct vframe **entry;       /* for each warp: the kernel's frame */
	struct weak *weak;           /* NULL: memory is not weak (weak.h) */
	struct vbarrier barrier[VGPU_BARRIERS + 1];
	struct vgpu_fault fault;
};

struct vx {
	char *base[2]; /* [0]: registers; [1]: constants, minus 1 because their offsets are odd */
	uint32_t mask, active;
	struct vgpu_block *b;
	struct vwarp *w;
	struct vfrag *f;
	uint64_t quantum, left; /* warp instructions in this turn: all, and those still left */
	uint64_t unused;        /* instructions that waiting warps gave up */
	uint64_t threads;       /* thread instructions executed so far */
	uint64_t cycles;
};

#define VX_PTR(x, off)  ((void *)((x)->base[(off)&1] + (off)))
#define VX_U32(x, off)  ((uint32_t *)VX_PTR(x, off))
#define VX_U64(x, off)  ((uint64_t *)VX_PTR(x, off))
#define VX_PRED(x, off) (*VX_U32(x, off))
#define VX_NONE         UINT32_MAX

/* ---- exec.c ---- */
void vx_load(struct vx *x, struct vfrag *f); /* makes f the running fragment */
/* Moves some lanes of the running fragment to a new fragment at pc. */
struct vfrag *vx_split(struct vx *x, uint32_t lanes, const struct vinsn *pc);
void vx_remove(struct vx *x, struct vfrag *f);
/* Returns NULL if another fragment must run first. */
const struct vinsn *vx_goto(struct vx *x, const struct vinsn *pc);
void vx_merge_equal(struct vwarp *w, struct vfrag **running);
struct vframe *vx_frame_new(struct vgpu_block *b, const struct vfunc *fn);
void vx_frame_free(struct vgpu_block *b, struct vframe *f);
const struct vinsn *vx_fault(struct vx *x, const struct vinsn *in, enum vgpu_fault_kind kind,
	unsigned lane, uint64_t address, const char *fmt, ...) HD_PRINTF(6, 7);
void vx_fault_thread(struct vgpu_block *b, struct vwarp *w, unsigned lane, uint32_t line,
	enum vgpu_fault_kind kind, const char *text);

/* ---- exec_form.c: replaces the ids of a block and a thread by those of the program's kernel that
 * they run. `kernel` is its number in a form of several, from 1 on. Returns false if they run the
 * form's own code. ---- */
bool vx_form_ids(const struct vgpu_block *b, const struct vwarp *w, unsigned lane, unsigned kernel,
	uint32_t io_block[3], uint32_t io_thread[3]);

/* ---- exec_ctl.c, exec_bar.c, exec_sync.c ---- */
void vx_barrier_check(struct vx *x, unsigned id);
void vx_sync_check(struct vx *x, struct vwarp *w);

/* ---- exec_conv.c: releases lanes if all lanes that they wait for have arrived or exited ---- */
void vx_conv_check(struct vx *x, struct vwarp *w);

/* ---- exec_addr.c: the host address of a lane's access, or NULL after a fault ---- */
void *vx_resolve(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr, uint32_t bytes,
	bool write);
/* Resolves the addresses of all active lanes. */
bool vx_addresses(
	struct vx *x, const struct vinsn *in, uint32_t bytes, bool write, void *ret_p[LANES]);

#endif
