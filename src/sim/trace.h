/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads the events of a simulated device, one on each line:
 *   device sms=4 policy=NAME mode=simultaneous|turns preempt=spatial|temporal ...
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

/* The words of one line. */
struct sim_words {
	char text[SIM_LINE_MAX + 1];
	char *at[SIM_WORDS];
	unsigned n;
	uint32_t known; /* bit i: a function has read word at[i] */
};

struct sim_reader {
	struct sim *sim;         /* initialized by the caller; receives the events */
	struct diag_list *diags; /* its name is that of the file */
	const char *only;        /* if not NULL, only the lines of this tenant are read */
	uint32_t line;           /* number of the current line, from 1 */
	uint32_t n_tenants;
	bool has_end; /* a line "run" has been read */
	/* Finds a policy that is not built in (sched_policy_is_file); NULL: there is none. */
	const struct sched_policy *(*find)(void *user, const char *name);
	void *find_user;
};

/* Converts a time such as "1.5ms" to ns, at most SIM_TIME_MAX_NS. Returns 0, -EINVAL if the text is
 * not a time or is negative, or -ERANGE. */
#define SIM_TIME_MAX_NS 1000000000000000ull /* 1,000,000 s */
int sim_parse_time(const char *text, uint64_t *ret_ns);
/* Splits a line of len bytes, without its newline, into words. Returns 0, or -E2BIG if it is too
 * long or has too many words. */
int sim_split(const char *line, size_t len, struct sim_words *ret);
/* Changes '~' to '#' in a name, in place. The second launch of kernel k has the name k#1. Traces
 * write k~1, because '#' begins a comment. */
void sim_real_name(char *name);
/* Reads one line. It must not be a line that sim_read skips. Returns 0, -EINVAL with an error in
 * diags, or -ENOMEM. */
int sim_read_line(struct sim_reader *r, const char *line, size_t len);
/* Finds where the part of the first device ends in a trace of several devices. A line "device"
 * after lines "at" or "run" begins another device. Returns the size of the first part in bytes, and
 * its number of lines. */
size_t sim_section(const char *text, size_t len, uint32_t *ret_lines);
/* Reads lines up to the end or to a line "---". Skips "expect" lines, which are for tests. Counts
 * lines starting from r->line. Returns 0, -EINVAL with an error in diags, or -ENOMEM. */
int sim_read(struct sim_reader *r, const char *text, size_t len);

#endif
