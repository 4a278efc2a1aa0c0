/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The framework of the command line. A verb (a command of heddle, such as run) is one file,
 * cmd_NAME.c, that defines
 *     const struct cli_verb cli_verb_NAME
 * and has its name in the list of this folder's meson.build. The parser, -h, usage errors, the man
 * page's synopsis and the completions all come from these structures, so every option is described
 * only once.
 *
 * A verb's run function returns the exit status: CLI_OK, CLI_FAILED, CLI_USAGE, or the status of
 * the program that it ran. The function writes its result to c->out, which the framework prints,
 * and reports errors with cli_error and cli_usage. */
#ifndef HEDDLE_CLI_H
#define HEDDLE_CLI_H

#include "base/base.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/table.h"

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_option {
	char letter;      /* 0: the option has only its long form */
	const char *name; /* NULL ends the list */
	/* The option's value as help shows it; NULL if the option is a flag.
	 * - "a|b|c": the framework accepts only these strings. A string in capitals, as in
	 *   "a|b|WAY", stands for any other text. --device also accepts cpu:N and cuda:N.
	 * - FILE and DIR get file completion.
	 * - Any other text is only shown in the help. */
	const char *value;
	const char *help;
};

enum cli_verb_flags {
	CLI_OPERANDS_LAST = 1, /* options end at the first operand, which is a program or a spec */
	CLI_PROGRAM = 2,       /* a separate program, not a verb of heddle */
	/* errors are text even with --json, because another program uses standard output */
	CLI_TEXT_ERRORS = 4,
	/* The framework does not check HEDDLE_... variables, because the verb checks them itself or
	 * executes a program that does. */
	CLI_NO_ENVIRONMENT = 16,
	/* one of several parts of a command line, with its own options (struct cli.whole) */
	CLI_PART = 8,
};

#define CLI_OPTIONS_MAX 24

struct cli;
struct cli_verb {
	const char *name; /* for example "exec" or "ptx check" */
	/* as help shows them: "FILE...", "-- PROG [ARG...]"; "": no operands */
	const char *operands;
	const char *summary; /* one line, without a full stop */
	const char *details; /* text for -h and the man page, which wrap it; NULL: none */
	const char *json;    /* describes the keys of --json's object, wrapped like details */
	const struct cli_option *options; /* NULL: only --json and -h, which every verb has */
	int min_operands, max_operands;   /* max_operands -1: any number */
	/* The framework calls this for every occurrence of an option, so that a verb can support
	 * repeated options. Returns 0, or CLI_USAGE after it reports an error. */
	int (*on_option)(struct cli *c, const struct cli_option *o, const char *value);
	unsigned flags;
	int (*run)(struct cli *c);
	/* The name of the program in heddle's folder that runs this verb, such as "heddle-bench";
	 * run is then NULL. NULL: this program runs the verb. */
	const char *program;
};

/* One call of a verb. */
struct cli {
	const struct cli_verb *verb;
	char **operands; /* ends with NULL */
	int n_operands;
	bool behind; /* "--" stood before the first operand */
	bool json;
	struct strbuf out;    /* the result, not yet written to standard output */
	struct strbuf unread; /* without --json: receives the JSON object, which is discarded */
	int out_error;        /* errno of a failed write of the output, else 0 */
	const char *values[CLI_OPTIONS_MAX];
	bool given[CLI_OPTIONS_MAX];
	const struct cli *whole; /* if this is a part: the call that it belongs to; else NULL */
	unsigned number;         /* if this is a part: its number from 1, for error messages */
};

/* The program's table of verbs, in the order in which help lists them. main sets it first. */
extern const struct cli_verb *const *cli_verbs;
extern unsigned cli_verbs_len;
void cli_set_verbs(const struct cli_verb *const *verbs, unsigned n);

/* ---- functions for verbs ---- */
bool cli_has(const struct cli *c, const char *option);
/* NULL: the option was not given */
const char *cli_value(const struct cli *c, const char *option);
/* keeps the pointer; does not copy */
void cli_value_set(struct cli *c, const char *option, const char *value);
/* Parses an option's value as a number. Leaves *ret unchanged and returns 0 if the option was not
 * given. Returns CLI_USAGE after it reports a value that is not a number in range. Numbers are
 * decimal or begin with 0x, and may end in k, m or g for powers of 1024. */
int cli_number(const struct cli *c, const char *option, uint64_t min, uint64_t max, uint64_t *ret);
/* Parses any text as cli_number does. The error message calls the text `what`. */
int cli_parse_number(const struct cli *c, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *ret);

/* Reports "heddle VERB: error: what and where", followed by the hint, which says what to do (NULL:
 * no hint). Returns CLI_FAILED. With --json the error becomes part of the result, under "errors",
 * unless the verb has the flag CLI_TEXT_ERRORS. */
