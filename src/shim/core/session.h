/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sessions: what the shim keeps for each device on which the program is a tenant of heddled. */
#ifndef HEDDLE_SHIM_SESSION_H
#define HEDDLE_SHIM_SESSION_H

#include "host/client.h"
#include "shim/core/driver.h"
#include "shim/core/lock.h"
#include "shim/core/say.h"
#include "wire/wire.h"

#include <pthread.h>

#define SHIM_HIGH 2 /* no other tenant waits for a tenant of this or a higher priority */

enum shim_mode {
	SHIM_UNKNOWN, /* the shim has not looked for a daemon yet */
	SHIM_NATIVE,  /* There is no daemon, and none will come. All calls are passed on. */
	/* There is no daemon yet, and a thread looks for one. All calls are passed on, and the shim
	 * keeps records of loaded code for later. */
	SHIM_LATER,
	SHIM_ON,
};
/* A program is a tenant on each device on which it launches, and has one session for each. The
 * session of a call is found once, at the start of the call (SHIM_NEED), and is passed on as an
 * argument. Threads of the shim get theirs when they start. */
struct session {
	unsigned index;      /* index in `sessions` */
	struct lock fd_lock; /* guards the descriptors of `client` */
	bool fds_lost;       /* the program has closed one of these descriptors */
	/* Parts of the modules: join/lifecycle.def has a row for each. */
	struct fence *fence;
	struct following *following;
	struct joining *joining;
	struct keeper *keeper;
	struct launches *launches;
	struct loaded *loaded;
	struct inside *inside;
	struct hold *hold;
	struct placing *placing;
	struct pool *pool;
	struct helpers *helpers;
	struct rejoin *rejoin;
	struct streams *streams;
	struct symbols *symbols;
	struct compiled *closer;
	/* copy.c: the program has made a copy since its last launch */
	_Atomic bool copied;
	/* sync.c: number of times that the program has waited, plus 1 */
	_Atomic unsigned synced;
	/* opaque.c: 1 + opaque_completed when a wait last ended in vain */
	_Atomic uint32_t gave_up;
	_Atomic uint32_t lowest_rank; /* managed.c: lowest rank of all launches so far */
	/* locals.c: local memory per thread that the driver has reserved, in bytes */
	_Atomic uint32_t locals;

	_Atomic int mode;
	_Atomic bool dead; /* no daemon decides: all launches may run, and new ones are unmanaged */
	/* true from the loss of a daemon until HELLO is sent to the next one. During that time the
	 * shim itself writes the whole page. false before the first connection: there is no page
	 * yet. */
	_Atomic bool alone;
	_Atomic unsigned joins; /* number of HELLOs so far */
	struct wire_page *page; /* the page of `client`, once it can be used */
	/* The connection to heddled. Only the agent thread changes the descriptors, under fd_lock.
	 * After a connection has ended, `sock` stays open until the next connection. */
	struct host_client client;
	/* The context whose launches are managed. NULL: that context has ended, and the next
	 * launch's context will replace it. */
	_Atomic(CUcontext) ctx;
	CUdevice dev;
	uint32_t cc, n_sms;
	uint32_t max_grid[3]; /* maximum number of blocks in each grid dimension */
	/* registers that each thread can have if the SM is full of threads */
	uint32_t free_regs;
	uint32_t order; /* enum pass_order, the same for all forms (HEDDLE_ORDER) */
	/* address of the page on the device; 0: no launch is managed */
	_Atomic CUdeviceptr page_dev;
	CUstream helper;
	int low_priority; /* for streams of a tenant of low priority; before it is known: 0 */
	int top_priority; /* the device's most urgent stream priority, 0 or less */
	/* number of stream captures that have begun and not ended */
	_Atomic unsigned captures;
	/* for tests: how many fences had to wait (load_waits: while loading code) */
	_Atomic unsigned load_waits, waits;
};
/* The sessions, by device number. The last one stands for all devices with higher numbers than the
 * others; launches on those devices are never managed. */
#define SHIM_DEVICES  16
#define SHIM_SESSIONS (SHIM_DEVICES + 1)
extern struct session sessions[SHIM_SESSIONS];
/* number of devices that the program sees; 0: not known yet */
extern _Atomic unsigned shim_n_devices;

/* Returns the number of sessions that may exist. */
static inline unsigned shim_sessions(void)
{
	return __builtin_expect(shim_n_devices <= 1, 1) ? 1
	       : shim_n_devices > SHIM_DEVICES          ? SHIM_SESSIONS
							: shim_n_devices;
}
/* Asks the driver for the number of devices, until it is known, and opens their sessions. */
void shim_count_devices(void);
struct session *session_of_context(void);
/* Returns the session of the current context's device; without a current context, the first. */
static inline struct session *session_now(void)
{
	return __builtin_expect(shim_n_devices == 1, 1) ? &sessions[0] : session_of_context();
}
struct session *session_of_device(CUdevice dev);

