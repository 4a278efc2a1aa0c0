/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A kernel's body as code that runs one virtual block (design: mechanism 1). What tied it to the
 * hardware launch becomes PTX operands that are valid where the body is put. */
#ifndef HEDDLE_VIRTUAL_H
#define HEDDLE_VIRTUAL_H

#include "pass/private.h"

struct pass_move { /* of a variable in shared memory */
	const struct ptx_sym *from;
	uint32_t at; /* bytes behind the beginning of where all are moved to */
};
struct pass_virtual {
	const char *id[PASS_IDS];  /* 32-bit registers, constants or [addresses]; NULL: the
				      hardware's own */
	struct ptx_sym *end_label; /* where every way out leads; NULL: real exits stay */
	struct ptx_sym *shared;    /* where variables in shared memory are; NULL: where they were */
	const char *dynamic_bytes; /* of it, as its launch asks for; NULL: as the hardware says */
	const struct pass_move *moves;
	size_t n_moves;
};
/* The block that a worker has claimed, and its grid. */
#define PASS_CLAIMED_IDS                                                                  \
	{                                                                                 \
		"%hd_x", "%hd_y", "%hd_z", "[hd_args+24]", "[hd_args+28]", "[hd_args+32]" \
	}
/* Appends f's body, changed, to w. */
void pass_virtual_regs(struct pass_writer *w);
int pass_virtual_body(struct pass_writer *w, const struct ptx_func *f, struct pass_facts *facts,
	const struct pass_virtual *v);

#endif
