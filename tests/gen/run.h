/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs programs on a device, plain and preemptible, and compares all memory that they write. */
#ifndef HEDDLE_GEN_RUN_H
#define HEDDLE_GEN_RUN_H

#include "dev/dev.h"
#include "gen.h"
#include "host/managed.h"

enum run_verdict {
	RUN_NONE,   /* not run */
	RUN_SAME,   /* in every variant */
	RUN_TOLD,   /* of a program that goes astray: it ended in an error, as the plain form did */
	RUN_HELD,   /* the pass leaves it as it is: nothing to compare */
	RUN_NATIVE, /* the plain form is wrong on this device: says nothing (farm_judge) */
	RUN_DIFFERS, /* memory */
	RUN_FAILS,   /* only the preemptible form ends in an error */
	RUN_HANGS,   /* the preemptible form does not end */
	RUN_INVALID, /* the plain form is refused, fails or hangs: the generator's fault, or the
			device's */
	RUN_REFUSED, /* the pass or the device does not take the preemptible form */
	RUN_LOST,    /* the process died, or had no device */
};
extern const char *const run_verdict_names[];

/* Where a process is; its parent looks at it from outside. */
enum run_phase { RUN_COMPILES, RUN_PLAIN, RUN_FORM };
struct run_progress {
	uint32_t at;    /* index of the program */
	uint32_t phase; /* enum run_phase */
	uint32_t beat;  /* changes with each step */
};

struct run_device {
	struct cu_api cu;
	CUdeviceptr in, out, sum, control;
	CUfunction closer;
	uint32_t gen;
	volatile struct run_progress *progress;
	/* Programs store where they should not: they may end in an error where the plain form does,
	 * and nothing else may change. */
	bool astray;
	const char *form; /* a file: this form (PTX, a cubin) in place of the one that is made */
	/* "differs:TEXT", "hangs:TEXT": so do the forms of programs that hold the text;
	 * "native:TEXT": so do the plain ones */
	const char *pretend;
};

struct run_result {
	uint8_t verdict; /* enum run_verdict */
	uint8_t tier;    /* enum pass_tier */
	bool fails;      /* plain, as it goes astray */
	uint16_t again;  /* launches that went on where another had stopped */
	uint64_t plain;  /* a hash of what the plain form left; 0: it was not run to its end */
};

int run_open(enum dev_kind kind, struct run_device *ret);
/* n programs in one module each way. Results are written as they come; false: the device is of no
 * use any more, the programs after the last that has a result were not run. why: one line about
 * each program that was not the same. */
bool run_programs(struct run_device *d, const struct gen_program *p, unsigned n, unsigned first,
	struct run_result *ret, struct strbuf *why);
/* The module of n programs, each in its preemptible form. */
int run_form_text(const struct gen_program *p, unsigned n, struct strbuf *out);

#endif
