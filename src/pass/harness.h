/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Moves a kernel's body into another kernel, for tests. The caller selects what the move changes
 * for the body: block ids, threads, barrier numbers and so on (PASS_FIELDS). The moved body must
 * compute the same as the original kernel, so tests can check each of these changes alone.
 * fuse/harness.c has the pass. */
#ifndef HEDDLE_HARNESS_H
#define HEDDLE_HARNESS_H

#include "pass/pass.h"

#define PASS_HARNESS_ENTRY "hd_virtual" /* name of the entry */

/* Applies FIELD(id, name, what changes) to each field. */
#define PASS_FIELDS(FIELD)                                                                     \
	FIELD(IDS, "ids", "block ids and grid size are passed in; one more block is launched") \
	FIELD(THREADS, "threads",                                                              \
		"its threads are not the first of the block; thread ids are passed in")        \
	FIELD(COUNTS, "counts",                                                                \
		"as threads, and the other threads stay; its barriers count its own threads")  \
	FIELD(BARRIERS, "barriers",                                                            \
		"its barriers get other numbers; other code uses the original ones")           \
	FIELD(SHARED, "shared",                                                                \
		"1,024 bytes of other variables precede its variables in shared memory")       \
	FIELD(DYNAMIC, "dynamic",                                                              \
		"the size of dynamic shared memory is passed in; more is allocated")           \
	FIELD(PARAMS, "params", "parameters are in global memory")                             \
	FIELD(EXITS, "exits", "all exits lead to one point, where all its threads are counted")
enum pass_field_number {
#define FIELD(id, name, what) PASS_FIELD_NUMBER_##id,
	PASS_FIELDS(FIELD)
#undef FIELD
		PASS_N_FIELDS
};
enum pass_field {
#define FIELD(id, name, what) PASS_FIELD_##id = 1 << PASS_FIELD_NUMBER_##id,
	PASS_FIELDS(FIELD)
#undef FIELD
		PASS_ALL_FIELDS = (1 << PASS_N_FIELDS) - 1
};
extern const char *const pass_field_names[PASS_N_FIELDS];

/* How to launch the new kernel. Its parameters are those of the original kernel, followed by a
 * struct ctl_args that is all zero. */
struct pass_harness {
	uint32_t grid[3], block[3], shared_bytes;
	uint32_t fields; /* the requested fields, and fields that these require */
};

#endif
