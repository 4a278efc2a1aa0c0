/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See input.h. A function for each structure lists its fields, for writing and reading alike
 * (form.h). Most of the ranges are those to which heddled bounds what a tenant's page says
 * (daemon/pages.c). */
#include "input.h"

#include "form.h"

#include <errno.h>
#include <string.h>

#define COUNT_MAX (UINT64_MAX / 4)
#define INPUT_MAX 1e18f

_Static_assert(sizeof(((struct form *)0)->why) == SCHED_INPUT_WHY, "copied whole");

/* How often what stands in a structure was checked to be written below: a new field needs a line. */
_Static_assert(sizeof(struct sched_options) == 144, "setup_options lists all options");
_Static_assert(sizeof(struct sched_launch_info) == 112, "launch_info lists all fields");

static const char *const names[SCHED_INPUT_TYPES] = {
#define EVENT_0(subject, name, ...) #name,
#define EVENT_1(subject, name, ...) #name,
#define EVENT_2(subject, name, ...) #name,
#define INPUT(name)                 #name,
#include "events.def"
	"kernel",
	"forget",
	"lost",
};

const char *const sched_action_names[] = {
	"begin", "preempt", "shrink", "grant", "grow", "native", "hold", "release"};
static const char *const began_names[] = {"free", "told", "unknown"};

/* ---- values of an event ---- */

static void value_NUMBER(struct form *f, const char *key, uint64_t *v)
{
	form_number(f, key, v, UINT64_MAX);
}

static void value_SIGNED(struct form *f, const char *key, uint64_t *v)
{
	int64_t number = (int64_t)*v;

	form_signed(f, key, &number, INT32_MIN, INT32_MAX);
	*v = (uint64_t)number;
}

static void value_TIME(struct form *f, const char *key, uint64_t *v)
{
	form_time(f, key, v);
}

static void value_FLAG(struct form *f, const char *key, uint64_t *v)
{
	bool flag = *v;

	form_flag(f, key, &flag);
	*v = flag;
}

static void value_BEGAN(struct form *f, const char *key, uint64_t *v)
{
	uint32_t word = (uint32_t)*v;

	form_word(f, key, began_names, ARRAY_LEN(began_names), &word);
	*v = word;
}

/* ---- objects of an event ---- */

static void form_clock(struct form *f, struct sched_input *in)
{
	form_number(f, "t_ns", &in->t_ns, COUNT_MAX);
}

static void subject_tenant(struct form *f, struct sched_input *in)
{
	form_number32(f, "tenant", &in->tenant, UINT32_MAX);
}

static void subject_launch(struct form *f, struct sched_input *in)
{
	subject_tenant(f, in);
	form_number(f, "launch", &in->launch, UINT64_MAX);
}

/* ---- structures ---- */

static void setup_options(struct form *f, struct sched_options *o)
{
	form_number32(f, "n_sms", &o->n_sms, CTL_MAX_SMS);
	form_number32(f, "threads_per_sm", &o->threads_per_sm, 1 << 16);
	form_number32(f, "blocks_per_sm", &o->blocks_per_sm, 1 << 16);
	form_number32(f, "regs_per_sm", &o->regs_per_sm, 1 << 24);
	form_number32(f, "shared_per_sm", &o->shared_per_sm, 1 << 28);
	form_flag(f, "simultaneous", &o->simultaneous);
	form_flag(f, "spatial", &o->spatial);
	form_flag(f, "within_srt", &o->within_srt);
	form_flag(f, "renumbers", &o->renumbers);
	form_flag(f, "tells_started", &o->tells_started);
	form_number32(f, "extra_sms", &o->extra_sms, 1 << 16);
	form_number(f, "linger_max_ns", &o->linger_max_ns, COUNT_MAX);
	form_number(f, "grace_ns", &o->grace_ns, COUNT_MAX);
	form_number(f, "cost_ns", &o->cost_ns, COUNT_MAX);
	form_number(f, "resume_ns", &o->resume_ns, COUNT_MAX);
	form_number32(f, "max_launches", &o->max_launches, UINT32_MAX);
	form_number(f, "opaque_ns", &o->opaque_ns, COUNT_MAX);
	form_time(f, "opaque_hold_ns", &o->opaque_hold_ns);
	form_flag(f, "opaque_free", &o->opaque_free);
	form_number(f, "still_ns", &o->still_ns, COUNT_MAX);
	form_number32(f, "overhead_permille", &o->overhead_permille, 1000);
}

