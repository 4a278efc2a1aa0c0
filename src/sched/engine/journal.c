/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See journal.h. The functions of sched.h that change the engine's state are here: each one calls
 * the function of the same name in events.h, and records the call if the engine has a journal. */
#include "journal.h"

#include "events.h"
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FULL_ENTRIES 4096u
#define FULL_KERNELS 16u /* each record has 14 KB */
#define SOFT_ENTRIES 256u

/* An input. Its structure, if it has one, is the element `at` of the list for its type. */
struct entry {
	struct sched_input in;
	size_t at;
};

/* The entries from n_hard on are soft: reports of progress that nothing has followed. A later report
 * of the same launch replaces one of them. */
struct sched_journal {
	void (*full)(void *user);
	void *user;
	VEC(struct entry) entries;
	size_t n_hard;
	VEC(struct sched_setup) setups;
	VEC(struct sched_launch_info) infos;
	VEC(struct sched_told) tolds;
	VEC(struct duration_kernel) kernels;
	uint32_t engines; /* number of engines created so far */
	bool lost;        /* memory was exhausted: the journal records nothing more */
	bool said;        /* the text already has the input `lost` */
};

int sched_journal_create(void (*full)(void *user), void *user, struct sched_journal **ret)
{
	struct sched_journal *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->full = full;
	j->user = user;
	*ret = j;
	return 0;
}

static void drop_entries(struct sched_journal *j)
{
	VEC_FREE(&j->entries);
	VEC_FREE(&j->setups);
	VEC_FREE(&j->infos);
	VEC_FREE(&j->tolds);
	VEC_FREE(&j->kernels);
	j->n_hard = 0;
}

void sched_journal_stop(struct sched_journal *j)
{
	drop_entries(j);
	j->lost = j->said = true;
}

void sched_journal_destroy(struct sched_journal *j)
{
	if (!j)
		return;
	drop_entries(j);
	free(j);
}

/* ---- writing ---- */

static void write_entry(const struct sched_journal *j, const struct entry *e, struct strbuf *out)
{
	struct sched_input in = e->in;

	switch (in.type) {
	case SCHED_INPUT_create:
	case SCHED_INPUT_reconfigure:
		in.setup = &j->setups.at[e->at];
		break;
	case SCHED_INPUT_submit:
	case SCHED_INPUT_learn:
		in.info = &j->infos.at[e->at];
		break;
	case SCHED_INPUT_next:
		in.told = &j->tolds.at[e->at];
		break;
	case SCHED_INPUT_kernel:
		in.kernel = &j->kernels.at[e->at];
		break;
	default:
		break;
	}
	sched_input_write(&in, out);
}

void sched_journal_write(struct sched_journal *j, bool last, struct strbuf *out)
{
	static const struct sched_input lost = {.type = SCHED_INPUT_lost};
	size_t n = last || j->lost ? j->entries.len : j->n_hard;

	for (size_t i = 0; i < n; i++)
		write_entry(j, &j->entries.at[i], out);
	if (n)
		memmove(j->entries.at, j->entries.at + n,
			(j->entries.len - n) * sizeof(j->entries.at[0]));
	j->entries.len -= n;
	j->n_hard = 0;
	j->setups.len = j->infos.len = j->tolds.len = j->kernels.len = 0;
	if (j->lost && !j->said)
		sched_input_write(&lost, out);
	j->said |= j->lost;
}

/* ---- recording ---- */

static void add_entry(struct sched_journal *j, const struct sched_input *in, size_t at)
{
	struct entry e = {.in = *in, .at = at};

	if (j->lost)
		return;
	j->lost = !VEC_PUSH(&j->entries, e);
	j->n_hard = j->entries.len;
	if (j->entries.len >= FULL_ENTRIES || j->kernels.len >= FULL_KERNELS)
		j->full(j->user);
}

/* Records an input with a structure, which it adds to its list. */
#define ADD_WITH(j, in, list, structure)                                     \
	do {                                                                 \
		(j)->lost = (j)->lost || !VEC_PUSH(&(j)->list, (structure)); \
		add_entry((j), (in), (j)->list.len - 1);                     \
	} while (0)

/* Records a report that a later one of the same launch replaces, if no other input comes between. */
static void add_soft(struct sched_journal *j, const struct sched_input *in)
{
	struct entry e = {.in = *in};

	for (size_t i = j->entries.len; i-- > j->n_hard;) {
		const struct sched_input *o = &j->entries.at[i].in;

		if (o->type != in->type || o->engine != in->engine || o->tenant != in->tenant ||
			o->launch != in->launch)
			continue;
		/* The last report comes last: several launches of a tenant report on it. */
		memmove(&j->entries.at[i], &j->entries.at[i + 1],
			(j->entries.len - i - 1) * sizeof(e));
		j->entries.len--;
		break;
	}
	j->lost = j->lost || !VEC_PUSH(&j->entries, e);
	if (j->entries.len - j->n_hard >= SOFT_ENTRIES)
		j->n_hard = j->entries.len;
}

