/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The virtual GPU's approximate functions ("ex2_f32", …) on 32 lanes. The interpreter of machine
 * code uses them, so that it gives the same results as the virtual GPU. Separate from sass.h, since
 * both define struct vgpu_block. Half-precision functions are here as well, since half.h needs the
 * virtual GPU's headers. */
#ifndef HEDDLE_TEST_SASS_APPROX_H
#define HEDDLE_TEST_SASS_APPROX_H

#include <stdbool.h>
#include <stdint.h>

void sass_approx(const char *key, const uint32_t *a, uint32_t *r);
float sass_half_to_f32(uint32_t h, bool brain);
uint32_t sass_half_from_f64(double v, bool brain, bool to_zero);
/* d = a * b + c for HMMA.16816: 16 by 8 sums of 16 products of f16. Registers have the
 * instruction's layout. */
void sass_mma_16816(const uint32_t a[4][32], const uint32_t b[2][32], const uint32_t c[4][32],
	uint32_t d[4][32]);

#endif
