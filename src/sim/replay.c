/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See replay.h. A log may hold anything: what no heddled writes is an error with its line. */
#include "sim/replay.h"

#include "sched/engine/form.h"
#include "sched/engine/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct launch {
	uint64_t id;
	struct sched_launch *handle;
};

struct tenant {
	uint32_t id;
	struct sched_tenant *handle;
	VEC(struct launch) launches;
};

struct engine {
	uint32_t id;
	uint64_t t_ns; /* time of its last input that has a time */
	struct sched *sched;
	/* Two copies of a policy from a file, because an engine that gets another policy at the
	 * same place would not notice. */
	struct sched_policy loaded[2];
	unsigned n_loaded;
	VEC(struct tenant) tenants;
};

struct replay {
	const struct replay_job *job;
	struct replay_result *ret;
	struct durations *durations;
	VEC(struct engine *) engines;
	struct engine *engine; /* engine of the current input */
	uint32_t line;
	const char *text; /* the current line */
	size_t len;
	uint64_t origin_ns; /* time of the first decision */
	struct sched_input in;
	struct sched_input_room room;
};

#define replay_error(r, ...) diag_line_error((r)->job->diags, (r)->line, __VA_ARGS__)

/* ---- engines, tenants and launches ---- */

static struct engine *engine_find(const struct replay *r, uint32_t id)
{
	for (size_t i = 0; i < r->engines.len; i++) {
		if (r->engines.at[i]->id == id)
			return r->engines.at[i];
	}
	return NULL;
}

static struct tenant *tenant_find(const struct replay *r)
{
	for (size_t i = 0; i < r->engine->tenants.len; i++) {
		if (r->engine->tenants.at[i].id == r->in.tenant)
			return &r->engine->tenants.at[i];
	}
	return NULL;
}

static struct launch *launch_find(const struct replay *r, const struct tenant *t)
{
	for (size_t i = 0; i < t->launches.len; i++) {
		if (t->launches.at[i].id == r->in.launch)
			return &t->launches.at[i];
	}
	return NULL;
}

/* Finds the tenant of an event. Returns NULL after an error. */
static struct sched_tenant *find_tenant(struct replay *r)
{
	struct tenant *t = tenant_find(r);

	if (!t)
		replay_error(r, "tenant %u has not joined engine %u", r->in.tenant, r->in.engine);
	return t ? t->handle : NULL;
}

static struct sched_launch *find_launch(struct replay *r)
{
	struct tenant *t = tenant_find(r);
	struct launch *l = t ? launch_find(r, t) : NULL;

	if (!l)
		replay_error(r, "engine %u has no launch %llu of tenant %u", r->in.engine,
			(unsigned long long)r->in.launch, r->in.tenant);
	return l ? l->handle : NULL;
}

static void tenant_gone(struct replay *r)
{
	struct tenant *t = tenant_find(r);

	VEC_FREE(&t->launches);
	*t = r->engine->tenants.at[r->engine->tenants.len - 1];
	r->engine->tenants.len--;
}

static void launch_gone(struct replay *r)
{
	struct tenant *t = tenant_find(r);
	struct launch *l = launch_find(r, t);

	*l = t->launches.at[t->launches.len - 1];
	t->launches.len--;
}

static void engine_free(struct engine *e)
{
	sched_destroy(e->sched);
	for (size_t i = 0; i < e->tenants.len; i++)
		VEC_FREE(&e->tenants.at[i].launches);
	VEC_FREE(&e->tenants);
	free(e);
}

/* ---- reporting differences ---- */

static void differs(struct replay *r, const char *told)
{
	r->ret->line = r->line;
	strbuf_add(&r->ret->logged, r->text, r->len);
	strbuf_puts(&r->ret->told, told);
}

/* Reports a difference: the log's line, and the input as this replay produced it. */
static void differs_from(struct replay *r, const struct sched_input *told)
{
	struct strbuf line = {0};

	sched_input_write(told, &line);
	if (line.len)
		line.at[--line.len] = 0;
	differs(r, line.at ? line.at : "");
	strbuf_finish(&line);
}

/* ---- inputs ---- */

/* True if the value of an event fits its type. */
#define FITS(type, v) ((uint64_t)(type)(v) == (v))

