/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs every form of exact.def on a device, and compares it bit for bit with the core of the
 * virtual GPU. The test vgpu_exact compares that core with MPFR on the same operands. */
#ifndef HEDDLE_TESTS_OPS_H
#define HEDDLE_TESTS_OPS_H

#include "bare.h"
#include "dev/dev.h"

enum ops_verdict {
	OPS_LOST,    /* not run: its process died or had no device */
	OPS_SAME,    /* every bit is the same */
	OPS_OPEN,    /* the same except for NaN bits that the ISA leaves open */
	OPS_UNKNOWN, /* the virtual GPU does not know the instruction */
	OPS_NEWER,   /* only newer devices have the form */
	OPS_REFUSED, /* the device's compiler rejects the form */
	OPS_FAILS,   /* the run ends in an error */
	OPS_DIFFERS,
	OPS_N_VERDICTS
};

struct ops_outcome {
	uint32_t verdict;      /* see enum ops_verdict */
	uint32_t differ, open; /* numbers of values; open values do not count as differences */
	/* operands, result and expected result of the first value that differs, else of the first
	 * open value */
	u64 in[4], got[2], want[2];
};

struct ops_device {
	struct cu_api cu;
	enum dev_kind kind;
	unsigned sm; /* the device's architecture, such as 90 */
	char name[64];
};
/* Opens the first device, with its primary context. Returns -ENODEV if there is none. */
int ops_open(enum dev_kind kind, struct ops_device *ret);

struct ops_options {
	enum dev_kind device;
	unsigned jobs, limit_s;
	const char *match; /* only forms whose text contains this; NULL: all */
	const char *plant; /* reports a false difference in this form, to test the reporting */
};
/* Runs the forms that the options select, in child processes; ret has one outcome for each form.
 * -EAGAIN, -ENOMEM. */
int ops_run(const struct ops_options *o, const form_vec *forms, struct ops_outcome *ret);

/* Writes a module of some forms (indices into all) for a device. */
void ops_module(
	struct strbuf *s, const form_vec *forms, const unsigned *which, unsigned n, unsigned sm);
#define OPS_BATCH 64 /* forms in one module */

#endif
