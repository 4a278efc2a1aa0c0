/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses the targets of modules and joins them (see target.h). The families are those of PTX ISA
 * 9.0. A later architecture that is not listed here is a family of its own. */
#include "ptx/target.h"
#include "base/number.h"

#include <string.h>

const char *const ptx_target_options[PTX_TARGET_OPTIONS] = {
	"texmode_independent", "map_f64_to_f32"};

struct ptx_target ptx_target_of(const struct ptx_module *m)
{
	const char *text = m->target ? m->target : "", *arch = strstr(text, "sm_");
	struct ptx_target t = {0};

	if (arch) {
		struct number n = number_digits(arch + strlen("sm_"), SIZE_MAX, 10);
		const char *end = arch + strlen("sm_") + n.len;

		t.sm = (unsigned)n.value;
		t.kind = *end >= 'a' && *end <= 'z' ? *end : 0;
	}
	for (unsigned i = 0; i < PTX_TARGET_OPTIONS; i++)
		if (strstr(text, ptx_target_options[i]))
			t.options |= 1u << i;
	return t;
}

static bool is_one_family(unsigned a, unsigned b)
{
	static const unsigned families[][2] = {{100, 103}, {120, 121}};

	for (unsigned i = 0; i < ARRAY_LEN(families); i++)
		if ((a == families[i][0] || a == families[i][1]) &&
			(b == families[i][0] || b == families[i][1]))
			return true;
	return a == b;
}

/* Joins the suffixes of two targets with the same architecture. 'a' wins over 'f', because it
 * includes all features of 'f'. */
static bool join_kinds(char a, char b, char *ret)
{
	if (a && b && a != b && (!strchr("af", a) || !strchr("af", b)))
		return false;
	*ret = a == 'a' || !b ? a : b == 'a' || !a ? b : a;
	return true;
}

bool ptx_target_join(const struct ptx_target *a, const struct ptx_target *b, struct ptx_target *ret)
{
	const struct ptx_target *low = a->sm <= b->sm ? a : b, *high = low == a ? b : a;
	struct ptx_target t = *high;

	if (a->options != b->options)
		return false;
	if (low->sm == high->sm) {
		if (!join_kinds(low->kind, high->kind, &t.kind))
			return false;
	} else if (low->kind) {
		/* The target of the lower architecture has a suffix. Then the higher architecture
		 * can run code for this target only if the suffix is 'f' and both architectures
		 * belong to one family. */
		if (low->kind != 'f' || !is_one_family(low->sm, high->sm))
			return false;
		t.kind = high->kind ? high->kind : 'f';
	}
	*ret = t;
	return true;
}

char *ptx_target_print(struct arena *arena, const struct ptx_target *t)
{
	char kind[2] = {t->kind, 0};
	char *text = arena_printf(arena, "sm_%u%s", t->sm, kind);

	for (unsigned i = 0; text && i < PTX_TARGET_OPTIONS; i++)
		if (t->options & 1u << i)
			text = arena_printf(arena, "%s, %s", text, ptx_target_options[i]);
	return text;
}