int cli_error(const struct cli *c, const char *hint, const char *fmt, ...) HD_PRINTF(3, 4);
void cli_warn(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Reports a wrong value on the command line as cli_error does, but returns CLI_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Reports unknown or missing options and operands as cli_usage does, and also prints the verb's
 * usage. */
int cli_misuse(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Makes text that does not come from heddle safe for a terminal, in place. Characters that would
 * move the cursor, and invalid UTF-8, become '?'. Tabs and newlines are kept. */
void cli_plain(char *text, size_t len);
/* Prints diagnostics with source line and caret on standard error. */
void cli_show_diags(const struct diag_list *d);

/* Writes c->out and empties it. If writing fails, the framework reports the failure when the verb
 * ends. */
void cli_emit(struct cli *c);
/* Reads a whole file, or standard input if path is "-". The caller frees *ret_text. Returns 0, or
 * CLI_FAILED after it reports the error. */
int cli_read_file(const struct cli *c, const char *path, char **ret_text, size_t *ret_len);
/* Checks, before long work, that its result can be written to the file: the folder exists, and this
 * user may write there. path NULL: checks nothing. Returns CLI_OK, or CLI_FAILED after it reports
 * the error, with the hint. */
int cli_will_write(const struct cli *c, const char *path, const char *hint);
/* Checks the same for any file in an existing folder. */
int cli_will_write_in(const struct cli *c, const char *folder, const char *hint);
/* Writes data to a file. If memory ran out for data or the file cannot be written, the function
 * reports an error, in the second case with the hint. Returns CLI_OK or CLI_FAILED. */
int cli_write_file(
	const struct cli *c, const char *path, const char *hint, const struct strbuf *data);
/* Makes a new folder in $TMPDIR or /tmp. Its path is short enough for a socket in the folder.
 * Returns 0 or a negative errno. */
int cli_make_folder(const char *kind, char ret_path[64]);
void cli_remove_folder(const char *path); /* removes the folder's content, too */
/* Appends to the text output, which is shown only without --json. Complete lines are written at
 * once. */
void cli_show(struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Writes a table to the text output, and frees it. */
void cli_show_table(struct cli *c, struct table *t);
/* Opens the object that every verb prints with --json, with the keys schema and command.
 * json_end(j, '}') closes it. Without --json the object is discarded, so a verb can always produce
 * both the object and the text (cli_show). */
void cli_json_open(struct cli *c, struct json *j, unsigned schema);
/* Returns the text of the object that cli_json_open began. */
const struct strbuf *cli_json_text(const struct cli *c);

/* Finds an installed file. Returns 0 or -ENOENT; the caller frees *ret_path.
 * - `part`, such as "shim/libcuda.so.1", is the file's path in the folder where heddle's libraries
 *   are installed. That folder is found relative to this program.
 * - build_path, such as "src/shim/libcuda.so.1", is the file's path in a build tree. If this
 *   program runs from a build tree, the function looks there instead.
 * - With part NULL, the function looks only in the folder of this program. */
int cli_find_part(const char *part, const char *build_path, char **ret_path);

/* ---- the framework itself ---- */
/* Adds the errors that were reported under --json to c->out. If the verb has written no result, the
 * errors become an object of their own. */
void cli_json_errors(struct cli *c);
/* Finds the verb whose name argv starts with. *ret_words receives the number of arguments that the
 * name consists of. Returns NULL if there is none. */
const struct cli_verb *cli_find_verb(int argc, char **argv, int *ret_words);
/* Runs a verb with argv, the arguments after its name, and prints its output. Returns the exit
 * status. */
int cli_run_verb(const struct cli_verb *v, int argc, char **argv);
/* Prints the rest of c->out. Returns status, or CLI_FAILED after it reports that standard output
 * could not be written, as on a full disk. */
int cli_finish(struct cli *c, int status);
/* Parses argv, the arguments after the verb, into c. Returns 0, CLI_USAGE after it reports an
 * error, or -1 if the user asked for help. */
int cli_parse(struct cli *c, int argc, char **argv);
/* Returns option i of a verb: first come the verb's own options, then those that all verbs have.
 * Returns NULL if i is too large. */
const struct cli_option *cli_option_at(const struct cli_verb *v, unsigned i);
/* Returns the verb whose name is similar to word (text_is_near), or NULL if there is none. With a
 * group, such as "ptx", word is compared with the second words of the group's verbs. With group
 * NULL it is compared with the first words of all verbs. */
const struct cli_verb *cli_near_verb(const char *group, const char *word);
/* returns "heddle ", or "" for a program's only verb */
const char *cli_prefix(const struct cli_verb *v);
void cli_synopsis(const struct cli_verb *v, struct strbuf *out);
/* Appends "usage: ...", wrapped to the terminal's width. */
void cli_usage_line(const struct cli_verb *v, struct strbuf *out);
void cli_help_verb(const struct cli_verb *v, struct strbuf *out);
/* group "ptx": only the ptx verbs; NULL: all */
void cli_help_all(const char *group, struct strbuf *out);
void cli_man(struct strbuf *out); /* in scdoc's format */
void cli_man_options(const struct cli_verb *v, struct strbuf *out);
/* Writes shell completions for the verbs of the table. Returns 0 or -EINVAL. */
int cli_completion(const char *shell, struct strbuf *out);

#endif
