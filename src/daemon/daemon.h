/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's core: tenants, their pages, and one scheduling engine for each device. The core uses
 * sockets and clocks only through struct hd_io, so a test can run it in virtual time. A tenant can
 * write any value into its page at any time. So the core copies a value, and checks or bounds the
 * copy before it uses it as an index or a size. One thread calls the core. */
#ifndef HEDDLE_DAEMON_H
#define HEDDLE_DAEMON_H

#include "again.h"
#include "bounce.h"
#include "config.h"
#include "limits.h"
#include "log.h"
#include "ranks.h"
#include "sched/engine/sched.h"
#include "sched/model/durations.h"
#include "wire/wire.h"

#include <sys/socket.h>

#define HD_HANDOVERS 1000u

struct hd_tenant;
struct hd_io {
	/* CLOCK_MONOTONIC, or the clock of a test; only hd_clock calls this function */
	uint64_t (*now_ns)(void *user);
	/* Wakes the tenant's agent thread, which must act on new control words or poll for them.
	 * hold: also wakes the threads of the program that sleep because heddled holds the
	 * tenant. */
	void (*wake)(void *user, struct hd_tenant *t, bool hold);
	void *user;
};

/* How a scan of the page treats a slot. hd_slot_index computes it from the launch's state. */
enum hd_stage { HD_UNKNOWN, HD_SUBMITTED, HD_ARRIVED };
/* A launch as its tenant's page describes it. Its scheduling state is kept by the engine:
 * sched_state(launch). */
struct hd_slot {
	struct sched_launch *launch; /* NULL: heddled knows no launch in this slot */
	struct hd_tenant *tenant;
	uint64_t last_id; /* without a launch: id of the last one that heddled forgot; else 0 */
	uint64_t id, total, kernel, submit_ns, store_ns, asked_ns;
	/* unseen_ns: time that the launch ran before the daemon saw that it had arrived;
	 * both_ns: the part of unseen_ns that the engine counts as waiting */
	uint64_t unseen_ns, both_ns;
	/* while event "drained" is logged: the time from the store of the control word that made
	 * the workers leave to the drain; else 0 */
	uint64_t handover_ns;
	uint32_t gen, preemptions;
	uint32_t guard;  /* 1: the launch has the guard form (ctl/control.h) */
	uint32_t counts; /* guard form: see struct sched_launch_info */
	uint32_t count;  /* guard form: the current quota on the SMs that it has */
	/* guard form: sequence number of the control word that last changed the block count, while
	 * grids with an older count may still run; else 0 */
	uint32_t resizes;
	uint32_t threads, shared_bytes, workers_per_sm;
	/* Counters of heddled and of the tenant; valid in any state. */
	uint32_t seq; /* seq of the launch's last control word; 0: it had none of its own */
	/* number of worker rounds that control words have requested (wire_slot.grow) */
	uint32_t grow;
	/* number of requests since its last control word, as too few workers started */
	uint32_t asked;
	bool stopped; /* it arrived without SMs, so its time from begin to end includes a wait */
	bool is_few;  /* it began with fewer workers than the device can hold */
	/* true if the last control word requested only as many workers as were missing */
	bool sized;
	/* value of wire_slot.launches at the last request for workers; once `launches` is greater,
	 * the tenant has launched them. 0: no request is open */
	uint32_t awaited;
	uint32_t drains;   /* number of drains that the tenant reported (doc/protocol.md) */
	uint32_t rounds;   /* number of worker rounds that had started at the last drain */
	uint32_t may_stay; /* in LAUNCH_SHRINKING: how many workers may stay */
	char name[64];
};

struct hd_tenant {
	/* links in hd_device.tenants; hd_tenant_remove frees the tenant */
	struct hd_tenant *prev, *next;
	struct hd_device *device;
	struct sched_tenant *sched;
	struct wire_page *page;
	/* Each pass of the loop reads these fields, so they are in few cache lines. */
	uint32_t n_known, pin;
	bool opaque_active;
	/* when it last had any work; when it last had managed work */
	uint64_t active_ns, steered_ns;
	struct hd_bounce bounce;
	int priority;
	uint32_t id, weight, watch, follow, gates, hold, seq, bound_us, ended, carveout;
	struct ucred cred;
	struct wire_hello hello;
	struct duration_owner owner; /* owner of the duration records that its launches update */
	void *user;
	uint32_t begin, begins; /* page->begin.seq; number of such control words so far */
	/* the shared memory, in bytes, that a managed kernel needs on an SM when as many of its
	 * blocks run there as fit: the maximum over the tenant's kernels */
	uint32_t shared_need;
	bool is_logged; /* its start was logged, so its end will be logged, too */
	bool again;     /* it was already a tenant of an earlier heddled */
	/* enum hd_stage of each slot; a separate array, so that a scan reads few cache lines */
	uint8_t stage[WIRE_SLOTS];
	uint32_t next_slot; /* slot of the oldest launch that had not arrived at the last scan */
	uint64_t looked_ns; /* when all known launches were last scanned */
	/* Totals over the tenant's ended launches. */
	uint64_t launches, preemptions, joined_ns, waited_ns, ran_ns;
	uint64_t share_from_ns; /* the tenant's service when shares were last reset */
	/* WIRE_SLOTS elements; allocated separately, so that passes touch little memory */
	struct hd_slot *slots;
};

