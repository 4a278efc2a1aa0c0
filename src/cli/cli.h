/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The command line's frame. A verb is one file, cmd_NAME.c, that defines
 *   const struct cli_verb cli_verb_NAME
 * and one name in the list of this folder's meson.build. From these rows come parsing, -h, usage
 * errors, man page synopsis and completions: nothing about an option is written twice.
 * A verb's run function returns the exit status: CLI_OK, CLI_FAILED, CLI_USAGE, or what the program
 * that it ran returned. It writes its result to c->out, which the frame prints; errors go through
 * cli_error and cli_usage. */
#ifndef HEDDLE_CLI_H
#define HEDDLE_CLI_H

#include "base/base.h"
#include "base/diag.h"
#include "base/json.h"

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_option {
	char letter;      /* 0: long form only */
	const char *name; /* NULL ends the list */
	const char *
		value; /* NULL: a flag. "a|b|c": one of these words, checked by the frame; a word in
			  capitals among them stands for any other text. FILE
			  and DIR complete as such. Anything else is shown as it is */
	const char *help;
};

enum cli_verb_flags {
	CLI_OPERANDS_LAST = 1, /* options end at the first operand, which is a program or a spec */
	CLI_PROGRAM = 2,       /* not a verb of heddle's, but a program of its own */
	CLI_TEXT_ERRORS = 4,   /* with --json, too: standard output is somebody else's */
	CLI_NO_ENVIRONMENT = 16, /* says by itself what is wrong with HEDDLE_..., or becomes a
				    program that does */
	CLI_PART = 8, /* no verb but a part of one's words, with options of its own only (struct
			 cli.whole) */
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
	/* Called for each option in turn, for those that count more than once; 0 or CLI_USAGE,
	 * said. */
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
/* 0, ret untouched when the option is absent; CLI_USAGE, said, when it is no number in range.
 * Decimal or 0x, with an optional k, m or g for powers of 1024. */
int cli_number(const struct cli *c, const char *option, uint64_t min, uint64_t max, uint64_t *ret);
/* The same for any text; what names it in the error. */
int cli_parse_number(const struct cli *c, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *ret);

/* "heddle VERB: error: what and where", then what to do (hint may be NULL). Returns CLI_FAILED.
 * With
 * --json it goes into the result instead, under "errors". */
int cli_error(const struct cli *c, const char *hint, const char *fmt, ...) HD_PRINTF(3, 4);
void cli_warn(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* The same for a wrong value on the command line. Returns CLI_USAGE. */
int cli_usage(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* The same for options and operands that the verb does not have, or lacks: with the verb's usage.
 */
int cli_misuse(const struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Makes text from elsewhere fit for a terminal, in place: what would move its cursor, or is no
 * UTF-8, becomes '?'; tabs and line ends stay. */
void cli_plain(char *text, size_t len);
/* Diagnostics with source line and caret, on standard error. */
void cli_show_diags(const struct diag_list *d);

/* Writes and empties c->out; a failure is told at the end. */
void cli_emit(struct cli *c);
/* A whole file, or standard input for "-"; the caller frees. Returns 0, or CLI_FAILED, said. */
int cli_read_file(const struct cli *c, const char *path, char **ret_text, size_t *ret_len);
/* A whole file, written anew; also says where data has failed. hint: what to do where the file
 * cannot be written. CLI_OK, or CLI_FAILED, said. */
int cli_write_file(
	const struct cli *c, const char *path, const char *hint, const struct strbuf *data);
/* A new folder in $TMPDIR or /tmp, with so short a path that a socket may lie in it. 0 or negative
 * errno. */
int cli_make_folder(const char *kind, char ret_path[64]);
void cli_remove_folder(const char *path); /* with all that is in it */
/* A part of the text that is shown without --json. What ends a line goes out at once. */
void cli_show(struct cli *c, const char *fmt, ...) HD_PRINTF(2, 3);
/* Opens the JSON object every --json starts with: schema and command. json_end(j, '}') closes it.
 * Without --json the object goes nowhere: a verb may write both that and its text (cli_show). */
void cli_json_open(struct cli *c, struct json *j, unsigned schema);

/* What belongs to the installation: part ("shim/libcuda.so.1") in the folder of parts, which is
 * found from this program's own place; or build_path ("src/shim/libcuda.so.1") in a build folder,
 * beside this program. part NULL: beside this program only. The caller frees. 0 or -ENOENT. */
int cli_find_part(const char *part, const char *build_path, char **ret_path);

/* ---- the frame ---- */
/* Puts what was said with --json into c->out: an object of its own where the result is none. */
void cli_json_errors(struct cli *c);
/* Fills c from argv (what stands behind the verb). 0, or CLI_USAGE, said; -1: help was asked for.
 */
int cli_parse(struct cli *c, int argc, char **argv);
/* The i-th option, the common ones behind the verb's own; NULL past the last. */
const struct cli_option *cli_option_at(const struct cli_verb *v, unsigned i);
/* The verb whose name is nearly so spelt (text_is_near), NULL: none. group: of this group, "ptx",
 * by the second word; NULL: of all, by the first. */
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
