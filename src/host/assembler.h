/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX compiled by a process of its own, for two reasons. The driver's compiler may crash, or never
 * come to an end: that takes no program along. And while the driver compiles in a process, that
 * must not call exit (what the compiler works with is gone then, and it crashes). A library needs
 * no context to be compiled, and what was compiled is in the driver's cache on disk: the program
 * loads it from there. (assembler.c, assembler_main.c) */
#ifndef HEDDLE_DEV_ASSEMBLER_H
#define HEDDLE_DEV_ASSEMBLER_H

#include <pthread.h>

#include "dev/dev.h"
#include "host/own.h"

#define ASSEMBLER_FILE "heddle-assembler"
#define ASSEMBLER_PART "shim/" ASSEMBLER_FILE /* among the parts; and src/ in a build folder */
/* The assembler's descriptor of the socket over which requests come, SOCK_SEQPACKET. A request is
 * two paths, or empty ones, and two descriptors: a file that holds the PTX, and a pipe for the
 * answer, of one byte, ahead of which another says that it is begun: requests may be there before
 * the assembler is. */
#define ASSEMBLER_FD    3
#define ASSEMBLER_BEGUN 'b'
#define ASSEMBLER_DONE  'd' /* in the driver's cache, as far as there is one */
#define ASSEMBLER_WRONG 'w' /* the driver does not take it */
#define ASSEMBLER_LATE  'l' /* it takes too long; the assembler has ended */

/* A file that is to be kept once what belongs to it is there. */
struct staged {
	char tmp[4200], path[4096];
};

enum assembled {
	ASSEMBLED,
	ASSEMBLED_WRONG, /* does not compile */
	ASSEMBLED_DIED,  /* the assembler did, while at it */
	ASSEMBLED_LATE,  /* not within the limit */
	ASSEMBLED_NOT,   /* there is no assembler here */
};

/* Who asks, and the process that answers: started with the first request, and again when it has
 * ended, as it does when it has had nothing to do for a while. */
struct assembler {
	const struct cu_api *cu; /* borrowed */
	char path[4096];         /* of the program */
	unsigned limit_s;        /* 0: none, and several requests at a time */
	pthread_mutex_t lock;    /* over what follows */
	struct own_fd sock;
	bool lacking;         /* it does not start here */
	bool starts;          /* it has done so */
	pthread_mutex_t turn; /* with a limit: whose request it is, so that it is known who died */
};

#define ASSEMBLER_LIMIT_S 300 /* for those that have a limit and are told no other */
/* path: absolute, copied; too long a one, or one where no program is: nothing is ever compiled. */
void assembler_init(
	struct assembler *a, const struct cu_api *cu, const char *path, unsigned limit_s);
/* For requests from now on. Nobody is waiting. */
void assembler_limit(struct assembler *a, unsigned limit_s);
/* Nobody is waiting. What was asked for is still done. */
void assembler_finish(struct assembler *a);
/* Waits until it is compiled for dev, in no call of the driver. s, or NULL: is kept then; if it is
 * ASSEMBLED_NOT, s is still the caller's. ret_ms, or NULL: what compiling took. Any thread. */
enum assembled assemble(struct assembler *a, CUdevice dev, const char *text, size_t len,
	const struct staged *s, double *ret_ms);

#endif
