/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim: a libcuda.so.1 that a program finds before the driver's own. Functions that the shim
 * does not handle jump to the real driver. The shim handles launches, code loading, and calls that
 * must not block while a launch is preempted (doc/architecture.md).
 *
 * Invariants:
 * - The shim prints at most one line, when it gives up on heddled or on heddled's MPS server. It
 *   also warns about wrong values of its environment variables.
 * - It never exits.
 * - The program gets the driver's own result codes.
 * - Without a daemon every call is passed on. */
#ifndef HEDDLE_SHIM_H
#define HEDDLE_SHIM_H

#include "base/base.h"
#include "dev/dev.h"
#include "host/own.h"
#include "wire/wire.h"

#define SHIM_HIGH 2 /* from this priority on, no other tenant waits for this one */

#define SHIM_API __attribute__((visibility("default")))

/* ---- the real driver (driver.c) ---- */
extern struct cu_api cu; /* filled by shim_driver */
/* Finds and loads the real driver, once. NULL: there is none. */
const struct cu_api *shim_driver(void);
void *shim_real(const char *symbol); /* in the real driver, or NULL */
/* The result of a function that the real driver lacks. */
CUresult shim_lacking(void);
/* Goes at the start of each handled function. Loads the driver if necessary. If the driver lacks
 * the function, returns CUDA_ERROR_NOT_SUPPORTED; if there is no driver, CUDA_ERROR_NO_DEVICE. Then
 * selects the session of the current device. */
#define SHIM_NEED(fn)                                                          \
	do {                                                                   \
		if (__builtin_expect(!cu.fn, 0) && (!shim_driver() || !cu.fn)) \
			return shim_lacking();                                 \
		shim_route();                                                  \
	} while (0)

/* Does what SHIM_NEED does, for variants that are not in `cu`: declares fn as the driver's
 * function, or returns if the driver lacks it. */
