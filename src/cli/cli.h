/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The command line's frame. A verb is one file, cmd_NAME.c, that defines
 *   const struct cli_verb cli_verb_NAME
 * and one name in the list of this folder's meson.build. Parsing, -h, usage errors, the man page's
 * synopsis and completions are all made from these rows, so nothing about an option is written
 * twice. A verb's run function returns the exit status: CLI_OK, CLI_FAILED, CLI_USAGE, or the
 * status of the program that it ran. It writes its result to c->out, which the frame prints; errors
 * go through cli_error and cli_usage. */
#ifndef HEDDLE_CLI_H
#define HEDDLE_CLI_H

#include "base/base.h"
#include "base/diag.h"
#include "base/json.h"

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_option {
	char letter;      /* 0: long form only */
	const char *name; /* NULL ends the list */
	/* NULL: a flag. "a|b|c": one of these words, checked by the frame; a word in capitals
	 * allows any other text. FILE and DIR get file completion. Other text is only shown. */
	const char *value;
	const char *help;
};

enum cli_verb_flags {
	CLI_OPERANDS_LAST = 1, /* options end at the first operand, which is a program or a spec */
	CLI_PROGRAM = 2,       /* a program of its own instead of a verb of heddle */
	/* errors as text even with --json: standard output belongs to another program */
	CLI_TEXT_ERRORS = 4,
	/* checks HEDDLE_... variables itself, or becomes a program that does */
	CLI_NO_ENVIRONMENT = 16,
	CLI_PART = 8, /* a part of a verb's words, with options of its own (struct cli.whole) */
};

#define CLI_OPTIONS_MAX 24

struct cli;
struct cli_verb {
	const char *name;     /* "exec", "ptx check" */
	const char *operands; /* as shown: "FILE...", "-- PROG [ARG...]"; "" for none */
	const char *summary;  /* one line, without a full stop */
	const char *details;  /* for -h and the man page, which break its lines; NULL: nothing */
	const char *json;     /* the keys of --json's object, the same way */
	const struct cli_option *options; /* NULL: only --json and -h, which every verb has */
	int min_operands, max_operands;   /* max -1: any number */
	/* Called for each option in turn, for options that may be repeated; 0, or CLI_USAGE after
	 * it reported the error. */
	int (*on_option)(struct cli *c, const struct cli_option *o, const char *value);
	unsigned flags;
	int (*run)(struct cli *c);
};

/* One call of one verb. */
struct cli {
	const struct cli_verb *verb;
	char **operands; /* NULL-terminated */
	int n_operands;
	bool behind; /* "--" stood before the first operand */
	bool json;
	struct strbuf out;    /* the result, on its way to standard output */
	struct strbuf unread; /* without --json: what would be the object */
	int out_error;        /* errno of what could not be written */
	const char *values[CLI_OPTIONS_MAX];
	bool given[CLI_OPTIONS_MAX];
	const struct cli *whole; /* of a part: the call it belongs to; NULL */
	unsigned number;         /* of a part, from 1: for errors */
};

/* The table, in the order in which help lists it. */
extern const struct cli_verb *const cli_verbs[];
extern const unsigned cli_verbs_len;
extern const struct cli_verb cli_heddled; /* the daemon's own command line */

/* ---- for verbs ---- */
bool cli_has(const struct cli *c, const char *option);
const char *cli_value(const struct cli *c, const char *option);           /* NULL: not given */
void cli_value_set(struct cli *c, const char *option, const char *value); /* not copied */
/* 0, with ret untouched if the option is absent; CLI_USAGE after it reported a value that is no
 * number in range. Decimal or 0x, with an optional k, m or g for powers of 1024. */
int cli_number(const struct cli *c, const char *option, uint64_t min, uint64_t max, uint64_t *ret);
/* The same for any text; the error calls it `what`. */
int cli_parse_number(const struct cli *c, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *ret);

/* "heddle VERB: error: what and where", then what to do (hint may be NULL). Returns CLI_FAILED.
 * With --json the error goes into the result, under "errors". */
int cli_error(const struct cli *c, const char *hint, const char *fmt, ...) HD_PRINTF(3, 4);
void cli_warn(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* The same for a wrong value on the command line. Returns CLI_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* The same for unknown or missing options and operands; also prints the verb's usage. */
int cli_misuse(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Makes foreign text safe for a terminal, in place: characters that would move the cursor, and
 * invalid UTF-8, become '?'; tabs and newlines stay. */
void cli_plain(char *text, size_t len);
/* Diagnostics with source line and caret, on standard error. */
void cli_show_diags(const struct diag_list *d);

/* Writes and empties c->out; a failure is reported at the end. */
void cli_emit(struct cli *c);
/* Reads a whole file, or standard input for "-"; the caller frees. 0, or CLI_FAILED after it
 * reported the error. */
int cli_read_file(const struct cli *c, const char *path, char **ret_text, size_t *ret_len);
/* Writes a whole file; also reports if data has failed. hint: advice if the file cannot be written.
 * CLI_OK, or CLI_FAILED after it reported the error. */
int cli_write_file(
	const struct cli *c, const char *path, const char *hint, const struct strbuf *data);
/* Makes a new folder in $TMPDIR or /tmp, with a path short enough for a socket in it. 0 or a
 * negative errno. */
int cli_make_folder(const char *kind, char ret_path[64]);
void cli_remove_folder(const char *path); /* with all that is in it */
/* Adds to the text that is shown without --json. Complete lines are written at once. */
void cli_show(struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Opens the JSON object of every --json: schema and command. json_end(j, '}') closes it. Without
 * --json the object is dropped, so a verb may write both the object and its text (cli_show). */
void cli_json_open(struct cli *c, struct json *j, unsigned schema);

/* Finds a file of the installation: part ("shim/libcuda.so.1") in the folder of parts, relative to
 * this program; or build_path ("src/shim/libcuda.so.1") in a build tree. part NULL: beside this
 * program only. The caller frees. 0 or -ENOENT. */
int cli_find_part(const char *part, const char *build_path, char **ret_path);

/* ---- the frame ---- */
/* Puts the errors of --json into c->out; if there is no result, as an object of their own. */
void cli_json_errors(struct cli *c);
/* Fills c from argv (the words after the verb). 0, or CLI_USAGE after it reported the error; -1:
 * help is wanted. */
int cli_parse(struct cli *c, int argc, char **argv);
/* The i-th option: the verb's own, then the common ones; NULL past the last. */
const struct cli_option *cli_option_at(const struct cli_verb *v, unsigned i);
/* The verb with a similar name (text_is_near); NULL: none. group: compares the second words of this
 * group, such as "ptx"; NULL: compares the first words of all verbs. */
const struct cli_verb *cli_near_verb(const char *group, const char *word);
const char *cli_prefix(const struct cli_verb *v); /* "heddle " in front of its name, or "" */
void cli_synopsis(const struct cli_verb *v, struct strbuf *out);
/* "usage: …", in lines as wide as the terminal. */
void cli_usage_line(const struct cli_verb *v, struct strbuf *out);
void cli_help_verb(const struct cli_verb *v, struct strbuf *out);
void cli_help_all(const char *group, struct strbuf *out); /* group: "ptx", or NULL for all */
void cli_man(struct strbuf *out);                         /* scdoc */
void cli_man_options(const struct cli_verb *v, struct strbuf *out);
/* program: "heddle" or "heddled". 0 or -EINVAL */
int cli_completion(const char *shell, const char *program, struct strbuf *out);

#endif
