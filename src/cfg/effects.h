/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Effects of an instruction besides writing registers, and which pairs of instructions in a thread
 * must keep their order because of these effects. Ordinary registers are not covered;
 * ptx_visit_regs and chains.h find their reads and writes. The carry flag is covered here. */
#ifndef HEDDLE_CFG_EFFECTS_H
#define HEDDLE_CFG_EFFECTS_H

#include "ptx/ptx.h"

/* Classes of memory, which never overlap. A generic address can point to any of the first three. A
 * load from a generic address can also read constants and kernel parameters, but no instruction
 * writes these. Textures and surfaces are views of global memory. */
enum cfg_memory {
	CFG_GLOBAL = 1,
	CFG_SHARED = 2,
	CFG_LOCAL = 4,
	CFG_CONST = 8,
	CFG_PARAM = 16,      /* parameters of the function itself */
	CFG_CALL_PARAM = 32, /* .param variables declared in the body, for calls */
	CFG_GENERIC = CFG_GLOBAL | CFG_SHARED | CFG_LOCAL,
	CFG_MEMORY = 63,
};

struct cfg_effects {
	uint8_t reads, writes; /* enum cfg_memory */
	/* true if other threads can observe when the instruction happens (volatile, relaxed,
	 * atomic), or if it has an effect that no operand shows. Instructions with this flag keep
	 * their order among each other. */
	bool ordered;
	/* true if it orders all accesses that other threads can see: fences, barriers, acquire and
	 * release */
	bool fence;
	bool barrier; /* a barrier of a block or of a wider scope */
	/* true if it must not gain or lose control dependences; such instructions keep their
	 * order */
	bool convergent;
	/* true if the instruction starts work that continues after it, or waits for such work */
	bool async;
	bool reads_cc, writes_cc;
	bool time;   /* reads a clock or waits */
	bool trap;   /* ends or stops the whole grid */
	bool leaves; /* branches, exits and traps */
	bool call;
	/* true if the instruction is not in ops.def; every other effect is then assumed, except
	 * barrier and leaves */
	bool unknown;
};
/* Returns the effects of a statement. A statement that is not an instruction has none. */
struct cfg_effects cfg_effects_of(const struct ptx_stmt *s);

#endif