static void note_kernel(void *user, uint64_t number, const struct duration_kernel *k)
{
	struct sched_journal *j = user;
	struct sched_input in = {.type = SCHED_INPUT_kernel, .value = {number}};

	ADD_WITH(j, &in, kernels, *k);
}

static void note_forgotten(void *user, uint64_t number)
{
	struct sched_input in = {.type = SCHED_INPUT_forget, .value = {number}};

	add_entry(user, &in, 0);
}

/* ---- events ---- */

static void name_tenant(struct sched_input *in, const struct sched *s, const struct sched_tenant *t)
{
	in->engine = s->engine;
	in->tenant = t->id;
}

static void name_launch(struct sched_input *in, const struct sched *s, const struct sched_launch *l)
{
	name_tenant(in, s, l->tenant);
	in->launch = l->k.id;
}

/* Returns false if the event would change nothing. */
static bool tenant_is_news(const struct sched_input *in, const struct sched_tenant *t)
{
	switch (in->type) {
	case SCHED_INPUT_opaque:
		return (t->opaque_state != OPAQUE_NONE) != in->value[0];
	case SCHED_INPUT_copied:
		return t->pauses.copied_ns != in->value[0] ||
		       t->pauses.last_copy_ns != in->value[1];
	case SCHED_INPUT_pin:
		return t->pinned != in->value[0];
	case SCHED_INPUT_keep:
		return t->kept != in->value[0];
	default:
		return true;
	}
}

static bool launch_is_news(const struct sched_input *in, const struct sched_launch *l)
{
	switch (in->type) {
	case SCHED_INPUT_progress:
		return MIN(in->value[0], l->k.total) > l->k.finished;
	case SCHED_INPUT_started:
		return MIN(in->value[0], l->k.total) > l->started;
	case SCHED_INPUT_idle:
		return l->idle != in->value[0];
	case SCHED_INPUT_shrunk:
		return l->state == LAUNCH_SHRINKING;
	default:
		return true;
	}
}

/* Parts of the state that a report of progress may change beyond the progress itself. */
struct effect {
	bool dirty;
	uint64_t deadline_ns, coming_ns;
};

static struct effect tenant_effect(const struct sched *s, const struct sched_tenant *t)
{
	(void)t;
	return (struct effect){s->dirty, s->deadline_ns, 0};
}

static struct effect launch_effect(const struct sched *s, const struct sched_launch *l)
{
	return (struct effect){s->dirty, s->deadline_ns, l->coming_ns};
}

/* Records an event after it has happened. x: its tenant or launch, which may be gone. before: see
 * struct effect. */
static void note_event(
	struct sched *s, const struct sched_input *in, const void *x, const struct effect *before)
{
	bool soft = in->type == SCHED_INPUT_progress;

	if (in->type == SCHED_INPUT_started) {
		struct effect after = launch_effect(s, x);

		soft = before->dirty == after.dirty && before->deadline_ns == after.deadline_ns &&
		       before->coming_ns == after.coming_ns;
	}
	if (soft)
		add_soft(s->o.journal, in);
	else
		add_entry(s->o.journal, in, 0);
}

#define NOW_TIMED   .t_ns = now_ns
#define NOW_UNTIMED .t_ns = 0
#define PASS_TIMED  now_ns,
#define PASS_UNTIMED
/* The body of the function of one event. */
#define EVENT_BODY(subject, name, time, value1, value2, ...)        \
	struct sched_input in = {.type = SCHED_INPUT_##name,        \
		NOW_##time,                                         \
		.value = {(uint64_t)(value1), (uint64_t)(value2)}}; \
	struct effect before;                                       \
                                                                    \
	if (!subject##_is_news(&in, subject))                       \
		return;                                             \
	before = subject##_effect(s, subject);                      \
	name_##subject(&in, s, subject);                            \
	engine_##name(s, PASS_##time subject, ##__VA_ARGS__);       \
	if (s->o.journal)                                           \
		note_event(s, &in, subject, &before);
#define EVENT_0(subject, name, time)                                                         \
	void sched_##name(struct sched *s, PARAMETER_##time struct sched_##subject *subject) \
	{                                                                                    \
		EVENT_BODY(subject, name, time, 0, 0)                                        \
	}
#define EVENT_1(subject, name, time, form, type, argument)                                        \
	void sched_##name(                                                                        \
		struct sched *s, PARAMETER_##time struct sched_##subject *subject, type argument) \
	{                                                                                         \
		EVENT_BODY(subject, name, time, argument, 0, argument)                            \
	}
#define EVENT_2(subject, name, time, form1, type1, argument1, form2, type2, argument2)       \
	void sched_##name(struct sched *s, PARAMETER_##time struct sched_##subject *subject, \
		type1 argument1, type2 argument2)                                            \
	{                                                                                    \
		EVENT_BODY(subject, name, time, argument1, argument2, argument1, argument2)  \
	}
