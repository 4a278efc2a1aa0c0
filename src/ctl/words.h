/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What a host tells managed launches, and what they report: the part of the protocol (control.h)
 * that is in host memory. */
#ifndef HEDDLE_WORDS_H
#define HEDDLE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CTL_MAX_SMS  256
#define CTL_NO_QUOTA 255u /* no block count per SM reaches it */

/* Pinned host memory shared by tenant, daemon and device; 128-byte aligned. Each side writes only
 * its own lines. */
struct ctl_host {
	/* host -> device; ctl_tell() */
	union {
		struct {
			uint32_t seq;
			uint32_t same; /* 1 + the quota of all SMs; 0: look at each */
		};
		uint64_t word; /* both */
	};
	uint64_t store_ns; /* CLOCK_MONOTONIC of the last store, for measuring */
	uint32_t pad1[28];
	uint8_t quota[CTL_MAX_SMS]; /* workers per SM; CTL_NO_QUOTA: no bound */
	/* device -> host; gen-valued fields say which launch they speak of. */
	uint32_t arrived;     /* gen + 1, once the first relay ran */
	uint32_t done;        /* gen + 1, when every block has finished and all workers left */
	uint32_t drained_seq; /* applied_seq when the last worker left with blocks unfinished; 0:
				 on its tenant's word */
	uint32_t drains;      /* how often that happened in this launch */
	uint64_t ticket, finished;
	uint64_t arrived_ns, seen_ns, drained_ns, done_ns; /* %globaltimer; seen: last seq change */
	uint32_t present; /* workers and relay there at the relay's last report */
	uint32_t began;   /* ctl_tenant.seq that it began with; 0: with nothing. Ahead of arrived */
	uint32_t rounds; /* of the drain: the greatest ctl_args.round of those that came and went */
	uint32_t pad2[13];
};

/* Pinned host memory, too; one a tenant, written by the daemon: what launches begin with that have
 * no word of their own yet; ctl_tell(). */
struct ctl_tenant {
	union {
		struct {
			uint32_t seq;  /* 0: nothing, all quotas are CTL_NO_QUOTA. Else another one
					  for each word */
			uint32_t same; /* as in struct ctl_host */
		};
		uint64_t word;
	};
	uint32_t pad[30];
	uint8_t quota[CTL_MAX_SMS];
};

_Static_assert(sizeof(struct ctl_host) == 256 + CTL_MAX_SMS, "emitted as offsets");
_Static_assert(sizeof(struct ctl_tenant) == 128 + CTL_MAX_SMS, "emitted as offsets");

/* Stores quotas, then (release) the word that the relay reads in one. to, word: of one of the two
 * above, which nobody else writes meanwhile. */
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