#define SHIM_REAL(fn, type, symbol)                            \
	static type real;                                      \
	type fn = __atomic_load_n(&real, __ATOMIC_RELAXED);    \
	if (!fn) {                                             \
		fn = (type)shim_real(#symbol);                 \
		__atomic_store_n(&real, fn, __ATOMIC_RELAXED); \
	}                                                      \
	if (!fn)                                               \
		return shim_lacking();                         \
	shim_route();
/* Defines both variants of a function for the default stream: one for the legacy default stream,
 * and one for the per-thread default stream (_ptsz). */
#define SHIM_TWICE(name, params, call_legacy, call_own) \
	SHIM_API CUresult name params;                  \
	CUresult name params                            \
	{                                               \
		return call_legacy;                     \
	}                                               \
	SHIM_API CUresult name##_ptsz params;           \
	CUresult name##_ptsz params                     \
	{                                               \
		return call_own;                        \
	}
static inline CUstream shim_stream(CUstream stream, bool own)
{
	return stream ? stream : own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* Prints one line on standard error: "heddle: ", then `text` and `more`. */
void shim_say(const char *text, const char *more);
/* Prints one line on standard error. Later calls in the same process print nothing. */
void shim_warn(const char *why);
#define REPORT_MS 200 /* timeout for heddle run -v */
/* Tells `heddle run -v`, if it listens, why this process is no tenant (yet). A failure does no
 * harm. */
void shim_tell_watcher(const char *why);

/* ---- the daemon (hello.c) ---- */
enum shim_mode {
	SHIM_UNKNOWN, /* not yet asked for the daemon */
	SHIM_NATIVE,  /* There is no daemon, and none will come. All calls are passed on. */
	/* There is no daemon yet, and a thread looks for one. All calls are passed on, and the shim
	 * keeps records of loaded code for later. */
	SHIM_LATER,
	SHIM_ON,
};
struct shim {
	_Atomic int mode;
	_Atomic bool dead; /* no daemon decides: all is granted, launches are unmanaged */
	/* true from the loss of a daemon until HELLO is sent to the next one. During that time the
	 * shim itself writes the whole page. false before the first connection: there is no page
	 * yet. */
	_Atomic bool alone;
	_Atomic unsigned joins; /* HELLOs so far */
	struct wire_page *page;
	/* Only the agent thread changes these, under the lock of hello.c. After a connection has
	 * ended, `sock` stays open until the next connection. */
	struct own_fd sock, kick, wake; /* eventfds: the daemon's; the agent's */
	struct own_fd page_fd;          /* for the next daemon */
	struct wire_welcome welcome;
	/* The context whose launches are managed. NULL: that context has ended, and the next
	 * launch's context will replace it. */
	_Atomic(CUcontext) ctx;
	CUdevice dev;
	uint32_t cc, n_sms;
	uint32_t max_grid[3];         /* blocks of a grid in each dimension */
	uint32_t free_regs;           /* registers of a thread with a full SM */
	uint32_t order;               /* enum pass_order of all forms (HEDDLE_ORDER) */
	_Atomic CUdeviceptr page_dev; /* the page as the device sees it; 0: no launch is managed */
	CUstream helper;
	int low_priority; /* for streams of a tenant of low priority; before it is known: 0 */
	int top_priority; /* the most urgent that the device knows: 0 or less */
	_Atomic unsigned captures;          /* stream captures begun and not ended */
	_Atomic unsigned load_waits, waits; /* statistics for tests: fences that had to wait */
};
/* A program is a tenant on each device on which it launches. It has one session (struct shim) for
 * each device; the device's number is the session's index. The last session stands for all devices
 * with higher numbers than the others; launches on those devices are never managed. */
#define SHIM_DEVICES  16
#define SHIM_SESSIONS (SHIM_DEVICES + 1)
extern struct shim shims[SHIM_SESSIONS];
/* The session of the calling thread.
 * - While the program calls the driver, it is the session of the current context's device, or of
 *   the device that an argument of the call names.
 * - A thread that the shim started always keeps the same session. */
extern __thread struct shim *shim __attribute__((tls_model("initial-exec")));
extern _Atomic unsigned shim_n_devices; /* that the program sees; 0: not known yet */

static inline unsigned shim_at(void)
{
	return (unsigned)(shim - shims);
}
/* How many sessions there may be. */
static inline unsigned shim_sessions(void)
{
	return __builtin_expect(shim_n_devices <= 1, 1) ? 1
	       : shim_n_devices > SHIM_DEVICES          ? SHIM_SESSIONS
							: shim_n_devices;
}
void shim_count_devices(void);
void shim_route_by_context(void);
static inline void shim_route(void)
{
	if (__builtin_expect(shim_n_devices > 1, 0))
		shim_route_by_context();
}
void shim_route_to(CUdevice dev);

/* Makes the program a tenant on the current context's device; afterwards `mode` is not
 * SHIM_UNKNOWN. Does nothing if there is no current context. If the program sees several devices,
 * does nothing either unless the call is a launch, because a program may prepare more devices than
 * it uses. */
void shim_start(bool is_launch);
/* Returns true if the shim handles this call, that is, if the program is a tenant on the session's
 * device. */
static inline bool shim_on(void)
{
	int mode = __atomic_load_n((int *)&shim->mode, __ATOMIC_ACQUIRE);

	if (__builtin_expect(mode == SHIM_UNKNOWN, 0)) {
		shim_start(false);
		mode = __atomic_load_n((int *)&shim->mode, __ATOMIC_ACQUIRE);
	}
	return mode == SHIM_ON;
}
/* Call this before shim_on, for a launch. It makes the program a tenant on the device. If the
 * tenant's context has ended, it continues in the current context. */
static inline void shim_launches(void)
{
	int mode = __atomic_load_n((int *)&shim->mode, __ATOMIC_ACQUIRE);

	if (__builtin_expect(mode == SHIM_UNKNOWN || (mode == SHIM_ON && !shim->ctx), 0))
		shim_start(true);
}
/* Returns false only if it is certain that there is no daemon and none will come. */
static inline bool shim_maybe(void)
{
	return __atomic_load_n((int *)&shim->mode, __ATOMIC_RELAXED) != SHIM_NATIVE;
}
/* A word of the page. */
static inline uint32_t page_load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
/* As granted, or as `heddle set` changed it since. Without a page: the highest, because there is no
 * other tenant to yield to. */
static inline int shim_priority(void)
{
	const struct wire_page *p = __atomic_load_n(&shim->page, __ATOMIC_ACQUIRE);

	return p ? (int)MIN(page_load(&p->priority), (uint32_t)INT32_MAX) : INT32_MAX;
}
/* For a stream that is created with this priority: that of a tenant of low priority is the
 * hardware's lowest, so that work that the shim does not manage yields to other programs. */
static inline int shim_stream_priority(int priority)
{
	return shim_priority() > 0 ? priority
				   : __atomic_load_n(&shim->low_priority, __ATOMIC_RELAXED);
}
void shim_kick(void); /* tells the daemon to read the page */
/* Writes 1 to the eventfd shim->kick (wakes heddled) or shim->wake (wakes the agent). Returns false
 * if the program has closed this descriptor or the socket. After that, the shim never again uses
 * shim->sock, shim->kick or shim->wake. */
bool shim_ring(const struct own_fd *o);
/* Checks, like shim_ring but without writing, that the program has not closed the descriptor. The
 * agent calls this before each use of shim->wake or shim->sock. */
bool shim_has_fd(const struct own_fd *o);
uint64_t shim_now_ns(void);
/* Starts a detached thread for the caller's session. All signals are blocked in it, so that the
 * program's handlers run on the program's own threads. Returns 0 or a negative errno. */
int shim_thread(void *(*fn)(void *));
/* Call these around the shim's own driver calls. They make the shim's context current, and keep the
 * program's stream captures intact. */
struct shim_inside {
	CUstreamCaptureMode mode;
	bool pushed, exchanged;
};
CUresult shim_enter(struct shim_inside *in);
void shim_leave(struct shim_inside *in);

#endif