static void form_setup(struct form *f, struct sched_setup *s)
{
	form_text(f, "policy", s->policy, sizeof(s->policy));
	form_flag(f, "loaded", &s->loaded);
	form_flag(f, "changed", &s->changed);
	form_text(f, "policy_options", s->policy_options, sizeof(s->policy_options));
	setup_options(f, &s->options);
}

static void launch_info(struct form *f, struct sched_launch_info *i)
{
	form_hex(f, "kernel", &i->kernel);
	form_number(f, "total", &i->total, COUNT_MAX);
	form_flag(f, "unranked", &i->unranked);
	form_number32(f, "counts", &i->counts, UINT32_MAX);
	form_number32(f, "threads", &i->threads, 1 << 16);
	form_number32(f, "regs", &i->regs, 1 << 16);
	form_number32(f, "shared_bytes", &i->shared_bytes, 1 << 28);
	form_number32(f, "workers_per_sm", &i->workers_per_sm, 1 << 16);
	form_number32(f, "stream_priority", &i->stream_priority, UINT32_MAX);
	form_floats(f, "input", i->input, SCHED_INPUTS);
	for (unsigned n = 0; n < SCHED_INPUTS && !f->out; n++) {
		if (!(i->input[n] >= 0 && i->input[n] <= INPUT_MAX))
			form_fail(f, "input: a number from 0 to 1e18 expected");
	}
}

void sched_quota_text(const uint8_t quota[CTL_MAX_SMS], struct strbuf *out)
{
	bool any = false;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++) {
		uint32_t from = i;

		if (!quota[i])
			continue;
		while (i + 1 < CTL_MAX_SMS && quota[i + 1] == quota[from])
			i++;
		strbuf_printf(out, any ? ", %u" : "%u", from);
		if (i > from)
			strbuf_printf(out, "-%u", i);
		strbuf_printf(out, ":%u", quota[from]);
		any = true;
	}
	strbuf_puts(out, any ? "" : "none");
}

#define QUOTA_TEXT (CTL_MAX_SMS * 12) /* maximum length of a quota text, in bytes */

/* Reading checks only that there is a text: what reads an action compares lines. */
static void form_quota(struct form *f, struct sched_told *t)
{
	struct strbuf text = {0};
	char read[QUOTA_TEXT];

	if (f->out) {
		sched_quota_text(t->quota, &text);
		form_text(f, "quotas", text.at ? text.at : "", 0);
		f->out->failed |= text.failed;
		strbuf_finish(&text);
	} else {
		form_text(f, "quotas", read, sizeof(read));
	}
}

static void form_told(struct form *f, struct sched_input *in, struct sched_told *t)
{
	subject_tenant(f, in);
	t->of_launch = form_has(f, "launch", t->of_launch);
	if (t->of_launch) {
		form_number(f, "launch", &in->launch, UINT64_MAX);
		form_flag(f, "first", &t->first);
		form_number32(f, "sms", &t->n_sms, CTL_MAX_SMS);
		form_number32(f, "workers", &t->workers, UINT32_MAX);
	}
	if (form_has(f, "quotas", t->of_launch || t->type == SCHED_BEGIN))
		form_quota(f, t);
}

/* ---- kernel records of the model ---- */

