/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Converts an event log to a trace. A launch is written to the trace when it ends, because only
 * then does the log show how long the launch had SMs, and therefore how long a block takes.
 * Launches arrive at their original times, in one stream for each program, because the log does not
 * name streams. Time 0 is the first event. This file checks every number, so that the trace reader
 * accepts the output. */
#include "cli/recorded.h"

#include "base/text.h"
#include "sched/engine/input.h"
#include "sim/trace.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 21 /* size of a name in a trace, with its terminating NUL */

struct device {
	char name[64];
	/* sms 0: not in the log; most_sms: the largest number that a launch used */
	uint32_t sms, most_sms;
	struct strbuf text;
};

struct tenant {
	uint64_t id;
	char name[NAME_BYTES];
	size_t device;
	const char *priority;
	/* opaque_ns: start of the current unmanaged work, if opaque is set */
	uint64_t weight, join_ns, opaque_ns;
	bool opaque;
	uint64_t ended, open; /* numbers of its launches that ended, and that have not ended */
};

struct recorded {
	struct diag_list *diags;
	uint32_t line;
	uint64_t origin_ns;
	bool has_origin;
	VEC(struct device) devices;
	VEC(struct tenant) tenants;
	VEC(char *) kernels; /* the kernels' names in the log */
	uint64_t submitted;
	struct recorded_gaps *gaps;
	int status;
};

#define recorded_error(r, ...) diag_line_error((r)->diags, (r)->line, __VA_ARGS__)

/* ---- reading fields ---- */

/* Reads a number from min to max. An error names the key. */
static int read_uint(struct recorded *r, const json_t *o, const char *key, uint64_t min,
	uint64_t max, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!v)
		return recorded_error(r, "%s is missing", key);
	if (!json_is_integer(v))
		return recorded_error(r, "%s is not a whole number", key);
	if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) < min ||
		(uint64_t)json_integer_value(v) > max)
		return recorded_error(r, "%s: %lld is not between %llu and %llu", key,
			(long long)json_integer_value(v), (unsigned long long)min,
			(unsigned long long)max);
	*ret = (uint64_t)json_integer_value(v);
	return 0;
}

/* Returns a text that belongs to o, or NULL after it reports that there is none. */
static const char *read_text(struct recorded *r, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text)
		recorded_error(r, "%s is missing, or no text", key);
	return text;
}

/* Makes a word for a trace from text: at most max bytes, with other characters replaced by '_'. */
static void plain_word(const char *text, size_t max, char *ret)
{
	size_t n = 0;

	for (; text[n] && n < max; n++) {
		bool fits = strchr("._-", text[n]) || (text[n] >= '0' && text[n] <= '9') ||
			    (text[n] >= 'a' && text[n] <= 'z') ||
			    (text[n] >= 'A' && text[n] <= 'Z');

		ret[n] = fits ? text[n] : '_';
	}
	ret[n] = 0;
}

/* Converts a time of the log to a time of the trace. Times before the log's first event become
 * 0. */
static int trace_time(struct recorded *r, uint64_t ns, uint64_t *ret)
{
	*ret = ns > r->origin_ns ? ns - r->origin_ns : 0;
	return *ret > SIM_TIME_MAX_NS
		       ? recorded_error(r, "more than 1000000 s after the first event")
		       : 0;
}

/* ---- tenants and devices ---- */

static struct tenant *tenant_find(const struct recorded *r, uint64_t id)
{
	for (size_t i = 0; i < r->tenants.len; i++) {
		if (r->tenants.at[i].id == id)
			return &r->tenants.at[i];
	}
	return NULL;
}

/* *ret is the device's index in r->devices; adds the device if it is new. Returns 0 or a negative
 * errno. */
static int device_of(struct recorded *r, const char *name, const json_t *o, size_t *ret)
{
	struct device fresh = {0};
	uint64_t sms;
	size_t i = 0;

	plain_word(*name ? name : "-", sizeof(fresh.name) - 1, fresh.name);
	while (i < r->devices.len && strcmp(r->devices.at[i].name, fresh.name) != 0)
		i++;
	if (i == r->devices.len && !VEC_PUSH(&r->devices, fresh))
		return -ENOMEM;
	*ret = i;
	if (!json_object_get(o, "device_sms"))
		return 0;
	if (read_uint(r, o, "device_sms", 1, CTL_MAX_SMS, &sms) < 0)
		return -EINVAL;
	r->devices.at[i].sms = (uint32_t)sms;
	return 0;
}

