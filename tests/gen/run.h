/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs programs on a device in plain and preemptible form, and compares all memory that they
 * write. */
#ifndef HEDDLE_GEN_RUN_H
#define HEDDLE_GEN_RUN_H

#include "dev/dev.h"
#include "gen.h"
#include "host/managed.h"

enum run_verdict {
	RUN_NONE, /* has not run */
	RUN_SAME, /* the same in every variant */
	RUN_TOLD, /* a program with a stray store ended in an error, as its plain form did */
	RUN_HELD, /* the pass does not rewrite the kernel: nothing to compare */
	/* the plain form fails on this device, so the result says nothing about the pass
	 * (farm_judge) */
	RUN_NATIVE,
	RUN_DIFFERS, /* memory differs */
	RUN_FAILS,   /* only the preemptible form ends in an error */
	RUN_HANGS,   /* the preemptible form does not end */
	/* the plain form is refused, fails or hangs: a fault of the generator or of the device */
	RUN_INVALID,
	RUN_REFUSED, /* the pass or the device refuses the preemptible form */
	RUN_LOST,    /* the process died, or had no device */
};
extern const char *const run_verdict_names[];

/* The step that a child process is at; its parent reads this. */
enum run_phase { RUN_COMPILES, RUN_PLAIN, RUN_FORM };
struct run_progress {
	uint32_t at;    /* the program's index */
	uint32_t phase; /* see enum run_phase */
	uint32_t beat;  /* changes with each step */
};

struct run_device {
	struct cu_api cu;
	CUdeviceptr in, out, sum, control;
	CUfunction closer;
	uint32_t gen;
	volatile struct run_progress *progress;
	/* Programs have a stray store. If the plain form ends in an error, the preemptible form may
	 * end in one, too. In all other respects both forms must agree. */
	bool astray;
	/* a file with a form (PTX, a cubin) to use instead of the generated one */
	const char *form;
	/* "differs:TEXT", "hangs:TEXT": pretends this result for the preemptible forms of programs
	 * that contain TEXT; "native:TEXT": pretends a wrong result of their plain forms */
	const char *pretend;
};

struct run_result {
	uint8_t verdict; /* see enum run_verdict */
	uint8_t tier;    /* see enum pass_tier */
	bool fails;      /* the plain form faults by its stray store */
	uint16_t again;  /* number of launches that resumed a stopped one */
	uint64_t plain;  /* hash of the memory that the plain form left; 0: it did not finish */
};

int run_open(enum dev_kind kind, struct run_device *ret);
/* Runs n programs, in one module for each form. Writes each result as soon as it is known.
 * Returns false if the device can no longer be used; programs after the last result have then
 * not run. why: gets one line for each program that differs. */
bool run_programs(struct run_device *d, const struct gen_program *p, unsigned n, unsigned first,
	struct run_result *ret, struct strbuf *why);
/* Writes the module of n programs in their preemptible form. */
int run_form_text(const struct gen_program *p, unsigned n, struct strbuf *out);

#endif
