/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Measures the pairs of heddle bench share ("Adaptive simultaneous multi-tenancy", section 4.4,
 * figures 10 and 11). Each pair of programs A and B runs in three launch orders: A first and B
 * after a tenth of A's time alone, B first and A after a tenth of B's time alone, and both at once.
 * The figure of a pair is the geometric mean over the three orders. The figure of a group is the
 * geometric mean over its pairs. */
#include "lab/share/bench_share.h"

#include <math.h>
#include <string.h>

#define DELAY       0.1 /* delay as a fraction of the first program's time alone */
#define QUICK_PAIRS 3

#define SPLIT_BY(text, option, under_mps)                                           \
	{                                                                           \
		.name = text, .managed = true, .mps = under_mps, .policy = "split", \
		.ranked = true, .options = {                                        \
			"--set",                                                    \
			"policy_options=" option                                    \
		}                                                                   \
	}
#define SPLITS(under_mps)                                               \
	[SHARE_WHOLE_25] = SPLIT_BY("whole-25", "whole=25", under_mps), \
	[SHARE_WHOLE_50] = SPLIT_BY("whole-50", "whole=50", under_mps), \
	[SHARE_WHOLE_75] = SPLIT_BY("whole-75", "whole=75", under_mps), \
	[SHARE_MIXED_75] = SPLIT_BY("mixed-75", "mixed=75", under_mps)

static const struct stage_spec on_gpu[SHARE_ARRANGEMENTS] = {
	[SHARE_SEQUENTIAL] = {.name = "sequential"},
	[SHARE_MPS] = {.name = "mps", .mps = true},
	[SHARE_MPS_PRIORITY] = {.name = "mps-priority", .mps = true, .mps_priorities = true},
	[SHARE_WORKERS] = {.name = "workers", .managed = true, .mps = true, .policy = "none"},
	[SHARE_GREEDY] = {.name = "greedy", .managed = true, .mps = true, .policy = "greedy"},
	[SHARE_PROFILED] = {.name = "greedy+profile",
		.managed = true,
		.mps = true,
		.policy = "greedy"},
	[SHARE_PREDICT] = {.name = "greedy+predict",
		.managed = true,
		.mps = true,
		.policy = "greedy",
		.options = {"--set", SHARE_PREDICT_KEY "pairs=on"}},
	SPLITS(true),
};
/* Tenants of the virtual GPU run side by side without MPS. */
static const struct stage_spec on_cpu[SHARE_ARRANGEMENTS] = {
	[SHARE_SEQUENTIAL] = {.name = "sequential"},
	[SHARE_MPS] = {.name = "unmanaged"},
	[SHARE_WORKERS] = {.name = "workers", .managed = true, .policy = "none"},
	[SHARE_GREEDY] = {.name = "greedy", .managed = true, .policy = "greedy"},
	[SHARE_PROFILED] = {.name = "greedy+profile", .managed = true, .policy = "greedy"},
	[SHARE_PREDICT] = {.name = "greedy+predict",
		.managed = true,
		.policy = "greedy",
		.options = {"--set", SHARE_PREDICT_KEY "pairs=on"}},
	SPLITS(false),
};

static const char *const order_names[SHARE_ORDERS] = {"first", "second", "together"};

/* ---- choosing arrangements and pairs ---- */

static const struct stage_spec *specs_of(const struct share *s)
{
	return s->b.device == DEV_CPU ? on_cpu : on_gpu;
}

/* Returns whether the options other than --only allow the arrangement. */
static bool is_possible(const struct share *s, enum share_arrangement k)
{
	if (s->by_sm)
		return k == SHARE_SEQUENTIAL || k == SHARE_GREEDY || k >= SHARE_WHOLE_25;
	return k < SHARE_WHOLE_25 && (k != SHARE_PREDICT || s->predict) &&
	       (k != SHARE_PROFILED || s->store);
}

static bool is_asked_for(const struct share *s, enum share_arrangement k)
{
	bool named = !s->only || k == SHARE_SEQUENTIAL || s->only & 1u << k;

	return named && is_possible(s, k);
}

