/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX is compiled by a process of the shim's own, so that the program can end at any time: while
 * the driver compiles in a process, that must not call exit (what the compiler works with is gone
 * then, and it crashes). A library needs no context to be compiled, and what was compiled is in the
 * driver's cache on disk: the program loads it from there. (assembler.c, assembler_main.c) */
#ifndef HEDDLE_SHIM_ASSEMBLER_H
#define HEDDLE_SHIM_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>

#define ASSEMBLER_FILE "heddle-assembler" /* beside the shim */
/* The assembler's descriptor of the socket over which requests come, SOCK_SEQPACKET. A request is
 * one byte and two descriptors: a file that holds the PTX, and a pipe for the answer, of one byte,
 * ahead of which another says that it is begun: requests may be there before the assembler is. */
#define ASSEMBLER_FD    3
#define ASSEMBLER_BEGUN 'b'
#define ASSEMBLER_DONE  'd' /* in the driver's cache, as far as there is one */
#define ASSEMBLER_WRONG 'w' /* the driver does not take it */

/* A file that is to be kept once what belongs to it is there (cache.c). */
struct staged {
	char tmp[4200], path[4096];
};

enum assembled {
	ASSEMBLED,
	ASSEMBLED_WRONG, /* does not compile, or the assembler died of it */
	ASSEMBLED_NOT,   /* there is no assembler here */
};
/* Waits until it is compiled, in no call of the driver. s, or NULL: is kept then; if it is
 * ASSEMBLED_NOT, s is still the caller's. */
enum assembled assemble(const char *text, size_t len, const struct staged *s);

#endif
