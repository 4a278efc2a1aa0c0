/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs scenario files: what happens, then what is expected, then "---" and the whole trace. With
 * --bless the trace is rewritten; expectations never are. A line is a word and what do_WORD reads.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 16

struct scenario {
	struct sim sim;
	const char *path;
	unsigned line, n_tenants;
	int failures;
	VEC(char *) expects; /* lines, kept until the end */
	VEC(unsigned) expect_lines;
};

static void fail(struct scenario *sc, unsigned line, const char *what, const char *arg)
{
	fprintf(stderr, "%s:%u: %s %s\n", sc->path, line, what, arg);
	sc->failures++;
}

/* "10us", "1.5ms", "2s", "300ns" */
static bool parse_time(const char *text, uint64_t *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (end != text && strcmp(end, units[i].unit) == 0) {
			*ret = (uint64_t)(v * units[i].ns + 0.5);
			return true;
		}
	}
	return false;
}

static const char *value_of(char **words, unsigned n, const char *key)
{
	size_t len = strlen(key);

	for (unsigned i = 0; i < n; i++) {
		if (strncmp(words[i], key, len) == 0 && words[i][len] == '=')
			return words[i] + len + 1;
	}
	return NULL;
}

static uint64_t number_of(char **words, unsigned n, const char *key, uint64_t otherwise)
{
	const char *v = value_of(words, n, key);

	return v ? strtoull(v, NULL, 10) : otherwise;
}

static uint64_t time_of(
	struct scenario *sc, char **words, unsigned n, const char *key, uint64_t otherwise)
{
	const char *v = value_of(words, n, key);
	uint64_t t = otherwise;

	if (v && !parse_time(v, &t))
		fail(sc, sc->line, "not a time:", v);
	return t;
}

/* device sms=4 mode=simultaneous|turns preempt=spatial|temporal numbering=own extra=0 linger=1ms
 * grace=2ms opaque=1ms hold=2ms still=1s overhead=100 (of 1000) ... */
static void do_device(struct scenario *sc, char **w, unsigned n)
{
	struct sim *s = &sc->sim;
	const char *mode = value_of(w, n, "mode"), *preempt = value_of(w, n, "preempt");
	const char *within = value_of(w, n, "within"), *policy = value_of(w, n, "policy");
	const char *numbering = value_of(w, n, "numbering");

	s->o.n_sms = (uint32_t)number_of(w, n, "sms", s->o.n_sms);
	s->o.extra_sms = (uint32_t)number_of(w, n, "extra", 0);
	s->o.renumbers = numbering && strcmp(numbering, "own") == 0;
	if (mode)
		s->o.simultaneous = strcmp(mode, "turns") != 0;
	if (preempt)
		s->o.spatial = strcmp(preempt, "temporal") != 0;
	s->o.within_srt = within && strcmp(within, "srt") == 0;
	s->o.linger_max_ns = time_of(sc, w, n, "linger", 0);
	s->o.grace_ns = time_of(sc, w, n, "grace", 0);
	s->o.cost_ns = time_of(sc, w, n, "cost", 0);
	s->o.opaque_ns = time_of(sc, w, n, "opaque", 0);
	s->o.opaque_hold_ns = time_of(sc, w, n, "hold", 0);
	s->o.still_ns = time_of(sc, w, n, "still", 0);
	s->o.overhead_permille = (uint32_t)number_of(w, n, "overhead", 0);
	s->relay_ns = time_of(sc, w, n, "relay", s->relay_ns);
	s->relaunch_ns = time_of(sc, w, n, "relaunch", s->relaunch_ns);
	if (policy)
		s->policy = sched_policy_find(policy);
	if (!s->policy)
		fail(sc, sc->line, "no such policy:", policy);
}

static int priority_of(const char *text)
{
	return !text || strcmp(text, "normal") == 0 ? 1
	       : strcmp(text, "low") == 0           ? 0
	       : strcmp(text, "high") == 0          ? 2
						    : atoi(text);
}

static void do_join(struct scenario *sc, uint64_t t, char **w, unsigned n)
{
	struct sim_tenant *tenant = calloc(1, sizeof(*tenant));
	struct sim_event e = {.fn = sim_join, .tenant = tenant, .n = ++sc->n_tenants};

	if (!tenant)
		abort();
	snprintf(tenant->name, sizeof(tenant->name), "%s", w[0]);
	tenant->priority = priority_of(value_of(w, n, "prio"));
	tenant->weight = (uint32_t)number_of(w, n, "weight", 1);
	tenant->next_id = 1;
	tenant->next = sc->sim.tenants;
	sc->sim.tenants = tenant;
	sim_at(&sc->sim, t, e);
}