static void form_shape(struct form *f, struct duration_shape *s)
{
	form_begin(f, NULL, '{');
	form_number(f, "total", &s->total, COUNT_MAX);
	form_number32(f, "threads", &s->threads, UINT32_MAX);
	form_number32(f, "shared_bytes", &s->shared_bytes, UINT32_MAX);
	form_floats(f, "input", s->input, SCHED_INPUTS);
	form_number(f, "n", &s->n, COUNT_MAX);
	form_number(f, "mean_ns", &s->mean_ns, COUNT_MAX);
	form_number(f, "moving_ns", &s->moving_ns, COUNT_MAX);
	form_time(f, "predicted_ns", &s->predicted_ns);
	form_number(f, "first_ns", &s->first_ns, COUNT_MAX);
	form_number(f, "used", &s->used, COUNT_MAX);
	form_end(f, '}');
}

static void form_ridge(struct form *f, struct ridge *r)
{
	form_number32(f, "samples", &r->n, UINT32_MAX);
	form_number32(f, "solved", &r->solved, 1);
	form_doubles(f, "origin", r->origin, RIDGE_FEATURES);
	form_doubles(f, "least", r->least, RIDGE_FEATURES);
	form_doubles(f, "greatest", r->greatest, RIDGE_FEATURES);
	form_doubles(f, "first", &r->first, 1);
	form_doubles(f, "sums", r->sum, RIDGE_SUMS);
	form_doubles(f, "values", r->value, RIDGE_TERMS);
	form_doubles(f, "coefficients", r->coefficient, RIDGE_TERMS);
}

/* All fields that a prediction depends on; not the errors of past predictions, nor the claim. */
static void form_kernel(struct form *f, struct duration_kernel *k)
{
	bool known = k->launches || k->costs.n || k->ridge.n || k->n_shapes;
	uint32_t n = 0;

	form_text(f, "name", k->name, sizeof(k->name));
	form_number32(f, "uid", &k->owner.uid, UINT32_MAX - 1);
	form_number32(f, "n_sms", &k->owner.n_sms, UINT32_MAX);
	form_text(f, "device", k->owner.device, sizeof(k->owner.device));
	form_text(f, "driver", k->owner.driver, sizeof(k->owner.driver));
	form_hex(f, "code", &k->code);
	for (unsigned i = 0; i < SCHED_PER_SM && f->out; i++)
		known |= k->curve_n[i] != 0;
	if (!form_has(f, "launches", known))
		return;
	form_number(f, "launches", &k->launches, COUNT_MAX);
	form_number32(f, "costs", &k->costs.n, DURATION_COSTS);
	form_number32(f, "next_cost", &k->costs.next, DURATION_COSTS - 1);
	form_numbers32(f, "costs_ns", k->costs.ns, DURATION_COSTS);
	form_floats(f, "curve_ns", k->curve_ns, SCHED_PER_SM);
	form_numbers32(f, "curve_n", k->curve_n, SCHED_PER_SM);
	form_ridge(f, &k->ridge);
	form_begin(f, "shapes", '[');
	for (; form_more(f, "shapes", n, f->out ? k->n_shapes : DURATION_SHAPES); n++)
		form_shape(f, &k->shape[n]);
	form_end(f, ']');
	k->n_shapes = n;
}

/* ---- lines of the log ---- */

static void form_join(struct form *f, struct sched_input *in)
{
	form_clock(f, in);
	subject_tenant(f, in);
	value_SIGNED(f, "priority", &in->value[0]);
	form_number(f, "weight", &in->value[1], UINT32_MAX);
}

/* The structures of an input. Functions that write an input do not change them. */
struct parts {
	struct sched_setup *setup;
	struct sched_launch_info *info;
	struct sched_told *told;
	struct duration_kernel *kernel;
};

