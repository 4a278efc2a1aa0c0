/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares two cubins. */
#ifndef HEDDLE_TESTS_PTX_ELF_SAME_H
#define HEDDLE_TESTS_PTX_ELF_SAME_H

/* Returns NULL if both files hold the same bytes, or the same sections except those that record
 * the PTX's text or lines. Otherwise returns what differs (a static string). */
const char *elf_differ(const char *path_a, const char *path_b);

#endif
