/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sizes that no driver accepts. ptxas refuses a module with more than 64 KiB of constants, used or
 * not, and an entry with more than 48 KiB of static shared memory, callees included, or with too
 * large parameters. The limits are the same for all targets; only that of parameters depends on the
 * target and the PTX version. */
#include "cfg/cfg.h"

#include <inttypes.h>

static uint64_t place(uint64_t end, const struct ptx_sym *sym)
{
	uint32_t natural = ptx_type_bytes(sym->type.base) * MAX(sym->type.vec, 1u);
	uint64_t bytes = sym->bytes;

	if (sym->kind == PTX_SYM_PARAM && !bytes)
		bytes = 8; /* opaque type such as .texref: a 64-bit handle */
	return round_up(end, sym->align ? sym->align : MAX(natural, 1u)) + bytes;
}

static bool is_stored(const struct ptx_sym *sym, enum ptx_space space)
{
	return sym->kind == PTX_SYM_VAR && sym->space == space && !(sym->linkage & PTX_EXTERN);
}

/* Returns the size of all variables of a state space, in functions, too. */
static uint64_t sum_of(const struct ptx_module *m, enum ptx_space space)
{
	uint64_t end = 0;

	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind == PTX_ITEM_VAR && is_stored(it->sym, space))
			end = place(end, it->sym);
		if (it->kind != PTX_ITEM_FUNC)
			continue;
		for (size_t k = 0; k < it->func->body.len; k++) {
			const struct ptx_stmt *s = &it->func->body.at[k];

			if (s->kind == PTX_DECL && is_stored(s->sym, space))
				end = place(end, s->sym);
		}
	}
	return end;
}

uint64_t cfg_const_bytes(const struct ptx_module *m)
{
	return sum_of(m, PTX_CONST);
}

/* Returns the largest size of an entry's parameters, in bytes. */
static uint32_t param_limit(const struct ptx_module *m)
{
	return m->version >= 81 && m->sm >= 70 ? 32764 : 4352;
}

static void check_entry(const struct ptx_module *m, const struct ptx_func *f, bool much_shared,
	struct diag_list *diags)
{
	struct cfg_demand demand = {0};
	uint32_t most = param_limit(m);
	uint64_t params = 0;

	for (size_t i = 0; i < f->params.len; i++)
		params = place(params, f->params.at[i]);
	if (params > most)
		diag_add(diags, DIAG_ERROR, f->line, 1, 1,
			"kernel '%.200s': parameters of %" PRIu64 " bytes: at most %" PRIu32
			" are allowed in PTX %u.%u for sm_%u",
			f->sym->name, params, most, m->version / 10, m->version % 10, m->sm);
	if (much_shared && f->has_body)
		cfg_demand(m, f, &demand);
	if (demand.static_shared_bytes > CFG_SHARED_LIMIT)
		diag_add(diags, DIAG_ERROR, f->line, 1, 1,
			"kernel '%.200s': static shared memory of %" PRIu64
			" bytes: at most %d are allowed; declare it .extern and request it at the "
			"launch",
			f->sym->name, demand.static_shared_bytes, CFG_SHARED_LIMIT);
}

unsigned cfg_check_limits(const struct ptx_module *m, struct diag_list *diags)
{
	uint64_t constants = cfg_const_bytes(m);
	bool much_shared = sum_of(m, PTX_SHARED) > CFG_SHARED_LIMIT;
	unsigned before = diags->errors;

	if (constants > CFG_CONST_LIMIT)
		diag_add(diags, DIAG_ERROR, 0, 0, 1,
			"constants of %" PRIu64
			" bytes: a module may have at most %d; use .global for some of them",
			constants, CFG_CONST_LIMIT);
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_item *it = &m->items.at[i];

		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry)
			check_entry(m, it->func, much_shared, diags);
	}
	return diags->errors - before;
}
