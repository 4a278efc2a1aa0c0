/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddled's core: tenants, their pages, one scheduling engine a device. It knows neither sockets
 * nor clocks (struct hd_io), so that a test drives it in virtual time. Everything in a page that
 * the tenant may write is copied once, bounded, and only then used. One thread. */
#ifndef HEDDLE_DAEMON_H
#define HEDDLE_DAEMON_H

#include "again.h"
#include "bounce.h"
#include "config.h"
#include "limits.h"
#include "log.h"
#include "model/durations.h"
#include "sched/sched.h"
#include "wire/wire.h"

#include <sys/socket.h>

#define HD_HANDOVERS 1000u

struct hd_tenant;
struct hd_io {
	uint64_t (*now_ns)(void *user); /* CLOCK_MONOTONIC, or a test's; hd_clock alone calls it */
	/* Something changed for the tenant; hold: its hold word fell to 0. */
	void (*wake)(void *user, struct hd_tenant *t, bool hold);
	void *user;
};

/* How a scan of the page looks at a slot; hd_slot_index derives it from the launch's state. */
enum hd_stage { HD_UNKNOWN, HD_SUBMITTED, HD_ARRIVED };
/* A launch as its page tells of it. Its state is the engine's: sched_state(launch). */
struct hd_slot {
	struct sched_launch *launch; /* NULL: nothing known in this slot */
	struct hd_tenant *tenant;
	uint64_t id, total, kernel, submit_ns, store_ns, asked_ns,
		unseen_ns;    /* ran before a look */
	uint64_t handover_ns; /* store to drained, of the event being told; else 0 */
	uint32_t gen, preemptions;
	uint32_t guard;   /* the guard form (ctl/control.h) */
	uint32_t counts;  /* of that: struct sched_launch_info */
	uint32_t count;   /* of that: its quota on SMs where it has one, by its last word */
	uint32_t resizes; /* number of the word that changed it, until all that began before has
			     left; or 0 */
	uint32_t threads, shared_bytes, workers_per_sm;
	/* Counts of what the two sides said, in any state. */
	uint32_t seq;   /* of its last word; 0: it has had none of its own */
	uint32_t grow;  /* rounds of workers that words asked for (wire_slot.grow) */
	uint32_t asked; /* of these, since its last word, because too few workers came */
	bool is_few;    /* it came with fewer workers than the device holds */
	bool sized;     /* the last word asked for as many workers as were missing */
	uint32_t
		awaited; /* wire_slot.launches rises above it with the round asked for; 0: it did */
	uint32_t drains; /* how often all its workers had left, as reported */
	uint32_t rounds; /* rounds of workers that had come when they last had */
	uint32_t may_stay; /* SHRINKING: workers that need not leave */
	char name[64];
};

struct hd_tenant {
	struct hd_tenant *prev, *next; /* of its device */
	struct hd_device *device;
	struct sched_tenant *sched;
	struct wire_page *page;
	struct wire_hello hello;
	struct ucred cred;
	struct duration_owner owner; /* of what its launches teach */
	void *user;
	uint32_t id, weight, watch, follow, hold, seq, bound_us, pin, ended, n_known;
	uint32_t begin, begins; /* page->begin.seq, and how many there were */
	uint32_t shared_need;   /* bytes on an SM full of blocks: the most of its managed kernels */
	bool opaque_active;
	bool is_logged; /* that it has come, and so that it goes */
	bool again;     /* it was one of an earlier daemon */
	int priority;
	uint8_t stage[WIRE_SLOTS]; /* enum hd_stage, apart, so that all can be read at once */
	uint32_t next_slot;        /* where the oldest launch was that had not arrived */
	uint64_t looked_ns;        /* when all that is known was last looked at */
	uint64_t launches, preemptions, joined_ns, waited_ns, ran_ns; /* of those that ended */
	uint64_t share_from_ns; /* what it had had of the device when shares were counted anew */
	uint64_t active_ns, steered_ns; /* it had work then; such as can be steered */
	struct hd_bounce bounce;
	struct hd_slot slots[WIRE_SLOTS];
};

struct hd_device {
	struct hd_device *next;
	struct sched *sched;
	struct hd_tenant *tenants;
	uint32_t n_tenants, n_sms;
	uint64_t freed_ns; /* when a launch of it last ended, or left its SMs */
	bool is_cpu;
	uid_t uid;                  /* whose tenant came first: it counts as that user's */
	int64_t ahead_ns, ahead_at; /* its clock of ours, at most; as of then, 0: not known */
	uint64_t unwatched_ns;      /* when tenants were last told not to kick */
	uint64_t told_ns;           /* when a launch was last told to leave, or to shrink */
	char name[64];
};

struct hd {
	struct hd_config config;
	struct hd_io io;
	struct hd_device *devices;
	struct hd_events *events;            /* NULL: not asked for */
	struct durations *durations;         /* of all devices' kernels */
	uint32_t n_tenants, next_id, killed; /* of those on GPUs, without a word of theirs */
	uint64_t now_ns;                     /* of this turn: hd_clock */
	uint64_t started_ns, refused, bad_messages, last_alive_ns;
	struct hd_log_limit joins, sets, natives;
	bool slow_wake;  /* tenants' threads had better not sleep while they wait for a word */
	bool mps_silent; /* MPS is on, and did not answer when it was last asked */
	uint64_t ended_decisions, ended_grants, ended_preemptions; /* of devices that are gone */
	uint32_t handover_ns[HD_HANDOVERS];
	uint64_t n_handovers;
};

