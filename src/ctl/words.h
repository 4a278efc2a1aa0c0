/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The words of the host for managed launches, and the launches' reports: the part of the
 * protocol (control.h) in host memory. */
#ifndef HEDDLE_WORDS_H
#define HEDDLE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CTL_MAX_SMS  256
#define CTL_NO_QUOTA 255u /* larger than any number of blocks on an SM */

/* Pinned host memory, shared by tenant, daemon and device; 128-byte aligned. Each side writes
 * only its own lines. */
struct ctl_host {
	/* host -> device; ctl_tell() */
	union {
		struct {
			uint32_t seq;
			/* 1 + the quota of all SMs; 0: quotas differ, so read each one */
			uint32_t same;
		};
		uint64_t word; /* both */
	};
	uint64_t store_ns; /* CLOCK_MONOTONIC of the last store, for measurements */
	uint32_t pad1[28];
	uint8_t quota[CTL_MAX_SMS]; /* workers on each SM; CTL_NO_QUOTA: no bound */
	/* device -> host. A field with a generation belongs to that launch. */
	uint32_t arrived; /* gen + 1 once the first relay runs */
	uint32_t done;    /* gen + 1 when every block has finished and all workers have left */
	/* applied_seq when the last worker left with unfinished blocks; 0: it obeyed its
	 * tenant's word */
	uint32_t drained_seq;
	uint32_t drains; /* number of such drains of this launch */
	uint64_t ticket, finished;
	/* %globaltimer; seen_ns: of the last change of seq */
	uint64_t arrived_ns, seen_ns, drained_ns, done_ns;
	uint32_t present; /* workers and relay that were present at the relay's last report */
	/* the ctl_tenant.seq with which it began; 0: without a word. Stored before arrived. */
	uint32_t began;
	/* of the drain: the greatest ctl_args.round of workers that came and left */
	uint32_t rounds;
	uint32_t pad2[13];
};

/* Pinned host memory, one for each tenant, written by the daemon: the quotas of launches that
 * have no word of their own yet; see ctl_tell(). */
struct ctl_tenant {
	union {
		struct {
			/* 0: no word, all quotas are CTL_NO_QUOTA; else a new value for each
			 * word */
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

/* Stores quotas, then (with release) the word that the relay reads at once. to, word: fields of
 * one of the two structures above. No other thread may write them at the same time. */
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