#define INPUT(name)
#include "events.def"

/* ---- other inputs ---- */

/* The policy and its options are those that the engine has now: it may have refused others. */
static struct sched_setup setup_of(
	const struct sched *s, const struct sched_options *o, bool changed)
{
	struct sched_setup setup = {.options = *o,
		.loaded = sched_policy_find(s->policy->name) != s->policy,
		.changed = changed};

	snprintf(setup.policy, sizeof(setup.policy), "%s", s->policy->name);
	snprintf(setup.policy_options, sizeof(setup.policy_options), "%s", s->policy_options);
	return setup;
}

int sched_create(const struct sched_options *o, const struct sched_policy *p, struct sched **ret)
{
	struct sched_input in = {.type = SCHED_INPUT_create};
	struct sched_journal *j = o->journal;
	int r;

	if (j && (o->model != &model_durations || !o->model_state))
		return -EINVAL;
	r = engine_create(o, p, ret);
	if (r < 0 || !j)
		return r;
	durations_watch(o->model_state, note_kernel, note_forgotten, j);
	in.engine = (*ret)->engine = ++j->engines;
	ADD_WITH(j, &in, setups, setup_of(*ret, o, true));
	return 0;
}

void sched_reconfigure(struct sched *s, const struct sched_options *o, const struct sched_policy *p)
{
	struct sched_input in = {.type = SCHED_INPUT_reconfigure, .engine = s->engine};
	const struct sched_policy *was = s->policy;

	engine_reconfigure(s, o, p);
	if (s->o.journal)
		ADD_WITH(s->o.journal, &in, setups, setup_of(s, o, s->policy != was));
}

void sched_destroy(struct sched *s)
{
	struct sched_input in = {.type = SCHED_INPUT_destroy};

	if (s && s->o.journal) {
		in.engine = s->engine;
		add_entry(s->o.journal, &in, 0);
	}
	engine_destroy(s);
}

int sched_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret)
{
	struct sched_input in = {.type = SCHED_INPUT_join,
		.engine = s->engine,
		.t_ns = now_ns,
		.tenant = tenant,
		.value = {(uint64_t)(int64_t)priority, weight}};
	int r = engine_join(s, now_ns, tenant, priority, weight, user, ret);

	if (r == 0 && s->o.journal)
		add_entry(s->o.journal, &in, 0);
	return r;
}

int sched_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret)
{
	struct sched_input in = {.type = SCHED_INPUT_submit, .t_ns = now_ns};
	int r = engine_submit(s, now_ns, t, info, ret);

	if (r < 0 || !s->o.journal)
		return r;
	name_launch(&in, s, *ret);
	ADD_WITH(s->o.journal, &in, infos, *info);
	return 0;
}

void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns)
{
	struct sched_input in = {.type = SCHED_INPUT_learn, .engine = s->engine, .value = {ran_ns}};

	engine_learn(s, info, ran_ns);
	if (s->o.journal)
		ADD_WITH(s->o.journal, &in, infos, *info);
}

int sched_decide(struct sched *s, uint64_t now_ns)
{
	struct sched_input in = {.type = SCHED_INPUT_decide, .engine = s->engine, .t_ns = now_ns};

	if (!engine_is_due(s, now_ns))
		return 0;
	in.result = engine_decide(s, now_ns);
	in.value[0] = s->actions.len;
	if (s->o.journal)
		add_entry(s->o.journal, &in, 0);
	return in.result;
}

static void note_action(struct sched *s, const struct sched_action *a)
{
	struct sched_input in = {.type = SCHED_INPUT_next};
	struct sched_told told = {.type = a->type,
		.first = a->first,
		.of_launch = a->launch != NULL,
		.n_sms = a->n_sms,
		.workers = a->workers};

	if (a->launch) {
		name_launch(&in, s, a->launch);
		sched_quotas(s, a->launch, told.quota);
	} else {
		name_tenant(&in, s, a->tenant);
		if (a->type == SCHED_BEGIN)
			sched_begin_quotas(s, a->tenant, told.quota);
	}
	ADD_WITH(s->o.journal, &in, tolds, told);
}

bool sched_next(struct sched *s, struct sched_action *ret)
{
	if (!engine_next(s, ret))
		return false;
	if (s->o.journal)
		note_action(s, ret);
	return true;
}
