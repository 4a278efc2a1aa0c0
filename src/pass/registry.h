/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The registry of passes: one entry of passes.def per pass, and one function that runs any of
 * them. */
#ifndef HEDDLE_REGISTRY_H
#define HEDDLE_REGISTRY_H

#include "pass/passes.h"

struct pass_row {
	const char *name;
	unsigned min_kernels, max_kernels;
	unsigned wants;      /* enum pass_wants */
	const char *summary; /* one line of help */
	const char *done;    /* past participle in messages: "kernel 'k' cannot be <done>" */
	const char *details; /* sentences for help: how the pass changes the kernels */
	pass_fn *run;
};
const struct pass_row *pass_find(const char *name); /* returns NULL if there is no such pass */

/* Runs a pass; nothing else calls row->run. Checks the input, runs the pass, then checks and
 * verifies the rewritten kernel. Returns 0; -ENOTSUP with ret->verdict and ret->which if the pass
 * cannot transform these kernels; -EINVAL with diags (invalid PTX, or a bug); -ENOENT; -ENOMEM. */
int pass_run(const struct pass_row *row, const struct pass_request *rq, struct diag_list *diags,
	struct pass_form *ret);

#endif
