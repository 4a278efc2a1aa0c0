/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The main loop: sleeps in epoll until a tenant kicks (wakes) heddled through its eventfd, or a
 * message, a signal or the timer comes. Then it runs one pass of the core. With four processors or
 * more, it polls instead of sleeping in two cases:
 * - During a hand-over, for 50 us or more, because a hand-over is shorter than a sleep.
 * - After a tenant's event, for up to 20 ms, if the next launch may preempt and waking up takes
 *   more than 40 us (130 to 260 us on a halted virtual processor). If the key spin_us is set, it
 *   replaces this time, and heddled polls even if waking up is fast. */
#include "events.h"
#include "server.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS      50000ull
#define LONG_SPIN_NS 20000000ull
#define SLOW_WAKE_NS 40000ull
/* if no event came for this time, the event log is written while polling */
#define FLUSH_NS     200000ull
#define MAX_EVENTS   64
#define JOIN_PART    8u
#define JOIN_WAIT_NS 10000000ull
/* for this time after running out of descriptors, heddled accepts no connections */
#define PAUSE_NS 100000000ull

int loop_watch(struct server *s, struct watch *w, enum watch_kind kind, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	w->kind = kind;
	w->fd = fd;
	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Removes the watch before the descriptor is closed. close alone does not end a watch while another
 * process has the same open file: a tenant has its eventfd, the service manager has the listening
 * socket, and a child has all of them between fork and exec. */
void loop_unwatch(struct server *s, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

static void read_signal(struct server *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int status;
		pid_t pid;

		if (info.ssi_signo == SIGHUP) {
			server_reload(s);
			continue;
		}
		if (info.ssi_signo != SIGCHLD) {
			s->stop = true;
			continue;
		}
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			porter_ended(s, pid);
	}
}

uint64_t loop_now(const struct server *s)
{
	return s->hd->now_ns;
}

/* Records the time at which heddled saw an event of a tenant. slept: heddled slept until this
 * event. Then the time from the tenant's write to its eventfd until now is how long waking up takes
 * on this machine, and is recorded as well. */
static void note_event(struct server *s, const struct conn *c, bool slept)
{
	uint64_t now = loop_now(s), kicked = __atomic_load_n(&c->page->kick_ns, __ATOMIC_RELAXED);
	uint64_t took = now > kicked ? MIN(now - kicked, SPIN_NS * 10) : 0;

	s->event_ns = now;
	if (slept)
		s->wake_ns = MAX(took, s->wake_ns - s->wake_ns / 64);
	s->hd->slow_wake = s->may_spin && s->config->spin_ns && s->wake_ns > SLOW_WAKE_NS;
}

static void handle_event(struct server *s, const struct epoll_event *ev, bool slept)
{
	struct watch *w = ev->data.ptr;
	uint64_t n;

	switch (w->kind) {
	case WATCH_LISTENER:
		conn_accept(s);
		break;
	case WATCH_SIGNAL:
		read_signal(s);
		break;
	case WATCH_TIMER:
		if (read(w->fd, &n, sizeof(n)) < 0)
			break;
		break;
	case WATCH_KICK:
		if (w->conn->tenant && !w->conn->dead) {
			note_event(s, w->conn, slept);
			hd_kicked(s->hd, w->conn->tenant);
		}
		break;
	case WATCH_PID:
		conn_kill(w->conn);
		break;
	case WATCH_MPS:
		mps_ended(s);
		break;
	case WATCH_MPS_ANSWER:
		mps_answered(s);
		break;
	case WATCH_CLAIM:
		reservations_asked(s, w);
		break;
	case WATCH_PORTER:
		porter_answered(s, w);
		break;
	case WATCH_CONN:
		if (w->conn->dead)
			break;
		if (ev->events & EPOLLIN && !w->conn->at_porter)
			conn_readable(s, w->conn);
		else if (ev->events & (EPOLLHUP | EPOLLERR))
			conn_kill(w->conn);
		if (ev->events & EPOLLOUT && !w->conn->dead)
			conn_writable(s, w->conn);
	}
}

static void arm_timer(struct server *s, uint64_t ns)
{
	struct itimerspec t = {0};

	if (ns != UINT64_MAX) {
		ns = ns ? ns : 1;
		t.it_value.tv_sec = (time_t)(ns / 1000000000);
		t.it_value.tv_nsec = (long)(ns % 1000000000);
	}
	timerfd_settime(s->timer.fd, 0, &t, NULL);
}

void loop_pause_listener(struct server *s)
{
	struct epoll_event ev = {.data.ptr = &s->listener};

	if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener.fd, &ev) < 0)
		return;
	if (!s->short_of_fds)
		hd_log("no file descriptors are left: new connections wait until others close");
	s->short_of_fds = true;
	s->listen_ns = loop_now(s) + PAUSE_NS;
}

static void resume_listener(struct server *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &s->listener};

	s->listen_ns = 0;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener.fd, &ev);
}

/* Runs the server's timed tasks; the core has its own. Returns the time in ns until the next
 * task. */
static uint64_t run_clocks(struct server *s)
{
	uint64_t now = loop_now(s), next = keeper_look(s->keeper, now);

	next = MIN(next, porters_look(s));
	next = MIN(next, pulse_report(s));
	if (s->expiry_ns == UINT64_MAX && !s->listen_ns && s->mps <= 0)
		return next == UINT64_MAX ? next : next - MIN(now, next);
	next = MIN(next, conn_expire(s, now));
	if (s->listen_ns && now >= s->listen_ns)
		resume_listener(s);
	if (s->listen_ns)
		next = MIN(next, s->listen_ns);
	next = MIN(next, mps_health(s));
	return next == UINT64_MAX ? next : next - MIN(now, next);
}

