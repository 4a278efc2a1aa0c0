/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The measured speed of a form for one block size and amount of shared memory, and the decisions
 * that follow from it: how many blocks a worker claims at once, which of two forms is used, and
 * whether the kernel is worth managing. These functions use no locks, no clock and no driver. */
#ifndef HEDDLE_SHIM_PACE_H
#define HEDDLE_SHIM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_CHUNKS 6
struct pace {
	/* time per block of the grid, if a worker claims 2^i at once; 0: not tried */
	double ns[PACE_CHUNKS];
	uint64_t grid_ns; /* duration of a launch of total_seen blocks */
	uint64_t total_seen;
	uint32_t launches; /* number of launches that were measured */
	uint32_t skipped;  /* number of launches since the last measured one */
	/* how many launches to skip while the kernel stays too short to manage */
	uint32_t patience;
	uint32_t begins; /* the first trial uses claims of 2^begins blocks */
};

/* Records that a launch of `total` blocks took took_ns without disturbance, with claims of `chunk`
 * blocks. Launches shorter than min_ns are not managed. */
void pace_learn(struct pace *p, uint32_t chunk, uint64_t took_ns, uint64_t total, uint64_t min_ns);
/* Records that `ran` blocks of a launch took took_ns. Used for a launch that was resumed: the
 * blocks and the time since the last resume. */
void pace_learn_spell(struct pace *p, uint32_t chunk, uint64_t took_ns, uint64_t ran);
/* Returns the number of blocks to claim at once for a launch with `workers` workers. target_ns
 * limits the time of a claim of several blocks, because a preempting tenant waits that long; 0
 * stands for 24 us. Sets *ret_settled if the size is known to be the best; otherwise it is a trial.
 * FLEP (section 4.1) calls this number the amortizing factor, and finds it offline. */
uint32_t pace_chunk(const struct pace *p, uint64_t workers, uint64_t target_ns, bool *ret_settled);
/* Prepares the second form, which has not been launched yet: its first trial uses the first form's
 * best claim size, or a smaller one if claims of that size would take too long. */
void pace_begin_second(struct pace *second, uint64_t second_workers, const struct pace *first,
	uint64_t first_workers, uint64_t target_ns);
/* Returns true if the kernel's second form should be used: while it is being tried, and afterwards
 * if it is faster. */
bool pace_prefers_second(const struct pace *first, uint64_t first_workers,
	const struct pace *second, uint64_t second_workers, uint64_t target_ns);
/* Decides whether this launch should run in the slower of the two forms again, because the
 * measurement of that form may have been disturbed. Returns the number of launches so far if so,
 * else 0. Such a retry is due when both forms are measured and that number is 64, 128, 256 and so
 * on. It stays the same until the next measurement, so the caller retries only once for each
 * number. */
uint32_t pace_form_retry(const struct pace *first, const struct pace *second);
/* Returns true if a launch of `total` blocks is probably shorter than min_ns, and not worth
 * managing. */
bool pace_is_short(const struct pace *p, uint64_t total, uint64_t min_ns);
/* Call this for a launch that is too short to manage. Returns true if it is time to measure one
 * again. */
bool pace_remeasures(struct pace *p);

#endif
