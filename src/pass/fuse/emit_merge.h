/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The parts of several workers (worker.h) in one entry, and the code around them. */
#ifndef HEDDLE_EMIT_MERGE_H
#define HEDDLE_EMIT_MERGE_H

#include "pass/fuse/kernels.h"

#define MERGE_PARAM ".param .align 8 .b8 hd_merge[64]"

/* MERGE_RUN consists of the pieces take, body and again of worker.h. */
enum merge_piece {
	MERGE_DECLARE,
	MERGE_ENTER,
	MERGE_CLAIM,
	MERGE_AHEAD,
	MERGE_COUNT,
	MERGE_LEAVE,
	MERGE_RUN,
	MERGE_PIECES,
};

/* Labels that the pieces jump to. */
enum merge_exit { MERGE_LATE, MERGE_OK, MERGE_NONE, MERGE_LEFT, MERGE_TOP, MERGE_EXITS };

void pass_emit_merged(struct kernels *x, struct pass_writer *w);

#endif
