/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares two cubins. */
#ifndef HEDDLE_TESTS_PTX_ELF_SAME_H
#define HEDDLE_TESTS_PTX_ELF_SAME_H

/* NULL when they hold the same bytes; or the same sections but for those that record the text or
 * the lines of the PTX. Else what differs (a static string). */
const char *elf_differ(const char *path_a, const char *path_b);

#endif