int share_choose_arrangements(struct share *s)
{
	const struct stage_spec *specs = specs_of(s);
	struct strbuf names = {0};
	int r = CLI_OK;

	for (const char *text = cli_value(s->b.c, "only"); text && r == CLI_OK;) {
		size_t len = strcspn(text, ",");
		unsigned found = 0;

		names.len = 0;
		for (unsigned k = SHARE_MPS; k < SHARE_ARRANGEMENTS; k++) {
			const char *name = specs[k].name;

			if (!name || !is_possible(s, k))
				continue;
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", name);
			if (strlen(name) == len && !memcmp(name, text, len))
				found = 1u << k;
		}
		if (!found)
			r = cli_usage(s->b.c,
				"--only: '%.*s' is none of the arrangements that the other "
				"options allow: %s",
				(int)len, text, names.at);
		s->only |= found;
		text = text[len] ? text + len + 1 : NULL;
	}
	strbuf_finish(&names);
	return r;
}

/* Returns the class of a pair: low if one of its programs is low (SiM, section 4). */
static enum share_class class_of_pair(enum share_class a, enum share_class b)
{
	if (a == SHARE_LOW_CLASS || b == SHARE_LOW_CLASS)
		return SHARE_LOW_CLASS;
	return a && b ? SHARE_HIGH_CLASS : SHARE_UNKNOWN;
}

static void add_pair(struct share *s, unsigned first, unsigned second)
{
	struct share_pair *p = &s->pairs[s->n_pairs++];
	enum share_class a = share_paper_class(s->programs[first]),
			 b = share_paper_class(s->programs[second]);

	*p = (struct share_pair){.program = {first, second},
		.class = class_of_pair(s->class[first], s -> class[second])};
	if (a && b)
		p->paper = class_of_pair(a, b);
	for (unsigned o = 0; o < SHARE_ORDERS; o++) {
		struct bench_case *c =
			cases_add(&s->cs, o == SHARE_TOGETHER ? CASE_AT_ONCE : CASE_ARRIVING, 2);

		c->program[0] = o == SHARE_SECOND ? second : first;
		c->program[1] = o == SHARE_SECOND ? first : second;
		c->lead = first;
		c->large[0] = c->large[1] = s->large;
		c->delay = o == SHARE_TOGETHER ? 0 : DELAY;
		p->by[o] = c;
	}
}

int share_list(struct share *s)
{
	static const unsigned pairs = 1u << SHARE_MPS | 1u << SHARE_MPS_PRIORITY |
				      1u << SHARE_WORKERS | 1u << SHARE_GREEDY |
				      1u << SHARE_PROFILED | 1u << SHARE_PREDICT |
				      1u << SHARE_WHOLE_25 | 1u << SHARE_WHOLE_50 |
				      1u << SHARE_WHOLE_75 | 1u << SHARE_MIXED_75;
	static const unsigned runs_in[CASE_KINDS] = {
		[CASE_ALONE] = 1u << SHARE_SEQUENTIAL | 1u << SHARE_WORKERS,
		[CASE_ARRIVING] = pairs,
		[CASE_AT_ONCE] = pairs,
	};
	int r;

	s->table = (struct cases_table){
		s->programs, specs_of(s), SHARE_ARRANGEMENTS, runs_in, s->scale};
	r = cases_begin(&s->b, &s->table, SHARE_PROGRAMS + SHARE_PAIRS * SHARE_ORDERS, &s->cs);
	if (r != CLI_OK)
		return r;
	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++)
		if (!is_asked_for(s, k))
			s->cs.spec[k].name = NULL;
	s->cs.spec[SHARE_PROFILED].store = s->cs.spec[SHARE_PREDICT].store = s->store;
	for (unsigned i = 0; i < s->n; i++) {
		s->alone[i] = cases_add(&s->cs, CASE_ALONE, 1);
		s->alone[i]->program[0] = i;
		s->alone[i]->large[0] = s->large;
	}
	for (unsigned i = 0; i < s->n_asked; i++)
		add_pair(s, s->asked[i][0], s->asked[i][1]);
	for (unsigned i = 0; i < s->n && !s->n_asked; i++)
		for (unsigned j = i + 1; j < s->n; j++)
			if (!s->b.quick || (j == i + 1 && s->n_pairs < QUICK_PAIRS))
				add_pair(s, i, j);
	return CLI_OK;
}

