/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds the command of an example program in a stage, and parses the program's output as JSON
 * lines. */
#ifndef HEDDLE_STAGE_COMMAND_H
#define HEDDLE_STAGE_COMMAND_H

#include <jansson.h>

#include "stage/stage.h"

struct stage_command {
	char *argv[40];
	char *env[12];
	unsigned n_argv, n_env;
	char text[12][160]; /* storage for those strings of argv and env that this code formats */
	unsigned n_text;
	char *program; /* path of the program; the caller frees it */
};

/* Formats a string into k->text, where it lives as long as k. */
char *stage_command_say(struct stage_command *k, const char *fmt, ...) HD_PRINTF(2, 3);
/* Adds an option and its value, which must live as long as k. */
void stage_command_add(struct stage_command *k, const char *option, const char *value);
/* Builds the command line that runs program p in stage s. In a managed stage the command line
 * begins with "heddle run" and the given option and value. Then come the program, its size, and the
 * options that all programs of `run` have in common (API, check, reference). Returns CLI_OK, or
 * CLI_FAILED after it reports that the program was not found. */
int stage_command_begin(struct stage *s, const struct stage_run *run, const struct stage_program *p,
	const char *option, const char *value, struct stage_command *k);
/* Starts the program. If `listening` is set, the program reads commands from a pipe. Frees
 * k->program. Returns CLI_OK, or CLI_FAILED after it reports the reason. */
int stage_command_start(
	struct stage *s, struct stage_command *k, bool listening, struct child *ret);

/* Calls fn for each line of text that is a JSON object. The call modifies text. NULL counts as
 * empty text. */
void stage_each_line(char *text, void (*fn)(void *user, const json_t *o), void *user);
/* Returns the positive number at key, or 0 if there is none. */
uint64_t stage_get_u64(const json_t *o, const char *key);

/* The result that a program prints in its last output line. */
struct stage_verdict {
	bool passed;
	unsigned checked, wrong;
	uint64_t blocks;
};
/* Parses a verdict. Returns false if o is not one. */
bool stage_read_verdict(const json_t *o, struct stage_verdict *ret);

#endif
