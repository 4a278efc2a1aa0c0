/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds files that are installed as parts of heddle. */
#ifndef HEDDLE_BASE_PART_H
#define HEDDLE_BASE_PART_H

/* Finds an installed file, relative to this program. Returns 0 or -ENOENT; the caller frees
 * *ret_path.
 * - parts: the folder of heddle's libraries, seen from that of the program (HEDDLE_PARTS).
 * - part, such as "shim/libcuda.so.1": the file's path in that folder; NULL: the function does not
 *   look there.
 * - build_path, such as "src/shim/libcuda.so.1": the file's path in a build tree, seen from the
 *   program. */
int part_find(const char *parts, const char *part, const char *build_path, char **ret_path);

#endif
