/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Names for copies: "%r<10>" becomes "%hd_7_r<10>". Here 7 is the copy's tag. When the
 * tag is chosen, no name of the module has it yet. If the original name has a tag already, the new
 * tag replaces it. */
#include "base/number.h"
#include "ptx/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ptx_add_symbol(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym)
{
	if (!VEC_PUSH(&f->syms, sym))
		return -ENOMEM;
	return m->globals->bound == f ? ptx_bind_outermost(m, sym) : 0;
}

/* Skips the sigil "%" or "$". */
static const char *past_sigil(const char *name)
{
	return *name == '%' || *name == '$' ? name + 1 : name;
}

/* Skips a prefix such as "%hd_7_", stores the tag 7 in *ret_tag, and returns the rest of the name.
 * Returns NULL if the name has no such prefix. */
static const char *past_tag(const char *name, uint64_t *ret_tag)
{
	const char *s = past_sigil(name);
	struct number n;

	if (strncmp(s, "hd_", 3) != 0)
		return NULL;
	n = number_digits(s + 3, SIZE_MAX, 10);
	*ret_tag = n.value;
	return n.len && s[3 + n.len] == '_' ? s + 3 + n.len + 1 : NULL;
}

uint32_t ptx_new_tag(struct ptx_module *m)
{
	struct ptx_scope *sc = m->globals;
	uint64_t tag;

	for (size_t i = 0; !sc->knows_tags && i < sc->cap; i++)
		if (sc->entries[i] && past_tag(sc->entries[i]->text, &tag) &&
			tag < UINT32_MAX / 2 && tag >= m->fresh)
			m->fresh = (unsigned)tag + 1;
	sc->knows_tags = true;
	return m->fresh++;
}

static const char *sigil_of(const struct ptx_sym *sym)
{
	if (sym->kind == PTX_SYM_REG || (sym->kind == PTX_SYM_PARAM && sym->space == PTX_REG))
		return "%";
	return sym->kind == PTX_SYM_LABEL || sym->kind == PTX_SYM_PROTO ? "$" : "";
}

const struct ptx_name *ptx_tagged_name(
	struct ptx_module *m, uint32_t tag, const struct ptx_sym *sym)
{
	const char *sigil = sigil_of(sym), *stem = past_sigil(sym->name), *inner, *end = "";
	const struct ptx_name *known;
	char small[256], *buf = small;
	unsigned long older;
	size_t size = sym->name_len + 64u;
	int len;

	inner = past_tag(sym->name, &older);
	if (inner && *inner)
		stem = inner;
	if (*sigil == '%' && *stem && strchr("0123456789", stem[strlen(stem) - 1]))
		end = "_";
	if (size > sizeof(small) && !(buf = malloc(size)))
		return NULL;
	len = snprintf(buf, size, "%shd_%u_%s%s", sigil, tag, stem, end);
	memset(buf + len, 0, 8);
	while ((known = ptx_name_if_known(m, buf, (size_t)len))) {
		len = snprintf(buf, size, "%shd_%u_%s_%u%s", sigil, tag, stem, m->fresh++,
			*sigil == '%' ? "_" : "");
		memset(buf + len, 0, 8);
	}
	known = ptx_name_get(m, buf, (size_t)len);
	if (buf != small)
		free(buf);
	return known;
}

int ptx_own_decl(struct ptx_module *m, struct ptx_sym *sym)
{
	static const char *const spaces[] = {[PTX_GLOBAL] = "global",
		[PTX_CONST] = "const",
		[PTX_SHARED] = "shared",
		[PTX_LOCAL] = "local",
		[PTX_PARAM] = "param"};
	const char *type = ptx_type_name(sym->type.base), *space;
	char align[32] = "", vec[8] = "", head[96];

	space = (size_t)sym->space < ARRAY_LEN(spaces) ? spaces[sym->space] : NULL;
	if (!*type || !space)
		return -ENOTSUP;
	if (sym->align)
		snprintf(align, sizeof(align), " .align %u", sym->align);
	if (sym->type.vec > 1)
		snprintf(vec, sizeof(vec), " .v%u", sym->type.vec);
	sym->name_at =
		(uint32_t)snprintf(head, sizeof(head), ".%s%s%s .%s ", space, align, vec, type);
	sym->decl = arena_printf(&m->arena, "%s%s", head, sym->name);
	sym->decl_name_len = sym->name_len;
	return sym->decl ? 0 : -ENOMEM;
}
