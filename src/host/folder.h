/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The folder in which files are kept for the next start. What lies there becomes code of this
 * user's programs: only a folder counts that is this user's and that nobody else may write to,
 * and names are looked up in the one that was looked at. */
#ifndef HEDDLE_DEV_FOLDER_H
#define HEDDLE_DEV_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor, close-on-exec, or negative errno (-EPERM: not such a folder). */
int folder_open(const char *path);
/* tmp, which is in the same folder, gets the name path there. Else it is removed, unless the folder
 * does not count any more. */
bool folder_keep(const char *tmp, const char *path);
/* Until what is kept in it takes at most seven eighths of max bytes, removes what was used
 * (written, or touched by a reader) longest ago, if it takes more than max; and what was never
 * finished. */
void folder_trim(int folder, uint64_t max_bytes);

#endif