/* Calls into storeys above this one. */
struct session_calls {
	/* Makes the modules' parts of the session. Returns false if memory is exhausted. */
	bool (*open)(struct session *session);
	/* Makes the program a tenant on the session's device, if its context is current;
	 * afterwards `mode` is not SHIM_UNKNOWN. If the program sees several devices, does nothing
	 * unless the call is a launch, because a program may prepare more devices than it uses. */
	void (*start)(struct session *session, bool is_launch);
};
/* Opens the first session. Call it once, before the program calls the driver. `calls` must stay
 * valid. */
void sessions_begin(const struct session_calls *calls);
/* In the child after a fork: opens the sessions of the parent anew. passes_on: all calls go to the
 * driver (SHIM_NATIVE). */
void sessions_after_fork(bool passes_on);
void session_start(struct session *session, bool is_launch);
/* Returns true if the shim handles this call, that is, if the program is a tenant on the session's
 * device. */
static inline bool shim_on(struct session *session)
{
	int mode = __atomic_load_n((int *)&session->mode, __ATOMIC_ACQUIRE);

	if (__builtin_expect(mode == SHIM_UNKNOWN, 0)) {
		session_start(session, false);
		mode = __atomic_load_n((int *)&session->mode, __ATOMIC_ACQUIRE);
	}
	return mode == SHIM_ON;
}
/* Call this before shim_on, for a launch. It makes the program a tenant on the device. If the
 * tenant's context has ended, it continues in the current context. */
static inline void shim_launches(struct session *session)
{
	int mode = __atomic_load_n((int *)&session->mode, __ATOMIC_ACQUIRE);

	if (__builtin_expect(mode == SHIM_UNKNOWN || (mode == SHIM_ON && !session->ctx), 0))
		session_start(session, true);
}
/* Returns false only if it is certain that there is no daemon and none will come. */
static inline bool shim_maybe(const struct session *session)
{
	return __atomic_load_n((int *)&session->mode, __ATOMIC_RELAXED) != SHIM_NATIVE;
}
/* Loads a word of the page. */
static inline uint32_t page_load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
/* As granted, or as `heddle set` changed it since. Without a page: the highest, because there is no
 * other tenant to yield to. */
static inline int shim_priority(const struct session *session)
{
	const struct wire_page *p = __atomic_load_n(&session->page, __ATOMIC_ACQUIRE);

	return p ? (int)MIN(page_load(&p->priority), (uint32_t)INT32_MAX) : INT32_MAX;
}
/* For a stream that is created with this priority: that of a tenant of low priority is the
 * hardware's lowest, so that work that the shim does not manage yields to other programs. */
static inline int shim_stream_priority(const struct session *session, int priority)
{
	return shim_priority(session) > 0
		       ? priority
		       : __atomic_load_n(&session->low_priority, __ATOMIC_RELAXED);
}
void shim_kick(struct session *session); /* asks the daemon to read the page */
/* Returns false if the program has closed this descriptor or the socket. After that, the shim never
 * again uses the client's socket and eventfds. The agent calls this before each use. */
bool shim_has_fd(struct session *session, const struct host_fd *o);
void shim_poke(struct session *session); /* wakes the agent thread */
/* Returns the current socket in *ret, or false if there is none. */
bool session_socket(struct session *session, struct host_fd *ret);
/* Opens the gate (gate.c) for all launches that wait in streams. Does nothing and returns false if
 * a later HELLO than number `joins` was sent. */
bool session_open_gate(struct session *session, unsigned joins);
/* Starts a detached thread, which gets the session as its argument. All signals are blocked in it, so that the
 * program's handlers run on the program's own threads. Returns 0 or a negative errno. */
int shim_thread(struct session *session, void *(*fn)(void *session));
/* Call these around the shim's own driver calls. They make the shim's context current, and keep the
 * program's stream captures intact. */
struct shim_inside {
	CUstreamCaptureMode mode;
	bool pushed, exchanged;
};
CUresult shim_enter(struct session *session, struct shim_inside *in);
void shim_leave(struct shim_inside *in);

/* SHIM_DRIVER, and declares `session`: that of the current context's device. */
#define SHIM_NEED(fn)                                                  \
	struct session *session;                                       \
	if (__builtin_expect(!cu.fn, 0) && (!shim_driver() || !cu.fn)) \
		return shim_lacking();                                 \
	session = session_now()

/* Does what SHIM_NEED does, for variants that are not in `cu`: declares fn as the driver's
 * function, or returns if the driver lacks it. */
#define SHIM_REAL(fn, type, symbol)                            \
	static type real;                                      \
	type fn = __atomic_load_n(&real, __ATOMIC_RELAXED);    \
	struct session *session;                               \
	if (!fn) {                                             \
		fn = (type)shim_real(#symbol);                 \
		__atomic_store_n(&real, fn, __ATOMIC_RELAXED); \
	}                                                      \
	if (!fn)                                               \
		return shim_lacking();                         \
	session = session_now()

#endif