static const char *priority_word(struct recorded *r, const json_t *o)
{
	static const char *const words[] = {"low", "normal", "high"};
	const char *text = read_text(r, o, "priority");

	for (size_t i = 0; text && i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return words[i];
	}
	if (text)
		recorded_error(r, "priority: '%.40s' is none of low, normal and high", text);
	return NULL;
}

static int tenant_join(struct recorded *r, uint64_t id, uint64_t t, const json_t *o,
	const char *priority, uint64_t weight)
{
	const char *name = read_text(r, o, "name"), *device = read_text(r, o, "device");
	struct tenant tenant = {.id = id, .priority = priority, .weight = weight, .join_ns = t};
	char word[10];
	int status;

	if (!name || !device)
		return -EINVAL;
	status = device_of(r, device, o, &tenant.device);
	if (status < 0)
		return status;
	plain_word(name, sizeof(word) - 1, word);
	snprintf(tenant.name, sizeof(tenant.name), "%s-%u", word, (unsigned)id);
	if (!VEC_PUSH(&r->tenants, tenant))
		return -ENOMEM;
	strbuf_printf(&r->devices.at[tenant.device].text, "at %lluns join %s prio=%s weight=%llu\n",
		(unsigned long long)t, tenant.name, priority, (unsigned long long)weight);
	return 0;
}

/* Writes a tenant's new priority or weight to the trace. The log has no event for `heddle set`, so
 * the change is only visible in the tenant's next event. */
static void tenant_changes(
	struct recorded *r, struct tenant *n, uint64_t t, const char *priority, uint64_t weight)
{
	struct strbuf *b = &r->devices.at[n->device].text;

	if (strcmp(priority, n->priority) != 0)
		strbuf_printf(
			b, "at %lluns priority %s %s\n", (unsigned long long)t, n->name, priority);
	if (weight != n->weight)
		strbuf_printf(b, "at %lluns weight %s %llu\n", (unsigned long long)t, n->name,
			(unsigned long long)weight);
	n->priority = priority;
	n->weight = weight;
}

static void tenant_opaque(struct recorded *r, struct tenant *n, uint64_t t, bool on)
{
	if (!on && n->opaque)
		strbuf_printf(&r->devices.at[n->device].text, "at %lluns opaque %s on=%lluns\n",
			(unsigned long long)n->opaque_ns, n->name,
			(unsigned long long)(t - MIN(t, n->opaque_ns)));
	n->opaque_ns = on && !n->opaque ? t : n->opaque_ns;
	n->opaque = on;
}

/* Counts the tenant's managed launches that have no events because they ended before heddled
 * noticed them. */
static void count_unseen(struct recorded *r, const struct tenant *n, const json_t *o)
{
	const json_t *reasons = json_object_get(o, "reasons"), *reason;
	uint64_t managed = 0;
	size_t i;

	json_array_foreach(reasons, i, reason)
	{
		const char *outcome = json_string_value(json_object_get(reason, "outcome"));
		json_int_t launches = json_integer_value(json_object_get(reason, "launches"));

		if (outcome && strcmp(outcome, "managed") == 0 && launches > 0)
			managed += (uint64_t)launches;
	}
	r->gaps->unseen += managed > n->ended ? managed - n->ended : 0;
}