struct hd_device {
	struct hd_device *next; /* next in hd.devices; the device is freed with its last tenant */
	struct sched *sched;
	struct hd_tenant *tenants;
	uint32_t n_tenants, n_sms;
	int lowest, highest; /* priorities of its tenants, at the last hd_watch */
	bool bounds;         /* at least one tenant has a bound_us */
	/* in descending order; not freed between passes, to reuse the memory */
	VEC(struct hd_rank) ranks;
	/* when a launch on this device last ended, or last left its SMs */
	uint64_t freed_ns;
	bool is_cpu;
	/* user of the first tenant; the device counts toward this user's limit */
	uid_t uid;
	/* ahead_ns: upper bound of the device's clock minus heddled's clock. ahead_at: when the
	 * bound was measured, or 0 if it never was. */
	int64_t ahead_ns, ahead_at;
	/* when heddled last changed the `watch` field of a tenant's page on this device */
	uint64_t unwatched_ns;
	uint64_t told_ns; /* when heddled last preempted or shrank a launch on this device */
	char name[64];
};

struct hd {
	struct hd_config config;
	struct hd_io io;
	struct hd_device *devices;
	struct hd_events *events;    /* NULL: heddled writes no event log */
	struct durations *durations; /* duration records of kernels on all devices */
	/* killed: number of tenants on GPUs that ended without setting wire_page.ends */
	uint32_t n_tenants, next_id, highest_id, killed;
	uint64_t now_ns; /* time of this turn, from hd_clock */
	uint64_t started_ns, refused, bad_messages, last_alive_ns;
	struct hd_log_limit joins, sets, natives;
	bool slow_wake;  /* waking up is slow here, so tenants should poll for control words */
	bool ends;       /* heddled is ending, and its tenants continue without it */
	bool mps_silent; /* MPS is on, but did not answer the last question */
	/* Totals over the devices that no longer exist. */
	uint64_t ended_decisions, ended_grants, ended_preemptions;
	uint32_t handover_ns[HD_HANDOVERS];
	uint64_t n_handovers;
};

/* ---- core.c ---- */
/* Reads the clock into d->now_ns and returns it (ns). The loop calls this after waking up. So do
 * those functions of the core that add, remove or change tenants, make decisions, or reply to
 * tools. All decisions of a pass of the loop use d->now_ns.
 *
 * Two steps inside a pass read the clock again, because a hand-over can be shorter than a pass. A
 * hand-over lasts from the store of a control word until heddled sees that, because of this word,
 * the last worker has left. Both reads update d->now_ns, so that it never falls and no time stamp
 * is later than d->now_ns. */
uint64_t hd_clock(struct hd *d);
int hd_create(const struct hd_config *c, const struct hd_io *io, struct hd **ret);
/* Logs that heddled ends, and how many tenants go on. Removing tenants then logs no line. */
void hd_say_end(struct hd *d);
void hd_destroy(struct hd *d);
void hd_reconfigure(struct hd *d, const struct hd_config *c); /* does not turn MPS on or off */
/* Adds a tenant. The caller owns the page, which must outlive the tenant. priority, weight: as
 * granted by rights.c. Returns 0; -EUSERS or -ENOSPC if the limit of tenants or devices is reached;
 * -EDQUOT if this user's limit is reached; or another negative errno. */
int hd_tenant_add(struct hd *d, const struct ucred *cred, const struct wire_hello *hello,
	int priority, uint32_t weight, struct wire_page *page, void *user, struct hd_tenant **ret);
void hd_tenant_remove(struct hd *d, struct hd_tenant *t);
/* Copies the tenant's own counts of its launches so far, one for each reason (wire/reasons.def). */
void hd_launched(const struct hd_tenant *t, uint64_t ret[WIRE_REASONS]);
struct hd_tenant *hd_tenant_find(struct hd *d, uint32_t id); /* NULL: there is none */
void hd_tenant_set(struct hd *d, struct hd_tenant *t, int priority, uint32_t weight);
/* Scans the tenant's whole page. Call it after the tenant has kicked, that is, written to the
 * eventfd that wakes heddled. Decides at once if there is a new launch, or if unmanaged (opaque)
 * work has begun or ended. hd_run makes all other decisions. */
void hd_kicked(struct hd *d, struct hd_tenant *t);
/* Scans pages, decides, and stores control words. Returns the time in ns until the next call;
 * UINT64_MAX: when a tenant next wakes heddled. */
uint64_t hd_run(struct hd *d);
/* Returns a number that changes when a tenant on a GPU makes progress. A tenant makes progress if
 * it launches a kernel, or if one of its launches claims blocks, finishes blocks, or ends. Takes no
 * lock and reads no clock. */
uint64_t hd_progress(const struct hd *d);
/* Returns true while a preempted launch is leaving a GPU, for at most 100 ms. Polling can be
 * worthwhile then. */
bool hd_in_handover(const struct hd *d);
/* Returns true if the tenants of this device should poll for a grant instead of sleeping. */
bool hd_look_out(const struct hd *d, const struct hd_device *dev);
/* Returns true if the next launch of a tenant may preempt another tenant on the same GPU: the two
 * have different priorities, or both had work recently. Returns false under policy none. */
bool hd_may_preempt(const struct hd *d);
/* ---- rows.c: replies to command-line tools, as a sequence of packets in out ---- */
void hd_list(struct hd *d, struct strbuf *out);
void hd_status(struct hd *d, struct wire_status *ret);
/* Lists the kernel records of this user (DURATION_ANY: of all users), beginning with the most
 * recently used. */
void hd_profile(struct hd *d, uint32_t uid, struct strbuf *out);
/* ---- rights.c: reduces a request to what the peer may have; groups: its supplementary groups
 * ---- */
void hd_rights(const struct hd_config *c, const struct ucred *peer, const gid_t *groups,
	size_t n_groups, int *io_priority, uint32_t *io_weight);

#endif
