/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The environment variables of heddle (environment.def): reads their values, and reports invalid
 * ones. In a set-uid program no variable counts and none is reported (secure_getenv). */
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

/* A NUMBER's value: the default if it is not set, empty, or not a number in its range. */
uint64_t env_number(enum env_variable which);

/* A WORDS variable's value: the default if it is not set, empty, or none of its words. */
const char *env_word(enum env_variable which);

/* Calls say once for each variable that begins with HEDDLE_ and is not in the table, or has an
 * invalid value. which: ENV_VARIABLES for a name that is not in the table. line: one sentence,
 * without a newline. */
void env_check(void (*say)(void *user, enum env_variable which, const char *line), void *user);

#endif
