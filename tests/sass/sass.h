/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Machine code (SASS) of one module, decoded from nvdisasm's listing, and the state of blocks
 * that run it. The code runs below the virtual GPU's driver, which provides memory, streams and
 * launches. Loading also compiles, and hook.c steps the blocks.
 *
 * A part is a set of lanes of one warp that run together, at one instruction. Parts split at
 * branches and reconverge only where the code says so, at BSYNC and WARPSYNC. Nothing else joins
 * lanes, even if two parts are at the same instruction: ptxas must not rely on that, but does.
 * Predicates have one bit for each lane. Uniform registers belong to the warp: each part
 * executes an instruction on them. */
#ifndef HEDDLE_TEST_SASS_H
#define HEDDLE_TEST_SASS_H

#include "code.h"

/* ---- running warps ---- */

enum sass_part_state {
	P_READY,
	P_BSYNC,    /* arg: the convergence barrier */
	P_WARPSYNC, /* arg: the lanes for which it waits */
	P_COLLECT,  /* arg: as for P_WARPSYNC; waits at WARPSYNC.COLLECTIVE */
	P_BAR,      /* arg: number of the block barrier */
};

struct sass_part {
	uint32_t mask, pc, arg;
	uint8_t state;
};

struct sass_warp {
	uint32_t index, existing, live;
	uint32_t n, current; /* number of parts */
	uint32_t ran;        /* instructions that the current part has run in its turn */
	bool asleep;
	struct sass_part part[LANES];
	uint32_t pred[8];
	uint32_t ur[64];
	uint32_t upred;               /* bit 7 is always set */
	uint32_t b[16][LANES];        /* the lanes for which each lane waits at BSYNC */
	uint32_t back[LANES];         /* where each lane continues after ENDCOLLECTIVE */
	uint32_t red_count, red_pred; /* results for B2R.RESULT */
	uint32_t tid[3][LANES];
	uint32_t (*r)[LANES];
};

struct sass_bar {
	uint32_t arrived, expected, count, all, any;
};

struct sass_kernel {
	struct sass_code *code;
	const char *name;
	uint32_t section, n_regs, shared_bytes, stack_bytes;
};

struct vgpu_block {
	const struct vgpu_launch *launch;
	const struct sass_kernel *kernel;
	struct vgpu_mem *mem;
	uint64_t index;
	uint32_t ctaid[3], smid, slot, n_warps, n_threads, shared_bytes, turn;
	uint8_t *shared, *local;
	uint8_t *bank[8];
	uint32_t bank_bytes[8];
	struct sass_warp *warps;
	uint32_t (*regs)[LANES];
	struct sass_bar bar[16];
	struct vgpu_fault fault;
	uint64_t clock, ran;
	uint32_t random; /* 0: turns of equal length, in order */
	uint64_t range_base, range_end, range_generation;
};

struct sass_x {
	struct vgpu_block *b;
	struct sass_warp *w;
	struct sass_part *part;
	const struct sass_code *code;
	uint32_t active, mask; /* lanes of the part; those of them that the guard lets run */
};

void sass_fault(struct sass_x *x, const struct sass_insn *in, enum vgpu_fault_kind kind,
	unsigned lane, const char *fmt, ...) HD_PRINTF(5, 6);
enum sass_next sass_unknown(struct sass_x *x, const struct sass_insn *in, const char *what);

/* Parts and reconvergence, defined in warp.c. */
/* moves the lanes to a new part at the same instruction */
struct sass_part *sass_split(struct sass_x *x, uint32_t lanes);
void sass_remove(struct sass_x *x, uint32_t lanes); /* the lanes exit */
void sass_barriers_check(struct sass_x *x, struct sass_warp *w);
void sass_give_turn(struct sass_warp *w);
void sass_bar_check(struct sass_x *x, unsigned id);
sass_fn op_bssy, op_bsync, op_break, op_bmov, op_warpsync, op_endcollective, op_bra, op_brx,
	op_call, op_ret, op_exit, op_yield, op_bar, op_b2r, op_nanosleep, op_vote, op_shfl,
	op_match, op_redux, op_lepc, op_trap;

/* Reads operands: returns a pointer to 32 values, which may be tmp. */
typedef uint32_t lanes32[LANES];
typedef uint64_t lanes64[LANES];
const uint32_t *get32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp);
const uint32_t *get_f32(struct sass_x *x, const struct sass_opd *o, uint32_t *tmp);
/* A register pair; or 32 bits, sign-extended if they are an immediate or if requested. */
const uint64_t *get64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp);
const uint64_t *get_f64(struct sass_x *x, const struct sass_opd *o, uint64_t *tmp);
uint32_t get_pred(struct sass_x *x, const struct sass_opd *o);
void put32(struct sass_x *x, const struct sass_opd *o, const uint32_t *v);
void put64(struct sass_x *x, const struct sass_opd *o, const uint64_t *v);
void put_pred(struct sass_x *x, const struct sass_opd *o, uint32_t bits);
/* Access the k-th register after the operand's first. */
void put_word(struct sass_x *x, const struct sass_opd *o, unsigned k, const uint32_t *v);
const uint32_t *get_word(struct sass_x *x, const struct sass_opd *o, unsigned k, uint32_t *tmp);
/* Returns memory, or NULL after a fault. */
uint8_t *sass_global(struct sass_x *x, const struct sass_insn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, bool write);

/* The call target for a function that the driver would provide; there is no such function here. */
uint64_t sass_builtin(const char *name);

static inline float f32_of(uint32_t u)
{
	float f;
	memcpy(&f, &u, 4);
	return f;
}
static inline uint32_t u32_of(float f)
{
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}
static inline double f64_of(uint64_t u)
{
	double f;
	memcpy(&f, &u, 8);
	return f;
}
static inline uint64_t u64_of(double f)
{
	uint64_t u;
	memcpy(&u, &f, 8);
	return u;
}

#endif
