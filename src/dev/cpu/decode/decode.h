/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The decoder's state while it decodes one function. A step that runs out of memory sets d->error
 * and returns harmless values. An instruction that the interpreter does not know is decoded to one
 * that faults when it is executed. */
#ifndef HEDDLE_VGPU_DECODE_H
#define HEDDLE_VGPU_DECODE_H

#include "dev/cpu/exec/converge.h"
#include "dev/cpu/exec/exec_ctl.h"

/* The place of a variable of the program. Not base/map.h: the functions of a program begin with a
 * copy of the tables of all (decode_functions), which each then extends on its own. */
struct vplace {
	const struct ptx_sym *sym;
	uint64_t at;
	struct vplace *next; /* next in the same bucket; the arena owns it */
};
#define PLACE_BUCKETS 256
struct vplaces {
	struct vplace *bucket[PLACE_BUCKETS];
};

struct dec {
	struct vgpu_kernel *k;
	struct vprogram *p;
	struct arena *a; /* arena of the program */
	enum vgpu_converge how;
	struct vfunc *fn;
	const struct ptx_func *f;
	const struct ptx_stmt *s;
	bool is_entry;
	uint32_t *reg_at;      /* for each PTX register: its offset */
	struct vplaces shared; /* shared variables of the whole program */
	/* frame variables and formal parameters; in a kernel also its parameters */
	struct vplaces local;
	struct vplaces labels; /* label -> block */
	struct vplaces consts; /* constants, looked up by value (stored in sym) */
	VEC(struct vinsn) code;
	VEC(uint32_t) ext;
	VEC(struct vcall) calls;
	VEC(uint32_t) targets; /* brx targets; block numbers until the function is complete */
	VEC(uint32_t) waits;   /* lists of block numbers, each ending with VX_NONE */
	struct converge conv;  /* conv.n is 0 if lanes do not wait at convergence points */
	uint32_t block;        /* the block that is being decoded */
	struct strbuf const_data;
	uint32_t reg_bytes, local_bytes;
	uint32_t guard, guard_xor, cc;
	uint32_t *block_at; /* for each block: index of its first instruction */
	uint32_t *meet_at;  /* for each block: index of its vop_meet */
	int error;
};

/* ---- decode_opd.c ---- */
bool vplace_put(struct dec *d, struct vplaces *t, const void *key, uint64_t at);
bool vplace_get(const struct vplaces *t, const void *key, uint64_t *ret);
uint32_t dec_new_reg(struct dec *d, unsigned bytes); /* bytes: size per lane */
uint32_t dec_const(struct dec *d, uint64_t value, unsigned bytes);
unsigned dec_lane_bytes(uint8_t type); /* returns 4, 8 or 16 */
unsigned dec_reg_lane_bytes(const struct dec *d, uint32_t reg);
/* Returns the offset of a source operand, read as `type`. For a special register or an address,
 * emits code that first loads it into a temporary register. */
uint32_t dec_src(struct dec *d, const struct ptx_opd *o, uint8_t type);
/* Returns the number of components if the operand is a whole vector register, otherwise 0. */
uint32_t dec_vector_size(const struct dec *d, const struct ptx_opd *o);
/* Returns component n of a register. */
uint32_t dec_part(const struct dec *d, uint32_t reg, uint32_t n);
/* Emits an instruction at which all lanes of the warp converge. */
void dec_warp_meets(struct dec *d);
bool dec_matrix(struct dec *d);
/* A comparison. `inverse` is the register for the opposite result, or VX_NONE. `with` is a
 * predicate that is combined with both results, or 0. `yes` is the value that means true, for the
 * set instruction. */
struct dec_cmp {
	uint32_t src[2], dst, inverse, with, yes;
	unsigned combine;
	bool negated;
};
void dec_compare(struct dec *d, bool is_set, uint8_t type, const struct dec_cmp *c);
/* Returns the value that the set instruction gives for true, for one result or for each half of a
 * pair. */
uint32_t dec_true_of(uint8_t type, bool pair);
bool dec_half_compare(struct dec *d, bool is_set, uint8_t type, struct dec_cmp *c);
/* Decodes cvt to or from a pair of 8-bit floats. */
bool dec_cvt_eight(struct dec *d);
/* Emits a conversion to f32, and returns the new register. The source is one of the two halves of a
 * packed pair of 16-bit values (half 0 or 1), or a single 16-bit value (half 0). */
uint32_t dec_half_widen(struct dec *d, uint32_t src, uint8_t type, unsigned half);
/* Finds the special register that an operand names, or sets *ret_sr to 0 and *ret_constant to its
 * constant value. For %envreg, *ret_constant is its number. Returns false if the name is
 * unknown. */
bool dec_special(const struct ptx_opd *o, enum ptx_special *ret_sr, uint32_t *ret_constant);
/* Allocates a temporary for a sink. */
uint32_t dec_dst(struct dec *d, const struct ptx_opd *o, uint8_t type);
uint32_t dec_pred(struct dec *d, const struct ptx_opd *o, bool *ret_negated);
/* Finds the address of a variable, which is a constant or (if *ret_frame is set) an offset in the
 * frame's local memory. */
bool dec_sym_addr(struct dec *d, const struct ptx_sym *sym, uint64_t *ret, bool *ret_frame);

/* ---- decode.c ---- */
struct vinsn *dec_emit(struct dec *d, vop_fn *fn, unsigned cost);
uint32_t dec_ext(struct dec *d, const uint32_t *at, unsigned n);
/* Lists the convergence points at which lanes wait if they diverge at the end of the current block.
 * Adds the list to the function's lists and sets *ret to its index. Returns false if there is no
 * such point. */
bool dec_waits(struct dec *d, uint32_t *ret);
void dec_forms(struct dec *d); /* form.c: fills the program's forms; d decodes the kernel itself */
struct vfunc *dec_func(struct dec *d, const struct ptx_func *f);
uint32_t dec_block_of(struct dec *d, const struct ptx_sym *label);

/* Each of these functions returns false for an instruction that it does not know. */
bool dec_mods_known(const struct ptx_mnem *mn); /* checks the modifiers, for dec_alu and dec_cvt */
bool dec_alu(struct dec *d);
bool dec_cvt(struct dec *d);
bool dec_mov(struct dec *d);
bool dec_mem(struct dec *d);
bool dec_async(struct dec *d);
bool dec_tex(struct dec *d);
bool dec_video(struct dec *d);
bool dec_sync(struct dec *d);
/* Decodes an address: sets its base register (to->a), its offset (to->imm), and its width
 * (to->flags). */
bool dec_address(struct dec *d, const struct ptx_opd *o, struct vinsn *to);
bool dec_bar(struct dec *d);
bool dec_call(struct dec *d);
bool dec_brx(struct dec *d);

#endif
