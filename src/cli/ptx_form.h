/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that the verbs of passes share (cmd_ptx_pass.c). */
#ifndef HEDDLE_PTX_FORM_H
#define HEDDLE_PTX_FORM_H

#include "job/ptx_file.h"
#include "pass/registry.h"

/* The state of option --dump DIR. The files are NUMBER-PASS-KERNEL-in.ptx and
 * NUMBER-PASS-KERNEL-out.ptx. */
struct ptx_dump {
	struct cli *c;
	const char *dir; /* NULL: the option was not given */
	unsigned number;
	bool failed; /* an error was reported */
};
/* Creates the folder. The caller has set d->c. Returns CLI_OK, or CLI_FAILED after it reports the
 * error. */
int ptx_dump_open(struct ptx_dump *d);
void ptx_dump_to(struct ptx_dump *d, struct pass_request *rq);

/* Returns the verb's row in the registry of passes. */
const struct pass_row *ptx_form_row(const struct cli *c);
/* Runs the verb of a pass whose operands are kernel specifications. */
int ptx_form_run(struct cli *c);

/* A field's line in the help: "name: description". */
#define PTX_FIELD_LINE(id, name, what) "\n" name ": " what

#endif
