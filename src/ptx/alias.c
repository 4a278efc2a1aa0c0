/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* ".alias a, b;": the symbol of a, a function that is only declared, means the function of b from
 * the whole text's end on. Its name stays, so calls are printed as they came; sym->func->sym is not
 * sym then, and that is how an alias is told. */
#include "ptx/lex.h"
#include "ptx/parse.h"

#include <string.h>

/* The name at s, and what stands behind it. */
static struct ptx_sym *read_name(const struct ptx_module *m, const char *s, const char **ret_end)
{
	char word[512] = {0};
	size_t len;

	s += strspn(s, " \t\n,");
	len = (size_t)(ptx_ident_end(s) - s);
	*ret_end = s + len;
	if (len == 0 || len >= sizeof(word))
		return NULL;
	memcpy(word, s, len);
	return ptx_find_global(m, word);
}

void ptx_resolve_aliases(struct ptx_module *m, size_t first_item)
{
	for (size_t i = first_item; i < m->items.len; i++) {
		const char *s = m->items.at[i].text;
		struct ptx_sym *a, *b;

		if (m->items.at[i].kind != PTX_ITEM_TEXT || !ptx_word_is(s, ".alias"))
			continue;
		a = read_name(m, s + strlen(".alias"), &s);
		b = read_name(m, s, &s);
		if (a && b && a->kind == PTX_SYM_FUNC && b->kind == PTX_SYM_FUNC && a->func &&
			b->func && !a->func->has_body && b->func->has_body && !b->func->is_entry)
			a->func = b->func;
	}
}
