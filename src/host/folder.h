/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The folder with files for the next start. Its files become code in this user's programs. So a
 * folder is valid only if it belongs to this user and no other user can write to it. File names are
 * looked up relative to the checked folder. */
#ifndef HEDDLE_DEV_FOLDER_H
#define HEDDLE_DEV_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor, close-on-exec, or a negative errno (-EPERM: not a valid folder). */
int folder_open(const char *path);
/* Renames tmp, in the same folder, to path. On failure removes tmp, if the folder is still
 * valid. */
bool folder_keep(const char *tmp, const char *path);
/* If the folder takes more than max bytes, removes the least recently used files (by writing, or a
 * reader's touch) until it takes at most seven eighths of that. Also removes unfinished files. */
void folder_trim(int folder, uint64_t max_bytes);

#endif
