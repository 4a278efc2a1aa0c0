/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles PTX in a separate process (the assembler), for two reasons:
 * - The driver's compiler may crash or hang, which must not affect the program.
 * - A process must not call exit while the driver compiles in it, because exit frees the compiler's
 *   data, and then the compiler crashes.
 *
 * The assembler compiles the PTX as a library of the driver API, which needs no context. The result
 * is in the driver's cache on disk, from which the program loads it (assembler.c,
 * assembler_main.c). */
#ifndef HEDDLE_HOST_ASSEMBLER_H
#define HEDDLE_HOST_ASSEMBLER_H

#include <pthread.h>

#include "dev/dev.h"
#include "host/fd.h"

#define ASSEMBLER_FILE "heddle-assembler"
/* path among the installed parts; in a build folder, src/ is before it */
#define ASSEMBLER_PART "shim/" ASSEMBLER_FILE
/* In the assembler, the number of the socket for requests (SOCK_SEQPACKET).
 *
 * A request contains:
 * - two paths, which can be empty
 * - two descriptors: a file with the PTX, and a pipe for the reply
 *
 * The reply consists of two bytes:
 * - ASSEMBLER_BEGUN: the assembler has begun this request. Requests can arrive before it runs.
 * - the result: one of the other values below */
#define ASSEMBLER_FD    3
#define ASSEMBLER_BEGUN 'b'
#define ASSEMBLER_DONE  'd' /* compiled; the result is in the driver's cache, if it has one */
#define ASSEMBLER_WRONG 'w' /* the driver refuses the text */
#define ASSEMBLER_LATE  'l' /* compiling took too long, and the assembler has ended */

/* A temporary file of the cache. It becomes permanent once the code for it has compiled. */
struct staged {
	char tmp[4200], path[4096];
};

enum assembled {
	ASSEMBLED,
	ASSEMBLED_WRONG, /* the text does not compile */
	ASSEMBLED_DIED,  /* the assembler crashed while it compiled the text */
	ASSEMBLED_LATE,  /* not compiled within the limit */
	ASSEMBLED_NOT,   /* no assembler can run here */
};

/* The connection to the assembler process. The first request starts the process. The process ends
 * when it is idle for a while, and the next request starts it again. */
struct assembler {
	const struct cu_api *cu; /* borrowed */
	char path[4096];         /* path of its executable */
	/* time limit of a request in s; 0: no limit, and several requests at a time */
	unsigned limit_s;
	pthread_mutex_t lock; /* guards the fields below */
	struct host_fd sock;
	bool lacking; /* it cannot be started here */
	bool starts;  /* it has begun a request before */
	/* held during each request if there is a time limit, so that a crash can be attributed to
	 * the request */
	pthread_mutex_t turn;
};

#define ASSEMBLER_LIMIT_S 300 /* the default limit */
/* Initialises the client. `path` is the absolute path of the assembler's executable, and is copied.
 * If it is too long or is no executable, assemble returns ASSEMBLED_NOT. */
void assembler_init(
	struct assembler *a, const struct cu_api *cu, const char *path, unsigned limit_s);
/* Sets the limit for later requests. No thread may be waiting for a reply. */
void assembler_limit(struct assembler *a, unsigned limit_s);
/* Releases the client. No thread may be waiting for a reply. The assembler still completes pending
 * requests. */
void assembler_finish(struct assembler *a);
/* Waits until the text is compiled for dev. Any thread can call this, but not during a driver call.
 * `s` is the temporary file of the cache for this text, or NULL. On success the file becomes
 * permanent; after ASSEMBLED_NOT it still belongs to the caller. Stores the compile time in
 * *ret_ms, unless ret_ms is NULL. */
enum assembled assemble(struct assembler *a, CUdevice dev, const char *text, size_t len,
	const struct staged *s, double *ret_ms);

#endif
