/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reading PTX files for the ptx verbs. */
#include "cli/ptx_file.h"

#include <stdlib.h>
#include <string.h>

int cli_ptx_open(struct cli *c, const char *path, struct cli_ptx *ret)
{
	int r;

	*ret = (struct cli_ptx){.path = strcmp(path, "-") == 0 ? "<stdin>" : path};
	arena_init(&ret->arena, 0);
	r = cli_read_file(c, path, &ret->text, &ret->len);
	if (r)
		return r;
	diag_init(&ret->diags, &ret->arena, ret->path, ret->text, ret->len);
	r = ptx_parse(ret->text, ret->len, 0, &ret->diags, &ret->module);
	if (r < 0)
		return cli_error(c, NULL, "%s: %s", ret->path, strerror(-r));
	return 0;
}

static void emit(void *c)
{
	cli_emit(c);
}

void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text)
{
	ptx_print_by(m, text, text == &c->out ? emit : NULL, c);
}

void cli_ptx_close(struct cli_ptx *f)
{
	if (f->module)
		ptx_module_free(f->module);
	arena_finish(&f->arena);
	free(f->text);
}

void cli_ptx_json_diags(struct json *j, const struct diag_list *d)
{
	static const char *const levels[] = {"note", "warning", "error"};

	json_begin_array(j, "diagnostics");
	for (unsigned i = 0; i < d->len; i++) {
		const struct diag *e = &d->at[i];

		json_begin_object(j, NULL);
		json_str(j, "level", levels[e->level]);
		json_uint(j, "line", e->line);
		json_uint(j, "column", e->col);
		json_str(j, "message", e->message);
		if (e->hint)
			json_str(j, "hint", e->hint);
		json_end(j, '}');
	}
	json_end(j, ']');
}

int cli_ptx_each(struct cli *c, cli_ptx_file_fn *fn)
{
	struct json j;
	int status = CLI_OK;

	if (c->json) {
		cli_json_open(c, &j, 1);
		json_begin_array(&j, "files");
	}
	for (int i = 0; i < c->n_operands; i++) {
		int r = fn(c, c->operands[i], &j);

		status = status ? status : r;
	}
	if (c->json) {
		json_end(&j, ']');
		json_end(&j, '}');
	}
	return status;
}
