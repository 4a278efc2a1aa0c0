/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds atomics whose result is unused, so that a `red` can replace them. `red` has the same effect
 * on memory, but sends no result back. In an original kernel ptxas itself replaces such an atomic
 * by `red`, but not in a worker: in the worker of the kernel histogram, ptxas used ATOMG with RZ
 * instead of REDG, and the kernel waited for the L2 in every block. Atomics on shared memory need
 * no such change. */
#include "pass/analysis/unread.h"

#include <stdlib.h>
#include <string.h>

static void note_read(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	uint64_t *read = user;

	(void)opd;
	if (role & PTX_USE)
		read[reg / 64] |= 1ull << reg % 64;
}

uint64_t *pass_find_read(const struct ptx_func *f)
{
	uint64_t *read = calloc(f->regs.len / 64 + 1, sizeof(*read));

	for (size_t i = 0; read && i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_INSN)
			ptx_visit_regs(f, &f->body.at[i], note_read, read);
	return read;
}

/* Returns whether `red` has the same operation and semantics as this atomic: no acquire, and an
 * operator that `red` supports. */
static bool is_reduction(const struct ptx_mnem *mn)
{
	static const char *const ops[] = {"add", "and", "or", "xor", "inc", "dec", "min", "max"};

	if (mn->op != PTX_OP_atom || (mn->space != PTX_GLOBAL && mn->space != PTX_GENERIC) ||
		mn->vec > 1 || ptx_has_mod(mn, "acquire") || ptx_has_mod(mn, "acq_rel"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (ptx_has_mod(mn, ops[i]))
			return true;
	return false;
}

bool pass_is_unread(const struct ptx_stmt *s, const uint64_t *read)
{
	const struct ptx_opd *to = s->opd;

	return s->kind == PTX_INSN && s->n == 3 && is_reduction(s->mn) && to->kind == PTX_OPD_REG &&
	       to->reg != PTX_NO_REG && !(read[to->reg / 64] >> to->reg % 64 & 1);
}

bool pass_is_reduction_of(const struct ptx_mnem *red, const struct ptx_mnem *atom)
{
	return red->op == PTX_OP_red && atom->op == PTX_OP_atom &&
	       !strcmp(red->text + strlen("red"), atom->text + strlen("atom"));
}
