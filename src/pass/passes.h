/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The interface of a pass: the request that it gets, the form that it makes, and the function that
 * each row of passes.def stands for. Each file that defines such a function includes this header.
 * Hosts run passes by registry.h. */
#ifndef HEDDLE_PASSES_H
#define HEDDLE_PASSES_H

#include "pass/harness.h"
#include "pass/merge.h"

enum pass_wants {
	/* The pass needs the block shape and dynamic shared memory of each kernel. They become part
	 * of the rewritten kernel, which is in a new module. A pass without this flag rewrites the
	 * kernel in its own module, under its own name. */
	PASS_WANTS_BLOCK = 1,
	PASS_WANTS_GRID = 2, /* the pass also needs the grid of each kernel */
	/* A property, not a need: the pass records the origin of each statement, and pass_run
	 * verifies the rewritten kernel (verify.h). */
	PASS_IS_VERIFIED = 4,
	/* A property, not a need: pass_run gives the pass predicated copies of the kernels, in
	 * which guards replace the branches of short regions (predicate.h). */
	PASS_TAKES_PREDICATED = 8,
	PASS_TAKES_ORDER = 16, /* not a requirement, but a property: the pass obeys options.order */
};

struct pass_request {
	const struct pass_kernel *kernels;
	unsigned n;
	/* module of kernels[0], if the pass rewrites it in place; else NULL */
	struct ptx_module *in;
	struct pass_options options; /* for pass preempt */
	uint32_t fields;             /* for pass virtual: enum pass_field */
	struct pass_weave_options weave;
	/* Callback for debugging; NULL: none. It gets each input module with `when` "in", and the
	 * rewritten module with `when` "out". */
	void (*dump)(void *user, const char *pass, const char *kernel, const char *when,
		const struct ptx_module *m);
	void *user;
};

/* The result of a pass. A pass sets m, entry, and the one of info, merged and harness that its row
 * asks for. */
struct pass_form {
	struct ptx_module *m;         /* owned by the caller, unless it is request.in */
	const char *entry;            /* name of the entry in m */
	struct pass_kernel_info info; /* set by passes without PASS_WANTS_BLOCK */
	/* set by passes with PASS_WANTS_BLOCK but without PASS_WANTS_GRID */
	struct pass_merged merged;
	struct pass_harness harness; /* set by passes with PASS_WANTS_GRID */
	/* why the pass returned -ENOTSUP, in the arena of diags; preempt always sets it */
	struct pass_verdict verdict;
	unsigned which; /* number of the kernel that verdict refers to */
};

/* The function of a pass. *ret is all 0 before. record is empty; a pass with PASS_IS_VERIFIED fills
 * it, and the caller finishes it. Returns 0; -ENOTSUP with ret->verdict and ret->which if the pass
 * cannot transform these kernels; -EINVAL with diags (a bug); -ENOENT; -ENOMEM. Only pass_run
 * (registry.h) calls it: the function does not verify its result. */
typedef int pass_fn(const struct pass_request *rq, struct diag_list *diags, struct pass_form *ret,
	struct pass_record *record);

/* Help text for passes whose forms heddle corun can run. */
#define PASS_MERGED_HELP                                                                       \
	"The form, entry " CTL_MERGE_ENTRY                                                     \
	", is for blocks of these shapes; its first lines say how to launch it. heddle corun " \
	"runs it."

/* pass_run_ID for each row of passes.def. The pass's own file defines it. */
#define PASS(id, ...) pass_fn pass_run_##id;
#include "pass/passes.def"
#undef PASS

#endif
