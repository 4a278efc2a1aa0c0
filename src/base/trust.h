/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether a file can be trusted: its owner is this user or root, and no other user can
 * write to it or replace it. */
#ifndef HEDDLE_BASE_TRUST_H
#define HEDDLE_BASE_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Returns 0, or -EPERM; then ret_why says what is wrong and what to do, without the file's name. */
int trust_file(const struct stat *st, char *ret_why, size_t size);
/* The same for the folder that holds the file at this path; -EPERM, too, if there is no such folder. In
 * a sticky folder, such as /tmp, others cannot replace the file. */
int trust_folder_of(const char *path, char *ret_why, size_t size);

#endif
