/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Declarations that the writers of a program's text share (text.c, leaf.c). */
#ifndef HEDDLE_GEN_TEXT_H
#define HEDDLE_GEN_TEXT_H

#include "gen.h"
#include "rng.h"

/* Numbers of registers of each kind that leaves may read and write. */
#define GEN_REGS_V 6
#define GEN_REGS_U 3
#define GEN_REGS_W 2
#define GEN_REGS_D 3
#define GEN_REGS_F 3
#define GEN_REGS_G 2
#define GEN_REGS_H 3

struct gen_text {
	const struct gen_program *p;
	struct strbuf body;
	struct rng r;     /* of the current node */
	const char *mask; /* register with the mask of active lanes; NULL: unknown */
	bool in_func;
	unsigned ids;      /* last id given to a node, for loop counters, labels and masks */
	char suffix[24];   /* for names in the module */
	char made[4][16];  /* registers that the leaf wrote */
	char made_kind[4]; /* letters as in leaves.def */
	unsigned n_made;
};

enum leaf_needs {
	LEAF_ENTRY = 1, /* not allowed in functions */
	LEAF_FULL = 2,  /* no thread of the block has exited */
	LEAF_MASK = 4,  /* the set of active lanes is known */
};
struct gen_leaf {
	uint8_t weight;
	enum gen_level level;
	unsigned needs;
	uint32_t features;
	const char *text;
};
extern const struct gen_leaf gen_leaves[];
extern const unsigned gen_n_leaves;

/* leaf.c: expands the text of a row, or any other text with the same marks. */
void gen_leaf_text(struct gen_text *t, const struct gen_node *n);
void gen_put(struct gen_text *t, const char *text);
void gen_expand(struct gen_text *t, const char *text); /* one line of a leaf */
/* Adds everything written since the last call to the checksum. */
void gen_fold(struct gen_text *t);
/* Writes a barrier, of some kind, for all remaining threads. */
void gen_barrier(struct gen_text *t);

#endif
