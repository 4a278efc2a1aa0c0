/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The protocol between tenants, tools and heddled. The socket is SOCK_SEQPACKET, with one message
 * in each packet, fixed layouts, and native byte order, because both sides run on one machine.
 * SO_PEERCRED identifies the peer; no message does. wire_check checks the type, the exact size and
 * the NUL-terminated strings of every message before use. */
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

#define WIRE_HIGHEST 2 /* the highest priority that has a name */
/* Environment variable with the path of a socket. When the program becomes a tenant, the shim sends
 * HELLO and the page there. For `heddle record`, the variable names a folder instead. */
#define WIRE_REPORT_ENV "HEDDLE_REPORT"

enum wire_type {
	/* tenant -> daemon: the first message. It carries the memfd of the tenant's page in two
	 * cases: if it goes to `heddle run -v`, or if the tenant brings its page from an earlier
	 * daemon. */
	WIRE_HELLO = 1,
	/* daemon -> tenant, with descriptors: the memfd of the page (the tenant's own page if it
	 * brought one), heddled's eventfd, and an eventfd for the tenant alone */
	WIRE_WELCOME,
	WIRE_REFUSED, /* daemon -> any peer: the reason of a refusal; the sender then closes */
	WIRE_LIST,    /* tool -> daemon: ps, top */
	WIRE_ROW,     /* daemon -> tool: one tenant or one launch */
	WIRE_STATUS,  /* tool -> daemon: a question; daemon -> tool: the values */
	WIRE_END,     /* daemon -> tool: the answer is complete */
	/* tool -> daemon: changes a tenant's priority or weight; heddled replies with END */
	WIRE_SET,
	/* tool -> daemon: requests the records of the user's kernels; root gets those of all
	 * users */
	WIRE_PROFILE,
	WIRE_KERNEL, /* daemon -> tool: one kernel; its SHAPE messages follow */
	WIRE_SHAPE,  /* daemon -> tool: the record of launches of one shape */
	/* daemon -> tenant: the page has changed. A tenant that has not read the last ones gets no
	 * more. heddled writes to no descriptor that it shares with a tenant: the tenant could
	 * change the flags of the open file, so that the write blocks. */
	WIRE_WAKE,
};

struct wire_head {
	uint32_t type, bytes, protocol, pad;
};
struct wire_hello {
	struct wire_head head;
	/* requested priority: 0 low, 1 normal, 2 high; any level below WIRE_PRIORITIES is
	 * possible */
	int32_t priority;
	uint32_t weight; /* as requested, 1 to 1000 */
	uint32_t n_sms, threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm;
	uint32_t is_cpu_device;
	char device[64];      /* UUID as text; only tenants of one device compete */
	char device_name[64]; /* product name of the device */
	char name[64];        /* name of the program */
	char group[32];       /* value of the option --class */
	char driver[32];      /* version of the driver, from cuDriverGetVersion */
};
struct wire_welcome {
	struct wire_head head;
	uint32_t tenant, page_bytes;
	int32_t priority; /* as granted */
	uint32_t weight;
	uint32_t mps;            /* 1: MPS is on, so tenants run at the same time */
	uint32_t min_managed_ns; /* kernels shorter than this are not managed */
	uint32_t latency_ns;     /* maximum duration of a claim of several blocks */
	char mps_pipe[108];
};
struct wire_refused {
	struct wire_head head;
	int32_t error; /* errno of the refusal */
	char why[236];
};
struct wire_row {
	struct wire_head head;
	uint32_t kind; /* 0: a tenant, 1: a launch */
	uint32_t tenant, pid, uid;
	int32_t priority;
	uint32_t weight, state; /* state: enum wire_row_state */
	uint32_t preemptions, launches;
	uint64_t id, total, finished, waited_ns, predicted_ns, remaining_ns;
	/* running time by the launch's own report; UINT64_MAX: not known, also in the three fields
	 * above */
	uint64_t ran_ns;
	uint64_t age_ns; /* for a tenant */
	/* For a tenant, if the policy divides time by shares, both in 1/1000: the share of the
	 * device's time to which the tenant's weight entitles it, and its part of the time that all
	 * tenants have used since the set of tenants last changed. UINT32_MAX if it is not known,
	 * or if the policy does not divide time by shares. */
	uint32_t share_wanted, share_had;
	uint64_t launched[WIRE_REASONS]; /* for a tenant, by reason */
	char name[64], group[32], device[64], device_name[64];
};
enum wire_row_state { WIRE_IDLE, WIRE_QUEUED, WIRE_RUNNING, WIRE_PREEMPTED, WIRE_HELD };
#define WIRE_PER_SM 32u /* maximum number of blocks on an SM */
struct wire_kernel {
	struct wire_head head;
	uint32_t uid, n_sms, n_shapes;
	uint32_t claim; /* number of blocks that a worker last claimed at a time; 0: unknown */
	uint64_t code, launches;
	uint64_t cost_ns; /* cost of a preemption: the mean of n_costs measurements */
	uint32_t n_costs;
	uint32_t n_errors;             /* number of predictions for shapes that had never run */
	float error_mean, error_worst; /* relative errors of these predictions */
	/* element i: an SM's time for one block, while i + 1 blocks share the SM; 0: not known */
	float curve_ns[WIRE_PER_SM];
	char name[64], device[64], driver[32];
};
struct wire_shape {
	struct wire_head head;
	uint32_t threads, shared_bytes; /* per block */
	uint64_t total;                 /* number of blocks */
	float input[WIRE_INPUTS];       /* as in wire_slot */
	uint64_t launches, mean_ns, moving_ns;
	/* The first launch's predicted time (UINT64_MAX: none), and its measured time. */
	uint64_t predicted_ns, first_ns;
};
#define WIRE_AS_IT_IS   (-1)  /* the priority stays the same */
#define WIRE_WEIGHT_MAX 1000u /* minimum: 1 */
struct wire_set {
	struct wire_head head;
	uint32_t tenant;
	int32_t priority;
	uint32_t weight, pad; /* weight 0: the weight stays the same */
};
#define WIRE_MPS_SILENT "not answering" /* wire_status.mps is this text, "on" or "off" */
struct wire_status {
	struct wire_head head;
	uint32_t pid, uptime_s, tenants, launches;
	uint64_t grants, preemptions, refused, bad_messages, decisions;
	/* time from a control word to the drain, over the last 1,000 hand-overs */
	uint64_t handover_p50_ns, handover_p99_ns;
	/* the highest priority that the asking user may request */
	int32_t may_priority;
	uint32_t may_weight; /* the greatest weight that it may request */
	char policy[32], version[32], socket[108], mps[32];
};

