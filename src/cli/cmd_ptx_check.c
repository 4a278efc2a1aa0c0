/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ptx check reports errors in PTX files. For each kernel it also prints how heddle can
 * schedule it, and what prevents a better tier. */
#include "base/demangle.h"
#include "job/ptx_file.h"
#include "pass/pass.h"

#include <string.h>

static void say_kernel(
	struct cli *c, struct json *j, const struct cli_ptx *f, const struct ptx_func *k)
{
	struct pass_verdict v = {0};
	struct pass_wait wait;
	char name[400];

	pass_classify(f->module, k, &v, &wait);
	json_begin_object(j, NULL);
	json_str(j, "name", k->sym->name);
	json_str(j, "tier", pass_tier_name(v.tier));
	json_str(j, "reason", v.reason);
	json_uint(j, "line", v.line ? v.line : k->line);
	json_uint(j, "column", v.line ? v.col : 0);
	json_bool(j, "waits", wait.may);
	json_uint(j, "waits_line", wait.line);
	json_uint(j, "waits_column", wait.col);
	json_end(j, '}');
	demangle_name(k->sym->name, name, sizeof(name));
	cli_show(c, "%s:%u: kernel %s: %s", f->name, v.line ? v.line : k->line, name,
		pass_tier_name(v.tier));
	cli_show(c, v.reason ? ": %s\n" : "\n", v.reason);
	if (wait.may)
		cli_show(c,
			"%s:%u: kernel %s: its blocks may wait for each other: a loop reads memory "
			"here until another block writes it\n",
			f->name, wait.line ? wait.line : k->line, name);
}

struct check {
	struct json j;
	unsigned n; /* number of kernels and errors of the file so far */
};

static int check_module(struct cli *c, struct cli_ptx *f, void *user)
{
	struct check *check = user;
	struct json *j = &check->j;

	if (!f->diags.errors)
		ptx_validate(f->module, &f->diags);
	if (!f->diags.errors)
		cli_ptx_warn_unknown(f);
	cli_show_diags(&f->diags);
	json_begin_object(j, NULL);
	cli_ptx_json_name(j, f);
	json_uint(j, "errors", f->diags.errors);
	cli_ptx_json_diags(j, &f->diags);
	json_begin_array(j, "kernels");
	/* If a module has errors, only these are reported, not its kernels. */
	for (size_t i = 0; !f->diags.errors && i < f->module->items.len; i++) {
		const struct ptx_item *item = &f->module->items.at[i];

		if (item->kind != PTX_ITEM_FUNC || !item->func->is_entry || !item->func->has_body)
			continue;
		say_kernel(c, j, f, item->func);
		check->n++;
	}
	check->n += f->diags.errors;
	json_end(j, ']');
	json_end(j, '}');
	return f->diags.errors ? CLI_FAILED : CLI_OK;
}

static int run_ptx_check(struct cli *c)
{
	struct check check;
	int status = CLI_OK;

	cli_json_open(c, &check.j, 1);
	json_begin_array(&check.j, "files");
	for (int i = 0; i < c->n_operands; i++) {
		check.n = 0;
		int r = cli_ptx_walk(c, c->operands[i], check_module, &check);
		status = status ? status : r;
		if (r == CLI_OK && !check.n)
			cli_show(c, "%s: no kernels (.entry functions)\n", c->operands[i]);
	}
	json_end(&check.j, ']');
	json_end(&check.j, '}');
	return status;
}

static const struct cli_option options[] = {
	CLI_PTX_ARCH,
	{0},
};

const struct cli_verb cli_verb_ptx_check = {
	.name = "ptx check",
	.operands = "FILE...",
	.summary = "report errors, and how heddle can steer each kernel",
	.details = "managed  can be preempted between two blocks, and resized\nguard    can be "
		   "preempted between two blocks\nheld     runs unchanged; waits at its launch "
		   "while its program is held\n\nA further line names each kernel whose blocks may "
		   "wait for each other, and the place: heddle starts its blocks in rising order, "
		   "and runs a grid that fits the device as a whole or not at all.\n\nA file is "
		   "PTX, or contains PTX: a program, a shared library, a fatbin. If it has only "
		   "machine code that was compiled with -lineinfo or -G, heddle reads the PTX that "
		   "is in its debug information.\nErrors go to standard error with their source "
		   "line; the exit status is then 1. Operands and sizes that no driver accepts are "
		   "errors, too (a special register anywhere but in mov, cvt and { }; constants "
		   "over 64 KiB; static shared memory over 48 KiB; too large parameters). An "
		   "unknown instruction is a warning.",
	.json = "files, an array of file, entry (which PTX of the file, from 1; 0: the file is "
		"PTX), arch, errors, diagnostics (level, line, column, message, hint), and "
		"kernels: name, tier, reason (null for managed), line and column of what decided, "
		"waits "
		"(whether its blocks may wait for each other), waits_line and waits_column (of "
		"what a loop reads meanwhile; 0: no one place).",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.run = run_ptx_check,
};
