/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs programs in processes of their own, several at once: one that hangs is ended, and the next
 * goes on with the program behind it. */
#ifndef HEDDLE_GEN_FARM_H
#define HEDDLE_GEN_FARM_H

#include "run.h"

struct farm_options {
	enum dev_kind device;
	uint64_t first;
	unsigned count, jobs, batch; /* programs; processes; programs a module */
	unsigned range;              /* programs a process, at most */
	unsigned limit_s;            /* for one step of one program */
	const char *mode;            /* of the virtual GPU: goes into HEDDLE_VGPU as it is */
	unsigned enough;             /* failures after which no more is begun */
	const char *pretend, *form;  /* run.h */
	unsigned scale;              /* gen_scale */
	bool apart;                  /* with GEN_APART */
	bool astray;                 /* with gen_add_stray; run.h */
	bool quiet;                  /* does not say why */
};

/* Results in the order of seeds. -ENOMEM, -EAGAIN. */
int farm_run(const struct farm_options *o, struct run_result *ret);
/* Assemblers have faults, too: of what is not the same, those whose plain form does not end, or
 * leaves something else than on the virtual GPU, become RUN_NATIVE. */
void farm_judge(const struct farm_options *o, struct run_result *io_results);
/* One program, for which seeds do not matter. */
enum run_verdict farm_try(const struct farm_options *o, const struct gen_program *p);

#endif
