/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stores results of cases as rows of samples (samples.h), and restores them. */
#ifndef HEDDLE_BENCH_RESUME_H
#define HEDDLE_BENCH_RESUME_H

#include "lab/cases.h"

/* Restores the results of all cases whose rows were kept. */
void resume_get(struct bench *b, struct cases *cs);
/* Stores the result of case c in arrangement k as a row. */
void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k);

#endif
