/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The functions behind those of sched.h that change the engine's state. Files of the engine call
 * these, so that only calls from outside are recorded (journal.c). */
#ifndef HEDDLE_SCHED_EVENTS_H
#define HEDDLE_SCHED_EVENTS_H

#include "engine.h"

#define PARAMETER_TIMED uint64_t now_ns,
#define PARAMETER_UNTIMED
#define EVENT_0(subject, name, time) \
	void engine_##name(struct sched *s, PARAMETER_##time struct sched_##subject *subject);
#define EVENT_1(subject, name, time, form, type, argument) \
	void engine_##name(                                \
		struct sched *s, PARAMETER_##time struct sched_##subject *subject, type argument);
#define EVENT_2(subject, name, time, form1, type1, argument1, form2, type2, argument2)        \
	void engine_##name(struct sched *s, PARAMETER_##time struct sched_##subject *subject, \
		type1 argument1, type2 argument2);
#define INPUT(name)
#include "events.def"

int engine_create(const struct sched_options *o, const struct sched_policy *p, struct sched **ret);
void engine_reconfigure(
	struct sched *s, const struct sched_options *o, const struct sched_policy *p);
void engine_destroy(struct sched *s);
int engine_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret);
int engine_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret);
void engine_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns);
int engine_decide(struct sched *s, uint64_t now_ns);
bool engine_next(struct sched *s, struct sched_action *ret);
/* Returns true if engine_decide would make a decision now. */
bool engine_is_due(const struct sched *s, uint64_t now_ns);

#endif