/* Returns whether an event of this kind needs a pass of the core in the same turn. A connection's
 * messages that do set pass_now themselves. */
static bool needs_pass(enum watch_kind kind)
{
	return kind != WATCH_LISTENER && kind != WATCH_CONN;
}

/* Runs a pass of the core, and returns the time in ns until the next one.
 *
 * A tenant that joins changes nothing for the others until it has work, and then it wakes heddled.
 * A pass reads every tenant. So if many programs join one after another, a pass is made for several
 * of them: it waits until JOIN_PART times as long has passed as the last pass took, at most
 * JOIN_WAIT_NS. No pass waits that anything else needs, or that the core has asked for. */
static uint64_t run_pass(struct server *s)
{
	uint64_t began = hd_clock(s->hd), ended, next;

	if (!s->pass_now && began < MIN(s->pass_due_ns, s->pass_wait_ns))
		return MIN(s->pass_due_ns, s->pass_wait_ns) - began;
	s->pass_now = false;
	next = hd_run(s->hd);
	ended = hd_clock(s->hd);
	s->pass_due_ns = next < UINT64_MAX - ended ? ended + next : UINT64_MAX;
	s->pass_wait_ns = ended + MIN(JOIN_PART * (ended - began), JOIN_WAIT_NS);
	return next;
}

/* Names of the event kinds for the log (pulse.h). */
static const char *const event_names[] = {
	[WATCH_LISTENER] = "a new connection",
	[WATCH_SIGNAL] = "a signal",
	[WATCH_TIMER] = "the timer",
	[WATCH_CONN] = "a message",
	[WATCH_KICK] = "an event",
	[WATCH_PID] = "the end",
	[WATCH_MPS] = "the end of MPS",
	[WATCH_MPS_ANSWER] = "an answer of MPS",
	[WATCH_CLAIM] = "a question of another heddled",
	[WATCH_PORTER] = "the answer of a porter",
};

static uint64_t run_turn(struct server *s, const struct epoll_event *ev, int n, bool slept)
{
	uint64_t next;

	pulse_begin(s);
	s->pass_now |= n == 0;
	for (int i = 0; i < n; i++) {
		const struct watch *w = ev[i].data.ptr;
		const struct conn *c = w->conn;

		s->pass_now |= needs_pass(w->kind);
		handle_event(s, &ev[i], slept);
		pulse_step(s, event_names[w->kind], c);
	}
	conn_reap(s);
	pulse_step(s, "closing connections", NULL);
	mps_look(s);
	pulse_step(s, "starting MPS again", NULL);
	next = run_pass(s);
	pulse_step(s, "a decision", NULL);
	next = MIN(next, run_clocks(s));
	pulse_step(s, "a timed task", NULL);
	return next;
}

int loop_turn(struct server *s, bool wait, uint64_t *ret_next_ns)
{
	struct epoll_event ev[MAX_EVENTS];
	int n = epoll_wait(s->epoll, ev, MAX_EVENTS, wait ? -1 : 0);

	hd_clock(s->hd);
	if (n < 0 && errno != EINTR)
		return -errno;
	*ret_next_ns = run_turn(s, ev, n < 0 ? 0 : n, wait);
	return 0;
}

/* Returns the time until which the loop polls instead of sleeping. */
static uint64_t spin_until(const struct server *s, uint64_t began)
{
	uint64_t ns = s->config->spin_ns, until = 0;

	if (!s->may_spin)
		return 0;
	if (ns == HD_SPIN_AUTO)
		ns = s->wake_ns > SLOW_WAKE_NS ? LONG_SPIN_NS : 0;
	if (ns && hd_may_preempt(s->hd))
		until = s->event_ns + ns;
	/* A hand-over can also begin at the end of a turn, when there was no event. */
	return hd_in_handover(s->hd) ? MAX(until, began + MAX(ns, SPIN_NS)) : until;
}

static uint64_t poll_without_sleep(struct server *s, uint64_t next)
{
	uint64_t began = hd_clock(s->hd), now = began;

	for (; !s->stop && now < spin_until(s, began); now = loop_now(s)) {
		if (loop_turn(s, false, &next) < 0)
			return 0; /* the next call that sleeps reports the error */
		if (now - s->event_ns > FLUSH_NS && !hd_in_handover(s->hd))
			hd_events_flush(s->hd->events);
	}
	return next;
}

/* Signals that heddled has no use for, but that would end it. For example, a timer or limit that
 * the parent process left can cause one. */
static const int ignored[] = {
	SIGALRM, SIGIO, SIGPIPE, SIGPROF, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ};

void loop_block_signals(void)
{
	sigset_t set;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	/* nohup makes a program ignore SIGHUP. heddled must not ignore it, because SIGHUP makes
	 * heddled read its configuration again. */
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

void loop_restore_signals(void)
{
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int open_fds(struct server *s)
{
	sigset_t set;
	int fd, r;

	sigprocmask(SIG_SETMASK, NULL, &set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r = fd < 0 ? -errno : loop_watch(s, &s->signal, WATCH_SIGNAL, fd, EPOLLIN);
	if (r < 0)
		return r;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return fd < 0 ? -errno : loop_watch(s, &s->timer, WATCH_TIMER, fd, EPOLLIN);
}

int loop_run(struct server *s)
{
	uint64_t armed = UINT64_MAX;
	int r = open_fds(s);

	if (r < 0)
		return r;
	while (!s->stop) {
		uint64_t next;

		r = loop_turn(s, true, &next);
		if (r < 0)
			return r;
		next = poll_without_sleep(s, next);
		hd_events_flush(s->hd->events);
		if (next != UINT64_MAX || armed != UINT64_MAX)
			arm_timer(s, next);
		armed = next;
	}
	return 0;
}
