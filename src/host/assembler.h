/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles PTX in a separate process, for two reasons. The driver's compiler may crash or hang, and
 * must not take a program along. And a process must not call exit while the driver compiles in it,
 * since the compiler's data is freed then, and the compiler crashes. A library needs no context to
 * be compiled, and the result is in the driver's cache on disk, from which the program loads it.
 * (assembler.c, assembler_main.c) */
#ifndef HEDDLE_DEV_ASSEMBLER_H
#define HEDDLE_DEV_ASSEMBLER_H

#include <pthread.h>

#include "dev/dev.h"
#include "host/own.h"

#define ASSEMBLER_FILE "heddle-assembler"
#define ASSEMBLER_PART "shim/" ASSEMBLER_FILE /* among the parts; and src/ in a build folder */
/* The assembler's descriptor of the socket for requests, SOCK_SEQPACKET. A request has two paths,
 * or empty ones, and two descriptors: a file with the PTX, and a pipe for the answer. The answer is
 * one byte. Before it, another byte says that the request has begun, since requests may arrive
 * before the assembler runs. */
#define ASSEMBLER_FD    3
#define ASSEMBLER_BEGUN 'b'
#define ASSEMBLER_DONE  'd' /* in the driver's cache, if it has one */
#define ASSEMBLER_WRONG 'w' /* the driver refuses it */
#define ASSEMBLER_LATE  'l' /* it takes too long; the assembler has ended */

/* A staged file, which becomes permanent once the matching code is compiled. */
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

/* A client, and the process that answers: started by the first request, and again after it has
 * ended, since it ends when idle for a while. */
struct assembler {
	const struct cu_api *cu; /* borrowed */
	char path[4096];         /* of the program */
	unsigned limit_s;        /* 0: none, and several requests at a time */
	pthread_mutex_t lock;    /* guards the fields below */
	struct own_fd sock;
	bool lacking; /* it does not start here */
	bool starts;  /* it has started before */
	/* with a limit: held during a request, so that a crash can be attributed to it */
	pthread_mutex_t turn;
};

#define ASSEMBLER_LIMIT_S 300 /* the default limit */
/* path: absolute, copied. If it is too long or names no program, nothing is compiled apart. */
void assembler_init(
	struct assembler *a, const struct cu_api *cu, const char *path, unsigned limit_s);
/* For later requests. No thread may be waiting. */
void assembler_limit(struct assembler *a, unsigned limit_s);
/* No thread may be waiting. Pending requests are still completed. */
void assembler_finish(struct assembler *a);
/* Waits until the text is compiled for dev, outside all driver calls. s, or NULL: kept on success;
 * after ASSEMBLED_NOT the caller still owns it. ret_ms, or NULL: the compile time. Any thread. */
enum assembled assemble(struct assembler *a, CUdevice dev, const char *text, size_t len,
	const struct staged *s, double *ret_ms);

#endif
