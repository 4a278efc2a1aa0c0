/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds where a form keeps the ids of the block that it runs (struct vform). A form is a kernel that
 * a pass wrote: its blocks are workers that run the blocks of the program's kernels. A module is one
 * if heddle gave its source lines (vgpu_module_lines), or if the kernel has a form's parameter. So a
 * program's own kernel may use the same names. The names are those of src/pass/virtual/emit.h; where several kernels share an entry,
 * each has a prefix of its own: %hd_6_hd_x. */
#include "dev/cpu/exec/form.h"
#include "decode.h"
#include "dev/dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether name is "%hd_x" or "%hd_<number>_hd_x", for the end "hd_x". The length of what is
 * before the end goes to *ret_prefix. */
static bool is_id(const char *name, const char *end, size_t *ret_prefix)
{
	const char *s = name + 1;

	if (name[0] != '%')
		return false;
	if (!strncmp(s, "hd_", 3) && s[3] >= '0' && s[3] <= '9') {
		s += 3 + strspn(s + 3, "0123456789");
		if (*s++ != '_')
			return false;
	}
	*ret_prefix = (size_t)(s - name);
	return !strcmp(s, end);
}

/* Returns the index of the register `end` with the same prefix as `like`, or PTX_NO_REG. */
static uint32_t find_reg(const struct ptx_func *f, const char *like, size_t prefix, const char *end)
{
	for (size_t i = 0; i < f->regs.len; i++) {
		const char *name = f->regs.at[i].sym->name;

		if (!strncmp(name, like, prefix) && !strcmp(name + prefix, end))
			return (uint32_t)i;
	}
	return PTX_NO_REG;
}

static bool reads_in(const struct ptx_opd *o, uint32_t n, uint32_t reg)
{
	for (uint32_t i = 0; i < n; i++)
		if (o[i].kind == PTX_OPD_VECTOR ? reads_in(o[i].list, o[i].n, reg)
						: o[i].kind == PTX_OPD_REG && o[i].reg == reg)
			return true;
	return false;
}

/* Returns whether the kernel's own statements, which have source lines, use the register. */
static bool body_reads(const struct dec *d, uint32_t reg)
{
	for (size_t i = 0; i < d->f->body.len; i++) {
		const struct ptx_stmt *s = &d->f->body.at[i];

		if (s->kind == PTX_INSN && vgpu_module_line(d->k->mod, s->line) &&
			reads_in(s->opd, s->n, reg))
			return true;
	}
	return false;
}

static bool has_label(const struct ptx_func *f, const char *name)
{
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_LABEL && !strcmp(f->body.at[i].sym->name, name))
			return true;
	return false;
}

/* Finds the grid among the kernel's parameters: hd_args, or hd_args<k> of the form's kernel k. */
static uint32_t find_grid(const struct dec *d, unsigned k, bool is_alone)
{
	const struct ptx_func *f = d->f;
	char name[32];

	snprintf(name, sizeof(name), is_alone ? "hd_args" : "hd_args%u", k);
	for (size_t i = 0; i < f->params.len; i++)
		if (!strcmp(f->params.at[i]->name, name) &&
			f->params.at[i]->bytes >= DEV_FORM_GRID + 12)
			return d->k->info.param_offset[i] + DEV_FORM_GRID;
	return VX_NONE;
}

static void fill_form(const struct dec *d, struct vform *ret, const char *x, size_t prefix)
{
	static const char *const ids[] = {"hd_x", "hd_y", "hd_z", "hd_tx", "hd_ty", "hd_tz"};
	bool is_alone = prefix == 1;
	uint32_t step = find_reg(d->f, x, prefix, "hd_s");

	for (unsigned i = 0; i < 6; i++) {
		uint32_t reg = find_reg(d->f, x, prefix, ids[i]);

		ret->id[i] = reg == PTX_NO_REG ? VX_NONE : d->reg_at[reg];
		if (i < 3)
			ret->reads[i] = reg != PTX_NO_REG && body_reads(d, reg);
	}
	ret->step = VX_NONE;
	ret->grid = find_grid(d, (unsigned)(ret - d->p->forms), is_alone);
	ret->is_part = step != PTX_NO_REG && !is_alone;
	if (step != PTX_NO_REG && is_alone && has_label(d->f, "$hd_next"))
		ret->step = d->reg_at[step];
	/* Task forms and sliced forms always compute all three block indices. */
	if (ret->grid == VX_NONE || find_reg(d->f, x, prefix, "hd_ux") != PTX_NO_REG)
		ret->reads[0] = ret->reads[1] = ret->reads[2] = true;
}

/* Returns whether the kernel has a parameter that a pass adds (src/pass: preempt, slice). A form that
 * a user writes with heddle ptx has it, and no source lines. */
static bool has_parameter(const struct ptx_func *f)
{
	const char *last = f->params.len ? f->params.at[f->params.len - 1]->name : "";

	return !strcmp(last, "hd_args") || !strcmp(last, "hd_slice");
}

void dec_forms(struct dec *d)
{
	const struct ptx_func *f = d->f;
	size_t prefix, n = 0;

	if (!d->k->mod->lines && !has_parameter(f))
		return;
	for (size_t i = 0; i < f->regs.len; i++)
		n += is_id(f->regs.at[i].sym->name, "hd_x", &prefix);
	d->p->forms = ARENA_ARRAY(d->a, struct vform, n + 1);
	if (!d->p->forms) {
		d->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < f->regs.len; i++)
		if (is_id(f->regs.at[i].sym->name, "hd_x", &prefix))
			fill_form(
				d, &d->p->forms[d->p->n_forms++], f->regs.at[i].sym->name, prefix);
}
