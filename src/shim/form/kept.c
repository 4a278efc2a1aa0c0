/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Encodes preemptible forms as bytes: a header, the offsets and sizes of parameters, the offsets
 * and names of variables, line positions, and the text. The bytes come from a file when they are
 * read, so every count and name is checked. */
#include "shim/form/kept.h"

#include <stdlib.h>
#include <string.h>

#define PARAMS_MAX 4096

struct head {
	struct pass_kernel_info info;
	uint32_t version, n_vars, names_len, n_lines;
};

void made_finish(struct made *m)
{
	free(m->offsets);
	free(m->sizes);
	free(m->vars.at);
	strbuf_finish(&m->vars.names);
	strbuf_finish(&m->text);
	VEC_FREE(&m->lines);
}

bool made_params(struct made *m)
{
	size_t n = m->info.n_params * sizeof(uint32_t);

	m->offsets = calloc(1, n + 1);
	m->sizes = calloc(1, n + 1);
	return m->offsets && m->sizes;
}

bool made_sane(const struct made *m)
{
	if (m->info.param_bytes > 65536 || m->info.arg_offset > m->info.param_bytes ||
		m->info.param_bytes - m->info.arg_offset < sizeof(struct ctl_args))
		return false;
	for (uint32_t i = 0; i < m->info.n_params; i++) {
		if (m->offsets[i] > m->info.arg_offset ||
			m->sizes[i] > m->info.arg_offset - m->offsets[i])
			return false;
	}
	return true;
}

void kept_write(const struct made *m, uint32_t version, struct strbuf *out)
{
	struct head head;
	size_t n = m->info.n_params * sizeof(uint32_t);

	/* Also clears the padding, because the bytes are written to a file. */
	memset(&head, 0, sizeof(head));
	head.info = m->info;
	head.version = version;
	head.n_vars = m->vars.n;
	head.names_len = (uint32_t)m->vars.names.len;
	head.n_lines = (uint32_t)m->lines.len;
	strbuf_add(out, (const char *)&head, sizeof(head));
	strbuf_add(out, (const char *)m->offsets, n);
	strbuf_add(out, (const char *)m->sizes, n);
	if (m->vars.n) {
		strbuf_add(out, (const char *)m->vars.at, m->vars.n * sizeof(*m->vars.at));
		strbuf_add(out, m->vars.names.at, m->vars.names.len);
	}
	if (m->lines.len)
		strbuf_add(out, (const char *)m->lines.at, m->lines.len * sizeof(*m->lines.at));
	strbuf_add(out, m->text.at, m->text.len);
}

struct rest {
	const char *at;
	size_t len;
};

static bool take_bytes(struct rest *r, void *to, size_t n)
{
	if (n > r->len)
		return false;
	if (n)
		memcpy(to, r->at, n);
	r->at += n;
	r->len -= n;
	return true;
}

/* Returns true if the bytes are exactly n names, none of them empty, with no bytes after the last
 * name. */
static bool are_names(const char *at, size_t len, uint32_t n)
{
	for (; n; n--) {
		size_t name = strnlen(at, len);

		if (!name || name == len)
			return false;
		at += name + 1;
		len -= name + 1;
	}
	return len == 0;
}

static bool take_vars(struct rest *r, const struct head *h, struct vars *ret)
{
	size_t n = h->n_vars * sizeof(*ret->at);

	if (h->n_vars > VARS_MAX)
		return false;
	ret->n = h->n_vars;
	ret->at = malloc(n + 1);
	if (!ret->at || !take_bytes(r, ret->at, n) || h->names_len > r->len ||
		!are_names(r->at, h->names_len, ret->n))
		return false;
	for (uint32_t i = 0; i < ret->n; i++) {
		uint64_t align = ret->at[i].align;

		if (!align || align > ALIGN_MAX || align & (align - 1))
			return false;
	}
	strbuf_add(&ret->names, r->at, h->names_len);
	r->at += h->names_len;
	r->len -= h->names_len;
	return !ret->names.failed;
}

static bool take_lines(struct rest *r, uint32_t n, struct made *ret)
{
	uint32_t line;

	if (n > r->len / sizeof(line))
		return false;
	while (n--)
		if (!take_bytes(r, &line, sizeof(line)) || !VEC_PUSH(&ret->lines, line))
			return false;
	return true;
}

bool kept_read(const char *at, size_t len, uint32_t version, struct made *ret)
{
	struct rest r = {at, len};
	struct head head;
	size_t n;

	if (!take_bytes(&r, &head, sizeof(head)) || head.version != version ||
		head.info.n_params > PARAMS_MAX)
		return false;
	ret->info = head.info;
	n = head.info.n_params * sizeof(uint32_t);
	if (!made_params(ret) || !take_bytes(&r, ret->offsets, n) ||
		!take_bytes(&r, ret->sizes, n) || !made_sane(ret) ||
		!take_vars(&r, &head, &ret->vars) || !take_lines(&r, head.n_lines, ret) || !r.len)
		return false;
	strbuf_add(&ret->text, r.at, r.len);
	return !ret->text.failed;
}