const char *share_arrangement_name(const struct share *s, enum share_arrangement k)
{
	return s->cs.spec[k].name;
}

/* ---- computing figures ---- */

/* Figures of one launch order of a pair. */
struct order_figures {
	struct figures f;
	double makespan_ns, ns[2]; /* ns: turnarounds of the case's programs */
	/* of the rounds' makespans, relative to their median; -1: only one round */
	double spread;
};

static double makespan_spread(const struct crew_result *res)
{
	double least = crew_makespan_ns(res, 0), most = least;

	for (unsigned k = 1; k < res->rounds; k++) {
		least = MIN(least, crew_makespan_ns(res, k));
		most = MAX(most, crew_makespan_ns(res, k));
	}
	return res->rounds > 1 ? (most - least) / res->makespan_ns : -1;
}

/* Computes the figures of running one program after the other. If both programs launch at once,
 * program 0 is assumed to run before program 1. */
static void figure_sequential(
	const struct bench_case *c, const double alone[2], struct order_figures *ret)
{
	double waited = alone[0] - c->delay * alone[0];

	ret->ns[0] = alone[0];
	ret->ns[1] = waited + alone[1];
	ret->makespan_ns = alone[0] + alone[1];
	ret->f = (struct figures){.antt = (1 + ret->ns[1] / alone[1]) / 2,
		.stp = 1 + alone[1] / ret->ns[1],
		.stp_makespan = 1};
}

/* Computes the figures of one launch order. Returns false if it was not measured. */
static bool figure_order(const struct share *s, const struct bench_case *c,
	enum share_arrangement k, struct order_figures *ret)
{
	double alone[2] = {cases_alone_of(&s->cs, c, 0), cases_alone_of(&s->cs, c, 1)};
	const struct crew_result *res = &c->by[k];

	*ret = (struct order_figures){0};
	if (!(alone[0] > 0) || !(alone[1] > 0))
		return false;
	if (k == SHARE_SEQUENTIAL) {
		figure_sequential(c, alone, ret);
		return true;
	}
	if (!cases_run_in(&s->cs, c->kind, k) || !res->n)
		return false;
	ret->f = cases_figures(&s->cs, c, k);
	ret->makespan_ns = res->makespan_ns;
	for (unsigned i = 0; i < 2; i++)
		ret->ns[i] = res->of[i].median_ns;
	ret->spread = makespan_spread(res);
	return true;
}

/* Sums of logarithms, from which geometric means are computed. */
struct log_sum {
	double antt, stp, stp_makespan;
	unsigned n;
};

static void add_logs(struct log_sum *sum, const struct figures *f)
{
	sum->antt += log(f->antt);
	sum->stp += log(f->stp);
	sum->stp_makespan += log(f->stp_makespan);
	sum->n++;
}

static struct figures geomeans(const struct log_sum *sum)
{
	return (struct figures){.antt = exp(sum->antt / sum->n),
		.stp = exp(sum->stp / sum->n),
		.stp_makespan = exp(sum->stp_makespan / sum->n)};
}

bool share_figures_of(const struct share *s, const struct share_pair *p, enum share_arrangement k,
	struct share_figures *ret)
{
	struct log_sum sum = {0};

