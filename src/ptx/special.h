/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The special registers. Cluster registers and performance counters have no number of their own:
 * they are all PTX_SR_OTHER, and the operand's name identifies the register. The name also matters
 * for every value from PTX_SR_ENVREG on. */
#ifndef HEDDLE_PTX_SPECIAL_H
#define HEDDLE_PTX_SPECIAL_H

#include <stddef.h>

enum ptx_special {
	PTX_SR_UNKNOWN,
	PTX_SR_TID_X,
	PTX_SR_TID_Y,
	PTX_SR_TID_Z,
	PTX_SR_TID, /* without a component: the vector */
	PTX_SR_NTID_X,
	PTX_SR_NTID_Y,
	PTX_SR_NTID_Z,
	PTX_SR_NTID,
	PTX_SR_CTAID_X,
	PTX_SR_CTAID_Y,
	PTX_SR_CTAID_Z,
	PTX_SR_CTAID,
	PTX_SR_NCTAID_X,
	PTX_SR_NCTAID_Y,
	PTX_SR_NCTAID_Z,
	PTX_SR_NCTAID,
	PTX_SR_LANEID,
	PTX_SR_WARPID,
	PTX_SR_NWARPID,
	PTX_SR_SMID,
	PTX_SR_NSMID,
	PTX_SR_GRIDID,
	PTX_SR_CLOCK,
	PTX_SR_CLOCK_HI,
	PTX_SR_CLOCK64,
	PTX_SR_GLOBALTIMER,
	PTX_SR_GLOBALTIMER_LO,
	PTX_SR_GLOBALTIMER_HI,
	PTX_SR_LANEMASK_EQ,
	PTX_SR_LANEMASK_LT,
	PTX_SR_LANEMASK_LE,
	PTX_SR_LANEMASK_GT,
	PTX_SR_LANEMASK_GE,
	PTX_SR_DYNAMIC_SMEM,
	PTX_SR_TOTAL_SMEM,
	PTX_SR_AGGR_SMEM,
	PTX_SR_ENVREG,        /* %envreg0 … 31 */
	PTX_SR_RESERVED_SMEM, /* %reserved_smem_offset_begin and similar; distinguished by name */
	PTX_SR_OTHER,
	PTX_SR_COUNT
};

/* Returns the number of a special register such as "%tid.x", or PTX_SR_UNKNOWN if there is no such
 * register. */
enum ptx_special ptx_special_from_name(const char *name, size_t len);

#endif
