/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Derives the effects from the flags in ops.def and from the parts of the mnemonic. In doubt, it
 * assumes more effects. */
#include "cfg/effects.h"

#include <string.h>

static uint8_t class_of_space(unsigned space)
{
	switch (space) {
	case PTX_GLOBAL:
	case PTX_TEX:
		return CFG_GLOBAL;
	case PTX_SHARED:
		return CFG_SHARED;
	case PTX_LOCAL:
		return CFG_LOCAL;
	case PTX_CONST:
		return CFG_CONST;
	case PTX_PARAM:
		return CFG_PARAM | CFG_CALL_PARAM;
	default:
		return CFG_GENERIC;
	}
}

static bool part_is(const char *part, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(part, word, n) && (!part[n] || part[n] == ':');
}

/* Returns the memory classes of all state spaces that the mnemonic names. A copy names two. */
static uint8_t all_classes(const struct ptx_mnem *mn)
{
	static const char *const names[] = {"global", "shared", "local"};
	uint8_t classes = 0;

	for (unsigned i = 0; i < mn->n_mods; i++)
		for (unsigned k = 0; k < ARRAY_LEN(names); k++)
			if (part_is(mn->mods[i], names[k]))
				classes |= (uint8_t)(1 << k);
	return classes ? classes : CFG_GENERIC;
}

/* Returns the symbol in the first address operand, or NULL if that address contains no symbol. */
static const struct ptx_sym *address_symbol(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->opd[i].kind == PTX_OPD_ADDR)
			return s->opd[i].n && s->opd[i].list[0].kind == PTX_OPD_SYM
				       ? s->opd[i].list[0].sym
				       : NULL;
	return NULL;
}

static uint8_t class_of(const struct ptx_stmt *s)
{
	const struct ptx_sym *sym;

	if (s->mn->flags & PTX_F_ASYNC)
		return all_classes(s->mn);
	if (s->mn->space != PTX_PARAM)
		return class_of_space(s->mn->space);
	sym = address_symbol(s);
	if (!sym)
		return CFG_PARAM | CFG_CALL_PARAM;
	return sym->kind == PTX_SYM_PARAM ? CFG_PARAM : CFG_CALL_PARAM;
}

static bool synchronizes(const struct ptx_mnem *mn)
{
	static const char *const words[] = {"acquire", "release", "acq_rel", "sc"};

	for (unsigned i = 0; i < mn->n_mods; i++)
		for (unsigned k = 0; k < ARRAY_LEN(words); k++)
			if (part_is(mn->mods[i], words[k]))
				return true;
	return false;
}

static bool is_clock(const struct ptx_opd *o)
{
	if (o->kind != PTX_OPD_SPECIAL)
		return false;
	return (o->value >= PTX_SR_CLOCK && o->value <= PTX_SR_GLOBALTIMER_HI) ||
	       (o->value == PTX_SR_OTHER && !strncmp(o->name, "%pm", 3));
}

static bool reads_clock(const struct ptx_stmt *s)
{
	for (unsigned i = 1; i < s->n; i++)
		if (is_clock(&s->opd[i]))
			return true;
	return false;
}

struct cfg_effects cfg_effects_of(const struct ptx_stmt *s)
{
	struct cfg_effects e = {0};
	uint32_t f;

	if (s->kind != PTX_INSN)
		return e;
	f = s->mn->flags;
	if (f & (PTX_F_UNKNOWN | PTX_F_CALL)) {
		e.reads = e.writes = CFG_MEMORY;
		e.ordered = e.fence = e.convergent = e.async = e.reads_cc = e.writes_cc = true;
		e.time = e.trap = true;
		e.unknown = (f & PTX_F_UNKNOWN) != 0;
		e.call = (f & PTX_F_CALL) != 0 || e.unknown;
		return e;
	}
	if (f & (PTX_F_READS_MEM | PTX_F_ATOMIC))
		e.reads = class_of(s);
	if (f & (PTX_F_WRITES_MEM | PTX_F_ATOMIC))
		e.writes = class_of(s);
	if (s->mn->op == PTX_OP_cp_async) {
		e.reads = CFG_GLOBAL;
		e.writes = CFG_SHARED;
	}
	e.ordered = (f & (PTX_F_VOLATILE | PTX_F_ATOMIC | PTX_F_SIDE_EFFECT)) != 0;
	e.barrier = (f & PTX_F_BARRIER) || s->mn->op == PTX_OP_barrier_cluster;
	e.fence = (f & PTX_F_FENCE) || e.barrier || s->mn->op == PTX_OP_bar_warp ||
		  synchronizes(s->mn);
	e.convergent = (f & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC)) != 0;
	e.async = (f & PTX_F_ASYNC) != 0;
	e.reads_cc = (f & PTX_F_READS_CC) != 0;
	e.writes_cc = (f & PTX_F_WRITES_CC) != 0;
	e.time = s->mn->op == PTX_OP_nanosleep || reads_clock(s);
	e.trap = s->mn->op == PTX_OP_trap || s->mn->op == PTX_OP_brkpt;
	e.leaves = (f & (PTX_F_BRANCH | PTX_F_EXIT)) != 0;
	return e;
}