/* The second launch of kernel k is k#1, and written k~1, since '#' begins a comment. */
static void real_name(char *name)
{
	for (char *c = name; *c; c++)
		*c = *c == '~' ? '#' : *c;
}

static void do_launch(
	struct scenario *sc, uint64_t t, struct sim_tenant *tenant, char **w, unsigned n)
{
	struct sim_event e = {.fn = sim_submit};

	real_name(w[0]);
	e.l = sim_new_launch(&sc->sim, tenant, w[0]);
	e.l->total = number_of(w, n, "blocks", 1);
	e.l->wps = (uint32_t)number_of(w, n, "wps", 2);
	e.l->stream = (uint32_t)number_of(w, n, "stream", 0);
	e.l->stream_priority = (uint32_t)number_of(w, n, "sprio", 0);
	e.l->count = (uint32_t)number_of(w, n, "count", 1);
	e.l->block_ns = time_of(sc, w, n, "block", 10000);
	e.l->gap_ns = time_of(sc, w, n, "gap", 0);
	e.l->before_ns = time_of(sc, w, n, "before", 0);
	sim_at(&sc->sim, t, e);
}

static void do_opaque(
	struct scenario *sc, uint64_t t, struct sim_tenant *tenant, char **w, unsigned n)
{
	uint64_t on = time_of(sc, w, n, "on", 1000), gap = time_of(sc, w, n, "gap", 0);
	uint64_t count = number_of(w, n, "count", 1), copy = time_of(sc, w, n, "copy", 0);
	const char *waited = value_of(w, n, "waited");
	bool goes_on = waited && strcmp(waited, "no") == 0;

	for (uint64_t i = 0; i < count; i++) {
		struct sim_event e = {.fn = sim_opaque, .tenant = tenant, .n = 1};

		sim_at(&sc->sim, t, e);
		e.n = goes_on && i + 1 < count ? 2 : 0; /* the last is waited for */
		sim_at(&sc->sim, t + on, e);
		e.fn = sim_copied;
		if (copy) /* so long after it */
			sim_at(&sc->sim, t + on + copy, e);
		t += on + gap;
	}
}

/* at T idle TENANT LAUNCH [until=T] */
static void do_idle(
	struct scenario *sc, uint64_t t, struct sim_tenant *tenant, char **w, unsigned n)
{
	struct sim_event e = {.fn = sim_idle, .tenant = tenant, .n = 1};
	uint64_t until = time_of(sc, w, n, "until", 0);

	real_name(w[0]);
	e.l = sim_launch(&sc->sim, tenant, w[0]);
	if (!e.l) {
		fail(sc, sc->line, "no such launch:", w[0]);
		return;
	}
	sim_at(&sc->sim, t, e);
	e.n = 0;
	if (until)
		sim_at(&sc->sim, until, e);
}

static void do_at(struct scenario *sc, char **w, unsigned n)
{
	struct sim_tenant *t;
	uint64_t at;

	if (n < 3 || !parse_time(w[0], &at)) {
		fail(sc, sc->line, "at: a time, a word, a tenant; not", n ? w[0] : "");
		return;
	}
	if (strcmp(w[1], "join") == 0) {
		do_join(sc, at, w + 2, n - 2);
		return;
	}
	t = sim_tenant(&sc->sim, w[2]);
	if (!t)
		fail(sc, sc->line, "no such tenant:", w[2]);
	else if (strcmp(w[1], "launch") == 0 && n > 3)
		do_launch(sc, at, t, w + 3, n - 3);
	else if (strcmp(w[1], "opaque") == 0)
		do_opaque(sc, at, t, w + 3, n - 3);
	else if (strcmp(w[1], "idle") == 0 && n > 3)
		do_idle(sc, at, t, w + 3, n - 3);
	else if (strcmp(w[1], "pin") == 0 || strcmp(w[1], "unpin") == 0)
		sim_at(&sc->sim, at,
			(struct sim_event){.fn = sim_pin, .tenant = t, .n = w[1][0] == 'p'});
	else if (strcmp(w[1], "priority") == 0 && n > 3)
		sim_at(&sc->sim, at,
			(struct sim_event){
				.fn = sim_priority, .tenant = t, .n = (uint32_t)priority_of(w[3])});
	else if (strcmp(w[1], "weight") == 0 && n > 3)
		sim_at(&sc->sim, at,
			(struct sim_event){
				.fn = sim_weight, .tenant = t, .n = (uint32_t)atoi(w[3])});
	else if (strcmp(w[1], "leave") == 0)
		sim_at(&sc->sim, at, (struct sim_event){.fn = sim_leave, .tenant = t});
	else
		fail(sc, sc->line, "unknown word", w[1]);
}

