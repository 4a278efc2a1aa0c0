/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX for the ptx verbs, from a text file, or from inside a program, a library or a fatbin. Text,
 * module and diagnostics are freed together. */
#ifndef HEDDLE_CLI_PTX_FILE_H
#define HEDDLE_CLI_PTX_FILE_H

#include "cli/cli.h"
#include "ptx/ptx.h"

struct cli_ptx {
	const char *path; /* as given on the command line */
	const char *name; /* as shown: the path, with "(sm_75 #2)" appended for PTX inside a file */
	unsigned entry;   /* its number within the file, from 1; 0: the file is PTX itself */
	uint32_t arch;    /* 75 for sm_75; 0: not known */
	const char *text;
	size_t len;
	struct arena arena; /* of the diagnostics */
	struct diag_list diags;
	struct ptx_module *module; /* NULL when it was not read */
};

/* Calls fn for each PTX of the file (with --arch: for that architecture), parsed; diagnostics may
 * hold errors. A file without PTX: the PTX in the debug sections of its cubins. Other content is
 * skipped; a file without any PTX is reported. CLI_OK, CLI_FAILED, or the first other result of fn,
 * after which the walk continues. The arguments of fn are freed when it returns. */
typedef int cli_ptx_fn(struct cli *c, struct cli_ptx *f, void *user);
int cli_ptx_walk(struct cli *c, const char *path, cli_ptx_fn *fn, void *user);
/* A kernel, and its PTX, parsed: the file itself if it is text; otherwise the PTX inside a program,
 * library, fatbin or cubin. If several have the kernel, the one for the oldest architecture, which
 * newer ones can run as well. */
struct cli_kernel {
	char *text;
	size_t len;
	struct diag_list *diags; /* of the file, in the arena given */
	struct ptx_module *module;
	const struct ptx_func *f;
};
/* kernel: its symbol, or its C++ name (demangle_matches) if that is unique. Call cli_kernel_finish
 * also after a failure. CLI_OK, or CLI_FAILED after it reported the error. */
int cli_kernel_read(struct cli *c, struct arena *a, const char *path, const char *kernel,
	struct cli_kernel *ret);
/* The same from a text, which is copied; messages call it path. */
int cli_kernel_parse(struct cli *c, struct arena *a, const char *path, const char *text, size_t len,
	const char *kernel, struct cli_kernel *ret);
void cli_kernel_finish(struct cli_kernel *k);
/* cli_ptx_walk over all operands, in the JSON array "files"; user is the struct json. */
int cli_ptx_each(struct cli *c, cli_ptx_fn *fn);
/* Prints the kernels of all words that are files, a line each, for completions, and nothing else.
 * The words end with a NULL. */
void cli_ptx_names(struct cli *c, char *const words[]);
/* Prints to text; if text is c->out, as for standard output. */
void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text);
/* Keys "file", "entry", "arch". */
void cli_ptx_json_name(struct json *j, const struct cli_ptx *f);
/* Key "diagnostics": an array of level, line, column, message, hint. */
void cli_ptx_json_diags(struct json *j, const struct diag_list *d);
/* Warns of each unknown instruction, which may be new, or misspelt. */
void cli_ptx_warn_unknown(struct cli_ptx *f);
/* For a table of options. */
#define CLI_PTX_ARCH                                                                               \
	{                                                                                          \
		0, "arch", "NN", "only the PTX for compute capability N.N, of a file with several" \
	}

#endif