static int tenant_event(struct recorded *r, const char *what, uint64_t t, const json_t *o)
{
	const char *priority = priority_word(r, o);
	struct tenant *n;
	uint64_t id, weight;

	if (!priority || read_uint(r, o, "tenant", 0, UINT32_MAX, &id) < 0 ||
		read_uint(r, o, "weight", 1, 1000, &weight) < 0)
		return -EINVAL;
	n = tenant_find(r, id);
	if (strcmp(what, "join") == 0)
		return n ? recorded_error(r, "tenant %llu joins twice", (unsigned long long)id)
			 : tenant_join(r, id, t, o, priority, weight);
	if (!n)
		return recorded_error(
			r, "tenant %llu has not joined above", (unsigned long long)id);
	tenant_changes(r, n, t, priority, weight);
	if (strncmp(what, "opaque", 6) == 0)
		tenant_opaque(r, n, t, !what[6]);
	if (strcmp(what, "leave") == 0) {
		count_unseen(r, n, o);
		tenant_opaque(r, n, t, false);
		/* A tenant whose launches are all complete does not leave in the trace, because
		 * they may take longer under another policy. */
		if (n->open)
			strbuf_printf(&r->devices.at[n->device].text, "at %lluns leave %s\n",
				(unsigned long long)t, n->name);
	}
	return 0;
}

/* ---- converting launches ---- */

/* Shortens a kernel's name, and keeps kernels with equal beginnings distinct. */
static int kernel_word(struct recorded *r, const char *name, char ret[NAME_BYTES])
{
	char word[15], *copy;
	size_t i = 0;

	while (i < r->kernels.len && strcmp(r->kernels.at[i], name) != 0)
		i++;
	if (i == r->kernels.len) {
		copy = strdup(name);
		if (!copy || !VEC_PUSH(&r->kernels, copy)) {
			free(copy);
			return -ENOMEM;
		}
	}
	plain_word(name, sizeof(word) - 1, word);
	snprintf(ret, NAME_BYTES, "%s.%u", word, (unsigned)(i % 100000));
	return 0;
}

struct measured {
	uint64_t submit_ns, total, workers, ran_ns, per_sm;
};

static int read_measured(struct recorded *r, const json_t *o, struct measured *m)
{
	uint64_t arrived = 0, done = 0;

	if (read_uint(r, o, "submit_ns", 0, INT64_MAX, &m->submit_ns) < 0 ||
		read_uint(r, o, "total", 1, UINT32_MAX, &m->total) < 0 ||
		read_uint(r, o, "workers", 0, UINT32_MAX, &m->workers) < 0 ||
		read_uint(r, o, "ran_ns", 0, SIM_TIME_MAX_NS, &m->ran_ns) < 0)
		return -EINVAL;
	m->per_sm = 0;
	if (json_object_get(o, "blocks_per_sm") &&
		read_uint(r, o, "blocks_per_sm", 0, 32, &m->per_sm) < 0)
		return -EINVAL;
	/* assume 2 if the log lacks blocks_per_sm */
	m->per_sm = m->per_sm ? m->per_sm : 2;
	if (json_object_get(o, "device_done_ns") &&
		(read_uint(r, o, "device_done_ns", 0, INT64_MAX, &done) < 0 ||
			read_uint(r, o, "device_arrived_ns", 0, INT64_MAX, &arrived) < 0))
		return -EINVAL;
	/* If the launch ended before heddled noticed it, the device's own times are used. */
	if (!m->ran_ns && arrived && done > arrived)
		m->ran_ns = MIN(done - arrived, SIM_TIME_MAX_NS);
	return 0;
}

/* Writes a launch to the trace. Its blocks run in waves of one block per worker. */
static int launch_end(
	struct recorded *r, struct tenant *n, const char *kernel, const struct measured *m)
{
	uint64_t at_once = MAX(m->workers, 1), rounds = (m->total + at_once - 1) / at_once;
	char word[NAME_BYTES];
	uint64_t t;
	int status;

	r->submitted -= r->submitted > 0;
	n->ended++;
	if (!m->ran_ns) {
		r->gaps->unmeasured++;
		return 0;
	}
	status = trace_time(r, m->submit_ns, &t);
	if (status == 0)
		status = kernel_word(r, kernel, word);
	if (status < 0)
		return status;
	strbuf_printf(&r->devices.at[n->device].text,
		"at %lluns launch %s %s blocks=%llu block=%lluns wps=%llu\n",
		(unsigned long long)MAX(t, n->join_ns), n->name, word, (unsigned long long)m->total,
		(unsigned long long)MAX(m->ran_ns / rounds, 1), (unsigned long long)m->per_sm);
	return 0;
}