static unsigned split(char *line, char **words)
{
	unsigned n = 0;

	line[strcspn(line, "#\n")] = 0;
	for (char *w = strtok(line, " \t"); w && n < MAX_WORDS; w = strtok(NULL, " \t"))
		words[n++] = w;
	return n;
}

static void do_line(struct scenario *sc, char *line)
{
	char *copy = strdup(line), *w[MAX_WORDS];
	unsigned n = split(line, w);

	if (n && strcmp(w[0], "device") == 0)
		do_device(sc, w + 1, n - 1);
	else if (n && strcmp(w[0], "at") == 0)
		do_at(sc, w + 1, n - 1);
	else if (n == 2 && strcmp(w[0], "run") == 0 && parse_time(w[1], &sc->sim.end))
		;
	else if (n && strcmp(w[0], "expect") == 0 && VEC_PUSH(&sc->expects, copy) &&
		 VEC_PUSH(&sc->expect_lines, sc->line))
		return;
	else if (n)
		fail(sc, sc->line, "what is", w[0]);
	free(copy);
}

static bool compare(double have, const char *op, double want)
{
	return strcmp(op, "<") == 0   ? have < want
	       : strcmp(op, ">") == 0 ? have > want
				      : strcmp(op, "=") == 0 && have == want;
}

static bool share_is(struct scenario *sc, const char *name, double percent, double points)
{
	double all = 0, its = 0, share;

	for (struct sim_tenant *t = sc->sim.tenants; t; t = t->next) {
		all += sim_work(&sc->sim, t);
		its += strcmp(t->name, name) == 0 ? sim_work(&sc->sim, t) : 0;
	}
	share = all > 0 ? 100 * its / all : 0;
	if (share < percent - points || share > percent + points)
		fprintf(stderr, "%s has %.2f %%\n", name, share);
	return share >= percent - points && share <= percent + points;
}

/* expect TENANT LAUNCH turnaround|preemptions|finished OP VALUE; … sms LIST; … unfinished;
 * expect stat NAME OP VALUE; expect share TENANT PERCENT within POINTS: of the SM-time of all
 * blocks that have finished */
static bool holds(struct scenario *sc, char **w, unsigned n)
{
	struct sched_stats st;
	struct sim_tenant *t;
	struct sim_launch *l;
	uint64_t want = 0;
	char sms[128];

	if (n == 5 && strcmp(w[1], "stat") == 0) {
		sched_stats(sc->sim.sched, &st);
		return compare((double)(strcmp(w[2], "preemptions") == 0 ? st.preemptions
					: strcmp(w[2], "shrinks") == 0   ? st.shrinks
					: strcmp(w[2], "lingers") == 0   ? st.lingers
					: strcmp(w[2], "late") == 0      ? st.late
					: strcmp(w[2], "words") == 0     ? sc->sim.words
									 : UINT64_MAX),
			w[3], atof(w[4]));
	}
	if (n == 6 && strcmp(w[1], "share") == 0)
		return share_is(sc, w[2], atof(w[3]), atof(w[5]));
	t = n > 3 ? sim_tenant(&sc->sim, w[1]) : NULL;
	if (n > 3)
		real_name(w[2]);
	l = t ? sim_launch(&sc->sim, t, w[2]) : NULL;
	if (!l)
		return false;
	if (strcmp(w[3], "unfinished") == 0)
		return !l->done;
	if (n == 5 && strcmp(w[3], "sms") == 0) {
		sim_sms_text(l->used_sm, sc->sim.o.n_sms, sms, sizeof(sms));
		return strcmp(sms, w[4]) == 0;
	}
	if (n == 6 && strcmp(w[3], "turnaround") == 0)
		return l->done && parse_time(w[5], &want) &&
		       compare((double)(l->done_ns - l->submit_ns), w[4], (double)want);
	if (n == 6 && strcmp(w[3], "done") == 0)
		return l->done && parse_time(w[5], &want) &&
		       compare((double)l->done_ns, w[4], (double)want);
	if (n == 6 && strcmp(w[3], "preemptions") == 0)
		return compare(l->preemptions, w[4], atof(w[5]));
	if (n == 6 && strcmp(w[3], "finished") == 0)
		return compare((double)l->finished, w[4], atof(w[5]));
	return false;
}

