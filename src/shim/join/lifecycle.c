/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Calls the modules' functions of lifecycle.def: when a session opens, when a context of the program
 * ends, and in the child after a fork. */
#include "shim/join/lifecycle.h"

#include "shim/core/inside.h"
#include "shim/form/locals.h"
#include "shim/form/making.h"
#include "shim/form/placing.h"
#include "shim/form/remember.h"
#include "shim/form/rewrite.h"
#include "shim/form/symbols.h"
#include "shim/join/rejoin.h"
#include "shim/join/start.h"
#include "shim/launch/admit.h"
#include "shim/launch/managed.h"
#include "shim/launch/record.h"
#include "shim/order/ctlpool.h"
#include "shim/order/fence.h"
#include "shim/order/follow.h"
#include "shim/order/helpers.h"
#include "shim/order/hold.h"
#include "shim/order/launches.h"
#include "shim/order/stream.h"
#include "shim/order/sync.h"
#include "shim/plain/gate.h"

#include <pthread.h>
#include <stdatomic.h>

typedef void (*ends_fn)(struct session *session, const struct session_ends *ends);

static const struct module {
	bool is_any; /* called for all contexts */
	bool (*open)(struct session *session);
	ends_fn pause, forget, resume;
} modules[] = {
#define OURS                                             false
#define ANY                                              true
#define NONE                                             NULL
#define SESSION(part, when, open, pause, forget, resume) {when, open, pause, forget, resume},
#define CONTEXT(name, when, pause, forget, resume)       {when, NULL, pause, forget, resume},
#define PROCESS(file, after_fork)
#define STAYS(file, why)
#include "shim/join/lifecycle.def"
#undef SESSION
#undef CONTEXT
#undef PROCESS
};

static void (*const after_forks[])(void) = {
#define SESSION(part, when, open, pause, forget, resume)
#define CONTEXT(name, when, pause, forget, resume)
#define PROCESS(file, after_fork) after_fork,
#include "shim/join/lifecycle.def"
};

static bool open_parts(struct session *session)
{
	bool ok = true;

	for (size_t i = 0; i < ARRAY_LEN(modules) && ok; i++)
		ok = !modules[i].open || modules[i].open(session);
	return ok;
}

static bool concerns(const struct module *m, bool is_ours)
{
	return m->is_any || is_ours;
}

void lifecycle_pause(struct session *session, bool is_ours)
{
	struct session_ends ends = {NULL, is_ours};

	for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
		if (modules[i].pause && concerns(&modules[i], is_ours))
			modules[i].pause(session, &ends);
	}
}

void lifecycle_resume(struct session *session, bool is_ours, CUcontext ended)
{
	/* A reset of a device ends its primary context, which need not be the session's. */
	struct session_ends ends = {ended, is_ours && ended && ended == session->ctx};

	for (size_t i = ARRAY_LEN(modules); ended && i-- > 0;) {
		if (modules[i].forget && concerns(&modules[i], ends.is_ours))
			modules[i].forget(session, &ends);
	}
	for (size_t i = ARRAY_LEN(modules); i-- > 0;) {
		if (modules[i].resume && concerns(&modules[i], is_ours))
			modules[i].resume(session, &ends);
	}
}

/* In the child after a fork there are no threads of the shim. CUDA does not survive a fork. So if
 * the parent had begun to use a session, the child passes every call on. */
static void after_fork(void)
{
	bool begun = false;

	for (unsigned i = 0; i < SHIM_SESSIONS; i++)
		begun |= sessions[i].page || sessions[i].ctx;
	for (size_t i = 0; i < ARRAY_LEN(after_forks); i++) {
		if (after_forks[i])
			after_forks[i]();
	}
	sessions_after_fork(begun);
}

static void __attribute__((constructor)) begin(void)
{
	static const struct session_calls calls = {open_parts, start_session};

	sessions_begin(&calls);
	pthread_atfork(NULL, NULL, after_fork);
}
