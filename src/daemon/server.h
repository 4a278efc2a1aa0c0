/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's server: the socket, the connections, and the loop. */
#ifndef HEDDLE_DAEMON_SERVER_H
#define HEDDLE_DAEMON_SERVER_H

#include "daemon.h"
#include "keeper.h"
#include "policies.h"
#include "porter.h"
#include "pulse.h"

#define SERVER_CONNS 4096u
/* Maximum number of bytes that a user's connections may leave unread. */
#define SERVER_UNSENT ((size_t)8 << 20)

/* The kind of source of an epoll event. struct watch begins with this enum, and the event's data
 * pointer points to the watch. */
enum watch_kind {
	WATCH_LISTENER,
	WATCH_SIGNAL,
	WATCH_TIMER,
	WATCH_CONN,
	WATCH_KICK,
	WATCH_PID,
	WATCH_MPS,
	WATCH_MPS_ANSWER,
	WATCH_CLAIM,
	WATCH_PORTER
};

struct watch {
	enum watch_kind kind;
	int fd;
	struct conn *conn;
};

struct conn {
	struct conn *prev, *next; /* links in server.conns; conn.c frees it when it is dead */
	struct watch socket, kick, pid;
	struct hd_tenant *tenant;
	struct wire_page *page;
	uint64_t page_number; /* result of wire_page_number */
	struct ucred cred;
	struct strbuf out; /* packets that could not be sent yet */
	size_t out_at;
	/* porter.h: while at_porter, the next packet is a porter's (porter NULL: it waits for one
	 * until porter_ns) */
	struct porter *porter;
	uint64_t porter_ns;
	bool at_porter;
	/* wake_due: after the welcome, send a wake-up that was due before it */
	bool welcomed, wake_due;
	/* the connection is closed at this time unless data moves; UINT64_MAX: never */
	uint64_t until_ns;
	bool dead;
};

struct server {
	struct hd *hd;
	struct hd_config *config;
	/* Reads the configuration again after SIGHUP. Logs errors and returns less than 0 on
	 * failure. NULL: there is no configuration to read. */
	int (*reread)(struct hd_config *ret, void *user);
	void *reread_user;
	const struct hd_config *given; /* the configuration at the start */
	struct hd_config read;         /* the configuration that was read last */
	struct watch listener, signal, timer;
	struct conn *conns;
	struct reservation *reservations;
	struct keeper *keeper; /* NULL: heddled saves no records */
	/* the loaded file of config->policy; NULL: the policy is built in */
	struct policy_loaded *policy;
	uint32_t n_conns, max_conns;
	uint64_t expiry_ns; /* lower bound of until_ns over all connections */
	/* until when no connection is accepted, because descriptors ran out; 0: connections are
	 * accepted */
	uint64_t listen_ns;
	struct hd_log_limit refusals, slow;
	struct pulse pulse;
	struct porter *porters;    /* used by porter.c */
	struct unclosed *unclosed; /* used by porter.c */
	uint32_t n_at_porter;      /* number of connections that wait for a porter */
	int epoll, lock;
	/* device number and inode of the socket file that was created at config->socket */
	dev_t socket_dev;
	ino_t socket_ino;
	bool activated; /* the service manager owns the socket, so heddled does not remove it */
	bool stop, may_spin, short_of_fds;
	uint64_t event_ns; /* when a tenant last caused an event */
	/* loop.c: this turn needs a pass of the core at once; when the core asked for its next
	 * pass; and until when a pass for tenants that join can wait */
	bool pass_now;
	uint64_t pass_due_ns, pass_wait_ns;
	/* recent maximum of the time between a tenant's kick (its wake-up of heddled) and the
	 * moment that heddled runs */
	uint64_t wake_ns;
	pid_t mps; /* pid of the MPS control daemon; 0: none */
	struct watch mps_end;
	uint32_t mps_killed;  /* value of hd.killed when MPS was started */
	uint64_t mps_look_ns; /* earliest time of the next check for killed programs */
	bool mps_said;
	/* mps_health.c: descriptor of the pipe from the asking child; fd -1: no child is asking */
	struct watch mps_answer;
	/* when to ask MPS next, or to stop waiting for the child; 0: not set yet */
	uint64_t mps_ask_ns;
	uint64_t mps_progress; /* value of hd_progress at the last check */
	uint32_t mps_silent;   /* number of successive questions without an answer */
	uint32_t mps_restarts; /* number of restarts of a silent MPS since heddled started */
};

/* ---- conn.c ---- */
void conn_accept(struct server *s);
/* Takes a connected socket. The connection owns it from now on. */
void conn_add(struct server *s, int fd);
/* Closes connections that have sent nothing, or left a reply unread, for too long. Returns the time
 * of the next call. */
