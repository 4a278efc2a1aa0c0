/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads traces. There is a function for each kind of line, which looks up the words of the line
 * that it knows. If a word of the line was not looked up, that is an error. So a misspelled word
 * does not silently get its default. */
#include "sim/trace.h"

#include "base/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 63u    /* maximum number of characters in the number of a time */
#define MAX_BURSTS 10000u /* maximum number in one line, because all are created in advance */

#define reader_error(r, ...) diag_line_error((r)->diags, (r)->line, __VA_ARGS__)

int sim_parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t len = strspn(text, "+-.0123456789eE");
	const char *unit = text + len;
	char number[NUMBER_MAX + 1];
	double v;

	if (len > NUMBER_MAX)
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = 0;
	if (number_parse_real(number, &v) < 0 || v < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(unit, units[i].unit) != 0)
			continue;
		if (v * units[i].ns > (double)SIM_TIME_MAX_NS)
			return -ERANGE;
		*ret_ns = (uint64_t)(v * units[i].ns + 0.5);
		return 0;
	}
	return -EINVAL;
}

int sim_split(const char *line, size_t len, struct sim_words *ret)
{
	const char *comment = memchr(line, '#', len);
	char *rest = NULL;

	len = comment ? (size_t)(comment - line) : len;
	ret->n = 0;
	ret->known = 0;
	if (len > SIM_LINE_MAX)
		return -E2BIG;
	memcpy(ret->text, line, len);
	ret->text[len] = 0;
	for (char *w = strtok_r(ret->text, " \t\r", &rest); w; w = strtok_r(NULL, " \t\r", &rest)) {
		if (ret->n == SIM_WORDS)
			return -E2BIG;
		ret->at[ret->n++] = w;
	}
	return 0;
}

void sim_real_name(char *name)
{
	for (char *c = name; *c; c++)
		*c = *c == '~' ? '#' : *c;
}

/* ---- words ---- */

/* Returns word i, or NULL if the line has fewer words. */
static char *word_at(struct sim_words *w, unsigned i)
{
	if (i >= w->n)
		return NULL;
	w->known |= 1u << i;
	return w->at[i];
}

/* Returns the text after "key=", or NULL if there is no such word. */
static const char *value_of(struct sim_words *w, const char *key)
{
	size_t len = strlen(key);

	for (unsigned i = 0; i < w->n; i++) {
		if (strncmp(w->at[i], key, len) == 0 && w->at[i][len] == '=')
			return word_at(w, i) + len + 1;
	}
	return NULL;
}

/* Reads a whole number; `what` names it in the error. */
static int read_number(struct sim_reader *r, const char *what, const char *text, uint64_t min,
	uint64_t max, uint64_t *ret)
{
	int status = number_parse(text, min, max, ret);

	if (status == -EINVAL)
		return reader_error(r, "%s: '%.40s' is not a whole number", what, text);
	if (status == -ERANGE)
		return reader_error(r, "%s: %.40s is not between %llu and %llu", what, text,
			(unsigned long long)min, (unsigned long long)max);
	return 0;
}

static uint32_t read_number_of(struct sim_reader *r, struct sim_words *w, const char *key,
	uint32_t min, uint32_t max, uint32_t otherwise)
{
	const char *text = value_of(w, key);
	uint64_t v = otherwise;

	if (text)
		read_number(r, key, text, min, max, &v);
	return (uint32_t)v;
}

static int read_time(struct sim_reader *r, const char *text, uint64_t *ret_ns)
{
	int status = sim_parse_time(text, ret_ns);

	if (status == -ERANGE)
		return reader_error(r, "time too large: '%.40s', at most 1000000s", text);
	if (status < 0 && *text == '-')
		return reader_error(r, "negative time: '%.40s'", text);
	if (status < 0)
		return reader_error(
			r, "not a time: '%.40s'; a time is a number and ns, us, ms or s", text);
	return 0;
}

