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
	/* By statement: of a sum, the first of the products in its block that it may be fused with;
	 * else CFG_NONE. What lies between stays there, and nothing else comes between. */
	uint32_t *from;
	/* By statement: a product that sums alone read, some of them in other blocks or with other
	 * values as well: as it stands, it is fused with none. Of a division: those sums. */
	uint8_t *apart;
	/* By statement: of a sum, what it is fused with that has a constant factor and sums in
	 * other blocks: `product`, its operand `operand` (1 or 2), with the other sign if
	 * `negated`. Registers of the product hold there what they held. operand 0: none. */
	struct contract_fused {
		uint32_t product;
		uint8_t operand;
		bool negated;
	} * fused;
	/* By statement: a product that is fused so. */
	uint8_t *anywhere;
	/* By statement: of a sum, what the assembler fuses it with as far as is known, in its block
	 * or elsewhere, in the same terms. What a loop's next turn reads is left out. */
	struct contract_fused *chosen;
	/* A product of which it is not known what becomes of it: a sum in the loop's next turn
	 * reads it, and nothing but sums, and it depends on how the loop is unrolled; or a sum has
	 * two that may be fused so. CFG_NONE: there is none. */
	uint32_t doubtful;
	uint32_t n; /* sums that have a product */
};
/* In the arena. -ENOMEM, -E2BIG (cfg_chains). */
int contract_find(struct arena *a, const struct cfg *g, struct contract *ret);
/* Such a product (or a division that is not exact: it ends in one), or sum: of numbers with a
 * fraction, without a rounding modifier. */
bool contract_is_product(const struct ptx_stmt *s);
bool contract_is_sum(const struct ptx_stmt *s);
/* Whether the assembler may make a branch of it. */
bool contract_splits(const struct ptx_stmt *s);

/* contract_settle.c: what is fused wherever it is becomes one instruction in f, of m, and what is
 * fused with nothing is rounded by itself; *ret_n rises by how many there are. What is fused with
 * what stands in its block is left to the assembler. -ENOMEM, -EINVAL with diags (a bug). */
int contract_settle(
	struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);
/* As the assembler does: each sum that has a chosen product becomes one instruction; *ret_n rises
 * by how many there are. For what computes as the PTX says, without an assembler. */
int contract_fuse(struct ptx_module *m, struct ptx_func *f, struct diag_list *diags, size_t *ret_n);

#endif
