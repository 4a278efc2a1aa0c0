/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the events of a simulated device, one on each line:
 *   device sms=4 mode=simultaneous|turns preempt=spatial|temporal
 *     policy=hpf|ffs|greedy|split|none|profile|fixed ...
 *   at TIME join TENANT [prio=low|normal|high|N] [weight=N]
 *   at TIME launch TENANT KERNEL [blocks=N] [block=TIME] [wps=N] [stream=N] [count=N] ...
 *   at TIME opaque|idle|pin|unpin|priority|weight|leave TENANT ...
 *   run TIME
 * A time is a number with ns, us, ms or s. '#' begins a comment. heddle(1) lists every word.
 * Errors become diagnostics with their line, and reading continues with the next line. */
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
	uint32_t known; /* bit i: some reader knows at[i] */
};

struct sim_reader {
	struct sim *sim;         /* initialized; receives the events */
	struct diag_list *diags; /* names the file */
	const char *only;        /* reads only the lines of this tenant; NULL: of all tenants */
	uint32_t line;           /* number of the present line, from 1 */
	uint32_t n_tenants;
	bool has_end; /* a line "run" was read */
};

/* Converts "1.5ms" to ns, at most SIM_TIME_MAX_NS. 0; -EINVAL: not a time, or negative; -ERANGE. */
#define SIM_TIME_MAX_NS 1000000000000000ull /* 1,000,000 s */
int sim_parse_time(const char *text, uint64_t *ret_ns);
/* Splits a line of len bytes, without its newline. 0; -E2BIG: too long, or too many words. */
int sim_split(const char *line, size_t len, struct sim_words *ret);
/* Changes '~' to '#' in place. The second launch of kernel k is k#1; traces write k~1, because
 * '#' begins a comment. */
void sim_real_name(char *name);
/* Reads one line, which must be none that sim_read skips. 0; -EINVAL: an error is in diags;
 * -ENOMEM. */
int sim_read_line(struct sim_reader *r, const char *line, size_t len);
/* A trace may have several devices: a line "device" after lines "at" or "run" begins another
 * one. Returns the size of the first device's text, and its number of lines. */
size_t sim_section(const char *text, size_t len, uint32_t *ret_lines);
/* Reads lines up to the end or to a line "---". Skips "expect" lines, which are for tests.
 * Counts lines from r->line on. 0; -EINVAL: an error is in diags; -ENOMEM. */
int sim_read(struct sim_reader *r, const char *text, size_t len);

#endif
