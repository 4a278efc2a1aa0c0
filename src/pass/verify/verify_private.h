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
/* A shared variable that has become part of an array. */
struct verify_place {
	const struct ptx_sym *plain;
	uint64_t at, bytes;
};
/* The facts that the verifier finds about a kernel. They hold for the kernel's code in the entry and for
 * all callees of the kernel. */
struct verify_kernel {
	const struct pass_kernel *from;
	const struct ptx_func *f; /* plain */
	uint32_t threads;         /* of its block, in whole warps */
	uint32_t first, end;      /* the range of the entry's threads that reach its code */
	struct cfg_uniformity *u; /* of the original kernel; NULL: not computed yet */
	bool in_parts;            /* it has several entry points, each for some of these threads */
	bool has_code, has_shared, has_barriers;
	VEC(struct verify_sym) syms;
	VEC(struct verify_place) places;
	uint8_t barrier[16];       /* barrier numbers in the rewritten code; 255: not known yet */
	uint32_t id_reg[PASS_IDS]; /* registers that hold its ids, or NONE */
};

/* An original function and its counterpart in the rewritten code. */
struct verify_pair {
	struct verify *v;
	unsigned k; /* whose */
	struct verify_kernel *g;
	const struct ptx_func *p, *q; /* original, and rewritten */
	struct cfg *pg, *qg;
	bool entry;
	bool leaves;       /* exits are real, as in the original kernel */
	bool again;        /* a block may follow another */
	uint32_t entry_at; /* the first instruction of p */
	uint32_t *of;      /* by statement of q: the statement of p that it implements, or NONE */
	uint32_t *reg;     /* by register of p: q's, or NONE */
	uint32_t *back;    /* the other way round */
};

struct verify {
	const struct pass_result *r;
	struct diag_list *diags;
	struct arena arena;
	struct cfg *host;
	struct verify_kernel kernel[CTL_MAX_MERGED];
	VEC(struct verify_pair *) pairs; /* of the entry first, one for each kernel */
	const struct ptx_sym *pool;      /* the array that holds shared memory, once known */
	VEC(uint64_t) told;              /* findings reported so far, to report each once */
	unsigned found;
	bool failed; /* out of memory */
};

/* Reports a finding. `at` is a statement of p->q, and `plain` is a statement of p->p; each of them
 * may be NONE. */
void verify_tell(struct verify_pair *p, enum pass_rule rule, uint32_t at, uint32_t plain,
	const char *fmt, ...) HD_PRINTF(5, 6);
/* Adds a pair for a called function, unless there is one. */
void verify_add_pair(
	struct verify *v, unsigned k, const struct ptx_func *plain, const struct ptx_func *now);
struct verify_pair *verify_owner(struct verify *v, uint32_t at); /* of a statement of the entry */
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

/* verify_names.c: what operands name. */
bool verify_name(struct verify_pair *p, const struct ptx_sym *plain, uint64_t plain_offset,
	const struct ptx_sym *now, uint64_t offset, uint32_t at);
void verify_places(struct verify *v);
/* Whether two kernels share some shared memory. */
bool verify_share_places(const struct verify_kernel *a, const struct verify_kernel *b);
/* Returns the offset of a parameter in the rewritten code's parameter buffer; NONE if sym is no
 * parameter. */
uint32_t verify_param_at(const struct ptx_func *f, const struct ptx_sym *sym);

/* verify_sync.c */
bool verify_ids(struct verify_pair *p, uint32_t from, uint32_t end);
void verify_id_registers(struct verify *v);
void verify_barrier(struct verify_pair *p, uint32_t from, uint32_t end);
void verify_forms(struct verify_pair *p);
void verify_threads(struct verify *v);     /* who comes to which code */
void verify_disjoint(struct verify *v);    /* kernels that share a resource */
void verify_convergence(struct verify *v); /* ways that were not there */
void verify_order(struct verify *v);       /* verify_order.c: barriers of two kernels */
void verify_meetings(struct verify *v);    /* verify_meet.c: lanes of woven forms */
void verify_carry(struct verify_pair *p);
void verify_rounding(struct verify_pair *p); /* verify_rounding.c */

#endif
