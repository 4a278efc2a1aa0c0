/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses ".alias a, b;", which makes a (a function that is only declared) another name of function
 * b. The alias takes effect at the end of the module's text. The symbol keeps its own name, so that
 * calls are printed as they were written. Other code recognizes an alias because sym->func->sym
 * differs from sym. */
#include "ptx/lex.h"
#include "ptx/parse.h"

#include <string.h>

/* Returns the module symbol that is named at s, or NULL. *ret_end is the text after the name. */
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
