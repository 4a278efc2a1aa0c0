/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads what happens on a simulated device, a line each:
 *   device sms=4 mode=simultaneous|turns preempt=spatial|temporal
 * policy=hpf|ffs|greedy|split|none|profile|fixed ... at TIME join TENANT [prio=low|normal|high|N]
 * [weight=N] at TIME launch TENANT KERNEL [blocks=N] [block=TIME] [wps=N] [stream=N] [count=N] ...
 * at TIME opaque|idle|pin|unpin|priority|weight|leave TENANT ... run TIME A time is a number and
 * ns, us, ms or s. '#' begins a comment. heddle(1) lists every word. Errors go into diagnostics
 * with their line, and the reader goes on with the next line. */
#ifndef HEDDLE_SIM_TRACE_H
#define HEDDLE_SIM_TRACE_H

#include "base/diag.h"
#include "sim/sim.h"

#define SIM_LINE_MAX 1023
#define SIM_WORDS    24

/* A line, split at blanks. */
struct sim_words {
	char text[SIM_LINE_MAX + 1];
	char *at[SIM_WORDS];
	unsigned n;
	uint32_t known; /* bit i: something asked for at[i] */
};

struct sim_reader {
	struct sim *sim;         /* initialized; gets the events */
	struct diag_list *diags; /* with the file's name */
	const char *only;        /* reads the lines of this tenant alone; NULL: of all */
	uint32_t line;           /* from 1: the one that is read */
	uint32_t n_tenants;
	bool has_end; /* a line "run" was read */
};

/* "1.5ms" in ns, at most SIM_TIME_MAX_NS. 0; -EINVAL: not a time, or a negative one; -ERANGE. */
#define SIM_TIME_MAX_NS 1000000000000000ull /* 1,000,000 s */
int sim_parse_time(const char *text, uint64_t *ret_ns);
/* Splits a line of len bytes without its end. 0; -E2BIG: too long, or too many words. */
int sim_split(const char *line, size_t len, struct sim_words *ret);
/* The second launch of kernel k is k#1, and written k~1, since '#' begins a comment. In place. */
void sim_real_name(char *name);
/* Reads one line, which must be none of those that sim_read passes over. 0; -EINVAL: said in diags;
 * -ENOMEM. */
int sim_read_line(struct sim_reader *r, const char *line, size_t len);
/* A trace may have several devices: a line "device" below lines "at" or "run" begins the part of
 * another one. Returns the bytes of the first part, and its number of lines. */
size_t sim_section(const char *text, size_t len, uint32_t *ret_lines);
/* Reads lines up to the end, or to a line "---". Passes over "expect" lines, which are for tests.
 * Counts from r->line on. 0; -EINVAL: said in diags; -ENOMEM. */
int sim_read(struct sim_reader *r, const char *text, size_t len);

#endif