static int launch_event(struct recorded *r, const char *what, const json_t *o)
{
	const char *kernel = read_text(r, o, "kernel");
	uint64_t id, sms = 0;
	struct measured m;
	struct tenant *n;

	if (!kernel || read_uint(r, o, "tenant", 0, UINT32_MAX, &id) < 0)
		return -EINVAL;
	n = tenant_find(r, id);
	if (!n)
		return recorded_error(
			r, "tenant %llu has not joined above", (unsigned long long)id);
	if (json_object_get(o, "sms") && read_uint(r, o, "sms", 0, CTL_MAX_SMS, &sms) < 0)
		return -EINVAL;
	r->devices.at[n->device].most_sms = MAX(r->devices.at[n->device].most_sms, (uint32_t)sms);
	r->submitted += strcmp(what, "submit") == 0;
	n->open += strcmp(what, "submit") == 0;
	n->open -= strcmp(what, "finish") == 0 && n->open;
	if (strcmp(what, "finish") != 0 && strcmp(what, "drop") != 0)
		return 0;
	if (read_measured(r, o, &m) < 0)
		return -EINVAL;
	return launch_end(r, n, kernel, &m);
}

/* ---- reading lines ---- */

static int read_object(struct recorded *r, const json_t *o)
{
	const char *what;
	uint64_t ns, t;

	if (json_object_get(o, "schema"))
		return read_uint(r, o, "schema", 2, 2, &ns);
	what = read_text(r, o, "event");
	if (!what || read_uint(r, o, "t_ns", 0, INT64_MAX, &ns) < 0)
		return -EINVAL;
	if (!r->has_origin)
		r->origin_ns = ns;
	r->has_origin = true;
	if (trace_time(r, ns, &t) < 0)
		return -EINVAL;
	return json_object_get(o, "launch") ? launch_event(r, what, o)
					    : tenant_event(r, what, t, o);
}

static int read_json_line(struct recorded *r, const char *line, size_t len)
{
	json_error_t error;
	json_t *o;
	int status;

	if (sched_input_is(line, len)) /* the line is only for --replay */
		return 0;
	o = json_loadb(line, len, 0, &error);
	status = o && json_is_object(o) ? read_object(r, o)
		 : o                    ? recorded_error(r, "not an object")
					: recorded_error(r, "not JSON: %.100s", error.text);

	json_decref(o);
	return status;
}

bool recorded_is(const char *text, size_t len)
{
	static const char first[] = "{\"schema\": ";

	return len >= sizeof(first) - 1 && memcmp(text, first, sizeof(first) - 1) == 0;
}

static void recorded_write(struct recorded *r, struct strbuf *ret)
{
	for (size_t i = 0; i < r->devices.len; i++) {
		struct device *d = &r->devices.at[i];

		r->gaps->assumed += !d->sms;
		strbuf_printf(ret, "device sms=%u name=%s\n", d->sms ? d->sms : MAX(d->most_sms, 1),
			d->name);
		strbuf_add(ret, d->text.at, d->text.len);
	}
}

static void recorded_finish(struct recorded *r)
{
	for (size_t i = 0; i < r->devices.len; i++)
		strbuf_finish(&r->devices.at[i].text);
	for (size_t i = 0; i < r->kernels.len; i++)
		free(r->kernels.at[i]);
	VEC_FREE(&r->devices);
	VEC_FREE(&r->tenants);
	VEC_FREE(&r->kernels);
}

int recorded_read(const char *text, size_t len, struct diag_list *diags, struct strbuf *ret,
	struct recorded_gaps *ret_gaps)
{
	struct recorded r = {.diags = diags, .gaps = ret_gaps};

	*ret_gaps = (struct recorded_gaps){0};
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;
		int status;

		r.line++;
		status = n ? read_json_line(&r, text + at, n) : 0;
		if (status == -ENOMEM || (status < 0 && r.status == 0))
			r.status = status;
		if (status == -ENOMEM)
			break;
		at += n + 1;
	}
	ret_gaps->unended = r.submitted;
	recorded_write(&r, ret);
	recorded_finish(&r);
	return r.status;
}
