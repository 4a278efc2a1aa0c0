/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a new body one statement at a time (writer.c). */
#ifndef HEDDLE_PASS_WRITER_H
#define HEDDLE_PASS_WRITER_H

#include "pass/analysis/origins.h"
#include "ptx/ptx.h"

/* After the first error, all further calls have no effect. */
struct pass_writer {
	struct ptx_module *m;
	struct ptx_func *f;
	ptx_body out;
	struct diag_list *diags;
	int error;
	/* copies of callees, which the body calls instead of the originals */
	VEC(struct ptx_func *) copies;
	struct pass_record *record; /* where to record the code's origins; NULL: nowhere */
	/* if record is set: instruction numbers of the statements in `out` */
	pass_numbers numbers;
};
void pass_writer_finish(struct pass_writer *w); /* frees everything except `out` */
/* Makes the code that was written to w so far the body of w->f, and validates w->f and the copies
 * of its callees. If w already has an error, w->f stays unchanged. Frees the resources of w.
 * Returns 0, w's error, or -EINVAL with w->diags. */
int pass_writer_into(struct pass_writer *w);
void pass_emit(struct pass_writer *w, const char *fmt, ...) HD_PRINTF(2, 3);
/* Emits text without interpreting format directives. */
void pass_put(struct pass_writer *w, const char *text);
void pass_copy(struct pass_writer *w, const struct ptx_stmt *s);
/* Inserts the code written so far before the body of w->f, and finishes w. */
int pass_ahead(struct pass_writer *w);
/* Gives all statements emitted since offset `from` the guard and the source position of s. */
void pass_guard_since(struct pass_writer *w, size_t from, const struct ptx_stmt *s);
/* Returns the last statement emitted, or a dummy after an error. */
struct ptx_stmt *pass_last(struct pass_writer *w);
/* Returns a register as an operand. type is "b32" or "b64". */
struct ptx_opd pass_operand(struct pass_writer *w, const char *type, const char *name);

#endif
