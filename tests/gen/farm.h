/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs programs in several child processes at once. If a program hangs, its process is killed,
 * and a new process continues with the next program. */
#ifndef HEDDLE_GEN_FARM_H
#define HEDDLE_GEN_FARM_H

#include "run.h"

struct farm_options {
	enum dev_kind device;
	uint64_t first;
	unsigned count, jobs, batch; /* programs; processes; programs in a module */
	unsigned range;              /* maximum number of programs for one process */
	unsigned limit_s;            /* timeout for one step of one program */
	const char *mode;            /* further settings for HEDDLE_VGPU, passed on as they are */
	unsigned enough;             /* number of failures after which no program is started */
	const char *pretend, *form;  /* see run.h */
	unsigned scale;              /* see gen_scale */
	bool apart;                  /* programs with GEN_APART */
	bool astray;                 /* adds a stray store to each program (gen_add_stray; run.h) */
	bool quiet;                  /* prints no reasons */
};

/* Returns results in the order of seeds. -ENOMEM, -EAGAIN. */
int farm_run(const struct farm_options *o, struct run_result *ret);
/* Finds failures that the assembler causes. If a program's plain form does not end, or leaves
 * other memory than on the virtual GPU, its verdict becomes RUN_NATIVE. */
void farm_judge(const struct farm_options *o, struct run_result *io_results);
/* Runs one given program instead of seeds. */
enum run_verdict farm_try(const struct farm_options *o, const struct gen_program *p);

#endif
