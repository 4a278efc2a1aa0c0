/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The results file of --resume, with one JSON object on each line. An interrupted benchmark
 * continues from this file without measuring finished cases again. */
#ifndef HEDDLE_BENCH_RESUME_H
#define HEDDLE_BENCH_RESUME_H

#include "lab/cases.h"

/* Reads results from the file b->resume into cs. (If b->resume is NULL, does nothing.) Returns
 * CLI_OK or CLI_FAILED.
 * - A missing file counts as empty.
 * - Results for cases that cs does not contain are skipped.
 * - It is an error if a line was written for another device, other rounds or other programs, or is
 *   no result.
 * - An incomplete last line that begins like a result is removed from the file. */
int resume_get(struct bench *b, struct cases *cs);
/* Appends one result to the file. If the file cannot be written, this function reports the error
 * once, and no further results are saved. */
void resume_put(struct bench *b, const struct cases *cs, const struct bench_case *c, unsigned k);

#endif