/* Checks bytes from an untrusted peer. Returns 0, -EBADMSG, or -EPROTO for another protocol
 * version. */
int wire_check(const void *msg, size_t bytes);
/* Makes the names and sentences in a checked message plain (base/text.h): another program chose them.
 * Leaves paths as they are. */
void wire_plain(void *msg);
void wire_head_init(struct wire_head *h, enum wire_type type, size_t bytes);
#define WIRE_MAX_FDS 8u
/* Sends one packet, either whole or not at all. fds are sent with SCM_RIGHTS; fds can be NULL.
 * Returns a negative errno on failure. */
int wire_send(int sock, const void *msg, const int *fds, unsigned n_fds);
/* Receives one packet. The received descriptors are close-on-exec and belong to the caller; surplus
 * descriptors are closed. Returns the number of bytes, 0 at the end of the connection, or a
 * negative errno. */
int wire_recv(int sock, void *msg, size_t max, int *ret_fds, unsigned max_fds, unsigned *ret_n_fds);
/* For heddled, which must not receive a descriptor that it did not ask for: closing one can block for
 * as long as its sender likes (SO_LINGER, FUSE). Call wire_peek_init once for the socket. wire_peek
 * reads the next packet and leaves it in the socket. *ret_has_fds: descriptors come with the
 * packet. Returns the number of bytes (0: an empty packet), -EAGAIN, -EPIPE at the end of the
 * connection, -EMSGSIZE, or another negative errno. wire_skip removes that packet; do not call it
 * if the packet has descriptors, because the system then closes them in this thread. */
int wire_peek_init(int sock);
int wire_peek(int sock, void *msg, size_t max, bool *ret_has_fds);
void wire_skip(int sock);
/* Finds the path of heddled's socket: HEDDLE_SOCKET, else /run/heddle/heddled.sock if that exists,
 * else $XDG_RUNTIME_DIR/heddle/heddled.sock, else /tmp/heddle-UID/heddled.sock. If for_listening is
 * set, uses /run/heddle if this user can write to it, and creates the user's folder if necessary.
 * Returns -EPERM if another user owns that folder or can write to it, -ENAMETOOLONG, or another
 * negative errno; ret_path has the path then, too (wire_unreached). */
int wire_socket_path(char *ret_path, size_t max, bool for_listening);
/* Returns a connected socket, or a negative errno. timeout_ms limits the connection and each later
 * send and receive on the socket; 0 means no limit. With a negative timeout_ms, the connection and
 * later sends and receives do not wait at all (-EAGAIN). */
int wire_connect(const char *path, int timeout_ms);
/* Call this after EINTR from a call with the timeout SO_RCVTIMEO or SO_SNDTIMEO. Returns true if
 * the timeout has not passed, so the call can be repeated; otherwise false, usually with errno
 * EAGAIN. The system restarts the timeout with each call, so this function measures the time from
 * the first signal, in *io_since_ms (0 before that). */
bool wire_may_go_on(int sock, int option, uint64_t *io_since_ms);

/* For heddled: creates a page that cannot be resized, with its head filled in and everything else
 * 0. */
int wire_page_create(uint32_t tenant, struct wire_page **ret, int *ret_fd);
/* For the tenant: maps a page. Returns -EPROTO if it is no valid page. The caller can close fd
 * afterwards. */
int wire_page_map(int fd, struct wire_page **ret);
/* For heddled: maps a page that a tenant brings, which may contain anything. Returns -EPROTO if the
 * file has another size, can be resized, or is not memory, or another errno if it cannot be
 * mapped. */
int wire_page_adopt(int fd, struct wire_page **ret);
/* Returns in *ret a number that identifies the page through any descriptor of it. 0 or a negative
 * errno. */
int wire_page_number(int fd, uint64_t *ret);
void wire_page_unmap(struct wire_page *p);

#endif
