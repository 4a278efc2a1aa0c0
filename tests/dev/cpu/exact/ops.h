/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Every form of exact.def on a device, compared bit for bit with the core of the virtual GPU, which
 * the test vgpu_exact compares with MPFR on the same operands. */
#ifndef HEDDLE_TESTS_OPS_H
#define HEDDLE_TESTS_OPS_H

#include "bare.h"
#include "dev/dev.h"

enum ops_verdict {
	OPS_LOST,    /* not run: its process died, or had no device */
	OPS_SAME,    /* every bit */
	OPS_OPEN,    /* but for bits of NaNs that the ISA leaves open */
	OPS_UNKNOWN, /* the virtual GPU has no such instruction */
	OPS_NEWER,   /* for devices after this one */
	OPS_REFUSED, /* the device's compiler does not take it */
	OPS_FAILS,   /* ends in an error */
	OPS_DIFFERS,
	OPS_N_VERDICTS
};

struct ops_outcome {
	uint32_t verdict;           /* enum ops_verdict */
	uint32_t differ, open;      /* values; open ones are no differences */
	u64 in[4], got[2], want[2]; /* of the first that differs, else the first that is open */
};

struct ops_device {
	struct cu_api cu;
	enum dev_kind kind;
	unsigned sm; /* 90 */
	char name[64];
};
/* The first device, with its primary context. -ENODEV. */
int ops_open(enum dev_kind kind, struct ops_device *ret);

struct ops_options {
	enum dev_kind device;
	unsigned jobs, limit_s;
	const char *match; /* forms whose text holds it; NULL: all */
	const char *plant; /* a difference in this form: for tests of what stands around this */
};
/* Those that options ask for, in processes of their own: ret has one for each. -EAGAIN, -ENOMEM. */
int ops_run(const struct ops_options *o, const form_vec *forms, struct ops_outcome *ret);

/* Text of a module of forms (indices into all) for a device. */
void ops_module(
	struct strbuf *s, const form_vec *forms, const unsigned *which, unsigned n, unsigned sm);
#define OPS_BATCH 64 /* forms a module */

#endif
