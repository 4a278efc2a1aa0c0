/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a failing program smaller. */
#ifndef HEDDLE_GEN_SHRINK_H
#define HEDDLE_GEN_SHRINK_H

#include "farm.h"

/* Takes away from p what it can while it still ends as `verdict` says, with at most `tries` runs.
 * Returns how many it took. */
unsigned shrink(const struct farm_options *o, struct gen_program *p, enum run_verdict verdict,
	unsigned tries);
/* How to run it by hand, as a comment. */
void shrink_command(const struct gen_program *p, struct strbuf *out);
/* The program with what is needed to run it by hand, as a PTX file. */
void shrink_write(const struct gen_program *p, enum run_verdict verdict, struct strbuf *out);

#endif
