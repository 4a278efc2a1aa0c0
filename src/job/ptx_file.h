/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads PTX for the ptx verbs from a text file, or from inside a program, a library or a fatbin.
 * Text, module and diagnostics are freed together. */
#ifndef HEDDLE_CLI_PTX_FILE_H
#define HEDDLE_CLI_PTX_FILE_H

#include "front/cli.h"
#include "ptx/ptx.h"

struct cli_ptx {
	const char *path; /* as given on the command line */
	const char *name; /* name to show: the path, and for PTX inside a file also "(sm_75 #2)" */
	unsigned entry;   /* index of the PTX within the file, from 1; 0: the file is PTX */
	uint32_t arch;    /* 75 for sm_75; 0: unknown */
	const char *text;
	size_t len;
	struct arena arena; /* memory of the diagnostics */
	struct diag_list diags;
	struct ptx_module *module; /* NULL: not parsed */
};

/* Parses each PTX of a file, or with --arch only the PTX for that architecture, and calls fn for
 * each.
 * - The diagnostics that fn gets may contain errors.
 * - If the file has no PTX, the PTX in the debug sections of the file's cubins is used instead.
 *   Other content is skipped. A file without any PTX is reported.
 * - If fn does not return CLI_OK, the walk goes on to the next PTX. The return value is CLI_FAILED,
 *   or the first result of fn that was not CLI_OK, or else CLI_OK.
 * - The arguments of fn are freed when fn returns. */
typedef int cli_ptx_fn(struct cli *c, struct cli_ptx *f, void *user);
int cli_ptx_walk(struct cli *c, const char *path, cli_ptx_fn *fn, void *user);
/* A kernel and its parsed PTX. If the file is text, it is the PTX itself; else the file is a
 * program, library, fatbin or cubin that contains PTX. If the file has the kernel for several
 * architectures, the PTX for the oldest architecture is used, because newer GPUs can run it as
 * well. */
struct cli_kernel {
	char *text;
	size_t len;
	struct diag_list *diags; /* the file's diagnostics, in the caller's arena */
	struct ptx_module *module;
	const struct ptx_func *f;
};
/* Reads a kernel from a file. kernel is the kernel's symbol, or its C++ name (demangle_matches) if
 * only one kernel has that name. Call cli_kernel_finish even after a failure. Returns CLI_OK, or
 * CLI_FAILED after it reports the error. */
int cli_kernel_read(struct cli *c, struct arena *a, const char *path, const char *kernel,
	struct cli_kernel *ret);
/* Reads a kernel from PTX text, which is copied. Messages use path as the name of the text. */
int cli_kernel_parse(struct cli *c, struct arena *a, const char *path, const char *text, size_t len,
	const char *kernel, struct cli_kernel *ret);
void cli_kernel_finish(struct cli_kernel *k);
/* Calls cli_ptx_walk for all operands, and writes the JSON array "files". fn receives the struct
 * json as its user argument. */
int cli_ptx_each(struct cli *c, cli_ptx_fn *fn);
/* Prints the kernels of all files among words, one on each line, for shell completions. Prints
 * nothing else. words ends with a NULL. */
void cli_ptx_names(struct cli *c, char *const words[]);
/* Prints m to text. If text is c->out, standard output gets the text piece by piece. */
void cli_ptx_print(struct cli *c, const struct ptx_module *m, struct strbuf *text);
/* Writes the keys "file", "entry" and "arch". */
void cli_ptx_json_name(struct json *j, const struct cli_ptx *f);
/* Writes the key "diagnostics": an array of objects with level, line, column, message and hint. */
void cli_ptx_json_diags(struct json *j, const struct diag_list *d);
/* Warns about the first 20 unknown instructions, which may be new or misspelt. */
void cli_ptx_warn_unknown(struct cli_ptx *f);
/* The option --arch, as an entry for a table of options. */
#define CLI_PTX_ARCH                                                                               \
	{                                                                                          \
		0, "arch", "NN", "only the PTX for compute capability N.N, of a file with several" \
	}

#endif
