/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ptx PASS has one verb for each entry in the registry of passes. There are two kinds of
 * pass:
 * - A pass that rewrites each kernel by itself takes a PTX file, and rewrites all kernels in the
 *   file.
 * - A pass that makes one form (a rewritten kernel) from several kernels and block shapes takes
 *   kernel specifications (ptx_form.c). */
#include "base/demangle.h"
#include "cli/ptx_form.h"

#include <errno.h>
#include <string.h>

static void json_kernel(
	struct json *j, const char *name, int err, const struct pass_form *form, bool takes_order)
{
	const struct pass_kernel_info *info = &form->info;

	json_begin_object(j, NULL);
	json_str(j, "name", name);
	json_str(j, "tier", pass_tier_name(form->verdict.tier));
	json_str(j, "reason", form->verdict.reason);
	json_bool(j, "transformed", err == 0);
	if (err == 0) {
		json_uint(j, "arguments_offset", info->arg_offset);
		json_uint(j, "parameter_bytes", info->param_bytes);
		json_uint(j, "added_shared_bytes", info->added_static_shared_bytes);
		json_bool(j, "rising_order", info->rising_order);
		if (takes_order)
			json_str(j, "order", pass_order_name(info->order));
	}
	json_end(j, '}');
}

struct output {
	struct json j;
	/* text is c->out, or with --json &quoted, so that a large text is in memory only once */
	struct strbuf quoted, *text;
	unsigned found; /* number of modules that have errors or a wanted kernel */
	struct ptx_dump dump;
};

/* Rewrites one kernel of the module in place. Returns CLI_OK, or CLI_FAILED after it reports the
 * error. */
static int rewrite_kernel(struct cli *c, struct output *o, struct cli_ptx *f, const char *name)
{
	struct pass_kernel kernel = {.m = f->module, .name = name};
	struct pass_request rq = {.kernels = &kernel, .n = 1, .in = f->module};
	const struct pass_row *row = ptx_form_row(c);
	struct pass_form form;
	int err;

	if (row->wants & PASS_TAKES_ORDER && cli_value(c, "order"))
		pass_order_find(cli_value(c, "order"), &rq.options.order);
	ptx_dump_to(&o->dump, &rq);
	err = pass_run(row, &rq, &f->diags, &form);
	if (err == -ENOTSUP) {
		const struct pass_verdict *v = &form.verdict;

		if (cli_has(c, "kernel"))
			return cli_error(c, NULL, "%s: kernel '%s' cannot be %s: %s", f->name, name,
				row->done, v->reason ? v->reason : "no reason known");
		diag_add(&f->diags, DIAG_WARNING, v->line, v->col, 1,
			"kernel '%s' is left as it was: %s",
			demangle_name(name, (char[300]){0}, 300),
			v->reason ? v->reason : "no reason known");
	} else if (err < 0) {
		return cli_error(c, "this is a bug: please report it with the file",
			"%s: kernel '%s': %s", f->name, name, strerror(-err));
	}
	json_kernel(&o->j, name, err, &form, row->wants & PASS_TAKES_ORDER);
	return o->dump.failed ? CLI_FAILED : CLI_OK;
}

/* Rewrites the wanted kernels of a module. It collects their names first, because a pass moves the
 * module's items. */
static int transform_all(struct cli *c, struct output *o, struct cli_ptx *f)
{
	const char *only = cli_value(c, "kernel");
	VEC(const char *) names = {0};
	int r = CLI_OK;

	for (size_t i = 0; i < f->module->items.len; i++) {
		const struct ptx_item *item = &f->module->items.at[i];

		if (item->kind != PTX_ITEM_FUNC || !item->func->is_entry || !item->func->has_body)
			continue;
		if (only && strcmp(only, item->func->sym->name) != 0)
			continue;
		if (!VEC_PUSH(&names, item->func->sym->name))
			r = cli_error(c, NULL, "out of memory");
	}
	o->found += names.len > 0;
	for (size_t i = 0; r == CLI_OK && i < names.len; i++)
		r = rewrite_kernel(c, o, f, names.at[i]);
	VEC_FREE(&names);
	return r;
}

static int rewrite_file(struct cli *c, struct cli_ptx *f, void *user)
{
	struct output *o = user;
	unsigned before = o->found;
	int r = CLI_OK;

	if (!f->diags.errors)
		r = transform_all(c, o, f);
	else
		o->found++;
	/* Another PTX of the file may contain the kernel. */
	if (cli_has(c, "kernel") && o->found == before && r == CLI_OK)
		return CLI_OK;
	cli_show_diags(&f->diags);
	if (f->diags.errors)
		r = CLI_FAILED;
	if (r == CLI_OK && f->entry)
		strbuf_printf(o->text, "// %s\n", f->name);
	if (r == CLI_OK)
		cli_ptx_print(c, f->module, o->text);
	return r;
}