#define PASS_TIMED r->in.t_ns,
#define PASS_UNTIMED
#define APPLY(subject, name, time, fits, argument, ...)                       \
	static int apply_##name(struct replay *r)                             \
	{                                                                     \
		struct sched_##subject *x = find_##subject(r);                \
                                                                              \
		if (!x)                                                       \
			return -EINVAL;                                       \
		if (!(fits))                                                  \
			return replay_error(r, "%s is too large", argument);  \
		sched_##name(r->engine->sched, PASS_##time x, ##__VA_ARGS__); \
		return 0;                                                     \
	}
#define EVENT_0(subject, name, time) APPLY(subject, name, time, true, "")
#define EVENT_1(subject, name, time, form, type, argument) \
	APPLY(subject, name, time, FITS(type, r->in.value[0]), #argument, (type)r->in.value[0])
#define EVENT_2(subject, name, time, form1, type1, argument1, form2, type2, argument2)         \
	APPLY(subject, name, time, FITS(type1, r->in.value[0]) && FITS(type2, r->in.value[1]), \
		#argument1 " or " #argument2, (type1)r->in.value[0], (type2)r->in.value[1])
#define INPUT(name)
#include "sched/engine/events.def"

/* Finds the policy of a create or reconfigure. Returns NULL after an error. */
static const struct sched_policy *policy_of(struct replay *r)
{
	const struct sched_setup *s = r->in.setup;
	const struct sched_policy *p =
		r->job->policy(r->job->user, s->policy, s->loaded, s->policy_options, r->line);
	struct engine *e = r->engine;

	if (!p || sched_policy_find(p->name) == p)
		return p;
	if (s->changed)
		e->loaded[++e->n_loaded % 2] = *p;
	return &e->loaded[e->n_loaded % 2];
}

static struct sched_options options_of(const struct replay *r)
{
	struct sched_options o = r->in.setup->options;

	o.model = &model_durations;
	o.model_state = r->durations;
	o.policy_options = r->in.setup->policy_options;
	return o;
}

static int apply_create(struct replay *r)
{
	struct engine *e = calloc(1, sizeof(*e));
	const struct sched_policy *policy;
	struct sched_options o = options_of(r);
	int status = -ENOMEM;

	if (!e)
		return status;
	e->id = r->in.engine;
	r->engine = e;
	policy = policy_of(r);
	status = policy ? sched_create(&o, policy, &e->sched) : -EINVAL;
	if (status == 0 && VEC_PUSH(&r->engines, e)) {
		r->ret->n_engines++;
		return 0;
	}
	if (policy && status == -EINVAL)
		replay_error(r, "an engine cannot have these options");
	engine_free(e);
	return status < 0 ? status : -ENOMEM;
}

static int apply_reconfigure(struct replay *r)
{
	const struct sched_policy *policy = policy_of(r);
	struct sched_options o = options_of(r);

	if (!policy)
		return -EINVAL;
	sched_reconfigure(r->engine->sched, &o, policy);
	return 0;
}

static int apply_destroy(struct replay *r)
{
	for (size_t i = 0; i < r->engines.len; i++) {
		if (r->engines.at[i] == r->engine) {
			r->engines.at[i] = r->engines.at[--r->engines.len];
			break;
		}
	}
	engine_free(r->engine);
	r->engine = NULL;
	return 0;
}

static int apply_join(struct replay *r)
{
	struct tenant t = {.id = r->in.tenant};
	int status;

	if (tenant_find(r))
		return replay_error(r, "tenant %u joins engine %u twice", t.id, r->in.engine);
	status = sched_join(r->engine->sched, r->in.t_ns, t.id, (int)r->in.value[0],
		(uint32_t)r->in.value[1], NULL, &t.handle);
	if (status == 0 && !VEC_PUSH(&r->engine->tenants, t))
		status = -ENOMEM;
	return status;
}

static int apply_submit(struct replay *r)
{
	struct tenant *t = tenant_find(r);
	struct launch l = {.id = r->in.launch};
	int status;

	if (!t)
		return find_tenant(r) ? 0 : -EINVAL;
	status = sched_submit(r->engine->sched, r->in.t_ns, t->handle, r->in.info, &l.handle);
	if (status < 0 && status != -ENOMEM)
		return replay_error(r, "the engine refuses the launch: %s", strerror(-status));
	if (status == 0 && !VEC_PUSH(&t->launches, l))
		status = -ENOMEM;
	return status;
}

static int apply_learn(struct replay *r)
{
	sched_learn(r->engine->sched, r->in.info, r->in.value[0]);
	return 0;
}

static int apply_decide(struct replay *r)
{
	struct sched *s = r->engine->sched;
	struct sched_input told = r->in;

	/* An engine that is not due, or has actions left that the log does not have, decides
	 * nothing. */
	if (sched_pending(s) || sched_deadline(s) > r->in.t_ns) {
		differs(r, sched_pending(s) ? "one more action before" : "no decision yet");
		return 0;
	}
	told.result = sched_decide(s, r->in.t_ns);
	told.value[0] = sched_pending(s);
	if (told.result != r->in.result || told.value[0] != r->in.value[0])
		differs_from(r, &told);
	if (!r->origin_ns)
		r->origin_ns = r->in.t_ns;
	return told.result == -ENOMEM ? -ENOMEM : 0;
}

/* Finds the tenant and the launch of an action by their handles. */
static void name_action(
	const struct engine *e, const struct sched_action *a, struct sched_input *told)
{
	for (size_t i = 0; i < e->tenants.len; i++) {
		const struct tenant *t = &e->tenants.at[i];

		if (t->handle != a->tenant)
			continue;
		told->tenant = t->id;
		for (size_t k = 0; k < t->launches.len; k++) {
			if (t->launches.at[k].handle == a->launch)
				told->launch = t->launches.at[k].id;
		}
	}
}

static void show_action(struct replay *r, const struct sched_input *in)
{
	const struct sched_told *t = in->told;
	uint64_t ns = r->engine->t_ns - MIN(r->origin_ns, r->engine->t_ns);
	struct strbuf *b = r->job->actions;

	strbuf_printf(b, "%12.3f  engine %u: %s tenant %u", (double)ns / 1e6, in->engine,
		sched_action_names[t->type], in->tenant);
	if (t->of_launch)
		strbuf_printf(b, " launch %llu, %u SMs, %u workers", (unsigned long long)in->launch,
			t->n_sms, t->workers);
	if (t->of_launch || t->type == SCHED_BEGIN) {
		strbuf_puts(b, ", quotas ");
		sched_quota_text(t->quota, b);
	}
	strbuf_puts(b, t->first ? " (first)\n" : "\n");
}

static int apply_next(struct replay *r)
{
	struct sched_told t = {0};
	struct sched_input told = {.type = SCHED_INPUT_next, .engine = r->in.engine, .told = &t};
	struct strbuf line = {0};
	struct sched_action a;
	int status = 0;

	if (!sched_next(r->engine->sched, &a)) {
		differs(r, "no action");
		return 0;
	}
	t = (struct sched_told){.type = a.type,
		.first = a.first,
		.of_launch = a.launch != NULL,
		.n_sms = a.n_sms,
		.workers = a.workers};
	name_action(r->engine, &a, &told);
	if (a.launch)
		sched_quotas(r->engine->sched, a.launch, t.quota);
	else if (a.type == SCHED_BEGIN)
		sched_begin_quotas(r->engine->sched, a.tenant, t.quota);
	r->ret->actions++;
	if (r->job->actions)
		show_action(r, &told);
	sched_input_write(&told, &line);
	if (line.failed)
		status = -ENOMEM;
	else if (line.len != r->len + 1 || memcmp(line.at, r->text, r->len) != 0)
		differs_from(r, &told);
	strbuf_finish(&line);
	return status;
}

static int (*const apply[])(struct replay *r) = {
#define EVENT_0(subject, name, ...) apply_##name,
#define EVENT_1(subject, name, ...) apply_##name,
#define EVENT_2(subject, name, ...) apply_##name,
#define INPUT(name)                 apply_##name,
#include "sched/engine/events.def"
};

/* ---- lines ---- */

static int apply_to_model(struct replay *r)
{
	int status;

	if (r->in.type == SCHED_INPUT_lost)
		return replay_error(
			r, "inputs are missing from here on: heddled was out of memory");
	if (r->in.type == SCHED_INPUT_forget) {
		durations_forget(r->durations, r->in.value[0]);
		return 0;
	}
	status = durations_put(r->durations, r->in.kernel);
	return status == -EINVAL ? replay_error(r, "the record of the kernel is not valid")
				 : status;
}

static bool is_timed(enum sched_input_type type)
{
	static const bool timed[SCHED_INPUT_TYPES] = {
#define IS_TIMED                          true
#define IS_UNTIMED                        false
#define EVENT_0(subject, name, time)      [SCHED_INPUT_##name] = IS_##time,
#define EVENT_1(subject, name, time, ...) [SCHED_INPUT_##name] = IS_##time,
#define EVENT_2(subject, name, time, ...) [SCHED_INPUT_##name] = IS_##time,
#define INPUT(name)
#include "sched/engine/events.def"
		[SCHED_INPUT_join] = true,
		[SCHED_INPUT_submit] = true,
		[SCHED_INPUT_decide] = true,
	};

	return timed[type];
}

static int apply_input(struct replay *r)
{
	enum sched_input_type type = r->in.type;
	int status;

	r->ret->inputs += type != SCHED_INPUT_decide && type != SCHED_INPUT_next;
	r->ret->decisions += type == SCHED_INPUT_decide;
	if (type >= ARRAY_LEN(apply))
		return apply_to_model(r);
	r->engine = engine_find(r, r->in.engine);
	if (!r->engine != (type == SCHED_INPUT_create))
		return replay_error(r,
			r->engine ? "engine %u is created twice" : "there is no engine %u",
			r->in.engine);
	if (is_timed(type) && r->in.t_ns < r->engine->t_ns)
		return replay_error(r, "t_ns: before the engine's last input");
	if (is_timed(type))
		r->engine->t_ns = r->in.t_ns;
	status = apply[type](r);
	if (status == 0 && type == SCHED_INPUT_leave)
		tenant_gone(r);
	if (status == 0 && type == SCHED_INPUT_end)
		launch_gone(r);
	return status;
}

static int read_head(struct replay *r)
{
	uint64_t schema = 0, inputs = 0;
	char log[32] = "";
	struct form f;

	form_read(&f, r->text, r->len);
	form_begin(&f, NULL, '{');
	form_number(&f, "schema", &schema, UINT32_MAX);
	form_text(&f, "log", log, sizeof(log));
	if (f.failed || strcmp(log, "heddled-events") != 0)
		return replay_error(r,
			"this is not the first line of an event log; without its beginning a log "
			"cannot be replayed (was it rotated?)");
	if (!form_has(&f, "inputs", false))
		return replay_error(r, "an earlier heddled wrote this log, without the inputs");
	form_number(&f, "inputs", &inputs, UINT32_MAX);
	form_end(&f, '}');
	form_finish(&f);
	if (f.failed)
		return replay_error(r, "%s", f.why);
	if (inputs != SCHED_INPUTS_VERSION)
		return replay_error(r, "its inputs have version %llu: this heddle reads version %d",
			(unsigned long long)inputs, SCHED_INPUTS_VERSION);
	return 0;
}

static int read_line(struct replay *r)
{
	static const char event[] = "{\"t_ns\":";
	char why[SCHED_INPUT_WHY];

	if (r->line == 1)
		return read_head(r);
	if (!sched_input_is(r->text, r->len)) {
		if (r->len < sizeof(event) || memcmp(r->text, event, sizeof(event) - 1) != 0 ||
			r->text[r->len - 1] != '}')
			return replay_error(r, "neither an event nor an input");
		return 0;
	}
	if (sched_input_read(r->text, r->len, &r->room, &r->in, why) < 0)
		return replay_error(r, "%s", why);
	return apply_input(r);
}

static void replay_free(struct replay *r)
{
	for (size_t i = 0; i < r->engines.len; i++)
		engine_free(r->engines.at[i]);
	VEC_FREE(&r->engines);
	durations_destroy(r->durations);
	free(r);
}

int replay_run(const struct replay_job *job, struct replay_result *ret)
{
	struct replay *r = calloc(1, sizeof(*r));
	int status = r ? durations_create(&r->durations) : -ENOMEM;

	*ret = (struct replay_result){0};
	if (status == 0) {
		r->job = job;
		r->ret = ret;
	}
	if (status == 0 && !job->len) {
		r->line = 1;
		status = read_head(r);
	}
	for (size_t at = 0; status == 0 && at < job->len && !ret->line; at += r->len + 1) {
		const char *end = memchr(job->text + at, '\n', job->len - at);

		ret->cut = !end;
		if (!end)
			break;
		r->text = job->text + at;
		r->len = (size_t)(end - r->text);
		r->line++;
		status = read_line(r);
	}
	if (ret->logged.failed || ret->told.failed || (job->actions && job->actions->failed))
		status = -ENOMEM;
	if (r)
		replay_free(r);
	return status;
}

void replay_finish(struct replay_result *r)
{
	strbuf_finish(&r->logged);
	strbuf_finish(&r->told);
}
