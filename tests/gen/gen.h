/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Random PTX programs that are valid, end, and have no races, so that what they leave in memory is
 * a function of their input: whoever runs them in two forms may compare every bit.
 *
 * A program is a tree. Whatever is random about a node's text is drawn from the node's own seed, so
 * that taking another node away changes nothing in it: that is what makes the tree shrinkable. */
#ifndef HEDDLE_GEN_H
#define HEDDLE_GEN_H

#include "base/base.h"

/* Which threads come to a place together, of those that have not left. */
enum gen_level { GEN_LANE, GEN_WARP, GEN_BLOCK };

enum gen_kind {
	GEN_LEAF,   /* leaves.def */
	GEN_IF,     /* kids, and perhaps other */
	GEN_LOOP,   /* at most trips times, perhaps left earlier */
	GEN_SWITCH, /* brx.idx: kids or other */
	GEN_RETURN, /* some leave; kids: what they do before */
	GEN_CALL,   /* of function `index` */
	GEN_SPLIT,  /* kids or other, with a barrier at the end of each */
	GEN_GATHER, /* kids, which add to words of shared memory; then all read them */
	GEN_SUBSET, /* the first `index` warps: kids, with a barrier of their own */
	GEN_LAST, /* threads read what others have put into shared memory, and no barrier follows */
	GEN_STRAY,  /* a store past an array of shared memory, or ahead of it */
	GEN_PARTED, /* a loop that holds a barrier, from which lanes leave one by one; the last */
};

struct gen_node;
typedef VEC(struct gen_node) gen_list;
struct gen_node {
	enum gen_kind kind;
	enum gen_level level; /* the condition's: who decides alike */
	uint8_t trips;        /* of GEN_STRAY: 0: it does not store */
	uint16_t index;       /* leaf, function, warps, or (GEN_STRAY) 1: between barriers */
	uint64_t seed;
	gen_list kids, other;
};

/* What a program may contain. */
enum gen_feature {
	GEN_SHARED = 1,
	GEN_BARRIERS = 2,
	GEN_WARP_OPS = 4,
	GEN_RETURNS = 8,
	GEN_CALLS = 16,
	GEN_ATOMICS = 32,
	GEN_LOCAL = 64,
	GEN_MODULE = 128, /* module variables */
	GEN_ASYNC = 256,  /* cp.async */
	GEN_GUARD = 512,  /* a call that is never made and keeps the kernel from being managed */
	GEN_FLOAT = 1024,
	GEN_NAMED = 2048, /* numbered and counted barriers */
	GEN_FOUND = 4096, /* what the block decides on may come from memory and reductions */
	GEN_APART = 8192, /* results of reductions that lanes of one warp reach at two places: never
			   * chosen, asked for where they can be had */
};

enum gen_place { GEN_STATIC, GEN_OF_MODULE, GEN_DYNAMIC };
enum gen_role { GEN_OWN, GEN_XCH, GEN_SUM, GEN_FILL, GEN_ROLES };
struct gen_array { /* of shared memory */
	enum gen_place place;
	uint32_t align, bytes;
	uint32_t offset; /* in dynamic shared memory */
};

#define GEN_FUNCS     3
#define GEN_VARIANTS  2
#define GEN_IN_WORDS  256
#define GEN_OWN_WORDS 8    /* of the output, for each thread */
#define GEN_SUM_WORDS 32   /* that all threads add to */
#define GEN_THREADS   4096 /* of a grid, at most */
#define GEN_FILL_UP   UINT32_MAX

struct gen_steering {
	uint32_t yield_every, chunk, workers;
	uint32_t quota; /* workers an SM, until all are stopped once; 0: none */
	bool pull_ahead;
};

struct gen_program {
	uint64_t seed;
	uint32_t grid[3], block[3];
	uint32_t features;
	uint32_t xch_bytes; /* of one thread's element of GEN_XCH */
	struct gen_array array[GEN_ROLES];
	uint8_t order[GEN_ROLES]; /* in which the arrays are declared */
	uint32_t fill,
		spare;  /* bytes of GEN_FILL beyond one a thread; GEN_FILL_UP: all but spare */
	uint8_t finale; /* how the kernel ends */
	uint8_t bounds; /* .maxntid, .reqntid or none */
	gen_list body;
	gen_list func[GEN_FUNCS];
	uint8_t func_exits; /* bit i: exit within function i */
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

/* build.c */
int gen_build(uint64_t seed, struct gen_program *ret);
/* One more node that goes wrong: a thread that stores past an array of shared memory, or ahead of
 * it. gen_stray_defined: between barriers, so that what it does is the same each time, if it does
 * not fail. */
int gen_add_stray(struct gen_program *p);
bool gen_stray_defined(const struct gen_program *p);
/* All but the store itself. */
void gen_keep_stray_back(struct gen_program *p);
/* A grid so many times as large, for devices on which a small one is claimed at once. */
#define GEN_MAX_SCALE 32
void gen_scale(struct gen_program *p, unsigned by);
void gen_free(struct gen_program *p);
int gen_copy(const struct gen_program *p, struct gen_program *ret);
/* Sizes and offsets of the arrays, from the block's shape. */
void gen_lay_out(struct gen_program *p);
uint32_t gen_dynamic_bytes(const struct gen_program *p);

/* text.c: the module's head once, then any number of programs. */
extern const char gen_head[];
void gen_text(const struct gen_program *p, struct strbuf *out);
#define GEN_NAME_BYTES 32
void gen_kernel_name(const struct gen_program *p, char name[GEN_NAME_BYTES]);

#endif
