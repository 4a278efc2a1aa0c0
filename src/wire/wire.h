/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The wire between tenants, tools and heddled: SOCK_SEQPACKET, one message a packet, fixed layouts,
 * native byte order (one machine). Who is at the other end is told by SO_PEERCRED, never by a
 * message. Every message is checked by wire_check before use: type, exact size, NUL-terminated
 * strings. */
#ifndef HEDDLE_WIRE_H
#define HEDDLE_WIRE_H

#include "base/base.h"
#include "wire/page.h"

#define WIRE_PROTOCOL      7u
#define WIRE_MAX_BYTES     4096u
#define WIRE_SOCKET_ENV    "HEDDLE_SOCKET"
#define WIRE_PRIORITIES    1000u
#define WIRE_SYSTEM_DIR    "/run/heddle"
#define WIRE_SYSTEM_SOCKET WIRE_SYSTEM_DIR "/heddled.sock"

#define WIRE_HIGHEST 2 /* priority that has a name */
/* A socket on which a tenant's shim says HELLO, with its page, as it becomes one. */
#define WIRE_REPORT_ENV "HEDDLE_REPORT"

enum wire_type {
	WIRE_HELLO = 1, /* tenant -> daemon, first message. With fd, its page memfd: to heddle run
			   -v, and to a daemon from who was a tenant of the one before */
	WIRE_WELCOME,   /* daemon -> tenant, with fds: page memfd (its own, where it brought one),
			   daemon's eventfd, tenant's eventfd */
	WIRE_REFUSED,   /* daemon -> anyone: why; the sender closes */
	WIRE_LIST,      /* tool -> daemon: ps, top */
	WIRE_ROW,       /* daemon -> tool: one tenant or one launch */
	WIRE_STATUS,    /* tool -> daemon, and back with the figures */
	WIRE_END,       /* daemon -> tool: the answer is complete */
	WIRE_SET,     /* tool -> daemon: another priority or weight for a tenant; answered by END */
	WIRE_PROFILE, /* tool -> daemon: what is known of kernels: one's own, and to root all */
	WIRE_KERNEL,  /* daemon -> tool: one kernel, with its SHAPEs behind it */
	WIRE_SHAPE,   /* daemon -> tool: launches of one shape */
};

struct wire_head {
	uint32_t type, bytes, protocol, pad;
};
struct wire_hello {
	struct wire_head head;
	int32_t priority; /* as asked: 0 low, 1 normal, 2 high; any number of levels below
			     WIRE_PRIORITIES */
	uint32_t weight;  /* as asked, 1 to 1000 */
	uint32_t n_sms, threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm;
	uint32_t is_cpu_device;
	char device[64];      /* UUID text: tenants of one device compete */
	char device_name[64]; /* as people know it */
	char name[64];        /* program */
	char group[32];       /* --class */
	char driver[32];      /* its version, as cuDriverGetVersion has it */
};
struct wire_welcome {
	struct wire_head head;
	uint32_t tenant, page_bytes;
	int32_t priority; /* as granted */
	uint32_t weight;
	uint32_t mps;            /* 1: tenants run at the same time */
	uint32_t min_managed_ns; /* kernels shorter than this are not worth managing */
	uint32_t latency_ns;     /* what a claim of several blocks may take */
	char mps_pipe[108];
};
struct wire_refused {
	struct wire_head head;
	int32_t error; /* errno */
	char why[236];
};
struct wire_row {
	struct wire_head head;
	uint32_t kind; /* 0 tenant, 1 launch */
	uint32_t tenant, pid, uid;
	int32_t priority;
	uint32_t weight, state; /* enum wire_row_state */
	uint32_t preemptions, launches;
	uint64_t id, total, finished, waited_ns, predicted_ns, remaining_ns;
	uint64_t ran_ns; /* by its own report; UINT64_MAX: not known, as of the three before */
	uint64_t age_ns; /* a tenant's */
	/* Of a tenant where shares decide, in a thousandth of the device's time: what its weight
	 * entitles it to, and what it has had since tenants last changed; else UINT32_MAX. */
	uint32_t share_wanted, share_had;
	uint64_t launched[WIRE_REASONS]; /* a tenant's, by reason */
	char name[64], group[32], device[64], device_name[64];
};
enum wire_row_state { WIRE_IDLE, WIRE_QUEUED, WIRE_RUNNING, WIRE_PREEMPTED, WIRE_HELD };
#define WIRE_PER_SM 32u /* most blocks on an SM */
struct wire_kernel {
	struct wire_head head;
	uint32_t uid, n_sms, n_shapes;
	uint32_t claim; /* blocks that a worker last claimed at a time; 0: not known */
	uint64_t code, launches;
	uint64_t cost_ns; /* of a preemption, the mean of n_costs */
	uint32_t n_costs;
	uint32_t n_errors;             /* predictions of shapes that had never run: */
	float error_mean, error_worst; /* relative */
	float curve_ns[WIRE_PER_SM];   /* with i + 1 blocks on an SM, its time for one; 0: not known
					*/
	char name[64], device[64], driver[32];
};
struct wire_shape {
	struct wire_head head;
	uint32_t threads, shared_bytes; /* of a block */
	uint64_t total;                 /* blocks */
	float input[WIRE_INPUTS];       /* wire_slot */
	uint64_t launches, mean_ns, moving_ns;
	/* Of the first launch: what was predicted (UINT64_MAX: nothing could be), and what it took.
	 */
	uint64_t predicted_ns, first_ns;
};
#define WIRE_AS_IT_IS   (-1)  /* a priority that is not to change */
#define WIRE_WEIGHT_MAX 1000u /* and 1 at least */
struct wire_set {
	struct wire_head head;
	uint32_t tenant;
	int32_t priority;
	uint32_t weight, pad; /* 0: as it is */
};
#define WIRE_MPS_SILENT "not answering" /* wire_status.mps: this, on, or off */
struct wire_status {
	struct wire_head head;
	uint32_t pid, uptime_s, tenants, launches;
	uint64_t grants, preemptions, refused, bad_messages, decisions;
	uint64_t handover_p50_ns, handover_p99_ns; /* store -> drained, of the last 1,000 */
	int32_t may_priority;                      /* the highest that who asks would be granted, */
	uint32_t may_weight;                       /* and the greatest weight */
	char policy[32], version[32], socket[108], mps[32];
};

