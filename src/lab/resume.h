/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Results of cases as rows of samples (samples.h). */
#ifndef HEDDLE_BENCH_RESUME_H
#define HEDDLE_BENCH_RESUME_H

#include "lab/cases.h"

/* Takes the results of all cases that are kept. */
void resume_get(struct bench *b, struct cases *cs);
/* Keeps the result of case c in arrangement k. */
void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k);

#endif
