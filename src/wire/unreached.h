/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Why heddled's socket cannot be used, in words: which path, whose it is, and what to do. */
#ifndef HEDDLE_WIRE_UNREACHED_H
#define HEDDLE_WIRE_UNREACHED_H

#include <stdbool.h>

struct wire_unreached {
	char what[320], todo[200];
	/* No heddled runs there, but one could be started. */
	bool is_none;
};

/* Looks at the files around a socket. path: as wire_socket_path returned it, also if it failed.
 * by_folder: error is that of wire_socket_path; else of wire_connect or of the conversation. error:
 * a negative errno. Makes system calls only, so it may run in any thread of any process. */
void wire_unreached(const char *path, bool by_folder, int error, struct wire_unreached *ret);

#endif
