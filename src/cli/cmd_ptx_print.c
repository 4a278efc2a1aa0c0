/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ptx print parses PTX and prints it again. The output assembles to the same machine code as
 * the input. For a file with errors, the command prints only the errors. */
#include "job/ptx_file.h"

#include <errno.h>
#include <string.h>

static unsigned found; /* number of modules printed */

/* Appends the name of a PTX inside a file as a comment, because the file may have several. */
static void add_name(const struct cli_ptx *f, struct strbuf *text)
{
	if (f->entry)
		strbuf_printf(text, "// %s\n", f->name);
}

static int print_module(struct cli *c, struct cli_ptx *f, void *user)
{
	const char *kernel = cli_value(c, "kernel");
	struct ptx_module *part = NULL;
	/* The text is in memory only once, because a module may be large. */
	struct strbuf quoted = {0}, *text = c->json ? &quoted : &c->out;
	struct json *j = user;
	int r = CLI_OK;

	if (!f->diags.errors && kernel) {
		int err = ptx_extract(f->module, kernel, true, &part);

		/* Another PTX of the file may contain the kernel. */
		if (err == -ENOENT && f->entry)
			return CLI_OK;
		if (err == -ENOENT)
			r = cli_error(c, "heddle ptx check lists the kernels", "%s: no kernel '%s'",
				f->name, kernel);
		else if (err < 0)
			r = cli_error(c, NULL, "%s: %s", f->name, strerror(-err));
	}
	if (r == 0)
		cli_show_diags(&f->diags);
	if (r == 0 && !f->diags.errors) {
		found++;
		add_name(f, text);
		cli_ptx_print(c, part ? part : f->module, text);
	}
	if (r == 0 && c->json) {
		json_begin_object(j, NULL);
		cli_ptx_json_name(j, f);
		cli_ptx_json_diags(j, &f->diags);
		json_str(j, "text", f->diags.errors ? NULL : quoted.at);
		json_end(j, '}');
	}
	if (text->failed)
		r = cli_error(c, NULL, "%s: out of memory", f->name);
	if (r == 0 && f->diags.errors)
		r = CLI_FAILED;
	strbuf_finish(&quoted);
	if (part)
		ptx_module_free(part);
	return r;
}

static int run_ptx_print(struct cli *c)
{
	int r = cli_ptx_each(c, print_module);

	if (r == CLI_OK && !found)
		r = cli_error(c, "heddle ptx check lists the kernels", "no kernel '%s' in any PTX",
			cli_value(c, "kernel"));
	return r;
}

static const struct cli_option options[] = {
	{'k', "kernel", "NAME", "only this kernel and what it needs"},
	CLI_PTX_ARCH,
	{0},
};

const struct cli_verb cli_verb_ptx_print = {
	.name = "ptx print",
	.operands = "FILE...",
	.summary = "parse PTX and print it again",
	.details = "The printed text assembles to the same binary as the file. A file with errors "
		   "is not printed; its errors go to standard error, and the exit status is 1. If "
		   "a file contains several PTX texts, a comment before each names it.",
	.json = "files, an array of file, entry (which PTX of the file, from 1; 0: the file is "
		"PTX), arch, text (null when it has errors), and diagnostics: "
		"level "
		"(note, warning, error), line and column from 1 (0: the whole file), message, "
		"hint.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.run = run_ptx_print,
};