	*ret = (struct share_figures){0};
	for (unsigned o = 0; o < SHARE_ORDERS; o++) {
		const struct crew_result *res = &p->by[o]->by[k];
		struct order_figures of;

		if (!figure_order(s, p->by[o], k, &of))
			return false;
		add_logs(&sum, &of.f);
		ret->spread = of.spread < 0 || ret->spread < 0 ? -1 : MAX(ret->spread, of.spread);
		ret->preemptions += res->preemptions;
		ret->shrinks += res->shrinks;
		ret->checked += res->checked;
	}
	ret->f = geomeans(&sum);
	return true;
}

const char *share_noise(
	const struct share_figures *f, enum share_arrangement k, char *buf, size_t size)
{
	return k == SHARE_SEQUENTIAL ? NULL : figures_noise(&f->f, 2, f->spread, buf, size);
}

/* ---- showing the pairs ---- */

static void json_figures(struct json *j, const struct figures *f)
{
	json_num(j, "stp_makespan", f->stp_makespan);
	json_num(j, "stp", f->stp);
	json_num(j, "antt", f->antt);
}

static void json_spread(struct json *j, double spread)
{
	json_num(j, "spread", spread < 0 ? NAN : spread);
}

static void json_order(
	struct share *s, const struct share_pair *p, enum share_order o, enum share_arrangement k)
{
	struct json *j = s->b.j;
	struct order_figures of;

	if (!figure_order(s, p->by[o], k, &of))
		return;
	json_begin_object(j, NULL);
	json_str(j, "order", order_names[o]);
	json_num(j, "makespan_us", of.makespan_ns / 1e3);
	json_num(j, "first_us", of.ns[o == SHARE_SECOND] / 1e3);
	json_num(j, "second_us", of.ns[o != SHARE_SECOND] / 1e3);
	json_figures(j, &of.f);
	json_spread(j, of.spread);
	json_end(j, '}');
}

static void json_arrangement(struct share *s, const struct share_pair *p, enum share_arrangement k)
{
	struct json *j = s->b.j;
	struct share_figures f;
	char why[96];

	if (!share_figures_of(s, p, k, &f))
		return;
	json_begin_object(j, NULL);
	json_str(j, "name", share_arrangement_name(s, k));
	json_figures(j, &f.f);
	json_spread(j, f.spread);
	json_str(j, "noise", share_noise(&f, k, why, sizeof(why)));
	json_uint(j, "preemptions", f.preemptions);
	json_uint(j, "shrinks", f.shrinks);
	json_uint(j, "checked", f.checked);
	json_begin_array(j, "orders");
	for (unsigned o = 0; o < SHARE_ORDERS; o++)
		json_order(s, p, o, k);
	json_end(j, ']');
	json_end(j, '}');
}

static void json_us(struct json *j, const char *key, double ns)
{
	json_num(j, key, ns > 0 ? ns / 1e3 : NAN);
}

static void show_pair(struct share *s, struct sheet *sh, const struct share_pair *p)
{
	char why[96];

	sheet_row(sh);
	sheet_str(sh, "first", s->programs[p->program[0]]);
	sheet_str(sh, "second", s->programs[p->program[1]]);
	sheet_str(sh, "class", share_class_name(p->class));
	json_str(sh->j, "class_paper", share_class_name(p->paper));
	json_us(sh->j, "first_alone_us", cases_alone_of(&s->cs, p->by[0], 0));
	json_us(sh->j, "second_alone_us", cases_alone_of(&s->cs, p->by[0], 1));
	json_begin_array(sh->j, "arrangements");
	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++) {
		struct share_figures f;

		if (!share_arrangement_name(s, k))
			continue;
		json_arrangement(s, p, k);
		if (share_figures_of(s, p, k, &f))
			table_cell(&sh->t, "%s%.3f (%.2f)",
				share_noise(&f, k, why, sizeof(why)) ? "~" : "", f.f.stp_makespan,
				f.f.antt);
		else
			table_cell(&sh->t, "-");
	}
	json_end(sh->j, ']');
	if (s->by_sm)
		share_json_best(s, p);
	sheet_row_end(sh);
}

/* ---- showing means over groups of pairs ---- */

