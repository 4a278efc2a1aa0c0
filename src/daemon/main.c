/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's start and end. Its command line is in cli/heddled.c. */
#include "server.h"
#include "wire/unreached.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_monotonic_ns(void *user)
{
	struct timespec t;

	(void)user;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A connection's descriptors: the socket, and of a tenant the eventfd that wakes heddled and the
 * process. (A join opens two more, which it closes.) */
#define FDS_PER_CONN 3u
/* heddled's own, such as its log, its socket, a timer, and channels to porters. A socket for each
 * reserved GPU comes on top. */
#define FDS_OWN 64u

/* Raises the limit of descriptors. Returns the number of connections for which the descriptors are
 * enough; at least 8. */
static uint32_t raise_limits(void)
{
	rlim_t left, conns;
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return SERVER_CONNS;
	l.rlim_cur = MIN(l.rlim_max, FDS_PER_CONN * SERVER_CONNS + FDS_OWN + HD_DEVICES);
	setrlimit(RLIMIT_NOFILE, &l);
	left = l.rlim_cur - MIN(l.rlim_cur, FDS_OWN);
	/* Up to HD_DEVICES connections can each be the first one of a device. */
	conns = MAX(left / (FDS_PER_CONN + 1), (left - MIN(left, HD_DEVICES)) / FDS_PER_CONN);
	return (uint32_t)MIN(MAX(conns, 8), SERVER_CONNS);
}

bool heddled_open_standard_fds(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
			return false;
	}
	return true;
}

/* Returns 0, or the exit status. */
static int open_server(struct server *s)
{
	struct hd_io io = {read_monotonic_ns, conn_wake, s};
	pid_t other = 0;
	int r;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = s->epoll < 0 ? -errno : listen_open(s, &other);
	if (r == -EADDRINUSE) {
		hd_log_at(HD_LOG_ERROR, "another heddled (pid %d) listens on %s already",
			(int)other, s->config->socket);
		return 1;
	}
	if (r == -ENOTSOCK || r == -EBADFD) {
		hd_log_at(HD_LOG_ERROR,
			r == -EBADFD
				? "%s.lock is not this user's file: remove it, or choose another "
				  "--socket"
				: "%s exists and is no socket of this user's: remove it, or "
				  "choose another --socket",
			s->config->socket);
		return 1;
	}
	if (r < 0) {
		hd_log_at(HD_LOG_ERROR, "cannot listen on %s: %s", s->config->socket, strerror(-r));
		return 1;
	}
	/* This process has the lock now, so no other heddled uses the note of the policy. */
	if (policy_choose(s->config, NULL, &s->policy) < 0) {
		listen_close(s);
		return 1;
	}
	mps_start(s);
	r = hd_create(s->config, &io, &s->hd);
	if (r < 0) {
		hd_log_at(HD_LOG_ERROR, "%s%scannot start: %s", s->config->events,
			s->config->events[0] ? ": " : "", strerror(-r));
		mps_stop(s, false);
		policy_unload(s->policy, false);
		listen_close(s);
		return 1;
	}
	s->keeper = keeper_start(s->config, s->hd);
	return 0;
}

static void close_server(struct server *s)
{
	bool somebody = s->hd->n_tenants != 0;

	hd_say_end(s->hd);
	listen_close(s);
	while (s->conns) {
		conn_kill(s->conns);
		conn_reap(s);
	}
	porters_finish(s);
	mps_stop(s, somebody);
	keeper_stop(s->keeper);
	hd_destroy(s->hd);
	policy_unload(s->policy, false);
}

static void log_fault(void *user, const char *what)
{
	hd_log("policy %s: %s", (const char *)user, what);
}

int heddled_serve(
	const struct hd_config *given, int (*reread)(struct hd_config *ret, void *user), void *user)
{
	struct hd_config config = *given;
	struct server s = {.config = &config,
		.reread = reread,
		.reread_user = user,
		.given = given,
		.read = config,
		.may_spin = sysconf(_SC_NPROCESSORS_ONLN) >= 4,
		.expiry_ns = UINT64_MAX};
	int r;

	hd_log_set_level(config.log_level);
	if (!config.socket[0]) {
		r = wire_socket_path(config.socket, sizeof(config.socket), true);
		if (r < 0) {
			struct wire_unreached u;

			wire_unreached(config.socket, true, r, &u);
			hd_log_at(HD_LOG_ERROR, "%s: %s", u.what, u.todo);
			return 1;
		}
	}
	loop_block_signals();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* By default, Linux may round up a timer of 50 us by another 50 us. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	s.max_conns = raise_limits();
	sched_policies_watch(log_fault);
	r = open_server(&s);
	if (r)
		return r;
	hd_log_at(HD_LOG_INFO, "policy %s, MPS %s, listening on %s", config.policy->name,
		config.mps ? "on" : "off", config.socket);
	if (!config.mps && sched_policy_is(config.policy, HEDDLE_POLICY_SIDE_BY_SIDE))
		hd_log_at(HD_LOG_INFO,
			"without MPS a GPU runs one program at a time: policy %s "
			"shares it among the launches of one program; the virtual GPU runs "
			"several, and they share it",
			config.policy->name);
	notify("READY=1\nSTATUS=serving\n");
	pulse_start(&s);
	r = loop_run(&s);
	if (r < 0)
		hd_log_at(HD_LOG_ERROR, "the event loop failed: %s", strerror(-r));
	notify("STOPPING=1\n");
	close_server(&s);
	return r < 0;
}
