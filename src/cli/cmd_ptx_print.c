/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle ptx print: what the front end understood, written out again. Assembles to what the input
 * assembles to; nothing is printed for a file with errors. */
#include "cli/ptx_file.h"

#include <errno.h>
#include <string.h>

static int print_file(struct cli *c, const char *path, struct json *j)
{
	const char *kernel = cli_value(c, "kernel");
	struct ptx_module *part = NULL;
	/* The text of a large module is there once. */
	struct strbuf quoted = {0}, *text = c->json ? &quoted : &c->out;
	struct cli_ptx f;
	int r;

	r = cli_ptx_open(c, path, &f);
	if (r == 0 && !f.diags.errors && kernel) {
		int err = ptx_extract(f.module, kernel, true, &part);

		if (err == -ENOENT)
			r = cli_error(c, "heddle ptx check lists the kernels", "%s: no kernel '%s'",
				f.path, kernel);
		else if (err < 0)
			r = cli_error(c, NULL, "%s: %s", f.path, strerror(-err));
	}
	if (r == 0)
		cli_show_diags(&f.diags);
	if (r == 0 && !f.diags.errors)
		cli_ptx_print(c, part ? part : f.module, text);
	if (r == 0 && c->json) {
		json_begin_object(j, NULL);
		json_str(j, "file", f.path);
		cli_ptx_json_diags(j, &f.diags);
		json_str(j, "text", f.diags.errors ? NULL : quoted.at);
		json_end(j, '}');
	}
	if (text->failed)
		r = cli_error(c, NULL, "%s: out of memory", f.path);
	if (r == 0 && f.diags.errors)
		r = CLI_FAILED;
	strbuf_finish(&quoted);
	if (part)
		ptx_module_free(part);
	cli_ptx_close(&f);
	return r;
}

static int run(struct cli *c)
{
	return cli_ptx_each(c, print_file);
}

static const struct cli_option options[] = {
	{'k', "kernel", "NAME", "only this kernel and what it needs"},
	{0},
};

const struct cli_verb cli_verb_ptx_print = {
	.name = "ptx print",
	.operands = "FILE...",
	.summary = "parse PTX and print it again",
	.details = "What is printed assembles to the same binary as what was read. A file with "
		   "errors "
		   "is not printed; its errors go to standard error, and the exit status is 1.",
	.json = "files, an array of file, text (null when it has errors), and diagnostics: "
		"level "
		"(note, warning, error), line and column from 1 (0: the whole file), message, "
		"hint.",
	.options = options,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