static uint64_t read_time_of(
	struct sim_reader *r, struct sim_words *w, const char *key, uint64_t otherwise)
{
	const char *text = value_of(w, key);
	uint64_t t = otherwise;

	if (text)
		read_time(r, text, &t);
	return t;
}

/* Returns the index (0 or 1) in `words` of the text after "key=". Any other text is an error. If
 * the line does not have the key, returns `otherwise`. */
static bool read_choice(struct sim_reader *r, struct sim_words *w, const char *key,
	const char *const words[2], bool otherwise)
{
	const char *text = value_of(w, key);

	if (!text)
		return otherwise;
	if (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)
		reader_error(r, "%s: '%.40s' is neither %s nor %s", key, text, words[0], words[1]);
	return strcmp(text, words[1]) == 0;
}

static int priority_of(struct sim_reader *r, const char *text)
{
	static const char *const names[] = {"low", "normal", "high"};
	uint64_t v = 1;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	}
	read_number(r, "priority", text, 0, 999, &v);
	return (int)v;
}

static const char *check_name(struct sim_reader *r, const char *name)
{
	/* Names of repetitions end with '#' and a number. */
	if (strlen(name) > SIM_NAME_MAX - 11)
		reader_error(
			r, "name too long: '%.60s', at most %d bytes", name, SIM_NAME_MAX - 11);
	return name;
}

/* ---- lines ---- */

static void read_policy(struct sim_reader *r, struct sim_words *w)
{
	const char *name = value_of(w, "policy"), *options = value_of(w, "options");
	const struct sched_policy *p = name ? sched_policy_find(name) : r->sim->policy;
	char why[256];

	if (!p && r->find && sched_policy_is_file(name))
		p = r->find(r->find_user, name);

	if (options)
		snprintf(r->sim->policy_options, sizeof(r->sim->policy_options), "%s", options);
	if (p && sched_policy_check(p, r->sim->policy_options, why, sizeof(why)) < 0)
		reader_error(r, "%s", why);
	if (p) {
		r->sim->policy = p;
	} else {
		sched_policy_list(why, sizeof(why));
		reader_error(r, "no such policy: '%.40s'; there are %s", name, why);
	}
}

static int read_device(struct sim_reader *r, struct sim_words *w)
{
	static const char *const mode[] = {"turns", "simultaneous"};
	static const char *const preempt[] = {"temporal", "spatial"};
	static const char *const within[] = {"order", "srt"}, *const numbering[] = {
								      "device", "own"};
	const char *name = value_of(w, "name");
	struct sim *s = r->sim;
	struct sched_options *o = &s->o;

	if (name)
		snprintf(s->name, sizeof(s->name), "%s", name);
	o->n_sms = read_number_of(r, w, "sms", 1, CTL_MAX_SMS, o->n_sms);
	o->extra_sms = read_number_of(r, w, "extra", 0, CTL_MAX_SMS, 0);
	o->renumbers = read_choice(r, w, "numbering", numbering, false);
	o->simultaneous = read_choice(r, w, "mode", mode, o->simultaneous);
	o->spatial = read_choice(r, w, "preempt", preempt, o->spatial);
	o->within_srt = read_choice(r, w, "within", within, false);
	o->linger_max_ns = read_time_of(r, w, "linger", 0);
	o->grace_ns = read_time_of(r, w, "grace", 0);
	o->cost_ns = read_time_of(r, w, "cost", 0);
	o->opaque_ns = read_time_of(r, w, "opaque", 0);
	o->opaque_hold_ns = read_time_of(r, w, "hold", 0);
	o->still_ns = read_time_of(r, w, "still", 0);
	o->overhead_permille = read_number_of(r, w, "overhead", 0, 1000, 0);
	s->relay_ns = read_time_of(r, w, "relay", s->relay_ns);
	s->relaunch_ns = read_time_of(r, w, "relaunch", s->relaunch_ns);
	read_policy(r, w);
	return 0;
}

