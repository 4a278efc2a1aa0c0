/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Derives durations of launches from heddled's events. A launch counts only if it kept the same
 * number of blocks on each SM from its first block to its last, and if no other work ran at the
 * same time. Start and end are times of the device's clock. Most launches begin with quota 0. Their
 * duration starts when the device sees the grant, so delays inside heddled are not part of it. */
#include "cli/profile/measured.h"

#include "base/measure.h"
#include "base/number.h"
#include "sched/policy/curve.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* A launch that has not ended. */
struct live {
	uint64_t tenant, launch;
	size_t kernel;    /* index of its struct measured_kernel */
	uint64_t workers; /* maximum number on all SMs together; 0: none granted yet */
	bool granted;     /* it got its workers later than it arrived */
	bool drained;     /* all workers that began have left */
	bool disturbed;
};

struct reading {
	struct measured *m;
	VEC(struct live) live;
	uint64_t n_sms;
	unsigned opaque; /* number of tenants with unmanaged work running */
};

static uint64_t get_number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

static const char *get_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static unsigned count_of(const char *events, const char *what)
{
	unsigned n = 0;

	/* A match inside a string is impossible, because quotation marks in strings are escaped. */
	for (const char *at = events; (at = strstr(at, what)); at++)
		n++;
	return n;
}

void measured_count(const char *events, unsigned *ret_joined, unsigned *ret_left)
{
	*ret_joined = count_of(events, "\"event\": \"join\"");
	*ret_left = count_of(events, "\"event\": \"leave\"");
}

/* ---- finding kernels ---- */

static bool is_same_shape(const struct measured_kernel *k, const struct measured_kernel *o)
{
	return k->code == o->code && k->blocks == o->blocks && k->threads == o->threads &&
	       k->shared_bytes == o->shared_bytes && k->n_sms == o->n_sms;
}

static uint32_t counts_of(const json_t *o)
{
	const json_t *n;
	uint32_t counts = 0;
	size_t at;

	json_array_foreach(json_object_get(o, "counts"), at, n)
	{
		json_int_t v = json_integer_value(n);

		counts |= v > 0 && v < 32 ? 1u << v : 0;
	}
	return counts;
}

bool measured_can_have(const struct measured_kernel *k, uint32_t n)
{
	uint32_t below = k->most < 32 ? (1u << k->most) - 1 : UINT32_MAX;

	if (!k->guard || (n < 32 && k->counts >> n & 1))
		return true;
	/* The form lists its possible counts in k->counts, except the largest one, k->most. k->most
	 * is possible if it is all that an SM can hold, or if the form lists no smaller count. */
	return n == k->most && (k->most >= k->fit || !(k->counts & below));
}

/* Returns the index of the launch's kernel, which is added if it is new; SIZE_MAX: out of
 * memory. */
static size_t kernel_of(struct reading *r, const json_t *o)
{
	struct measured_kernel k = {.code = number_digits(get_text(o, "code"), SIZE_MAX, 16).value,
		.blocks = get_number(o, "total"),
		.threads = (uint32_t)get_number(o, "threads"),
		.shared_bytes = (uint32_t)get_number(o, "shared_bytes"),
		.n_sms = (uint32_t)MAX(r->n_sms, 1),
		.fit = (uint32_t)MIN(get_number(o, "blocks_per_sm"), SCHED_PER_SM),
		.guard = json_is_true(json_object_get(o, "guard"))};
	const struct measured_kernel *at = r->m->kernels.at;
	size_t i = 0;

	while (i < r->m->kernels.len &&
		!(is_same_shape(&at[i], &k) && at[i].fit == k.fit && at[i].guard == k.guard))
		i++;
	k.counts = k.guard ? counts_of(o) : 0;
	k.most = curve_most(k.fit, k.blocks, k.n_sms);
	snprintf(k.name, sizeof(k.name), "%s", get_text(o, "kernel"));
	return i < r->m->kernels.len || VEC_PUSH(&r->m->kernels, k) ? i : SIZE_MAX;
}

/* ---- following launches ---- */

static struct live *find_live(struct reading *r, const json_t *o)
{
	uint64_t tenant = get_number(o, "tenant"), launch = get_number(o, "launch");

	for (size_t i = 0; i < r->live.len; i++)
		if (r->live.at[i].tenant == tenant && r->live.at[i].launch == launch)
			return &r->live.at[i];
	return NULL;
}

static void forget_launch(struct reading *r, struct live *l)
{
	*l = r->live.at[--r->live.len];
}

static void submit_launch(struct reading *r, const json_t *o)
{
	struct live l = {.tenant = get_number(o, "tenant"),
		.launch = get_number(o, "launch"),
		.kernel = kernel_of(r, o)};

	r->m->failed |= l.kernel == SIZE_MAX || !VEC_PUSH(&r->live, l);
}

/* Marks launches as disturbed if several run at the same time, or if one runs beside unmanaged
 * work. */
static void disturb_all(struct reading *r)
{
	unsigned n = r->opaque;

	for (size_t i = 0; i < r->live.len; i++)
		n += r->live.at[i].workers > 0;
	for (size_t i = 0; n > 1 && i < r->live.len; i++)
		r->live.at[i].disturbed |= r->live.at[i].workers > 0;
}

/* Records an event that changes the launch's number of workers. The launch is disturbed in these
 * cases:
 * - It had workers before.
 * - The event is not a grant.
 * - Some of its first blocks had not exited yet when the grant came. */
static void change_workers(struct live *l, const json_t *o)
{
	l->disturbed |= l->workers > 0 || !l->drained || strcmp(get_text(o, "event"), "grant") != 0;
	l->workers = get_number(o, "workers");
	l->granted = true;
}

