/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Contains the messages for all reasons why kernels cannot run together. */
#include "host/corun_fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/corun.h"

static const struct {
	int err;
	const char *text, *hint;
} codes[HOST_CODES] = {
#define HOST_CODE(id, err, text, hint) [HOST_##id] = {-err, text, hint},
#include "host/corun_faults.def"
#undef HOST_CODE
};

int host_errno(const struct host_fault *f)
{
	return codes[f->code].err;
}

int host_fail(struct host_fault *f, enum host_code code, int kernel, const char *detail)
{
	*f = (struct host_fault){.code = code, .kernel = kernel};
	snprintf(f->detail, sizeof(f->detail), "%s", detail ? detail : "");
	return host_errno(f);
}

int host_fail_with(
	struct host_fault *f, enum host_code code, int kernel, uint64_t a, uint64_t b, uint64_t c)
{
	*f = (struct host_fault){.code = code, .kernel = kernel, .number = {a, b, c}};
	return host_errno(f);
}

int host_cu_failed(struct host_fault *f, CUresult r, const char *what)
{
	int err = host_fail(f, HOST_DRIVER, -1, what);

	f->result = r;
	return err;
}

static void name_kernel(const struct host_set *s, unsigned k, bool numbered, struct strbuf *out)
{
	const char *name = s && k < s->n ? s->of[k]->name : "?";

	if (numbered)
		strbuf_printf(out, "%u, ", k + 1);
	strbuf_printf(out, "'%s'%s", name, numbered ? "," : "");
}

/* Appends, for example, "kernels 1, 'va', and 2, 'mm', as one launch, "merge"". */
static void name_form(
	const struct host_fault *f, const struct host_set *s, bool numbered, struct strbuf *out)
{
	unsigned n = s ? s->n : 0;

	if (*f->detail) {
		strbuf_puts(out, f->detail);
		return;
	}
	if (f->kernel >= 0) {
		strbuf_puts(out, "kernel ");
		name_kernel(s, (unsigned)f->kernel, numbered, out);
		strbuf_puts(out, " in a launch of its own");
		return;
	}
	strbuf_puts(out, n > 1 ? "kernels " : "kernel ");
	for (unsigned k = 0; k < n; k++) {
		strbuf_puts(out, !k ? "" : k + 1 == n ? " and " : numbered ? " " : ", ");
		name_kernel(s, k, numbered, out);
	}
	strbuf_printf(out, " as one launch, \"%s\"", host_way_names[f->way]);
}

/* Appends the text that replaces a placeholder of a template. */
static void put_word(const struct host_fault *f, const struct host_set *s,
	const struct host_words *w, const char *name, size_t len, struct strbuf *out)
{
	const char *code = cu_result_name(f->result), *result = cu_result_text(f->result);
	const struct {
		const char *name, *text;
	} texts[] = {{"detail", f->detail}, {"log", f->log}, {"help", w->help}, {"steal", w->steal},
		{"mixed", w->mixed}, {"streams", w->streams}, {"vertical", w->vertical},
		{"plain", w->plain}, {"time", w->time}, {"ptx", w->ptx}};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (strlen(texts[i].name) == len && !memcmp(name, texts[i].name, len)) {
			strbuf_puts(out, texts[i].text);
			return;
		}
	if (len == 1)
		strbuf_printf(out, "%" PRIu64, f->number[*name - '0']);
	else if (!strncmp(name, "kernel", len))
		name_kernel(s, (unsigned)f->kernel, w->numbered, out);
	else if (!strncmp(name, "form", len))
		name_form(f, s, w->numbered, out);
	else if (!strncmp(name, "result", len))
		strbuf_printf(out, "%s (%s)", result ? result : "unknown error", code ? code : "?");
	else
		strbuf_printf(out, "{%.*s}", (int)len, name);
}

static void expand_template(const struct host_fault *f, const struct host_set *s,
	const struct host_words *w, const char *p, struct strbuf *out)
{
	for (;;) {
		size_t plain = strcspn(p, "{"), name;

		strbuf_add(out, p, plain);
		if (!p[plain])
			return;
		p += plain + 1;
		name = strcspn(p, "}");
		put_word(f, s, w, p, name, out);
		p += name + 1;
	}
}

void host_explain(const struct host_fault *f, const struct host_set *s, const struct host_words *w,
	struct strbuf *text, struct strbuf *hint)
{
	expand_template(f, s, w, codes[f->code].text, text);
	expand_template(f, s, w, codes[f->code].hint, hint);
}

void host_explain_woven(
	const struct pass_woven *w, const char *name, unsigned number, struct strbuf *out)
{
	strbuf_puts(out, "not woven but fused vertically: kernel ");
	if (number)
		strbuf_printf(out, "%u, ", number);
	strbuf_printf(out, "'%s'", name);
	if (w->why.line)
		strbuf_printf(out, ", line %" PRIu32, w->why.line);
	strbuf_printf(out, ": %s", w->why.reason);
}
