/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ridge regression, learnt one sample at a time (FLEP, section 4.2: linear regression with an L2
 * penalty). The terms are a constant, each feature, and each feature's square. The sums that make
 * up the normal equations are kept, so a sample costs one pass over them, and the coefficients are
 * solved for when somebody asks. No allocations; a struct is plain data and may be copied. */
#ifndef HEDDLE_MODEL_RIDGE_H
#define HEDDLE_MODEL_RIDGE_H

#include "base/base.h"

#define RIDGE_FEATURES 16u
#define RIDGE_TERMS    (1u + 2 * RIDGE_FEATURES)
#define RIDGE_SUMS     (RIDGE_TERMS * (RIDGE_TERMS + 1) / 2)

/* All zero: nothing learnt. */
struct ridge {
	uint32_t n;      /* samples, up to UINT32_MAX */
	uint32_t solved; /* 1: coefficient is as of the last sample */
	/* Features count from those of the first sample; the least and the greatest so far. */
	double origin[RIDGE_FEATURES], least[RIDGE_FEATURES], greatest[RIDGE_FEATURES];
	double first;              /* the first sample's value, from which values count */
	double sum[RIDGE_SUMS];    /* of products of terms; a lower triangle, row by row */
	double value[RIDGE_TERMS]; /* of products of terms and values */
	double coefficient[RIDGE_TERMS];
};

/* Features of about equal scale (logarithms, say). A sample with a number that is not finite, or
 * beyond 1e6, is left out. Samples are forgotten slowly, 2 of 1,000 with each new one. */
void ridge_learn(struct ridge *r, const double feature[RIDGE_FEATURES], double value);
/* Always finite; 0 while nothing has been learnt. Far from all samples the squares stop growing. */
double ridge_predict(struct ridge *r, const double feature[RIDGE_FEATURES]);
/* Whether it is one that ridge_learn may have made: of bytes from a file. */
bool ridge_is_sane(const struct ridge *r);

#endif
