/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ptx preempt: kernels in preemptible form, as PTX. What cannot be transformed is left as it
 * was, with the reason on standard error; a kernel asked for by name must be transformable. */
#include "cli/ptx_file.h"
#include "pass/pass.h"

#include <errno.h>
#include <string.h>

static void json_kernel(struct json *j, const char *name, int err, const struct pass_verdict *v,
	const struct pass_kernel_info *info)
{
	json_begin_object(j, NULL);
	json_str(j, "name", name);
	json_str(j, "tier", pass_tier_name(v->tier));
	json_str(j, "reason", v->reason);
	json_bool(j, "transformed", err == 0);
	if (err == 0) {
		json_uint(j, "arguments_offset", info->arg_offset);
		json_uint(j, "parameter_bytes", info->param_bytes);
		json_uint(j, "added_shared_bytes", info->added_static_shared_bytes);
		json_bool(j, "rising_order", info->rising_order);
	}
	json_end(j, '}');
}

/* One kernel of the module, in place. Returns CLI_OK or CLI_FAILED, said. */
static int transform(struct cli *c, struct json *j, struct cli_ptx *f, const char *name)
{
	struct pass_kernel_info info = {0};
	struct pass_verdict v = {0};
	const char *last = cli_value(c, "dump-after");
	int err = 0;

	for (unsigned i = 0; err == 0 && i < pass_table_len; i++) {
		err = pass_table[i].run(f->module, name, &f->diags, &v, &info);
		if (last && strcmp(last, pass_table[i].name) == 0)
			break;
	}
	if (err == -ENOTSUP) {
		if (cli_has(c, "kernel"))
			return cli_error(c, NULL, "%s: kernel '%s' cannot be preempted: %s",
				f->name, name, v.reason ? v.reason : "no reason known");
		diag_add(&f->diags, DIAG_WARNING, v.line, v.col, 1,
			"kernel '%s' is left as it was: %s", name,
			v.reason ? v.reason : "no reason known");
	} else if (err < 0) {
		return cli_error(c, "this is a bug: please report it with the file",
			"%s: kernel '%s': %s", f->name, name, strerror(-err));
	}
	if (c->json)
		json_kernel(j, name, err, &v, &info);
	return CLI_OK;
}

/* The names first: a pass moves the module's items. */
static int transform_all(struct cli *c, struct json *j, struct cli_ptx *f, unsigned *io_found)
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
	*io_found += names.len > 0;
	for (size_t i = 0; r == CLI_OK && i < names.len; i++)
		r = transform(c, j, f, names.at[i]);
	VEC_FREE(&names);
	return r;
}

struct output {
	struct json j;
	struct strbuf quoted, *text; /* the text of a large module is there once */
	unsigned found;              /* modules with a kernel that was asked for */
};

static int preempt(struct cli *c, struct cli_ptx *f, void *user)
{
	const char *last = cli_value(c, "dump-after");
	struct output *o = user;
	unsigned before = o->found;
	int r = CLI_OK;

	if (!f->diags.errors && (!last || strcmp(last, "parse") != 0))
		r = transform_all(c, &o->j, f, &o->found);
	else
		o->found++;
	/* Another of the file's may have the kernel. */
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

static int run(struct cli *c)
{
	struct output o = {.text = c->json ? &o.quoted : &c->out};
	const char *kernel = cli_value(c, "kernel");
	int r;

	if (c->json) {
		cli_json_open(c, &o.j, 1);
		json_begin_array(&o.j, "kernels");
	}
	r = cli_ptx_walk(c, c->operands[0], preempt, &o);
	if (r == CLI_OK && kernel && !o.found)
		r = cli_error(c, "heddle ptx check lists the kernels", "%s: no kernel '%s'",
			c->operands[0], kernel);
	if (o.text->failed)
		r = cli_error(c, NULL, "out of memory");
	if (c->json) {
		json_end(&o.j, ']');
		json_str(&o.j, "text", r == CLI_OK ? o.quoted.at : NULL);
		json_end(&o.j, '}');
	}
	strbuf_finish(&o.quoted);
	return r;
}

#define OR_NAME(name, ...) "|" #name
static const struct cli_option options[] = {
	{'k', "kernel", "NAME", "only this kernel; an error when it cannot be transformed"},
	{0, "dump-after", "parse" PASS_ROWS(OR_NAME), "print the module as it is after this pass"},
	CLI_PTX_ARCH,
	{0},
};

const struct cli_verb cli_verb_ptx_preempt = {
	.name = "ptx preempt",
	.operands = "FILE",
	.summary = "rewrite kernels into their preemptible form",
	.details = "Kernels keep their names and parameters; one parameter is appended, hd_args, "
		   "whose "
		   "layout is struct ctl_args of src/pass/control.h. What cannot be transformed is "
		   "left as it was, with a warning. A program, library or fatbin with PTX will do, "
		   "too: each is written, behind a comment that names it.",
	.json = "kernels, an array of name, tier (managed, guard, held), reason (null for "
		"managed), transformed, "
		"and for those arguments_offset, parameter_bytes, added_shared_bytes, "
		"rising_order; text.",
	.options = options,
	.min_operands = 1,
	.max_operands = 1,
	.run = run,
};
