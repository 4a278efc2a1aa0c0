/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* An input of an engine or of its model, as the journal records it, and its text: one line, a JSON
 * object (doc/events.md). An action that a decision returned is an input, too, so that a reader can
 * compare it. */
#ifndef HEDDLE_SCHED_INPUT_H
#define HEDDLE_SCHED_INPUT_H

#include "sched.h"
#include "sched/model/durations.h"

#define SCHED_INPUTS_VERSION 1 /* version of the text */
#define SCHED_POLICY_NAME    64u

enum sched_input_type {
#define EVENT_0(subject, name, ...) SCHED_INPUT_##name,
#define EVENT_1(subject, name, ...) SCHED_INPUT_##name,
#define EVENT_2(subject, name, ...) SCHED_INPUT_##name,
#define INPUT(name)                 SCHED_INPUT_##name,
#include "events.def"
	SCHED_INPUT_kernel, /* the model has a record of this kernel: a new one, or one from a file */
	SCHED_INPUT_forget, /* the model dropped the record */
	SCHED_INPUT_lost,   /* memory was exhausted: the inputs after this one were not recorded */
	SCHED_INPUT_TYPES,
};

/* The arguments of create and reconfigure. */
struct sched_setup {
	struct sched_options options; /* all options except pointers */
	char policy[SCHED_POLICY_NAME];
	bool loaded;  /* the policy is not a built-in one */
	bool changed; /* the policy differs from the current one */
	char policy_options[SCHED_POLICY_OPTIONS];
};

/* An action that sched_next returned. */
struct sched_told {
	enum sched_action_type type;
	bool first, of_launch;
	uint32_t n_sms, workers;
	/* the quotas of one launch, or those with which new launches begin */
	uint8_t quota[CTL_MAX_SMS];
};

struct sched_input {
	enum sched_input_type type;
	uint32_t engine, tenant; /* engine: a number from 1; 0 in kernel and forget */
	uint64_t launch, t_ns;
	/* The arguments as in events.def. join: priority, weight. learn: ran_ns. decide: the number
	 * of actions. forget and kernel: the kernel's number. */
	uint64_t value[2];
	int result; /* result of decide */
	/* Each is set for some types only, otherwise NULL. */
	const struct sched_setup *setup;
	const struct sched_launch_info *info;
	const struct sched_told *told;
	const struct duration_kernel *kernel;
};

/* Memory to which the pointers of an input refer after reading. */
struct sched_input_room {
	struct sched_setup setup;
	struct sched_launch_info info;
	struct sched_told told;
	struct duration_kernel kernel;
};

extern const char *const sched_action_names[]; /* index: enum sched_action_type */
/* Appends quotas as ranges of SMs: "0-3:2, 5:1" is 2 on each of SMs 0 to 3, and 1 on SM 5. Other SMs
 * have 0. "none" if all have 0. 255 is no bound. */
void sched_quota_text(const uint8_t quota[CTL_MAX_SMS], struct strbuf *out);
/* True if the line, without its newline, is such a text (and not, say, an event of heddled). */
bool sched_input_is(const char *line, size_t len);
/* Appends the line with its newline. If memory is exhausted, sets out->failed. */
void sched_input_write(const struct sched_input *in, struct strbuf *out);
#define SCHED_INPUT_WHY 160u
/* Reads a line. All values are in the ranges that heddled keeps to. Returns 0, or -EINVAL with a
 * sentence in ret_why. *ret refers to *room. */
int sched_input_read(const char *line, size_t len, struct sched_input_room *room,
	struct sched_input *ret, char ret_why[SCHED_INPUT_WHY]);

#endif
