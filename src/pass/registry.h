/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The registry of passes: one row of passes.def per pass, and one entry point to all of them. */
#ifndef HEDDLE_REGISTRY_H
#define HEDDLE_REGISTRY_H

#include "pass/fuse/harness.h"
#include "pass/merge.h"

enum pass_wants {
	PASS_WANTS_BLOCK = 1, /* shape and dynamic shared memory of each kernel's blocks: part of
				 the form, which is a module of its own. Else the kernel is
				 rewritten in its module, under its name */
	PASS_WANTS_GRID = 2,  /* its grid, too */
	PASS_IS_VERIFIED = 4, /* not a wish: it records what comes from where, and the door has the
				 form verified (verify.h) */
	PASS_TAKES_PREDICATED = 8, /* nor this: short regions are put under guards before */
	PASS_TAKES_ORDER = 16,     /* nor this: options.order counts */
};

struct pass_request {
	const struct pass_guest *kernels;
	unsigned n;
	struct ptx_module *in;       /* of kernels[0], where it is rewritten there; else NULL */
	struct pass_options options; /* preempt */
	uint32_t fields;             /* virtual */
	struct pass_weave_options weave;
	/* Called with each module as it comes ("in") and the form ("out"); NULL: nobody wants it.
	 */
	void (*dump)(void *user, const char *pass, const char *kernel, const char *when,
		const struct ptx_module *m);
	void *user;
};

/* What became of it. */
struct pass_form {
	struct ptx_module *m;         /* the caller's, to be freed where it is not request.in */
	const char *entry;            /* in m */
	struct pass_kernel_info info; /* preempt */
	struct pass_merged merged;    /* merge, fuse-... */
	struct pass_harness harness;  /* virtual */
	struct pass_verdict verdict;  /* -ENOTSUP: why, in the arena of diags. preempt: always */
	unsigned which;               /* and of which kernel */
};

/* record: empty, or of a pass that is not verified. */
typedef int pass_fn(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record);
struct pass_row {
	const char *name;
	unsigned min_kernels, max_kernels;
	unsigned wants; /* enum pass_wants */
	const char *summary;
	pass_fn *run;
};
const struct pass_row *pass_find(const char *name); /* NULL: no such pass */

/* Looks at what comes, runs the pass, looks at the form and verifies it: the only caller of run.
 * Returns 0; -ENOTSUP with ret->verdict and which, where these kernels cannot be put so; -EINVAL
 * with diags (PTX that is no good, or a bug); -ENOENT; -ENOMEM. */
int pass_run(const struct pass_row *row, const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret);

#endif