/* ---- core.c ---- */
/* Reads the clock into d->now_ns, and returns it (ns). A turn begins with it: the loop when it
 * wakes up, and each function of the core that is called from outside. Everything that the turn
 * decides is decided by d->now_ns. The clock is read again at two places only: where a word is
 * stored, and where the last worker is seen to have left because of it. The time between them, the
 * hand-over, may be shorter than a turn. As both move d->now_ns, it never falls, and no stamp lies
 * ahead of it. */
uint64_t hd_clock(struct hd *d);
int hd_create(const struct hd_config *c, const struct hd_io *io, struct hd **ret);
void hd_destroy(struct hd *d);
void hd_reconfigure(struct hd *d, const struct hd_config *c); /* MPS stays as it is */
/* The page stays the caller's, and must outlive the tenant. granted: after rights.c. -EUSERS,
 * -ENOSPC: no room for more tenants or devices; -EDQUOT: for more of this user's. */
int hd_tenant_add(struct hd *d, const struct ucred *cred, const struct wire_hello *hello,
	int priority, uint32_t weight, struct wire_page *page, void *user, struct hd_tenant **ret);
void hd_tenant_remove(struct hd *d, struct hd_tenant *t);
/* How many launches it has made so far, by reason, as it says itself. */
void hd_launched(const struct hd_tenant *t, uint64_t ret[WIRE_REASONS]);
struct hd_tenant *hd_tenant_find(struct hd *d, uint32_t id); /* or NULL */
void hd_tenant_set(struct hd *d, struct hd_tenant *t, int priority, uint32_t weight);
/* It kicked: looks at its whole page. hd_run decides, but on opaque work at once. */
void hd_kicked(struct hd *d, struct hd_tenant *t);
/* Looks, decides, tells. In how many ns it wants to look again; UINT64_MAX: when kicked. */
uint64_t hd_run(struct hd *d);
/* A figure that changes whenever a tenant on a GPU gets on: it launches, or a launch claims or
 * finishes blocks, or ends. Takes no lock and no clock. */
uint64_t hd_progress(const struct hd *d);
/* A launch is on its way out, so that looking without sleeping may pay. */
bool hd_in_handover(const struct hd *d);
/* Tenants of this device had better look out for a grant than sleep. */
bool hd_look_out(const struct hd *d, const struct hd_device *dev);
/* Tenants of different priorities share a device, or equals that have had work lately: the next
 * launch of one may preempt the other. */
bool hd_may_preempt(const struct hd *d);
/* ---- pages.c ---- */
bool hd_look_at_opaque(struct hd *d, struct hd_tenant *t); /* true: changed */
void hd_let_pass(struct hd_tenant *t);                     /* what waits in its streams */
void hd_slot_index(const struct hd_slot *s);               /* sets hd_tenant.stage */
/* Ahead of each decision: what was asked before it holds in it. (And when it copied.) */
void hd_look_at_pin(struct hd *d, struct hd_tenant *t);
void hd_scan_tenant(struct hd *d, struct hd_tenant *t, bool whole);
/* Updates the progress of arrived launches, and sees the arrival of the next one. Fast. */
void hd_scan_known(struct hd *d, struct hd_tenant *t);
void hd_scan_last(struct hd *d, struct hd_tenant *t); /* as it leaves: what ended teaches */
void hd_tell_figures(struct hd *d, struct hd_tenant *t, bool left); /* of its life, in its page */
/* ---- apply.c ---- */
void hd_apply(struct hd *d, struct hd_device *dev);
void hd_store_quotas(struct hd *d, struct hd_slot *s); /* a word for a launch */
/* Asks the tenant for a round of n workers for a launch that has a relay; 0: for as many as the
 * device holds. */
void hd_ask_workers(struct hd_slot *s, struct wire_slot *w, uint32_t n);
/* How many more workers the launch needs to have `workers` of them and a relay, as far as the relay
 * has reported who is present and the device holds so many. */
uint32_t hd_missing_workers(const struct hd_slot *s, const struct wire_slot *w, uint32_t workers);
/* carveout.c: a launch became known; and tells the tenants, as one came or went. */
void hd_carveout_need(struct hd_tenant *t, const struct hd_slot *s);
void hd_carveout_tell(const struct hd *d, struct hd_device *dev);
/* Of the guard form: these quotas are what it has now. It leaves and comes again where they are
 * another count. */
void hd_note_count(struct hd_slot *s, const uint8_t quota[CTL_MAX_SMS]);
void hd_watch(struct hd *d, struct hd_device *dev);
/* Whose opaque work in flight is bounded; in how many ns that changes by itself. */
uint64_t hd_set_bounds(struct hd *d, struct hd_device *dev);
/* ---- rows.c: answers to tools, as packets one after another in out ---- */
void hd_list(struct hd *d, struct strbuf *out);
void hd_status(struct hd *d, struct wire_status *ret);
/* Lists the records of this user's kernels (DURATION_ANY: of all users' kernels), the most recently
 * used first. */
void hd_profile(struct hd *d, uint32_t uid, struct strbuf *out);
/* ---- events.c: the log in JSON lines (doc/events.md) ---- */
int hd_events_open(const char *path, struct hd_events **ret);
void hd_events_close(struct hd_events *e);
void hd_events_flush(struct hd_events *e); /* off the path of decisions */
void hd_event_tenant(struct hd *d, const char *what, const struct hd_tenant *t);
void hd_event_launch(struct hd *d, const char *what, const struct hd_slot *s, uint32_t n_sms);
/* ---- rights.c: lowers what the peer may not have. groups: its supplementary ones ---- */
void hd_rights(const struct hd_config *c, const struct ucred *peer, const gid_t *groups,
	size_t n_groups, int *io_priority, uint32_t *io_weight);

#endif
