/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The functions named in rows of ops.def, by the file that defines them. Each executes one
 * instruction for the lanes of x->mask. If the guard excludes all lanes, the mask is empty, and
 * only jumps and instructions that gather lanes are called. */
#ifndef HEDDLE_TEST_SASS_OPS_H
#define HEDDLE_TEST_SASS_OPS_H

#include "sass.h"

/* Defined in exec_int.c. */
sass_fn op_nop, op_mov, op_iadd3, op_viadd, op_imad, op_lea, op_lop3, op_plop3, op_shf, op_prmt,
	op_sel, op_isetp, op_iabs, op_vimnmx, op_vimnmx3, op_viaddmnmx, op_vabsdiff, op_popc,
	op_flo, op_brev, op_bmsk, op_sgxt, op_idp, op_p2r, op_r2p, op_r2ur, op_s2r;
/* Defined in exec_float.c and exec_half.c. */
sass_fn op_fadd, op_fmul, op_ffma, op_fmnmx, op_fsetp, op_fset, op_fchk, op_mufu, op_dadd, op_dmul,
	op_dfma, op_dsetp, op_dmnmx, op_hadd2, op_hmul2, op_hfma2, op_f2fp, op_hmma, op_i2f, op_f2i,
	op_f2f, op_frnd;
/* Defined in exec_mem.c. */
sass_fn op_ldc, op_load, op_store, op_atom, op_ldgsts, op_ldsm, op_membar;

#endif