static int read_join(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	const char *name = check_name(r, w->at[3]), *priority = value_of(w, "prio");

	e.fn = sim_join;
	e.n = ++r->n_tenants;
	if (sim_tenant(r->sim, name))
		return reader_error(r, "a tenant of this name joins above: '%.40s'", name);
	e.tenant = sim_new_tenant(r->sim, name);
	if (!e.tenant)
		return -ENOMEM;
	e.tenant->priority = priority ? priority_of(r, priority) : 1;
	e.tenant->weight = read_number_of(r, w, "weight", 1, 1000, 1);
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_launch(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	char *name = word_at(w, 4);
	struct sim_launch *l;

	if (!name || strchr(name, '='))
		return reader_error(r,
			"launch: a kernel's name must follow the tenant, not '%.40s'",
			name ? name : "");
	sim_real_name(name);
	l = e.l = sim_new_launch(r->sim, e.tenant, check_name(r, name));
	if (!l)
		return -ENOMEM;
	e.fn = sim_submit;
	l->line = r->line;
	l->total = read_number_of(r, w, "blocks", 1, UINT32_MAX, 1);
	l->wps = read_number_of(r, w, "wps", 1, 32, 2);
	l->stream = read_number_of(r, w, "stream", 0, UINT32_MAX, 0);
	l->stream_priority = read_number_of(r, w, "sprio", 0, 1000000, 0);
	l->count = read_number_of(r, w, "count", 1, UINT32_MAX, 1);
	l->use = read_number_of(r, w, "use", 0, 1000, 0);
	l->block_ns = read_time_of(r, w, "block", 10000);
	l->gap_ns = read_time_of(r, w, "gap", 0);
	l->before_ns = read_time_of(r, w, "before", 0);
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_opaque(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	static const char *const waited[] = {"yes", "no"};
	uint64_t on = read_time_of(r, w, "on", 1000), gap = read_time_of(r, w, "gap", 0);
	uint64_t copy = read_time_of(r, w, "copy", 0), t = e.t;
	uint32_t count = read_number_of(r, w, "count", 1, MAX_BURSTS, 1);
	bool goes_on = read_choice(r, w, "waited", waited, false);

	for (uint32_t i = 0; i < count; i++) {
		e.fn = sim_opaque;
		e.n = 1;
		sim_at(r->sim, t, e);
		/* The program always waits for the last burst. */
		e.n = goes_on && i + 1 < count ? 2 : 0;
		sim_at(r->sim, t + on, e);
		e.fn = sim_copied;
		if (copy)
			sim_at(r->sim, t + on + copy, e);
		t += on + gap;
	}
	return 0;
}

/* Reads the line "at TIME idle TENANT LAUNCH [until=TIME]". */
static int read_idle(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	uint64_t until = read_time_of(r, w, "until", 0);
	char *name = word_at(w, 4);

	if (name)
		sim_real_name(name);
	e.l = name ? sim_launch(r->sim, e.tenant, name) : NULL;
	if (!e.l)
		return reader_error(r, "no such launch: '%.40s'", name ? name : "");
	e.fn = sim_idle;
	e.n = 1;
	sim_at(r->sim, e.t, e);
	e.n = 0;
	if (until)
		sim_at(r->sim, until, e);
	return 0;
}

static int read_pin(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	e.fn = sim_pin;
	e.n = w->at[2][0] == 'p';
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_priority(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	const char *text = word_at(w, 4);

	e.fn = sim_priority;
	e.n = (uint32_t)priority_of(r, text ? text : "");
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_weight(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	const char *text = word_at(w, 4);
	uint64_t v = 1;

	read_number(r, "weight", text ? text : "", 1, 1000, &v);
	e.fn = sim_weight;
	e.n = (uint32_t)v;
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_leave(struct sim_reader *r, struct sim_event e, struct sim_words *w)
{
	(void)w;
	e.fn = sim_leave;
	sim_at(r->sim, e.t, e);
	return 0;
}

static int read_at(struct sim_reader *r, struct sim_words *w)
{
	static const struct {
		const char *word;
		int (*read)(struct sim_reader *r, struct sim_event e, struct sim_words *w);
	} events[] = {
		{"join", read_join},
		{"launch", read_launch},
		{"opaque", read_opaque},
		{"idle", read_idle},
		{"pin", read_pin},
		{"unpin", read_pin},
		{"priority", read_priority},
		{"weight", read_weight},
		{"leave", read_leave},
	};
	struct sim_event e = {.line = r->line};
	const char *time = word_at(w, 1), *word = word_at(w, 2), *tenant = word_at(w, 3);
	size_t i = 0;

	if (!tenant)
		return reader_error(r, "at: a time, a word and a tenant must follow");
	if (read_time(r, time, &e.t) < 0)
		return -EINVAL;
	while (i < ARRAY_LEN(events) && strcmp(events[i].word, word) != 0)
		i++;
	if (i == ARRAY_LEN(events))
		return reader_error(r, "unknown word: '%.40s'", word);
	if (r->only && strcmp(r->only, tenant) != 0) {
		w->known = UINT32_MAX;
		return 0;
	}
	e.tenant = sim_tenant(r->sim, tenant);
	if (!e.tenant && events[i].read != read_join)
		return reader_error(r, "no such tenant: '%.40s'; it must join above", tenant);
	return events[i].read(r, e, w);
}

static int read_run(struct sim_reader *r, struct sim_words *w)
{
	const char *text = word_at(w, 1);

	r->has_end = true;
	return read_time(r, text ? text : "", &r->sim->end);
}

static int read_words(struct sim_reader *r, struct sim_words *w)
{
	const char *word = word_at(w, 0);
	unsigned errors = r->diags->errors;
	int status;

	if (!word)
		return 0;
	if (strcmp(word, "device") == 0)
		status = read_device(r, w);
	else if (strcmp(word, "at") == 0)
		status = read_at(r, w);
	else if (strcmp(word, "run") == 0)
		status = read_run(r, w);
	else
		status = reader_error(r, "unknown word: '%.40s'", word);
	if (status < 0)
		return status;
	for (unsigned i = 0; i < w->n; i++) {
		if (!(w->known >> i & 1))
			reader_error(r, "unknown word: '%.40s'", w->at[i]);
	}
	return r->diags->errors != errors ? -EINVAL : r->sim->status;
}

int sim_read_line(struct sim_reader *r, const char *line, size_t len)
{
	struct sim_words w;

	if (sim_split(line, len, &w) < 0)
		return reader_error(
			r, "line too long: at most %d bytes and %d words", SIM_LINE_MAX, SIM_WORDS);
	return read_words(r, &w);
}

static bool starts_with(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(line, word, n) == 0 &&
	       (len == n || line[n] == ' ' || line[n] == '\t' || line[n] == '\r');
}

size_t sim_section(const char *text, size_t len, uint32_t *ret_lines)
{
	bool any = false;

	*ret_lines = 0;
	for (size_t at = 0; at < len; (*ret_lines)++) {
		const char *line = text + at, *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;

		if (n == 3 && memcmp(line, "---", 3) == 0)
			break;
		if (any && starts_with(line, n, "device"))
			return at;
		any |= starts_with(line, n, "at") || starts_with(line, n, "run");
		at += MIN(n + 1, len - at);
	}
	return len;
}

static bool is_expect(const char *line, size_t len)
{
	return len > 6 && memcmp(line, "expect", 6) == 0 && (line[6] == ' ' || line[6] == '\t');
}

int sim_read(struct sim_reader *r, const char *text, size_t len)
{
	int status = 0;

	for (size_t at = 0; at < len;) {
		const char *line = text + at, *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;
		int its = 0;

		at += n + 1;
		r->line++;
		if (n == 3 && memcmp(line, "---", 3) == 0)
			break;
		if (!is_expect(line, n))
			its = sim_read_line(r, line, n);
		if (its == -ENOMEM)
			return its;
		status = its < 0 ? its : status;
	}
	return status;
}
