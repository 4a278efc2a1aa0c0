/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX as the ptx verbs see it, wherever it lies: a text, or inside a program, a library, a fatbin.
 * Text, module, diagnostics, freed together. */
#ifndef HEDDLE_CLI_PTX_FILE_H
#define HEDDLE_CLI_PTX_FILE_H

#include "cli/cli.h"
#include "ptx/ptx.h"

struct cli_ptx {
	const char *path; /* as given on the command line */
	const char
		*name; /* as shown: the path, and "(sm_75 #2)" behind it where PTX lies in a file */
	unsigned entry; /* which of the file's, from 1; 0: the file is PTX itself */
	uint32_t arch;  /* 75 for sm_75; 0: not known */
	const char *text;
	size_t len;
	struct arena arena; /* of the diagnostics */
	struct diag_list diags;
	struct ptx_module *module; /* NULL when it was not read */
};

/* Calls fn for each PTX of the file (with --arch: of that architecture), parsed: diagnostics may
 * hold errors. Where there is none, for what the debug sections of its cubins hold. What else the
 * file holds is passed over; that it holds no PTX is said. CLI_OK, CLI_FAILED, or the first other
 * that fn returned, which goes on. What fn gets is gone when it returns. */
typedef int cli_ptx_fn(struct cli *c, struct cli_ptx *f, void *user);
int cli_ptx_walk(struct cli *c, const char *path, cli_ptx_fn *fn, void *user);
/* A kernel, and the PTX that has it, parsed: the file itself if it is a text; of a program,
 * library, fatbin or cubin the PTX inside, and of several that have the kernel the one for the
 * oldest architecture, which newer ones can run, too. */
struct cli_kernel {
	char *text;
	size_t len;
	struct diag_list *diags; /* of the file, in the arena given */
	struct ptx_module *module;
	const struct ptx_func *f;
};
/* kernel: its symbol, or its name in C++ (demangle_matches), if that is the only such one.
 * To be finished also after a failure. CLI_OK or CLI_FAILED, said. */
int cli_kernel_read(struct cli *c, struct arena *a, const char *path, const char *kernel,
	struct cli_kernel *ret);
/* The same from a text, which is copied; path names it in messages. */
int cli_kernel_parse(struct cli *c, struct arena *a, const char *path, const char *text, size_t len,
	const char *kernel, struct cli_kernel *ret);
void cli_kernel_finish(struct cli_kernel *k);
/* The same over all operands, in the JSON array "files"; user is the struct json. */
int cli_ptx_each(struct cli *c, cli_ptx_fn *fn);
/* The kernels of all words that are files, a line each, for completions: nothing else is said. The
 * words end with a NULL. */
void cli_ptx_names(struct cli *c, char *const words[]);
/* To text, or as it goes to standard output where text is c->out. */
void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text);
/* Keys "file", "entry", "arch". */
void cli_ptx_json_name(struct json *j, const struct cli_ptx *f);
/* Key "diagnostics": an array of level, line, column, message, hint. */
void cli_ptx_json_diags(struct json *j, const struct diag_list *d);
/* A warning for each instruction that is not known: it may be new, or misspelt. */
void cli_ptx_warn_unknown(struct cli_ptx *f);
/* For a table of options. */
#define CLI_PTX_ARCH                                                                               \
	{                                                                                          \
		0, "arch", "NN", "only the PTX for compute capability N.N, of a file with several" \
	}

#endif
