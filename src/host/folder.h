/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The folder of this user with files that heddle keeps for the program's next start, such as
 * rewritten code. Files in it become code in this user's programs. So a folder is valid only if it
 * belongs to this user and no other user can write to it. File names are resolved relative to the
 * folder that was checked. */
#ifndef HEDDLE_HOST_FOLDER_H
#define HEDDLE_HOST_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the folder. Returns a descriptor with close-on-exec set, or a negative errno. -EPERM means
 * that the folder is not valid. */
int folder_open(const char *path);
/* Renames the file tmp to path, in the same folder. On failure removes tmp, if the folder is still
 * valid. */
bool folder_keep(const char *tmp, const char *path);
/* If the files in the folder take more than max_bytes, removes the least recently written or read
 * files until the rest takes at most seven eighths of max_bytes. Also removes files that have been
 * unfinished for more than a day. */
void folder_trim(int folder, uint64_t max_bytes);

#endif
