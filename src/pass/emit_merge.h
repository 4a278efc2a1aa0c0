/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A merged form in the making: what merge.c finds out and makes, for emit_merge.c to put together.
 */
#ifndef HEDDLE_EMIT_MERGE_H
#define HEDDLE_EMIT_MERGE_H

#include "pass/merge.h"
#include "pass/worker.h"
#include "ptx/graft.h"

#define MERGE_PARAM ".param .align 8 .b8 hd_merge[56]"

/* The pieces of worker.h; the last is take, body and again. */
enum merge_piece {
	MERGE_DECLARE,
	MERGE_ENTER,
	MERGE_CLAIM,
	MERGE_COUNT,
	MERGE_LEAVE,
	MERGE_RUN,
	MERGE_PIECES,
};

/* Where the pieces lead. */
enum merge_exit { MERGE_LATE, MERGE_OK, MERGE_NONE, MERGE_LEFT, MERGE_TOP, MERGE_N_EXITS };
#define MERGE_EXITS {"$hd_special", "$hd_ok", "$hd_none", "$hd_ret", "$hd_top"}

struct merge_guest {
	struct ptx_func *f; /* in the merged module, until it is dropped */
	struct pass_facts facts;
	bool found;       /* facts are to be finished */
	uint32_t threads; /* of its block, a multiple of 32 */
	VEC(struct pass_move) moves;
	uint32_t shared_bytes, dynamic_bytes;
	size_t n_params; /* of its own */
	uint32_t own_bytes;
	struct ptx_sym *own_args, *args; /* struct ctl_args as it names them, and the host */
	VEC(struct ptx_sym *) params;    /* the host's */
	size_t from[MERGE_PIECES + 1];   /* pieces, in its body */
	struct ptx_sym *exits[MERGE_N_EXITS], *to[MERGE_N_EXITS]; /* its labels, the host's */
	struct ptx_graft *graft;
};

struct merge {
	struct ptx_module *m;
	struct ptx_func *host;
	struct ptx_sym *pool;
	struct diag_list *diags;
	unsigned n, which;
	bool alike;       /* all blocks have the same shape */
	uint32_t threads; /* of a worker */
	uint32_t pool_align;
	unsigned barrier; /* of all threads of a worker */
	struct merge_guest of[CTL_MAX_MERGED];
};

/* Writes the host's body. */
int pass_emit_merged(struct merge *x);

#endif