/* Reads or writes all fields of an input after its name and its engine. */
static void form_rest(struct form *f, struct sched_input *in, const struct parts *p)
{
	int64_t result = in->result;

	switch (in->type) {
#define CLOCK_TIMED form_clock(f, in);
#define CLOCK_UNTIMED
#define EVENT_0(subject, name, time)                   \
	case SCHED_INPUT_##name:                       \
		CLOCK_##time subject_##subject(f, in); \
		break;
#define EVENT_1(subject, name, time, form, type, argument) \
	case SCHED_INPUT_##name:                           \
		CLOCK_##time subject_##subject(f, in);     \
		value_##form(f, #argument, &in->value[0]); \
		break;
#define EVENT_2(subject, name, time, form1, type1, argument1, form2, type2, argument2) \
	case SCHED_INPUT_##name:                                                       \
		CLOCK_##time subject_##subject(f, in);                                 \
		value_##form1(f, #argument1, &in->value[0]);                           \
		value_##form2(f, #argument2, &in->value[1]);                           \
		break;
#define INPUT(name)
#include "events.def"
	case SCHED_INPUT_create:
	case SCHED_INPUT_reconfigure:
		form_setup(f, p->setup);
		break;
	case SCHED_INPUT_join:
		form_join(f, in);
		break;
	case SCHED_INPUT_submit:
		form_clock(f, in);
		subject_launch(f, in);
		launch_info(f, p->info);
		break;
	case SCHED_INPUT_learn:
		launch_info(f, p->info);
		value_TIME(f, "ran_ns", &in->value[0]);
		break;
	case SCHED_INPUT_decide:
		form_clock(f, in);
		form_signed(f, "result", &result, -4095, 0);
		in->result = (int)result;
		form_number(f, "actions", &in->value[0], UINT32_MAX);
		break;
	case SCHED_INPUT_next:
		form_told(f, in, p->told);
		break;
	case SCHED_INPUT_kernel:
		form_kernel(f, p->kernel);
		break;
	case SCHED_INPUT_forget:
		form_hex(f, "kernel", &in->value[0]);
		break;
	default: /* destroy, lost */
		break;
	}
}

static bool has_engine(enum sched_input_type type)
{
	return type != SCHED_INPUT_kernel && type != SCHED_INPUT_forget && type != SCHED_INPUT_lost;
}

static void form_line(struct form *f, struct sched_input *in, const struct parts *p)
{
	bool is_action = form_has(f, "action", in->type == SCHED_INPUT_next);
	uint32_t type = is_action && f->out ? p->told->type : in->type;

	if (is_action) {
		form_word(f, "action", sched_action_names, ARRAY_LEN(sched_action_names), &type);
		in->type = SCHED_INPUT_next;
		p->told->type = type;
	} else {
		form_word(f, "input", names, SCHED_INPUT_TYPES, &type);
		in->type = type;
		if (type == SCHED_INPUT_next && !f->out)
			form_fail(f, "input: 'next' is not known");
	}
	if (has_engine(in->type))
		form_number32(f, "engine", &in->engine, UINT32_MAX);
	form_rest(f, in, p);
}

bool sched_input_is(const char *line, size_t len)
{
	static const char *const begins[] = {"{\"input\":", "{\"action\":"};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		if (len >= strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
			return true;
	}
	return false;
}

void sched_input_write(const struct sched_input *in, struct strbuf *out)
{
	struct parts p = {(struct sched_setup *)in->setup, (struct sched_launch_info *)in->info,
		(struct sched_told *)in->told, (struct duration_kernel *)in->kernel};
	struct sched_input copy = *in;
	struct form f;

	form_write(&f, out);
	form_begin(&f, NULL, '{');
	form_line(&f, &copy, &p);
	form_end(&f, '}');
	strbuf_puts(out, "\n");
}

int sched_input_read(const char *line, size_t len, struct sched_input_room *room,
	struct sched_input *ret, char ret_why[SCHED_INPUT_WHY])
{
	struct parts p = {&room->setup, &room->info, &room->told, &room->kernel};
	struct form f;

	memset(room, 0, sizeof(*room));
	*ret = (struct sched_input){
		.setup = p.setup, .info = p.info, .told = p.told, .kernel = p.kernel};
	form_read(&f, line, len);
	form_begin(&f, NULL, '{');
	form_line(&f, ret, &p);
	form_end(&f, '}');
	form_finish(&f);
	memcpy(ret_why, f.why, SCHED_INPUT_WHY);
	room->info.id = ret->launch;
	return f.failed ? -EINVAL : 0;
}
