/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Results of cases in a file (--resume), a JSON object a line: what was measured before a run was
 * ended is not measured again. */
#ifndef HEDDLE_BENCH_RESUME_H
#define HEDDLE_BENCH_RESUME_H

#include "cli/bench/cases.h"

/* Fills in what b->resume has; NULL: nothing. A file that is not there is an empty one. Lines of
 * another device, or of other rounds or programs, are errors; a last line that was cut off is not
 * there. CLI_OK or CLI_FAILED. */
int resume_get(struct bench *b, struct cases *cs);
/* Adds one result. Where the file cannot be written, this is said once and nothing is kept. */
void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k);

#endif
