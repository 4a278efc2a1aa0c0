/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The registry of passes: one entry of passes.def per pass, and one function that runs any of
 * them. */
#ifndef HEDDLE_REGISTRY_H
#define HEDDLE_REGISTRY_H

#include "pass/fuse/harness.h"
#include "pass/merge.h"

enum pass_wants {
	/* The pass needs the block shape and dynamic shared memory of each kernel. They become part
	 * of the rewritten kernel, which is in a new module. A pass without this flag rewrites the
	 * kernel in its own module, under its own name. */
	PASS_WANTS_BLOCK = 1,
	PASS_WANTS_GRID = 2, /* its grid, too */
	/* A property, not a need: the pass records the origin of each statement, and pass_run
	 * verifies the rewritten kernel (verify.h). */
	PASS_IS_VERIFIED = 4,
	/* A property, not a need: pass_run gives the pass predicated copies of the kernels, in
	 * which guards replace the branches of short regions (predicate.h). */
	PASS_TAKES_PREDICATED = 8,
	PASS_TAKES_ORDER = 16, /* a property, too: the pass obeys options.order */
};

struct pass_request {
	const struct pass_kernel *kernels;
	unsigned n;
	struct ptx_module *in;       /* of kernels[0], where it is rewritten there; else NULL */
	struct pass_options options; /* preempt */
	uint32_t fields;             /* virtual */
	struct pass_weave_options weave;
	/* Callback for debugging; NULL: none. It gets each input module with `when` "in", and the
	 * rewritten module with `when` "out". */
	void (*dump)(void *user, const char *pass, const char *kernel, const char *when,
		const struct ptx_module *m);
	void *user;
};

/* The result of a pass. */
struct pass_form {
	struct ptx_module *m;         /* the caller frees it, unless it is request.in */
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

/* Runs a pass; nothing else calls row->run. Checks the input, runs the pass, then checks and
 * verifies the rewritten kernel. Returns 0; -ENOTSUP with ret->verdict and ret->which if the pass
 * cannot transform these kernels; -EINVAL with diags (invalid PTX, or a bug); -ENOENT; -ENOMEM. */
int pass_run(const struct pass_row *row, const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret);

#endif
