/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A PTX file as the ptx verbs see it: text, module, diagnostics, freed together. */
#ifndef HEDDLE_CLI_PTX_FILE_H
#define HEDDLE_CLI_PTX_FILE_H

#include "cli/cli.h"
#include "ptx/ptx.h"

struct cli_ptx {
	const char *path;
	char *text;
	size_t len;
	struct arena arena; /* of the diagnostics */
	struct diag_list diags;
	struct ptx_module *module; /* NULL when it was not read */
};

/* Reads and parses. 0 (diagnostics may still hold errors), or CLI_FAILED, said. Either way
 * cli_ptx_close frees it. */
int cli_ptx_open(struct cli *c, const char *path, struct cli_ptx *ret);
void cli_ptx_close(struct cli_ptx *f);
/* To text, or as it goes to standard output where text is c->out. */
void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text);
/* The run function of a verb over files: fn for each operand, in the JSON array "files". Returns
 * the first status that is not 0. */
typedef int cli_ptx_file_fn(struct cli *c, const char *path, struct json *j);
int cli_ptx_each(struct cli *c, cli_ptx_file_fn *fn);
/* Key "diagnostics": an array of level, line, column, message, hint. */
void cli_ptx_json_diags(struct json *j, const struct diag_list *d);

#endif
