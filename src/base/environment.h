/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the values of heddle's environment variables (environment.def), and reports invalid ones.
 * In a set-uid program all variables are ignored, and none is reported (secure_getenv). */
#ifndef HEDDLE_ENVIRONMENT_H
#define HEDDLE_ENVIRONMENT_H

#include "base/base.h"

enum env_variable {
#define WORDS(id, name, words, otherwise)     ENV_##id,
#define NUMBER(id, name, min, max, otherwise) ENV_##id,
#define TEXT(id, name)                        ENV_##id,
#include "base/environment.def"
#undef WORDS
#undef NUMBER
#undef TEXT
	ENV_VARIABLES,
};

/* Returns the value of a NUMBER variable, or its default if it is not set, empty, or not a number
 * in its range. */
uint64_t env_number(enum env_variable which);

/* Returns the value of a WORDS variable, or its default if it is not set, empty, or not one of its
 * words. */
const char *env_word(enum env_variable which);

/* Calls say once for each variable that begins with HEDDLE_ and is unknown or has an invalid value.
 * `which` is the variable, or ENV_VARIABLES if the name is unknown. `line` is one sentence without
 * a newline. */
void env_check(void (*say)(void *user, enum env_variable which, const char *line), void *user);

#endif
