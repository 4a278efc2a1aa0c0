/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a new body, statement by statement (writer.c). */
#ifndef HEDDLE_PASS_WRITER_H
#define HEDDLE_PASS_WRITER_H

#include "pass/analysis/record.h"
#include "ptx/ptx.h"

/* Errors stick. */
struct pass_writer {
	struct ptx_module *m;
	struct ptx_func *f;
	ptx_body out;
	struct diag_list *diags;
	int error;
	VEC(struct ptx_func *) copies; /* of callees, which the body calls instead */
	struct pass_record *record;    /* NULL: nobody asks where code comes from */
	pass_numbers numbers;          /* then: of out, as far as it is a kernel's */
};
void pass_writer_finish(struct pass_writer *w); /* all but out */
/* Makes the text written so far the body of w->f, and validates it and the copies of functions that
 * it calls; if w has an error, w->f stays as it was. Finishes w. Returns 0, w's error, or -EINVAL
 * with w->diags. */
int pass_writer_into(struct pass_writer *w);
void pass_emit(struct pass_writer *w, const char *fmt, ...) HD_PRINTF(2, 3);
void pass_put(struct pass_writer *w, const char *text); /* no format */
void pass_copy(struct pass_writer *w, const struct ptx_stmt *s);
int pass_ahead(
	struct pass_writer *w); /* what is written comes ahead of w->f's body; w is finished */
/* Gives everything written since `from` the guard of s, and its place. */
void pass_guard_since(struct pass_writer *w, size_t from, const struct ptx_stmt *s);
struct ptx_stmt *pass_last(struct pass_writer *w); /* the statement emitted last; NULL on error */
/* A register as an operand, by its name; type: "b32" or "b64". */
struct ptx_opd pass_operand(struct pass_writer *w, const char *type, const char *name);

#endif
