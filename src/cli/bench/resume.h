/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Results of cases in a file (--resume), a JSON object a line, so that an interrupted run continues
 * without measuring cases again. */
#ifndef HEDDLE_BENCH_RESUME_H
#define HEDDLE_BENCH_RESUME_H

#include "cli/bench/cases.h"

/* Fills in the results of b->resume (NULL: none). A missing file counts as empty. Lines of another
 * device, or of other rounds or programs, are errors. A last line that was cut off is ignored.
 * CLI_OK or CLI_FAILED. */
int resume_get(struct bench *b, struct cases *cs);
/* Appends one result. If the file cannot be written, this is reported once, and no results are
 * kept. */
void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k);

#endif
