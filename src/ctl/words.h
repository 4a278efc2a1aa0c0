/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The part of the protocol (control.h) that is in host memory: the control words, by which the host
 * gives managed launches their quotas, and the launches' reports. A control word is a sequence
 * number that the host stores after new quotas. */
#ifndef HEDDLE_WORDS_H
#define HEDDLE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CTL_MAX_SMS  256
#define CTL_NO_QUOTA 255u /* no limit: more than the number of blocks that fit on an SM */

/* The host slot of a launch. Pinned host memory, shared by the tenant, heddled and the device,
 * 128-byte aligned. Each side writes only its own cache lines. */
struct ctl_host {
	/* host to device; written by ctl_tell() */
	union {
		struct {
			uint32_t seq;
			/* 1 + quota if all SMs have the same quota; 0: quotas differ, so read each
			 * one */
			uint32_t same;
		};
		uint64_t word; /* seq and same, stored together */
	};
	uint64_t store_ns; /* CLOCK_MONOTONIC time of the last store, for measurements */
	uint32_t pad1[28];
	/* largest number of workers on each SM; CTL_NO_QUOTA: no limit */
	uint8_t quota[CTL_MAX_SMS];
	/* device -> host. A field that contains a generation applies only to the launch of that
	 * generation. */
	uint32_t arrived; /* generation + 1 once the first relay runs */
	/* generation + 1 when every block has finished and all workers have exited */
	uint32_t done;
	/* value of applied_seq when the last worker exited with unfinished blocks; 0: the launch
	 * still used its tenant's quotas */
	uint32_t drained_seq;
	uint32_t drains; /* number of drains of this launch */
	uint64_t ticket, finished;
	/* %globaltimer values; seen_ns: when the relay last saw `seq` change */
	uint64_t arrived_ns, seen_ns, drained_ns, done_ns;
	uint32_t present; /* workers and relays at the relay's last report */
	/* value of ctl_tenant.seq with which the launch began; 0: there were no tenant quotas.
	 * Stored before `arrived`. */
	uint32_t began;
	/* reported with a drain: the greatest ctl_args.round of the workers that entered and
	 * exited */
	uint32_t rounds;
	uint32_t pad2[13];
};

/* The quotas for launches for which heddled has not stored quotas yet. Pinned host memory, one for
 * each tenant, written by heddled with ctl_tell(). */
struct ctl_tenant {
	union {
		struct {
			/* 0: heddled has stored no quotas, so all are CTL_NO_QUOTA; else a new
			 * number for each update */
			uint32_t seq;
			uint32_t same; /* as in struct ctl_host */
		};
		uint64_t word;
	};
	uint32_t pad[30];
	uint8_t quota[CTL_MAX_SMS];
};

_Static_assert(sizeof(struct ctl_host) == 256 + CTL_MAX_SMS, "emitted as offsets");
_Static_assert(sizeof(struct ctl_tenant) == 128 + CTL_MAX_SMS, "emitted as offsets");

/* Stores new quotas, and then (with release) the 64-bit control word that the relay polls: the
 * sequence number and `same`. `to` and `word` are the fields `quota` and `word` of one of the two
 * structures above. No other thread may write them at the same time. */
static inline void ctl_tell(
	uint8_t to[CTL_MAX_SMS], uint64_t *word, uint32_t seq, const uint8_t quota[CTL_MAX_SMS])
{
	struct ctl_tenant now = {.seq = seq};

	if (!memcmp(quota, quota + 1, CTL_MAX_SMS - 1))
		now.same = 1 + (uint32_t)quota[0];
	memcpy(to, quota, CTL_MAX_SMS);
	__atomic_store_n(word, now.word, __ATOMIC_RELEASE);
}

#endif
