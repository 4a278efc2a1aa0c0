/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ridge regression that learns one sample at a time (FLEP, section 4.2: linear regression with an
 * L2 penalty). The terms are a constant, each feature, and the square of each feature. The
 * structure keeps the sums of the normal equations. A sample costs one pass over these sums, and
 * ridge_predict solves for the coefficients when necessary. Nothing is allocated, and the structure
 * holds no pointers, so it can be copied. */
#ifndef HEDDLE_MODEL_RIDGE_H
#define HEDDLE_MODEL_RIDGE_H

#include "base/base.h"

#define RIDGE_FEATURES 16u
#define RIDGE_TERMS    (1u + 2 * RIDGE_FEATURES)
#define RIDGE_SUMS     (RIDGE_TERMS * (RIDGE_TERMS + 1) / 2)

/* An all-zero structure has learned nothing. */
struct ridge {
	uint32_t n;      /* number of samples learned, up to UINT32_MAX */
	uint32_t solved; /* 1: the coefficients include the last sample */
	/* origin: features of the first sample, relative to which features are measured. least,
	 * greatest: range so far. */
	double origin[RIDGE_FEATURES], least[RIDGE_FEATURES], greatest[RIDGE_FEATURES];
	double first; /* the first sample's value; `value` has differences from it */
	/* weighted sums of products of two terms: a lower triangle, row by row */
	double sum[RIDGE_SUMS];
	double value[RIDGE_TERMS]; /* weighted sums of products of a term and a value */
	double coefficient[RIDGE_TERMS];
};

/* Learns a sample. The features should have about the same scale, such as logarithms. Ignores a
 * sample with a number that is not finite or exceeds 1e6. Each new sample reduces the weight of
 * earlier samples by 2 in 1,000. */
void ridge_learn(struct ridge *r, const double feature[RIDGE_FEATURES], double value);
/* Predicts a value. The result is always finite, and 0 if nothing was learned. Far from all
 * samples, the squares stop growing. */
double ridge_predict(struct ridge *r, const double feature[RIDGE_FEATURES]);
/* Checks a structure that comes from a file: all its numbers must be in the range that ridge_learn
 * produces. */
bool ridge_is_sane(const struct ridge *r);

#endif
