/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes a new body from PTX text and copied statements. A caller can access the last statement, in
 * order to set operands that have no unambiguous name in the text. After an error, all further
 * calls do nothing. */
#include "pass/virtual/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void pass_put(struct pass_writer *w, const char *text)
{
	if (w->error == 0)
		w->error = ptx_append(w->m, w->f, &w->out, w->diags, "%s", text);
}

void pass_emit(struct pass_writer *w, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		w->error = w->error ? w->error : -ENOMEM;
		return;
	}
	pass_put(w, text);
	free(text);
}

void pass_copy(struct pass_writer *w, const struct ptx_stmt *s)
{
	if (w->error == 0 && !VEC_PUSH(&w->out, *s))
		w->error = -ENOMEM;
}

int pass_ahead(struct pass_writer *w)
{
	struct ptx_func *f = w->f;

	for (size_t i = 0; i < f->body.len; i++)
		pass_copy(w, &f->body.at[i]);
	if (w->error) {
		VEC_FREE(&w->out);
		return w->error;
	}
	VEC_FREE(&f->body);
	f->body = w->out;
	return 0;
}

struct ptx_stmt *pass_last(struct pass_writer *w)
{
	static struct ptx_opd no_opd[8];
	static struct ptx_stmt none = {.n = 8, .opd = no_opd};

	if (w->error == 0 && w->out.len == 0)
		w->error = -EINVAL;
	return w->error ? &none : &w->out.at[w->out.len - 1];
}

struct ptx_opd pass_operand(struct pass_writer *w, const char *type, const char *name)
{
	struct ptx_opd o;

	pass_emit(w, "mov.%s %s, %s;", type, name, name);
	o = pass_last(w)->opd[1];
	if (w->error == 0)
		w->out.len--;
	return o;
}

void pass_guard_since(struct pass_writer *w, size_t from, const struct ptx_stmt *s)
{
	for (size_t i = from; w->error == 0 && i < w->out.len; i++) {
		struct ptx_stmt *to = &w->out.at[i];

		if (to->kind != PTX_INSN)
			continue;
		to->guard = s->guard;
		to->guard_negated = s->guard_negated;
		to->line = s->line;
		to->col = s->col;
	}
}

void pass_writer_finish(struct pass_writer *w)
{
	VEC_FREE(&w->copies);
	VEC_FREE(&w->numbers);
}

/* Validates only the functions that were written. A module may have thousands of other functions,
 * and those are unchanged. */
static int validate(const struct pass_writer *w)
{
	unsigned errors = ptx_validate_func(w->m, w->f, w->diags);

	for (size_t i = 0; i < w->copies.len; i++)
		errors += ptx_validate_func(w->m, w->copies.at[i], w->diags);
	return errors ? -EINVAL : 0;
}

int pass_writer_into(struct pass_writer *w)
{
	if (w->error == 0) {
		VEC_FREE(&w->f->body);
		w->f->body = w->out;
		w->error = validate(w);
	} else {
		VEC_FREE(&w->out);
	}
	pass_writer_finish(w);
	return w->error;
}