/* Returns 0, or -EBADMSG / -EPROTO (another protocol version). Untrusted bytes in. */
int wire_check(const void *msg, size_t bytes);
void wire_head_init(struct wire_head *h, enum wire_type type, size_t bytes);
#define WIRE_MAX_FDS 8u
/* One packet, whole or not at all. fds (sent with SCM_RIGHTS) may be NULL. Negative errno. */
int wire_send(int sock, const void *msg, const int *fds, unsigned n_fds);
/* Received fds are close-on-exec and owned by the caller; surplus ones are closed. Returns bytes, 0
 * at end of file, negative errno. */
int wire_recv(int sock, void *msg, size_t max, int *ret_fds, unsigned max_fds, unsigned *ret_n_fds);
/* Where the daemon listens: HEDDLE_SOCKET, /run/heddle/heddled.sock if present, else
 * $XDG_RUNTIME_DIR/heddle/heddled.sock, else /tmp/heddle-UID/heddled.sock. */
int wire_socket_path(char *ret_path, size_t max, bool for_listening);
/* The socket, or negative errno. Later sends and receives on it give up after the timeout, too; 0:
 * never; negative: they, and this, do not wait at all (-EAGAIN). */
int wire_connect(const char *path, int timeout_ms);
/* After EINTR, for SO_RCVTIMEO or SO_SNDTIMEO: true until the socket's timeout, which the system
 * begins anew with each call, has passed since the first signal (*io_since_ms, 0 before); then
 * errno is EAGAIN. */
bool wire_may_go_on(int sock, int option, uint64_t *io_since_ms);

/* The daemon makes a page: sealed against resizing, head filled in, all else 0. */
int wire_page_create(uint32_t tenant, struct wire_page **ret, int *ret_fd);
/* The tenant maps it (-EPROTO: not such a page); fd may be closed afterwards. */
int wire_page_map(int fd, struct wire_page **ret);
/* The daemon maps one that a tenant brings, in which anything may be written: -EPROTO where it is
 * not of this size, could be resized, or is no memory (-errno: may not be mapped). */
int wire_page_adopt(int fd, struct wire_page **ret);
/* The page's own number, the same through any descriptor. 0 or negative errno. */
int wire_page_number(int fd, uint64_t *ret);
void wire_page_unmap(struct wire_page *p);

#endif
