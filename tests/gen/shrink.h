/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shrinks a failing program. */
#ifndef HEDDLE_GEN_SHRINK_H
#define HEDDLE_GEN_SHRINK_H

#include "farm.h"

/* Removes as much from p as possible while its verdict stays the same, with at most `tries`
 * runs. Returns the number of edits made. */
unsigned shrink(const struct farm_options *o, struct gen_program *p, enum run_verdict verdict,
	unsigned tries);
/* Writes a comment that says how to run the program by hand. */
void shrink_command(const struct gen_program *p, struct strbuf *out);
/* Writes the program as a PTX file, with everything needed to run it by hand. */
void shrink_write(const struct gen_program *p, enum run_verdict verdict, struct strbuf *out);

#endif
