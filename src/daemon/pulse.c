/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Times each step of the loop. A step counts as slow whether heddled computed or slept in it, so on
 * an overloaded machine a line can also mean that heddled had no processor. */
#include "pulse.h"
#include "base/number.h"
#include "server.h"

#include <stdlib.h>
#include <unistd.h>

static uint64_t read_clock(const struct server *s)
{
	return s->hd->io.now_ns(s->hd->io.user);
}

void pulse_start(struct server *s)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t me = (uint64_t)getpid(), us;

	if (!usec || number_parse(usec, 1, UINT64_MAX / 1000, &us) < 0 ||
		(pid && number_parse(pid, me, me, &me) < 0))
		return;
	s->pulse.watchdog_ns = us * 1000 / 2;
}

void pulse_begin(struct server *s)
{
	s->pulse.step_ns = read_clock(s);
}

void pulse_step(struct server *s, const char *what, const struct conn *c)
{
	uint64_t now = read_clock(s), took = now - s->pulse.step_ns;

	s->pulse.step_ns = now;
	if (took <= PULSE_SLOW_NS || !hd_log_may(&s->slow, now, HD_LOG_WARNING, "slow steps:"))
		return;
	if (c)
		hd_log("%s of pid %d, uid %u took %.0f ms: other programs waited", what,
			(int)c->cred.pid, (unsigned)c->cred.uid, (double)took / 1e6);
	else
		hd_log("%s took %.0f ms: programs waited", what, (double)took / 1e6);
}

uint64_t pulse_report(struct server *s)
{
	uint64_t now = loop_now(s);

	if (!s->pulse.watchdog_ns)
		return UINT64_MAX;
	if (now >= s->pulse.notify_ns) {
		notify("WATCHDOG=1\n");
		s->pulse.notify_ns = now + s->pulse.watchdog_ns;
	}
	return s->pulse.notify_ns;
}