static int run_in_place(struct cli *c)
{
	struct output o = {.text = c->json ? &o.quoted : &c->out, .dump = {.c = c}};
	const char *kernel = cli_value(c, "kernel");
	int r = ptx_dump_open(&o.dump);

	if (r != CLI_OK)
		return r;
	cli_json_open(c, &o.j, 1);
	json_begin_array(&o.j, "kernels");
	r = cli_ptx_walk(c, c->operands[0], rewrite_file, &o);
	if (r == CLI_OK && kernel && !o.found)
		r = cli_error(c, "heddle ptx check lists the kernels", "%s: no kernel '%s'",
			c->operands[0], kernel);
	if (r == CLI_OK && !kernel && !o.found)
		cli_warn(c, "%s: no kernels (.entry functions)", c->operands[0]);
	if (o.text->failed)
		r = cli_error(c, NULL, "out of memory");
	json_end(&o.j, ']');
	json_str(&o.j, "text", r == CLI_OK ? o.quoted.at : NULL);
	json_end(&o.j, '}');
	strbuf_finish(&o.quoted);
	return r;
}

/* ---- the verbs' rows ---- */
#define DUMP                                                                           \
	{                                                                              \
		0, "dump", "DIR", "write each module there, before and after the pass" \
	}
#define ONE_KERNEL                                                                              \
	{                                                                                       \
		'k', "kernel", "NAME", "only this kernel; an error if it cannot be transformed" \
	}
static const struct cli_option in_place[] = {ONE_KERNEL, DUMP, CLI_PTX_ARCH, {0}};
static const struct cli_option of_workers[] = {
	ONE_KERNEL,
	{0, "order", PASS_ORDER_WORDS,
		"order in which workers take the blocks of a grid (default: row). Kernels whose "
		"blocks may wait for each other, or that do not read both x and y of their block, "
		"keep row"},
	DUMP,
	CLI_PTX_ARCH,
	{0},
};
static const struct cli_option of_shapes[] = {DUMP, {0}};
static const struct cli_option of_grids[] = {
	{0, "fields", "LIST",
		"what to replace, with commas: ids, threads, counts, barriers, shared, dynamic, "
		"params, exits, all, none (default: all)"},
	DUMP,
	{0},
};

/* A row's details: the pass's own text, and the sentences that apply to every pass of this kind. */
#define IN_PLACE_DETAILS(text)                                                                 \
	text " A kernel that cannot be transformed stays as it was, with a warning. FILE may " \
	     "be a program, library or fatbin with PTX: each PTX is printed after a comment "  \
	     "that names it."
#define OF_SHAPES_DETAILS(text)                                                         \
	"A kernel is FILE KERNEL --block X[,Y[,Z]] [--shared BYTES]; other words of a " \
	"specification of heddle corun are accepted and ignored. " text
#define OF_GRIDS_DETAILS(text)                                                               \
	"A kernel is FILE KERNEL --grid X[,Y[,Z]] --block X[,Y[,Z]] [--shared BYTES]. " text \
	" The fields that can be replaced: " PASS_FIELDS(PTX_FIELD_LINE) "."
#define IN_PLACE_JSON(order)                                                                  \
	"kernels, an array of name, tier (managed, guard, held), reason (null for managed), " \
	"transformed, and for those arguments_offset, parameter_bytes, added_shared_bytes, "  \
	"rising_order" order "; text."
static const char in_place_json[] = IN_PLACE_JSON("");
static const char of_workers_json[] = IN_PLACE_JSON(", order (row, column, hilbert)");
static const char of_shapes_json[] =
	"entry; block, an array, and shared_bytes of a launch; parameter_bytes, of all; kernels, "
	"an array of file, name, parameters_offset, own_bytes (the kernel's own parameters), "
	"arguments_offset (of its struct ctl_args), rising_order; merge_offset (of struct "
	"ctl_merge); of weave, woven: why_not (fused vertically, since), kernels (instructions, "
	"woven), apart (number of the kernel, from 1, line, why); text.";
static const char of_grids_json[] = "entry; grid and block, arrays, and shared_bytes of a launch; "
				    "fields, an array of the fields that were replaced; text.";

#define PICK(wants, a, b, c) ((wants)&PASS_WANTS_GRID ? (c) : (wants)&PASS_WANTS_BLOCK ? (b) : (a))
#define OF_SHAPES(wants)     ((wants) & (PASS_WANTS_BLOCK | PASS_WANTS_GRID))
#define PASS(id, pass, min, max, wants, line, done, text)                                       \
	const struct cli_verb cli_verb_ptx_##id = {                                             \
		.name = "ptx " pass,                                                            \
		.operands = OF_SHAPES(wants)                                                    \
				    ? ((max) > 1 ? "-- KERNEL [+ KERNEL...]" : "-- KERNEL")     \
				    : "FILE",                                                   \
		.summary = line,                                                                \
		.details = PICK(wants, IN_PLACE_DETAILS(text), OF_SHAPES_DETAILS(text),         \
			OF_GRIDS_DETAILS(text)),                                                \
		.json = PICK(wants, (wants)&PASS_TAKES_ORDER ? of_workers_json : in_place_json, \
			of_shapes_json, of_grids_json),                                         \
		.options = PICK(wants, (wants)&PASS_TAKES_ORDER ? of_workers : in_place,        \
			of_shapes, of_grids),                                                   \
		.min_operands = 1,                                                              \
		.max_operands = OF_SHAPES(wants) ? -1 : 1,                                      \
		.flags = OF_SHAPES(wants) ? CLI_OPERANDS_LAST : 0,                              \
		.run = OF_SHAPES(wants) ? ptx_form_run : run_in_place,                          \
	};
#include "pass/passes.def"
