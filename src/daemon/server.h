/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's outside: the socket, connections, the loop that waits. */
#ifndef HEDDLE_DAEMON_SERVER_H
#define HEDDLE_DAEMON_SERVER_H

#include "daemon.h"
#include "keeper.h"
#include "policies.h"

#define SERVER_CONNS  4096u
#define SERVER_UNSENT ((size_t)8 << 20) /* bytes that one user's connections may leave unread */

/* What an epoll event is about: the first member of whatever its pointer leads to. */
enum watch_kind {
	WATCH_LISTENER,
	WATCH_SIGNAL,
	WATCH_TIMER,
	WATCH_CONN,
	WATCH_KICK,
	WATCH_PID,
	WATCH_MPS,
	WATCH_MPS_ANSWER,
	WATCH_CLAIM
};

struct watch {
	enum watch_kind kind;
	int fd;
	struct conn *conn;
};

struct conn {
	struct conn *prev, *next;
	struct watch socket, kick, pid;
	int tenant_event; /* written to wake the tenant; -1: none */
	struct hd_tenant *tenant;
	struct wire_page *page;
	uint64_t page_number; /* wire_page_number */
	struct ucred cred;
	struct strbuf out; /* packets that wait for the socket to take them */
	size_t out_at;
	uint64_t until_ns; /* closed then, unless it says or takes something; UINT64_MAX: never */
	bool dead;
};

struct server {
	struct hd *hd;
	struct hd_config *config;
	/* For SIGHUP: says what is wrong, and returns less than 0; NULL: there is nothing to read.
	 */
	int (*reread)(struct hd_config *ret, void *user);
	void *reread_user;
	const struct hd_config *given; /* what it began with, */
	struct hd_config read;         /* and what was read last */
	struct watch listener, signal, timer;
	struct conn *conns;
	struct claim *claims;
	struct keeper *keeper;        /* NULL: nothing is kept */
	struct policy_loaded *policy; /* what config->policy is of; NULL: of ours */
	uint32_t n_conns, max_conns;
	uint64_t expiry_ns; /* no connection has an earlier until_ns */
	uint64_t listen_ns; /* for want of descriptors nobody is accepted until then; 0: all are */
	struct hd_log_limit refusals;
	int epoll, lock;
	dev_t socket_dev; /* what was made at config->socket */
	ino_t socket_ino;
	bool activated; /* the socket is the service manager's: not ours to remove */
	bool stop, may_spin, short_of_fds;
	uint64_t event_ns; /* when somebody last had something to say */
	uint64_t wake_ns;  /* from a tenant's kick to this process awake: the longest of late */
	pid_t mps;         /* the control daemon, */
	struct watch mps_end;
	uint32_t mps_killed;  /* hd.killed as it was started, */
	uint64_t mps_look_ns; /* and when to look at the next one at the earliest */
	bool mps_said;
	struct watch mps_answer; /* mps_health.c: of the question on its way; fd -1: none */
	uint64_t mps_ask_ns;   /* when to ask next, or to give up waiting for its answer; 0: not yet
				  set */
	uint64_t mps_progress; /* hd_progress at the last look */
	uint32_t mps_silent;   /* questions in a row that had no answer */
	uint32_t mps_restarts; /* of an MPS that did not answer, since heddled started */
};

/* ---- conn.c ---- */
void conn_accept(struct server *s);
void conn_add(struct server *s, int fd); /* a connected socket, which is the connection's then */
/* Closes those that have been silent for too long. When to look again. */
uint64_t conn_expire(struct server *s, uint64_t now_ns);
void conn_readable(struct server *s, struct conn *c);
void conn_writable(struct server *s, struct conn *c);
void conn_kill(struct conn *c); /* marks; conn_reap frees, once no event can name it */
void conn_reap(struct server *s);
void conn_wake(void *server, struct hd_tenant *t, bool hold);
/* ---- claims.c ---- */
/* Of the GPU of who comes. -EBUSY: another heddled's, as ret_why says; or negative errno. */
int claims_add(struct server *s, const struct wire_hello *h, char *ret_why, size_t max);
void claims_asked(const struct watch *w);
void claims_reap(struct server *s); /* of those that have no tenant any more; no event is left */
/* ---- listen.c ---- */
/* 0; -EADDRINUSE: another one runs (ret_pid, 0 if it does not say); -ENOTSOCK: what lies there is
 * no socket of this user's; -EBADFD: the lock file beside it is not. */
int listen_open(struct server *s, pid_t *ret_pid);
int listen_give_rights(const struct hd_config *c); /* to the socket, by c->group */
void listen_close(struct server *s);
void notify(const char *state); /* sd_notify; nothing when no manager listens */
/* ---- loop.c ---- */
/* The first thing of all: signals that end the daemon wait for the loop, others are ignored. */
void loop_block_signals(void);
void loop_restore_signals(void); /* in a child, ahead of exec */
int loop_run(struct server *s);
/* Handles what there is, or, with wait, what comes next. In how many ns it wants to look again. */
int loop_turn(struct server *s, bool wait, uint64_t *ret_next_ns);
/* For a while: there are no descriptors. */
void loop_pause_listener(struct server *s);
uint64_t loop_now(const struct server *s); /* hd_clock's, of this turn */
/* The descriptor is the watch's from then on, also when this fails. */
int loop_watch(struct server *s, struct watch *w, enum watch_kind kind, int fd, uint32_t events);
/* Before w may be freed. Closes the descriptor; nothing when there is none (-1). */
void loop_unwatch(struct server *s, struct watch *w);
/* ---- reload.c ---- */
void server_reload(struct server *s);
/* ---- mps.c ---- */
/* Starts an MPS control daemon of our own, or takes over that of an earlier heddled; config->mps
 * falls to false when that fails. Where it is not wanted, an earlier one's ends if nobody is there.
 */
void mps_start(struct server *s);
void mps_stop(struct server *s, bool somebody); /* runs under it, as far as we know */
void mps_ended(struct server *s);
/* After each turn: too many were killed under it. May take a while, when nobody runs. */
void mps_look(struct server *s);
/* ---- mps_health.c ---- */
/* After each turn, when decisions are made: asks MPS by a child whether it is well, where no tenant
 * on a GPU gets on. An MPS that is not is ended and started again, which may take some seconds.
 * When to be called again, by loop_now; UINT64_MAX: MPS is off. */
uint64_t mps_health(struct server *s);
void mps_answered(struct server *s); /* s->mps_answer can be read */
/* ---- config.c ---- */
void config_defaults(struct hd_config *c);
/* root: "" or a folder that stands for /, for tests. 0, or -EINVAL, said. */
int config_read(struct hd_config *c, const char *root);
/* One key as in the files; -EINVAL, -ENOENT: no such key, -ESRCH: no such group. */
int config_set(struct hd_config *c, const char *key, const char *value);
/* What was wrong with it, and what may stand there; buf of 512 bytes holds all. */
void config_explain(int error, const char *key, const char *value, char *buf, size_t size);
/* ---- main.c ---- */
/* The first thing of all, for whoever started it without: no file, no socket and no lock shall be
 * where messages are written. */
bool heddled_open_standard_fds(void);
/* Until it is told to end: the exit status. reread: as in struct server. */
int heddled_serve(const struct hd_config *config, int (*reread)(struct hd_config *ret, void *user),
	void *user);

#endif
