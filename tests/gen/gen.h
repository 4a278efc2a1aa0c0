/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Random PTX programs that are valid, end, and have no races. What they leave in memory is
 * therefore a function of their input, and two forms of a program must agree in every bit.
 *
 * A program is a tree. Everything random in a node's text comes from the node's own seed, so
 * removing another node does not change it. This makes the tree shrinkable. */
#ifndef HEDDLE_GEN_H
#define HEDDLE_GEN_H

#include "base/base.h"

/* Which of the remaining threads reach a point together. */
enum gen_level { GEN_LANE, GEN_WARP, GEN_BLOCK };

enum gen_kind {
	GEN_LEAF,   /* a row of leaves.def */
	GEN_IF,     /* kids, and possibly other */
	GEN_LOOP,   /* at most `trips` iterations, possibly fewer */
	GEN_SWITCH, /* brx.idx to kids or other */
	GEN_RETURN, /* some threads return; kids: what they run before that */
	GEN_CALL,   /* calls function `index` */
	GEN_SPLIT,  /* kids or other, each followed by a barrier */
	GEN_GATHER, /* kids, which add to words of shared memory; then all threads read these */
	GEN_SUBSET, /* the first `index` warps run kids, with a barrier of their own */
	GEN_LAST,  /* threads read each other's values from shared memory, and no barrier follows */
	GEN_STRAY, /* a store before or after an array of shared memory */
	GEN_PARTED, /* a loop with a barrier, which lanes leave one by one; the last node */
};

struct gen_node;
typedef VEC(struct gen_node) gen_list;
struct gen_node {
	enum gen_kind kind;
	enum gen_level level; /* for which threads the condition is the same */
	uint8_t trips;        /* of GEN_STRAY: 0 if it does not store */
	/* leaf, function, or number of warps; of GEN_STRAY: 1 if between barriers */
	uint16_t index;
	uint64_t seed;
	gen_list kids, other;
};

/* Features that a program may have. */
enum gen_feature {
	GEN_SHARED = 1,
	GEN_BARRIERS = 2,
	GEN_WARP_OPS = 4,
	GEN_RETURNS = 8,
	GEN_CALLS = 16,
	GEN_ATOMICS = 32,
	GEN_LOCAL = 64,
	GEN_MODULE = 128, /* variables of the module */
	GEN_ASYNC = 256,  /* cp.async */
	GEN_GUARD = 512,  /* a call that never runs, but keeps the kernel from being managed */
	GEN_FLOAT = 1024,
	GEN_NAMED = 2048, /* barriers with a number and a count */
	GEN_FOUND = 4096, /* the block's conditions may depend on memory and reductions */
	/* results of reductions that lanes of one warp reach at two instructions; never chosen
	 * at random, but requested for devices that compute them correctly */
	GEN_APART = 8192,
};

enum gen_place { GEN_STATIC, GEN_OF_MODULE, GEN_DYNAMIC };
enum gen_role { GEN_OWN, GEN_XCH, GEN_SUM, GEN_FILL, GEN_ROLES };
struct gen_array { /* an array in shared memory */
	enum gen_place place;
	uint32_t align, bytes;
	uint32_t offset; /* if in dynamic shared memory */
};

#define GEN_FUNCS     3
#define GEN_VARIANTS  2
#define GEN_IN_WORDS  256
#define GEN_OWN_WORDS 8    /* output words of each thread */
#define GEN_SUM_WORDS 32   /* words to which all threads add */
#define GEN_THREADS   4096 /* maximum threads in a grid */
#define GEN_FILL_UP   UINT32_MAX

struct gen_steering {
	uint32_t yield_every, chunk, workers;
	uint32_t quota; /* workers on each SM until all are stopped once; 0: no quota */
	bool pull_ahead;
};

struct gen_program {
	uint64_t seed;
	uint32_t grid[3], block[3];
	uint32_t features;
	uint32_t xch_bytes; /* bytes of one thread's element of GEN_XCH */
	struct gen_array array[GEN_ROLES];
	uint8_t order[GEN_ROLES]; /* order in which the arrays are declared */
	uint32_t fill,
		/* bytes of the array GEN_FILL beyond one for each thread; GEN_FILL_UP: all static
		 * shared memory that the other arrays leave, except `spare` bytes */
		spare;
	uint8_t finale; /* how the kernel ends */
	uint8_t bounds; /* .maxntid, .reqntid or neither */
	gen_list body;
	gen_list func[GEN_FUNCS];
	uint8_t func_exits; /* bit i: function i contains an exit */
	struct gen_steering steering[GEN_VARIANTS];
};

static inline uint32_t gen_threads(const struct gen_program *p)
{
	return p->block[0] * p->block[1] * p->block[2];
}

static inline uint32_t gen_blocks(const struct gen_program *p)
{
	return p->grid[0] * p->grid[1] * p->grid[2];
}

/* Defined in build.c. */
int gen_build(uint64_t seed, struct gen_program *ret);
/* Adds a faulty node: a thread stores before or after an array of shared memory.
 * gen_stray_defined returns whether the store is between barriers: then its effect is the same on
 * each run, unless it faults. */
int gen_add_stray(struct gen_program *p);
bool gen_stray_defined(const struct gen_program *p);
/* Disables the store of the faulty node; the rest of the node stays. */
void gen_keep_stray_back(struct gen_program *p);
/* Makes the grid `by` times as large, for devices that would claim a small grid at once. */
#define GEN_MAX_SCALE 32
void gen_scale(struct gen_program *p, unsigned by);
void gen_free(struct gen_program *p);
int gen_copy(const struct gen_program *p, struct gen_program *ret);
/* Computes sizes and offsets of the arrays from the block's shape. */
void gen_lay_out(struct gen_program *p);
uint32_t gen_dynamic_bytes(const struct gen_program *p);

/* text.c: a module is the head once, followed by any number of programs. */
extern const char gen_head[];
void gen_text(const struct gen_program *p, struct strbuf *out);
#define GEN_NAME_BYTES 32
void gen_kernel_name(const struct gen_program *p, char name[GEN_NAME_BYTES]);

#endif
