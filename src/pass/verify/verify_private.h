/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The types and functions that the files of the verifier share. */
#ifndef HEDDLE_VERIFY_PRIVATE_H
#define HEDDLE_VERIFY_PRIVATE_H

#include "cfg/cfg.h"
#include "pass/analysis/body.h"
#include "pass/verify/verify.h"

#define NONE UINT32_MAX

struct verify;

/* A symbol of an original kernel's module, and the symbol of the rewritten code that stands for
 * it. */
struct verify_sym {
	const struct ptx_sym *plain, *now;
};
/* A shared variable that became part of an array. */
struct verify_place {
	const struct ptx_sym *plain;
	uint64_t at, bytes;
};
/* The facts that the verifier finds about a kernel. They hold for the kernel's code in the entry and for
 * all callees of the kernel. */
struct verify_kernel {
	const struct pass_kernel *from;
	const struct ptx_func *f; /* the original function */
	uint32_t threads;         /* threads per block, rounded up to whole warps */
	/* range [first, end) of the entry's threads that reach its code */
	uint32_t first, end;
	struct cfg_uniformity *u; /* uniformity of the original kernel; NULL: not computed yet */
	bool in_parts;            /* has several entry points, each for a part of these threads */
	bool has_code, has_shared, has_barriers;
	VEC(struct verify_sym) syms;
	VEC(struct verify_place) places;
	/* new number of each barrier in the rewritten code; 255: not known yet */
	uint8_t barrier[16];
	uint32_t id_reg[PASS_IDS]; /* for each id: the register that holds it, or NONE */
};

/* An original function and its counterpart in the rewritten code. */
struct verify_pair {
	struct verify *v;
	unsigned k; /* whose */
	struct verify_kernel *g;
	const struct ptx_func *p, *q; /* p: the original; q: the rewritten function */
	struct cfg *pg, *qg;
	bool entry;
	bool leaves;       /* exits end the thread, as in the original kernel */
	bool again;        /* another block of the grid may follow in the same thread */
	uint32_t entry_at; /* index of the first instruction of p */
	/* for each statement of q: the statement of p that it implements, or NONE */
	uint32_t *of;
	uint32_t *reg;  /* for each register of p: the register of q, or NONE */
	uint32_t *back; /* for each register of q: the register of p, or NONE */
};

struct verify {
	const struct pass_result *r;
	struct diag_list *diags;
	struct arena arena;
	struct cfg *host;
	struct verify_kernel kernel[CTL_MAX_MERGED];
	/* first one pair per kernel for the entry, then one per callee */
	VEC(struct verify_pair *) pairs;
	/* the array that holds shared memory; NULL: not known yet */
	const struct ptx_sym *pool;
	/* keys of reported findings, so that none is reported twice */
	VEC(uint64_t) told;
	unsigned found;
	bool failed; /* true once memory runs out */
};

/* Reports a finding. `at` is a statement of p->q, and `plain` is a statement of p->p; each of them
 * may be NONE. */
void verify_tell(struct verify_pair *p, enum pass_rule rule, uint32_t at, uint32_t plain,
	const char *fmt, ...) HD_PRINTF(5, 6);
/* Adds the pair of a called function, if it does not exist yet. */
void verify_add_pair(
	struct verify *v, unsigned k, const struct ptx_func *plain, const struct ptx_func *now);
/* Pair that a statement of the entry belongs to, or NULL. */
struct verify_pair *verify_owner(struct verify *v, uint32_t at);
const char *verify_text(struct verify_pair *p, const struct ptx_func *f, uint32_t at);

/* verify_flow.c: checks the paths between instructions. */
void verify_flow(struct verify_pair *p);
/* Returns whether a branch of q is never taken, because its guard depends on ctl_args.never. */
bool verify_is_never(const struct verify_pair *p, uint32_t at);
/* Returns the last statement before `at` in its basic block that writes register reg, or NULL. */
const struct ptx_stmt *verify_written(const struct cfg *g, uint32_t at, uint32_t reg);

/* verify_code.c: checks that statements [from, end) of q implement one instruction of p. */
void verify_code(struct verify_pair *p, uint32_t from, uint32_t end);
bool verify_reg(struct verify_pair *p, uint32_t plain, uint32_t now, uint32_t at);
bool verify_operand(
	struct verify_pair *p, const struct ptx_opd *plain, const struct ptx_opd *now, uint32_t at);

/* verify_names.c: checks the symbols that operands name. */
bool verify_name(struct verify_pair *p, const struct ptx_sym *plain, uint64_t plain_offset,
	const struct ptx_sym *now, uint64_t offset, uint32_t at);
void verify_places(struct verify *v);
/* Returns whether the shared memory of two kernels overlaps. */
bool verify_share_places(const struct verify_kernel *a, const struct verify_kernel *b);
/* Returns the offset of a parameter in the rewritten code's parameter buffer; NONE if sym is no
 * parameter. */
uint32_t verify_param_at(const struct ptx_func *f, const struct ptx_sym *sym);

/* verify_sync.c */
bool verify_ids(struct verify_pair *p, uint32_t from, uint32_t end);
void verify_id_registers(struct verify *v);
void verify_barrier(struct verify_pair *p, uint32_t from, uint32_t end);
void verify_forms(struct verify_pair *p);
void verify_threads(struct verify *v);  /* checks which threads reach which code */
void verify_disjoint(struct verify *v); /* checks kernels that share barriers or shared memory */
/* Checks that lanes do not diverge where they are together in the original. */
void verify_convergence(struct verify *v);
/* verify_order.c: checks the order of the barriers of two kernels. */
void verify_order(struct verify *v);
void verify_meetings(struct verify *v); /* verify_meet.c: checks woven forms */
void verify_carry(struct verify_pair *p);
void verify_rounding(struct verify_pair *p); /* verify_rounding.c */

#endif
