/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What an instruction does besides writing registers, and which two of a thread may not change
 * places for it. Registers are not looked at here: ptx_visit_regs and chains.h say who writes and
 * who reads these. The carry flag is treated as one more register. */
#ifndef HEDDLE_CFG_EFFECTS_H
#define HEDDLE_CFG_EFFECTS_H

#include "ptx/ptx.h"

/* Classes of memory: what is in two of them is not the same. An address without a space may be any
 * of the first three. Through it constants and parameters of kernels may be read, too, which
 * nothing writes. Textures and surfaces are views of global memory. */
enum cfg_memory {
	CFG_GLOBAL = 1,
	CFG_SHARED = 2,
	CFG_LOCAL = 4,
	CFG_CONST = 8,
	CFG_PARAM = 16,      /* of the function itself */
	CFG_CALL_PARAM = 32, /* .param declared in the body */
	CFG_GENERIC = CFG_GLOBAL | CFG_SHARED | CFG_LOCAL,
	CFG_MEMORY = 63,
};

struct cfg_effects {
	uint8_t reads, writes; /* enum cfg_memory */
	bool ordered; /* others may see when it happens (volatile, relaxed, atomic), or it does
			 something that no operand shows: among such the order stays */
	bool fence;   /* orders all that other threads see: fences, barriers, acquire and release */
	bool barrier; /* of a block, or wider */
	bool convergent; /* must not gain or lose control dependences; among such the order stays */
	bool async;      /* goes on after the instruction, or waits for what does */
	bool reads_cc, writes_cc;
	bool time;   /* reads a clock, or waits */
	bool trap;   /* ends, or stops, the whole grid */
	bool leaves; /* branches and ways out, trap among them */
	bool call;
	bool unknown; /* not in the table: all of the above is assumed but for barrier and leaves */
};
/* Of anything but an instruction: nothing. */
struct cfg_effects cfg_effects_of(const struct ptx_stmt *s);
/* Whether a, which comes first, has to stay ahead of b in a thread; it is so of b and a then, too.
 */
bool cfg_must_order(const struct cfg_effects *a, const struct cfg_effects *b);

#endif
