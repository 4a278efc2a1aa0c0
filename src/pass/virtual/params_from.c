/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Moves a kernel's parameters to global memory (virtual.h: params). Loads of parameters become
 * loads from global memory. Operations that take a parameter's address or address space get the
 * address in global memory, so a generic address of a parameter is an address in global memory,
 * too. */
#include "pass/analysis/params.h"
#include "pass/virtual/virtual.h"

#include <errno.h>
#include <string.h>

/* Returns the mnemonic without ".param": "ld.param::entry.v2.u32" becomes "ld.global.v2.u32", or
 * "ld.v2.u32" for generic addresses. */
static const struct ptx_mnem *move_mnemonic(
	struct ptx_module *m, const struct ptx_mnem *mn, bool anywhere)
{
	const char *at = strstr(mn->text, ".param"), *rest = at + strlen(".param");
	struct strbuf text = {0};
	const struct ptx_mnem *to;

	if (!strncmp(rest, "::entry", strlen("::entry")))
		rest += strlen("::entry");
	strbuf_add(&text, mn->text, (size_t)(at - mn->text));
	strbuf_printf(&text, "%s%s", anywhere ? "" : ".global", rest);
	to = text.failed ? NULL : ptx_get_mnem(m, text.at);
	strbuf_finish(&text);
	return to;
}

static uint64_t offset_of(const struct ptx_func *f, const struct ptx_sym *p)
{
	uint32_t offsets[512], bytes;

	if (f->params.len > ARRAY_LEN(offsets) ||
		pass_param_layout(f, &bytes, offsets, NULL, ARRAY_LEN(offsets)) < 0)
		return 0;
	for (size_t i = 0; i < f->params.len; i++)
		if (f->params.at[i] == p)
			return offsets[i];
	return 0;
}

static void put_load(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at,
	const struct ptx_stmt *s)
{
	struct ptx_stmt copy = ptx_copy_stmt(w->m, s);
	struct ptx_opd *addr = &copy.opd[1];

	copy.mn = move_mnemonic(w->m, s->mn, at->params_anywhere);
	if (!copy.mn) {
		w->error = -ENOMEM;
		return;
	}
	if (addr->list[0].kind == PTX_OPD_SYM) {
		addr->value += offset_of(f, addr->list[0].sym);
		addr->value += addr->list[0].has_value ? addr->list[0].value : 0;
		addr->has_value = 1;
		addr->name = NULL;
		addr->list[0] = pass_operand(w, "b64", at->params);
	}
	pass_copy(w, &copy);
}

static void put_address(struct pass_writer *w, const struct ptx_func *f,
	const struct pass_place *at, const struct ptx_stmt *s)
{
	const struct ptx_opd *from = &s->opd[1];

	/* params are in memory, so generic and .param addresses are the same */
	if (from->kind == PTX_OPD_REG) {
		pass_emit(w, "mov.b64 %s, %s;", at->params, at->params);
		pass_last(w)->opd[1] = *from;
	} else {
		pass_emit(w, "add.u64 %s, %s, %llu;", at->params, at->params,
			(unsigned long long)(offset_of(f, from->sym) +
					     (from->has_value ? from->value : 0)));
	}
	pass_last(w)->opd[0] = s->opd[0];
}

bool pass_put_param(struct pass_writer *w, const struct ptx_func *f, const struct pass_place *at,
	const struct ptx_stmt *s)
{
	size_t from = w->out.len;

	if (pass_loads_param(f, s))
		put_load(w, f, at, s);
	else if (pass_takes_param_address(f, s))
		put_address(w, f, at, s);
	else
		return false;
	pass_guard_since(w, from, s);
	return true;
}
