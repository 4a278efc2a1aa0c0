/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Products and sums that the assembler may fuse: `mul` and `add` without a rounding modifier (PTX
 * ISA, "add": "mul/add sequences with no rounding modifiers may be optimized to use fused-multiply-
 * add"). A fused one is rounded once, so a form in which it decides otherwise than in the kernel
 * leaves other bits. What it decides by was found with ptxas 12.9 and 13.0 (tests/pass/contract.py
 * compares forms):
 *   a product is fused if all that reads it are sums of its type, and it alone is what they read;
 *   with a constant or a parameter as factor with each of them; else if all of them are in one of
 *   the assembler's basic blocks with it. Of two products a sum takes the first, but the second if
 *   it alone is read by nothing else; a product that one sum does not take is fused with none;
 *   a branch ends such a block, even around one instruction, and so does what becomes one: an
 *   access of memory under a guard, a division with a slow path, a fence. Arithmetic under a guard
 *   does not, but a product under a guard is not fused;
 *   loops are unrolled before. */
#ifndef HEDDLE_CONTRACT_H
#define HEDDLE_CONTRACT_H

#include "cfg/cfg.h"

struct contract {
	/* Per sum: the first product in its block that it may be contracted with; else CFG_NONE.
	 * The code between them must stay there, without additions. */
	uint32_t *from;
	/* Per product: only sums read it, but some are in other blocks or may read other values, so
	 * ptxas contracts it with none. Of a division: those sums are marked. */
	uint8_t *apart;
	/* By statement: of a sum, what it is fused with that has a constant factor and sums in
	 * other blocks: `product`, its operand `operand` (1 or 2), with the other sign if
	 * `negated`. Registers of the product hold there what they held. operand 0: none. */
	struct contract_fused {
		uint32_t product;
		uint8_t operand;
		bool negated;
	} * fused;
	/* Per product: it is contracted in this way. */
	uint8_t *anywhere;
	/* Per sum: the product that ptxas contracts it with, as far as known, in its block or
	 * another, in the same terms. Sums that read the product in the next iteration of a loop
	 * are left out. */
	struct contract_fused *chosen;
	/* A product whose outcome is unknown: only sums read it, one of them in the next iteration,
	 * so the result depends on loop unrolling; or a sum has two such products. CFG_NONE:
	 * none. */
	uint32_t doubtful;
	uint32_t n; /* sums that have a product */
};
/* Allocates in the arena. -ENOMEM, -E2BIG (cfg_chains). */
int contract_find(struct arena *a, const struct cfg *g, struct contract *ret);
/* Whether s is a floating-point product (or an inexact division, which ends in one) or sum without
 * a rounding modifier. */
bool contract_is_product(const struct ptx_stmt *s);
bool contract_is_sum(const struct ptx_stmt *s);
/* Whether ptxas may turn s into a branch. */
bool contract_splits(const struct ptx_stmt *s);

/* contract_settle.c: in f, of m, turns each pair that ptxas contracts anywhere into one
 * instruction, and gives an explicit rounding to products that it never contracts; adds their
 * number to *ret_n. Pairs that ptxas contracts only within a block are left to ptxas. -ENOMEM,
 * -EINVAL with diags (a bug). */
int contract_settle(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);
/* Contracts as ptxas does: each sum with a chosen product becomes one instruction; adds their
 * number to *ret_n. For interpreters of PTX, which have no ptxas. */
int contract_fuse(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);

#endif