/* Groups of pairs. The paper's own pairs come first, with the classes that the paper gives them. */
static const struct share_group {
	const char *key, *name;
	bool paper;
	enum share_class class; /* UNKNOWN: all pairs */
} groups[] = {
	{"summary_paper", "the paper's own pairs", true, SHARE_UNKNOWN},
	{"summary_paper_low", "the paper's pairs of class low there", true, SHARE_LOW_CLASS},
	{"summary_paper_high", "the paper's pairs of class high there", true, SHARE_HIGH_CLASS},
	{"summary_low", "pairs of class low", false, SHARE_LOW_CLASS},
	{"summary_high", "pairs of class high", false, SHARE_HIGH_CLASS},
	{"summary", "all pairs", false, SHARE_UNKNOWN},
};

static bool is_in(const struct share_pair *p, const struct share_group *g)
{
	enum share_class of = g->paper ? p->paper : p->class;

	return g->class ? of == g->class : !g->paper || of;
}

/* Shows the mean over a group's pairs in one arrangement. Noisy pairs are only counted. */
static void show_mean(
	struct share *s, struct sheet *sh, const struct share_group *g, enum share_arrangement k)
{
	unsigned preemptions = 0, shrinks = 0, noisy = 0;
	double best = 0, worst = INFINITY;
	struct log_sum sum = {0};
	struct figures mean;
	char why[96];

	for (unsigned i = 0; i < s->n_pairs; i++) {
		struct share_figures f;

		if (!is_in(&s->pairs[i], g) || !share_figures_of(s, &s->pairs[i], k, &f))
			continue;
		if (share_noise(&f, k, why, sizeof(why))) {
			noisy++;
			continue;
		}
		add_logs(&sum, &f.f);
		best = MAX(best, f.f.stp_makespan);
		worst = MIN(worst, f.f.stp_makespan);
		preemptions += f.preemptions;
		shrinks += f.shrinks;
	}
	if (!sum.n && !noisy)
		return;
	mean = sum.n ? geomeans(&sum) : (struct figures){NAN, NAN, NAN};
	sheet_row(sh);
	sheet_str(sh, "name", share_arrangement_name(s, k));
	sheet_uint(sh, "pairs", sum.n);
	sheet_num(sh, "stp_makespan_geomean", mean.stp_makespan, 1, 3, "");
	sheet_num(sh, "stp_makespan_best", sum.n ? best : NAN, 1, 3, "");
	sheet_num(sh, "stp_makespan_worst", sum.n ? worst : NAN, 1, 3, "");
	sheet_num(sh, "stp_geomean", mean.stp, 1, 3, "");
	sheet_num(sh, "antt_geomean", mean.antt, 1, 2, "");
	sheet_uint(sh, "preemptions", preemptions);
	sheet_uint(sh, "shrinks", shrinks);
	sheet_uint(sh, "noisy", noisy);
	sheet_row_end(sh);
}

void share_show_pairs(struct share *s)
{
	struct sheet sh;

	sheet_begin(&sh, s->b.c, s->b.j, "pairs", "<first|<second|<class",
		"STP: time one after the other over time until both are done (ANTT; ~ noise)\n"
		"class low: a program of low utilisation takes part");
	for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++)
		if (share_arrangement_name(s, k))
			sheet_column(&sh, share_arrangement_name(s, k));
	for (unsigned i = 0; i < s->n_pairs; i++)
		show_pair(s, &sh, &s->pairs[i]);
	sheet_end(&sh);
	if (s->by_sm)
		share_text_best(s);
	for (unsigned g = 0; g < ARRAY_LEN(groups); g++) {
		sheet_begin(&sh, s->b.c, s->b.j, groups[g].key,
			"<arrangement|pairs|STP|best|worst|by "
			"turnarounds|ANTT|preemptions|shrinks|noisy",
			"geometric means, %s", groups[g].name);
		for (unsigned k = 0; k < SHARE_ARRANGEMENTS; k++)
			if (share_arrangement_name(s, k))
				show_mean(s, &sh, &groups[g], k);
		sheet_end(&sh);
	}
}