/* Returns the launch's duration in ns, or 0 if the device did not report it. */
static uint64_t duration_of(const struct live *l, const json_t *o)
{
	uint64_t from = get_number(o, l->granted ? "device_seen_ns" : "device_arrived_ns");
	uint64_t to = get_number(o, "device_done_ns");

	return from && to > from ? to - from : 0;
}

static void finish_launch(struct reading *r, const struct live *l, const json_t *o)
{
	struct measured_kernel *k = &r->m->kernels.at[l->kernel];
	uint64_t n = l->workers / k->n_sms;
	uint64_t ns = duration_of(l, o);

	/* Workers beyond those that the grid can use make no difference. */
	n = MIN(n, k->most);
	k->launches++;
	k->recent++;
	if (l->disturbed || n < 1 || l->workers % k->n_sms || !ns)
		k->disturbed++;
	else
		r->m->failed |= !VEC_PUSH(&k->ns[n], (double)ns);
}

/* ---- reading event lines ---- */

static void leave_tenant(struct reading *r, const json_t *o)
{
	const json_t *reasons = json_object_get(o, "reasons"), *row;
	size_t at;

	json_array_foreach(reasons, at,
		row) for (unsigned i = 0; i < WIRE_REASONS;
			  i++) if (!strcmp(get_text(row, "reason"), wire_reason_rows[i].name))
		r->m->launched[i] += get_number(row, "launches");
	for (size_t i = r->live.len; i-- > 0;)
		if (r->live.at[i].tenant == get_number(o, "tenant"))
			forget_launch(r, &r->live.at[i]);
}

static void of_launch(struct reading *r, const json_t *o, const char *what)
{
	static const char *const words[] = {"wait", "grant", "preempt", "shrink", "grow", "native"};
	struct live *l = find_live(r, o);

	if (!strcmp(what, "submit"))
		submit_launch(r, o);
	if (!l)
		return;
	if (!strcmp(what, "arrive"))
		l->workers = get_number(o, "workers");
	l->drained |= !strcmp(what, "drained");
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(what, words[i]))
			change_workers(l, o);
	disturb_all(r);
	if (!strcmp(what, "finish"))
		finish_launch(r, l, o);
	if (!strcmp(what, "finish") || !strcmp(what, "drop"))
		forget_launch(r, l);
}

static void read_event(struct reading *r, const json_t *o)
{
	const char *what = get_text(o, "event");

	if (json_object_get(o, "launch")) {
		of_launch(r, o, what);
	} else if (!strcmp(what, "join")) {
		r->m->joined++;
		r->n_sms = get_number(o, "device_sms");
	} else if (!strcmp(what, "leave")) {
		leave_tenant(r, o);
	} else if (!strcmp(what, "opaque")) {
		r->opaque++;
		disturb_all(r);
	} else if (!strcmp(what, "opaque-end")) {
		r->opaque -= r->opaque > 0;
	}
}

void measured_add(struct measured *m, const char *events)
{
	struct reading r = {.m = m};

	for (size_t i = 0; i < m->kernels.len; i++)
		m->kernels.at[i].recent = 0;
	for (const char *at = events, *end; (end = strchr(at, '\n')); at = end + 1) {
		json_t *o = json_loadb(at, (size_t)(end - at), 0, NULL);

		if (json_is_object(o))
			read_event(&r, o);
		json_decref(o);
	}
	VEC_FREE(&r.live);
}

/* ---- computing results ---- */

void measured_curve(struct measured_kernel *k, double ret_ns[SCHED_PER_SM + 1])
{
	memset(ret_ns, 0, (SCHED_PER_SM + 1) * sizeof(*ret_ns));
	for (uint32_t n = 1; n <= k->most; n++)
		ret_ns[n] = median_of(k->ns[n].at, k->ns[n].len);
}

uint64_t measured_missing(const struct measured *m, unsigned rounds, unsigned *ret_unmeasured)
{
	uint64_t missing = 0;

	*ret_unmeasured = 0;
	for (size_t i = 0; i < m->kernels.len; i++) {
		const struct measured_kernel *k = &m->kernels.at[i];

		for (uint32_t n = 1; n <= k->most && measured_is_current(m, k); n++) {
			if (!measured_can_have(k, n))
				continue;
			missing += rounds - MIN(k->ns[n].len, rounds);
			*ret_unmeasured += !k->ns[n].len;
		}
	}
	return missing;
}

bool measured_is_current(const struct measured *m, const struct measured_kernel *k)
{
	for (size_t i = 0; i < m->kernels.len; i++) {
		const struct measured_kernel *o = &m->kernels.at[i];

		if (o != k && is_same_shape(o, k) &&
			(o->recent > k->recent ||
				(o->recent == k->recent && o->launches > k->launches) ||
				(o->recent == k->recent && o->launches == k->launches && o > k)))
			return false;
	}
	return true;
}

bool measured_is_main(const struct measured *m, const struct measured_kernel *k)
{
	for (size_t i = 0; i < m->kernels.len; i++) {
		const struct measured_kernel *o = &m->kernels.at[i];

		if (o->code == k->code && measured_is_current(m, o) &&
			(o->blocks > k->blocks || (o->blocks == k->blocks && o < k)))
			return false;
	}
	return measured_is_current(m, k);
}

void measured_finish(struct measured *m)
{
	for (size_t i = 0; i < m->kernels.len; i++)
		for (unsigned n = 0; n <= SCHED_PER_SM; n++)
			VEC_FREE(&m->kernels.at[i].ns[n]);
	VEC_FREE(&m->kernels);
}