static void check(struct scenario *sc)
{
	for (size_t i = 0; i < sc->expects.len; i++) {
		char *line = strdup(sc->expects.at[i]), *w[MAX_WORDS];
		unsigned n = split(line, w);

		sc->expects.at[i][strcspn(sc->expects.at[i], "\n")] = 0;
		if (!holds(sc, w, n))
			fail(sc, sc->expect_lines.at[i], "does not hold:", sc->expects.at[i]);
		free(line);
	}
	/* What no scenario has to ask for: no block twice or never, no launch left behind that
	 * nobody was holding at the end. */
	for (struct sim_launch *l = sc->sim.launches; l; l = l->next) {
		if (l->done && (l->finished != l->total || l->ticket < l->total))
			fail(sc, 0, "blocks are missing:", l->name);
	}
}

static void show_difference(struct scenario *sc, const char *want, const char *have)
{
	unsigned line = 1;

	fail(sc, sc->line, "the trace differs", "(--bless rewrites it)");
	while (*want && *have) {
		size_t a = strcspn(want, "\n"), b = strcspn(have, "\n");

		if (a != b || memcmp(want, have, a) != 0) {
			fprintf(stderr, "line %u of the trace:\n-%.*s\n+%.*s\n", line, (int)a, want,
				(int)b, have);
			return;
		}
		want += a + (want[a] == '\n');
		have += b + (have[b] == '\n');
		line++;
	}
	fprintf(stderr, "after %u lines:\n-%.200s\n+%.200s\n", line, want, have);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? 1 << 20 : 0, len;
	char *text = n ? calloc(1, n) : NULL;

	if (!text) {
		perror(path);
		exit(1);
	}
	len = fread(text, 1, n - 1, f);
	text[len] = 0;
	fclose(f);
	return text;
}

static int run_file(const char *path, bool bless)
{
	struct scenario sc = {.path = path};
	char *text = read_all(path), *at = text, *golden = strstr(text, "\n---\n");
	size_t head = golden ? (size_t)(golden - text) + 5 : strlen(text);

	sim_init(&sc.sim);
	sc.sim.end = 1000000000;
	while (*at && (!golden || at <= golden)) {
		size_t n = strcspn(at, "\n");
		char *line = strndup(at, n);

		sc.line++;
		do_line(&sc, line);
		free(line);
		at += n + (at[n] == '\n');
	}
	if (!sc.failures) {
		sim_run(&sc.sim);
		if (sc.sim.error[0])
			fail(&sc, sc.line, sc.sim.error, "");
		check(&sc);
	}
	if (bless && !sc.failures) {
		FILE *f = fopen(path, "w");

		if (!f)
			exit(1);
		fprintf(f, "%.*s%s%s", (int)head, text, golden ? "" : "---\n",
			sc.sim.trace.at ? sc.sim.trace.at : "");
		fclose(f);
	} else if (golden && sc.sim.trace.at && strcmp(text + head, sc.sim.trace.at) != 0) {
		show_difference(&sc, text + head, sc.sim.trace.at);
	} else if (!golden) {
		fail(&sc, sc.line, "no trace in it", "(--bless writes one)");
	}
	if (sc.failures && getenv("VERBOSE"))
		fputs(sc.sim.trace.at ? sc.sim.trace.at : "", stderr);
	for (size_t i = 0; i < sc.expects.len; i++)
		free(sc.expects.at[i]);
	VEC_FREE(&sc.expects);
	VEC_FREE(&sc.expect_lines);
	sim_finish(&sc.sim);
	free(text);
	return sc.failures;
}

int main(int argc, char **argv)
{
	bool bless = argc > 1 && strcmp(argv[1], "--bless") == 0;
	int failures = 0, n = 0;

	for (int i = 1 + bless; i < argc; i++, n++)
		failures += run_file(argv[i], bless);
	printf("%d scenarios, %d failures\n", n, failures);
	return failures || !n;
}