uint64_t conn_expire(struct server *s, uint64_t now_ns);
void conn_readable(struct server *s, struct conn *c);
void conn_writable(struct server *s, struct conn *c);
/* Marks the connection for closing; conn_reap frees it when no event can refer to it any more. */
void conn_kill(struct conn *c);
void conn_reap(struct server *s);
/* A porter's result for c's HELLO with a page: h and page_fd (the caller closes it) if r is 0, else a
 * negative errno. */
void conn_brought(struct server *s, struct conn *c, const struct wire_hello *h, int page_fd, int r);
void conn_wake(void *server, struct hd_tenant *t, bool hold);
/* ---- reservations.c ---- */
/* Reserves the GPU of a new tenant. Returns -EBUSY if another heddled serves that GPU (ret_why says
 * which), or another negative errno. */
int reservations_add(struct server *s, const struct wire_hello *h, char *ret_why, size_t max);
void reservations_asked(struct server *s, const struct watch *w);
/* Releases the GPUs that have no tenant any more. No event may be pending. */
void reservations_reap(struct server *s);
/* ---- listen.c ---- */
/* Opens the socket. Returns 0 or a negative errno. -EADDRINUSE: another heddled runs (its pid is in
 * ret_pid; 0: not known); -ENOTSOCK: the path exists and is not a socket of this user; -EBADFD: the
 * lock file is not a regular file of this user. */
int listen_open(struct server *s, pid_t *ret_pid);
/* Sets the socket file's group and mode according to c->group. */
int listen_give_rights(const struct hd_config *c);
void listen_close(struct server *s);
void notify(const char *state); /* sd_notify; has no effect without a service manager */
/* ---- loop.c ---- */
/* Prepares signals; call it before anything else in the process. Blocks SIGINT, SIGTERM, SIGHUP and
 * SIGCHLD, because the loop reads these from a descriptor. Ignores some other signals, such as
 * SIGPIPE. */
void loop_block_signals(void);
void loop_restore_signals(void); /* call this in a child process before exec */
int loop_run(struct server *s);
/* Handles pending events and then runs one pass of the core (hd_run). wait: first waits for an
 * event if none is pending. Writes the time in ns until the next pass. Returns 0 or a negative
 * errno. */
int loop_turn(struct server *s, bool wait, uint64_t *ret_next_ns);
/* Stops accepting connections for a while, because descriptors ran out. */
void loop_pause_listener(struct server *s);
uint64_t loop_now(const struct server *s); /* the time that hd_clock returned in this turn */
/* Starts to watch a descriptor. The watch owns the descriptor from now on, even if this call
 * fails. */
int loop_watch(struct server *s, struct watch *w, enum watch_kind kind, int fd, uint32_t events);
/* Ends a watch and closes its descriptor, if it has one. Call it before w is freed. */
void loop_unwatch(struct server *s, struct watch *w);
/* ---- reload.c ---- */
void server_reload(struct server *s);
/* ---- mps.c ---- */
/* Starts an MPS control daemon, or adopts that of an earlier heddled. If this fails, sets
 * config->mps to false. If the configuration does not ask for MPS, ends the control daemon of an
 * earlier heddled unless a program uses it. */
void mps_start(struct server *s);
/* somebody: at least one program runs under MPS, as far as heddled knows. */
void mps_stop(struct server *s, bool somebody);
void mps_ended(struct server *s);
/* Restarts MPS if many programs were killed while they ran under MPS, but only while no program
 * runs under MPS. Call it after each pass of the loop. The restart may take a while. */
void mps_look(struct server *s);
/* ---- mps_health.c ---- */
/* Checks MPS; call it after each pass of the loop. If no tenant on a GPU makes progress, a child
 * process asks MPS whether it works. After several questions without a reply, heddled restarts MPS,
 * which may take seconds, or turns it off. Returns when to call again, as a time of loop_now, or
 * UINT64_MAX if MPS needs no check. */
uint64_t mps_health(struct server *s);
void mps_answered(struct server *s); /* call it when s->mps_answer is readable */
/* ---- config.c ---- */
void config_defaults(struct hd_config *c);
/* Reads the configuration. root: "", or in tests a folder that replaces /. Returns 0, or -EINVAL
 * after logging the error. */
int config_read(struct hd_config *c, const char *root);
/* Sets one key in the same way as a line of a file. Returns 0, -EINVAL, -ENOENT (no such key), or
 * -ESRCH (no such group). */
int config_set(struct hd_config *c, const char *key, const char *value);
/* Writes the reason why config_set failed, and the possible values. buf should have 512 bytes. */
void config_explain(int error, const char *key, const char *value, char *buf, size_t size);
/* ---- main.c ---- */
/* Opens descriptors 0 to 2 if they are closed. Otherwise a file, socket or lock that heddled opens
 * later could get descriptor 2, and messages would be written into it. Call this before everything
 * else. */
bool heddled_open_standard_fds(void);
/* Serves until heddled ends. Returns the exit status. reread: as in struct server. */
int heddled_serve(const struct hd_config *config, int (*reread)(struct hd_config *ret, void *user),
	void *user);

#endif
