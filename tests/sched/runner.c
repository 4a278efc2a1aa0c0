/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs scenario files: events (sim/trace.h) with lines "expect" between them, then "---" and the
 * complete trace. --bless rewrites the trace, but never the expectations. --hpf FILE replaces hpf
 * by the policy in FILE and skips scenarios of other policies. After each scenario the journal of
 * its inputs is replayed. */
#include "repeat.h"

#include "daemon/policy_file.h"
#include "named.h"
#include "sim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scenario {
	struct sim sim;
	struct diag_list diags;
	struct sim_reader reader;
	const char *path;
	int failures;
	VEC(char *) expects; /* lines to check at the end */
	VEC(unsigned) expect_lines;
};

static void fail(struct scenario *sc, unsigned line, const char *what, const char *arg)
{
	fprintf(stderr, "%s:%u: %s %s\n", sc->path, line, what, arg);
	sc->failures++;
}

static void do_line(struct scenario *sc, const char *line, size_t len)
{
	char *copy;

	sc->reader.line++;
	if (len < 7 || memcmp(line, "expect ", 7) != 0) {
		sim_read_line(&sc->reader, line, len);
		return;
	}
	copy = strndup(line, len);
	if (!copy || !VEC_PUSH(&sc->expects, copy) || !VEC_PUSH(&sc->expect_lines, sc->reader.line))
		fail(sc, sc->reader.line, "out of memory", "");
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

/* Returns whether an expectation holds. Its forms:
 *  expect TENANT LAUNCH turnaround|done|preemptions|finished OP VALUE
 *  expect TENANT LAUNCH sms LIST
 *  expect TENANT LAUNCH unfinished
 *  expect stat NAME OP VALUE
 *  expect share TENANT PERCENT within POINTS: the tenant's percentage of the SM time of all
 *  finished blocks */
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
		sim_real_name(w[2]);
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
		return l->done && sim_parse_time(w[5], &want) == 0 &&
		       compare((double)(l->done_ns - l->submit_ns), w[4], (double)want);
	if (n == 6 && strcmp(w[3], "done") == 0)
		return l->done && sim_parse_time(w[5], &want) == 0 &&
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
		const char *line = sc->expects.at[i];
		struct sim_words w;

		if (sim_split(line, strlen(line), &w) < 0 || !holds(sc, w.at, w.n))
			fail(sc, sc->expect_lines.at[i], "does not hold:", line);
	}
	/* Checked in every scenario: a launch that is done has claimed all its blocks and finished
	 * each of them once. */
	for (struct sim_launch *l = sc->sim.launches; l; l = l->next) {
		if (l->done && (l->finished != l->total || l->ticket < l->total))
			fail(sc, 0, "blocks are missing:", l->name);
	}
}

static void show_difference(struct scenario *sc, const char *want, const char *have)
{
	unsigned line = 1;

	fail(sc, sc->reader.line, "the trace differs", "(--bless rewrites it)");
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

/* Reads the lines before the trace. */
static void read_scenario(struct scenario *sc, const char *text, const char *golden)
{
	const char *at = text;

	sc->sim.end = 1000000000;
	while (*at && (!golden || at <= golden)) {
		size_t n = strcspn(at, "\n");

		do_line(sc, at, n);
		at += n + (at[n] == '\n');
	}
	for (unsigned i = 0; i < sc->diags.len; i++)
		fail(sc, sc->diags.at[i].line, sc->diags.at[i].message, "");
}

/* Runs the scenario and compares its trace with the file's, or rewrites the file's. */
static void run_scenario(struct scenario *sc, const char *text, const char *golden, bool bless)
{
	size_t head = golden ? (size_t)(golden - text) + 5 : strlen(text);
	const char *trace;

	if (!sc->failures) {
		if (sim_run(&sc->sim) < 0)
			fail(sc, sc->sim.error_line, "does not run:", sc->sim.error);
		check(sc);
	}
	trace = sc->sim.trace.at ? sc->sim.trace.at : "";
	if (bless && !sc->failures) {
		FILE *f = fopen(sc->path, "w");

		if (!f)
			exit(1);
		fprintf(f, "%.*s%s%s", (int)head, text, golden ? "" : "---\n", trace);
		fclose(f);
	} else if (golden && *trace && strcmp(text + head, trace) != 0) {
		show_difference(sc, text + head, trace);
	} else if (!golden) {
		fail(sc, sc->reader.line, "no trace in it", "(--bless writes one)");
	}
	if (sc->failures && getenv("VERBOSE"))
		fputs(trace, stderr);
}

/* hpf: the policy that replaces hpf; scenarios of other policies are skipped. NULL: no
 * replacement. */
static int run_file(const char *path, bool bless, const struct sched_policy *hpf, int *io_ran)
{
	struct scenario sc = {.path = path};
	struct repeat repeat;
	const struct sched_policy *policy;
	struct arena arena;
	char *text = read_all(path), *golden = strstr(text, "\n---\n");
	bool uses_hpf;

	arena_init(&arena, 0);
	diag_init(&sc.diags, &arena, path, NULL, 0);
	sim_init(&sc.sim);
	repeat_begin(&repeat, &sc.sim);
	sc.reader = (struct sim_reader){.sim = &sc.sim, .diags = &sc.diags, .find = policy_named};
	read_scenario(&sc, text, golden);
	uses_hpf = sc.sim.policy == &sched_policy_hpf;
	if (hpf)
		sc.sim.policy = hpf;
	if (!hpf || uses_hpf) {
		run_scenario(&sc, text, golden, bless);
		(*io_ran)++;
	}
	for (size_t i = 0; i < sc.expects.len; i++)
		free(sc.expects.at[i]);
	VEC_FREE(&sc.expects);
	VEC_FREE(&sc.expect_lines);
	policy = sc.sim.policy;
	sim_finish(&sc.sim);
	sc.failures += !repeat_end(&repeat, path, policy);
	arena_finish(&arena);
	free(text);
	return sc.failures;
}

/* Loads a policy as heddled does. */
static struct sched_policy load_policy(const char *path, struct policy_file *ret_file)
{
	struct strbuf err = {0};

	if (policy_file_open(path, ret_file, &err) < 0 || policy_file_load(ret_file, &err) < 0) {
		fprintf(stderr, "%s\n", err.at);
		exit(1);
	}
	return (struct sched_policy){
		.name = ret_file->name, .table = ret_file->table, .options = ""};
}

int main(int argc, char **argv)
{
	bool bless = argc > 1 && strcmp(argv[1], "--bless") == 0;
	bool loads = argc > 2 && strcmp(argv[1], "--hpf") == 0;
	int failures = 0, n = 0;
	struct policy_file file;
	struct sched_policy hpf;

	if (loads)
		hpf = load_policy(argv[2], &file);
	for (int i = loads ? 3 : 1 + bless; i < argc; i++)
		failures += run_file(argv[i], bless, loads ? &hpf : NULL, &n);
	printf("%d scenarios, %d failures\n", n, failures);
	if (loads)
		policy_file_close(&file);
	return failures || !n;
}
