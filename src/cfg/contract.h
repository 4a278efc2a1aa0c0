/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the products and sums that ptxas may fuse (contract): `mul` and `add` without a rounding
 * modifier (PTX ISA, "add": "mul/add sequences with no rounding modifiers may be optimized to use
 * fused-multiply-add"). A fused pair is rounded once. If ptxas decides differently in a form than
 * in the original kernel, the results differ in their last bits. Experiments with ptxas 12.9 and
 * 13.0 showed how it decides (tests/pass/contract.py compares forms):
 * - It fuses a product only if every instruction that uses the product is an addition or
 *   subtraction of the same type, and if no other value can reach the operand that holds the
 *   product.
 * - If a factor is a constant or a parameter, the additions that use the product can be in any
 *   basic block. Otherwise all of these additions have to be in the product's basic block (of
 *   ptxas).
 * - An addition of two products is fused with the first product. It is fused with the second one if
 *   only the second one has no other use.
 * - If one of the additions that use a product is not fused with it, ptxas fuses the product with
 *   none of them.
 * - A branch ends a basic block, even around one instruction. So do a guarded memory access, a
 *   division with a slow path, and a fence, because ptxas turns them into branches. Guarded
 *   arithmetic does not end a basic block, but a guarded product is never fused.
 * - ptxas unrolls loops before it decides. */
#ifndef HEDDLE_CONTRACT_H
#define HEDDLE_CONTRACT_H

#include "cfg/cfg.h"

struct contract {
	/* For each sum: the first product in its basic block that ptxas can contract it with, else
	 * CFG_NONE. Passes must keep the code between this product and the sum, and add nothing to
	 * that code. */
	uint32_t *from;
	/* For each product: set if only sums read it, but some of these sums are in other blocks
	 * than the product or can also read other values, so that ptxas does not contract the
	 * product. If the product is a division, the elements of these sums are set instead. */
	uint8_t *unfused;
	/* For each sum: the product that it is fused with, if that product has a constant factor
	 * and has sums in other blocks. `operand` (1 or 2) is the sum's operand that contains
	 * `product`, or 0 if there is none. `negated` means that the product's sign is inverted. At
	 * the sum, the source registers of the product still have the same values. */
	struct contract_fused {
		uint32_t product;
		uint8_t operand;
		bool negated;
	} * fused;
	/* For each product: set if ptxas contracts it with its sums in all blocks (see `fused`). */
	uint8_t *anywhere;
	/* For each sum: the product that ptxas contracts it with, as far as known. The product can
	 * be in the same block as the sum or in another one. The fields are those of `fused`. A sum
	 * that reads the product in the next iteration of a loop has no such product. */
	struct contract_fused *chosen;
	/* A product for which ptxas's decision is unknown, or CFG_NONE. The decision is unknown in
	 * these cases:
	 * - Only sums read the product, and one of them does so in the next iteration of a loop, so
	 *   that the result depends on loop unrolling.
	 * - One of its sums could also be contracted with another product.
	 * - The product has a constant factor and sums in other blocks, but it is a division, or a
	 *   factor may change before a sum. */
	uint32_t doubtful;
	uint32_t n; /* number of sums that are contracted with a product */
};
/* Finds the contractions and allocates the result in the arena. Returns -ENOMEM or -E2BIG
 * (cfg_chains). */
int contract_find(struct arena *a, const struct cfg *g, struct contract *ret);
/* These return true if s is a floating-point product or sum without a rounding modifier. An inexact
 * division counts as a product, because ptxas makes it end in a multiplication. */
bool contract_is_product(const struct ptx_stmt *s);
bool contract_is_sum(const struct ptx_stmt *s);
/* Returns true if ptxas may turn s into a branch. */
bool contract_splits(const struct ptx_stmt *s);

/* Makes contraction decisions explicit in function f of module m. Each pair that ptxas contracts
 * across blocks becomes one instruction. Each product that ptxas never contracts gets an explicit
 * rounding. Pairs that ptxas contracts only within a block stay as they are. Adds the number of
 * changes to *ret_n. Returns -ENOMEM, -E2BIG (cfg_chains), or -EINVAL with diags (a bug). (in
 * contract_settle.c) */
int contract_settle(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);
/* Contracts as ptxas does, for interpreters of PTX, which do not run ptxas: each sum with a chosen
 * product becomes one instruction. Adds their number to *ret_n. Returns the same errors as
 * contract_settle. */
int contract_fuse(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);

#endif
