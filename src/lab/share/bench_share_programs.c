/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Describes each program of heddle bench share when it runs alone. Figures are those of "Adaptive
 * simultaneous multi-tenancy":
 * - issue slot utilisation (figure 3)
 * - use of an SM's resources (figure 2)
 * - cost of the form that its workers execute (figure 8)
 * - time by the number of blocks on each SM (figure 9) */
#include "lab/share/bench_share.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/kept.h"

/* A row of utilisation.def. A percentage of -1 means unknown. */
struct utilisation {
	const char *name;
	double percent, paper_percent;
	double scale; /* factor by which the large input is enlarged */
};

static const struct utilisation rows[] = {
#define UTILISATION(name, percent, paper, scale) {#name, percent, paper, scale},
#include "lab/share/utilisation.def"
#undef UTILISATION
};
_Static_assert(ARRAY_LEN(rows) == SHARE_PROGRAMS, "SHARE_PROGRAMS counts them");

/* ---- choosing the programs ---- */

/* Returns the row of the program with this name, or NULL if there is none. */
static const struct utilisation *find_row(const char *name, size_t len)
{
	for (unsigned i = 0; i < SHARE_PROGRAMS; i++) {
		const struct utilisation *row = &rows[i];

		if (strlen(row->name) == len && !memcmp(row->name, name, len))
			return row;
	}
	return NULL;
}

static int is_no_program(struct share *s, const char *option, const char *name, size_t len)
{
	char known[128] = "";

	for (unsigned i = 0; i < SHARE_PROGRAMS; i++) {
		strcat(known, i ? ", " : "");
		strcat(known, rows[i].name);
	}
	return cli_usage(s->b.c, "--%s: '%.*s' is no program; the programs are %s", option,
		(int)MIN(len, 40), name, known);
}

static int find_index(const struct share *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->programs[i], name))
			return (int)i;
	return -1;
}

static int read_of(struct share *s)
{
	const char *text = cli_value(s->b.c, "of");

	for (unsigned i = 0; !text && i < SHARE_PROGRAMS; i++)
		if (rows[i].paper_percent >= 0 ||
			(rows[i].percent >= 0 && rows[i].percent < SHARE_LOW))
			s->programs[s->n++] = rows[i].name;
	while (text) {
		size_t len = strcspn(text, ",");
		const struct utilisation *row = find_row(text, len);

		if (!row)
			return is_no_program(s, "of", text, len);
		if (find_index(s, row->name) >= 0)
			return cli_usage(
				s->b.c, "--of names %s twice; each program once", row->name);
		s->programs[s->n++] = row->name;
		text = text[len] ? text + len + 1 : NULL;
	}
	return s->n > 1 ? CLI_OK
			: cli_usage(
				  s->b.c, "--of names one program; a pair needs two, with a comma");
}

/* Returns the index of the named program, and adds the program if it is not listed yet. Returns -1
 * after it reports an error. */
static int add_named(struct share *s, const char *text, size_t len)
{
	const struct utilisation *row = find_row(text, len);
	int i = row ? find_index(s, row->name) : -1;

	if (!row)
		is_no_program(s, "pairs", text, len);
	else if (i < 0)
		s->programs[i = (int)s->n++] = row->name;
	return i;
}

/* Reads the option --pairs A+B,C+D. The order within a pair matters: the names of splits refer to
 * the first program. */
static int read_pairs(struct share *s)
{
	for (const char *text = cli_value(s->b.c, "pairs"); text;) {
		size_t len = strcspn(text, ","), first = strcspn(text, "+,");
		unsigned *pair = s->asked[s->n_asked];
		int a, b;

		if (first == len)
			return cli_usage(s->b.c,
				"--pairs: '%.*s' is no pair; write the two programs with a plus, "
				"such as mm+va",
				(int)len, text);
		if (s->n_asked == SHARE_PAIRS)
			return cli_usage(s->b.c, "--pairs: at most %u pairs", SHARE_PAIRS);
		a = add_named(s, text, first);
		b = a < 0 ? -1 : add_named(s, text + first + 1, len - first - 1);
		if (b < 0)
			return CLI_USAGE;
		if (a == b)
			return cli_usage(s->b.c,
				"--pairs: %s with itself; a pair needs two programs",
				s->programs[a]);
		for (unsigned i = 0; i < s->n_asked; i++)
			if ((s->asked[i][0] == (unsigned)a && s->asked[i][1] == (unsigned)b) ||
				(s->asked[i][0] == (unsigned)b && s->asked[i][1] == (unsigned)a))
				return cli_usage(s->b.c,
					"--pairs names %s and %s twice; each pair once",
					s->programs[a], s->programs[b]);
		pair[0] = (unsigned)a;
		pair[1] = (unsigned)b;
		s->n_asked++;
		text = text[len] ? text + len + 1 : NULL;
	}
	return CLI_OK;
}

/* Sets each program's class: low if --low names it. Without --low, the table of utilisations
 * decides. */
static int read_low(struct share *s)
{
	const char *text = cli_value(s->b.c, "low");

	for (unsigned i = 0; i < s->n; i++) {
		double percent = find_row(s->programs[i], strlen(s->programs[i]))->percent;
		bool low = percent < SHARE_LOW;

		if (text || percent >= 0)
			s->class[i] = !text && low ? SHARE_LOW_CLASS : SHARE_HIGH_CLASS;
	}
	while (text) {
		size_t len = strcspn(text, ",");
		const struct utilisation *row = find_row(text, len);
		int i = row ? find_index(s, row->name) : -1;

		if (!row)
			return is_no_program(s, "low", text, len);
		if (i >= 0)
			s->class[i] = SHARE_LOW_CLASS;
		text = text[len] ? text + len + 1 : NULL;
	}
	return CLI_OK;
}

void share_scale(struct share *s)
{
	for (unsigned i = 0; i < s->n && s->large && s->b.device != DEV_CPU; i++)
		s->scale[i] = find_row(s->programs[i], strlen(s->programs[i]))->scale;
}

enum share_class share_paper_class(const char *program)
{
	double percent = find_row(program, strlen(program))->paper_percent;

	return percent < 0           ? SHARE_UNKNOWN
	       : percent < SHARE_LOW ? SHARE_LOW_CLASS
				     : SHARE_HIGH_CLASS;
}

const char *share_class_name(enum share_class class)
{
	return class == SHARE_LOW_CLASS ? "low" : class == SHARE_HIGH_CLASS ? "high" : NULL;
}

int share_choose(struct share *s)
{
	int r = cli_value(s->b.c, "pairs") ? read_pairs(s) : read_of(s);

	if (cli_value(s->b.c, "pairs") && cli_value(s->b.c, "of"))
		return cli_usage(s->b.c, "--pairs names the programs; leave --of out");
	if (r == CLI_OK)
		r = read_low(s);
	for (unsigned i = 0; r == CLI_OK && i < s->n; i++) {
		char path[64], *found;

		snprintf(path, sizeof(path), "examples/%s", s->programs[i]);
		if (cli_find_part(path, path, &found))
			return cli_error(s->b.c, "--of names programs that are there",
				"the example program %s was not found", s->programs[i]);
		free(found);
	}
	return r;
}

/* ---- figure 9: time by blocks on each SM ---- */

/* Copies a kernel's curve from the store. The store lists the latest curve of a kernel first, so
 * later ones are ignored. */
static void take_curve(void *user, const struct duration_kernel *k)
{
	struct share *s = user;
	int i = find_index(s, k->name);

	if (i < 0 || s->has_curve[i] || k->owner.n_sms != s->b.sms ||
		strcmp(k->owner.device, s->b.device_name) != 0)
		return;
	memcpy(s->curve_ns[i], k->curve_ns, sizeof(s->curve_ns[i]));
	s->has_curve[i] = true;
}

int share_read_store(struct share *s)
{
	struct model_store *store = NULL;
	int e = s->store ? model_store_open(s->store, false, &store) : 0;

	if (!e && store)
		e = kept_each(store, DURATION_ANY, take_curve, s);
	model_store_close(store);
	return e ? cli_error(s->b.c, "heddle profile --store FILE makes such a file",
			   "--store %s: %s", s->store, model_store_why())
		 : CLI_OK;
}

/* Shows an SM's time for a block for each number of blocks on the SM. Times are relative to the
 * time with the largest number of blocks. */
static void show_curve(struct share *s, struct sheet *sh, unsigned i)
{
	unsigned most = SCHED_PER_SM;

	while (most && !(s->curve_ns[i][most - 1] > 0))
		most--;
	json_begin_array(sh->j, "curve");
	for (unsigned n = 1; n <= most; n++) {
		double ns = s->curve_ns[i][n - 1];

		if (!(ns > 0))
			continue;
		table_row(&sh->t);
		table_cell(&sh->t, "%s", s->programs[i]);
		json_begin_object(sh->j, NULL);
		sheet_uint(sh, "per_sm", n);
		json_num(sh->j, "block_ns", ns);
		sheet_num(sh, "of_most", ns / s->curve_ns[i][most - 1], 1, 3, "");
		json_end(sh->j, '}');
	}
	json_end(sh->j, ']');
}

static void show_curves(struct share *s)
{
	struct sheet sh;

	if (!s->store) {
		json_begin_array(s->b.j, "curves");
		for (unsigned i = 0; i < s->n; i++) {
			json_begin_object(s->b.j, NULL);
			json_str(s->b.j, "program", s->programs[i]);
			json_begin_array(s->b.j, "curve");
			json_end(s->b.j, ']');
			json_end(s->b.j, '}');
		}
		json_end(s->b.j, ']');
		return;
	}
	sheet_begin(&sh, s->b.c, s->b.j, "curves", "<program|blocks on an SM|over the most",
		"time by blocks on each SM, over that with the most");
	for (unsigned i = 0; i < s->n; i++) {
		json_begin_object(s->b.j, NULL);
		json_str(s->b.j, "program", s->programs[i]);
		show_curve(s, &sh, i);
		json_end(s->b.j, '}');
	}
	sheet_end(&sh);
}

/* ---- figure 2: resources of an SM ---- */

int share_read_limits(struct share *s, struct share_limits *ret)
{
	static const CUdevice_attribute attributes[] = {
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR};
	int value[ARRAY_LEN(attributes)];
	struct cu_api cu;
	CUdevice device;

	if (dev_open(s->b.device, NULL, &cu) || cu.cuInit(0) || cu.cuDeviceGet(&device, 0))
		return cli_error(s->b.c, "heddle doctor says what this machine has", "no device");
	for (unsigned i = 0; i < ARRAY_LEN(attributes); i++)
		if (cu.cuDeviceGetAttribute(&value[i], attributes[i], device))
			return cli_error(s->b.c, NULL, "the driver does not say what an SM has");
	*ret = (struct share_limits){value[0], value[1], value[2], value[3]};
	return CLI_OK;
}

/* Returns the percentage of an SM's limit that the kernel uses when as many blocks as fit run on
 * the SM. */
static double percent_of(const struct crew_kernel *k, double each, int limit)
{
	return limit > 0 ? 100 * each * k->blocks_per_sm / limit : NAN;
}

static void show_occupied(
	struct share *s, struct sheet *sh, unsigned i, const struct share_limits *l)
{
	const struct crew_kernel *k = &s->alone[i]->by[SHARE_SEQUENTIAL].of[0].kernel;

	if (!k->blocks_per_sm) {
		for (unsigned n = 0; n < 4; n++)
			table_cell(&sh->t, "-");
		return;
	}
	json_begin_object(sh->j, "takes");
	json_uint(sh->j, "threads", k->threads);
	json_uint(sh->j, "registers", k->registers);
	json_uint(sh->j, "shared_bytes", k->shared_bytes);
	json_uint(sh->j, "blocks_per_sm", k->blocks_per_sm);
	sheet_num(sh, "threads_percent", percent_of(k, k->threads, l->threads), 1, 0, "");
	sheet_num(sh, "registers_percent",
		percent_of(k, (double)k->threads * k->registers, l->registers), 1, 0, "");
	sheet_num(sh, "shared_percent", percent_of(k, k->shared_bytes, l->shared_bytes), 1, 0, "");
	sheet_num(sh, "blocks_percent", percent_of(k, 1, l->blocks), 1, 0, "");
	json_end(sh->j, '}');
}

/* ---- figure 8: the cost of the form ---- */

/* Returns the median time of program i's kernel, or 0 if it was not measured. */
static double kernel_ns(const struct share *s, unsigned i, enum share_arrangement k)
{
	const struct crew_result *res = &s->alone[i]->by[k];

	return res->n ? res->of[0].kernel_median_ns : 0;
}

static double kernel_spread(const struct share *s, unsigned i, enum share_arrangement k)
{
	return cases_spread(&s->alone[i]->by[k], 0);
}

/* Shows the times of the plain kernel and of the form. Returns their ratio, or 0 if it is
 * unknown. */
static double show_form(struct share *s, struct sheet *sh, unsigned i)
{
	double plain = kernel_ns(s, i, SHARE_SEQUENTIAL), form = kernel_ns(s, i, SHARE_WORKERS);
	double spread;

	sheet_num(sh, "plain_us", plain ? plain / 1e3 : NAN, 1, 1, "");
	sheet_num(sh, "workers_us", form ? form / 1e3 : NAN, 1, 1, "");
	if (!plain || !form) {
		table_cell(&sh->t, "-");
		return 0;
	}
	spread = MAX(kernel_spread(s, i, SHARE_SEQUENTIAL), kernel_spread(s, i, SHARE_WORKERS));
	sheet_mark(sh, spread < 0 || spread > FIGURES_SPREAD);
	sheet_num(sh, "form_ratio", form / plain, 1, 3, "");
	json_num(sh->j, "spread", spread < 0 ? NAN : spread);
	return form / plain;
}

/* Shows the registers of the plain kernel and of the form. Returns their ratio, or 0 if it is
 * unknown. */
static double show_registers(struct share *s, struct sheet *sh, unsigned i)
{
	unsigned plain = s->registers[i].plain, workers = s->registers[i].workers;

	sheet_num(sh, "plain_registers", plain ? plain : NAN, 1, 0, "");
	sheet_num(sh, "workers_registers", workers ? workers : NAN, 1, 0, "");
	return plain && workers ? (double)workers / plain : 0;
}

static void show_percent(struct sheet *sh, const char *key, double percent)
{
	sheet_num(sh, key, percent < 0 ? NAN : percent, 1, 1, "");
}

int share_show_programs(struct share *s)
{
	struct share_limits limits;
	struct json *j = s->b.j;
	/* sums of logarithms: of the time ratios, and of the register ratios */
	double logs[2] = {0};
	unsigned n[2] = {0};
	struct sheet sh;
	int r = share_read_limits(s, &limits);

	if (r != CLI_OK)
		return r;
	sheet_begin(&sh, s->b.c, j, "programs",
		"<program|threads|registers|shared|blocks|slots|in the paper|plain us|workers "
		"us|ratio|registers|of workers",
		"percent of an SM that a kernel takes; issue slots used, percent, here and in the "
		"paper; the kernel\nalone (~ noise); registers of a thread");
	for (unsigned i = 0; i < s->n; i++) {
		const struct utilisation *row = find_row(s->programs[i], strlen(s->programs[i]));
		double ratio[2];

		sheet_row(&sh);
		sheet_str(&sh, "program", row->name);
		json_str(j, "class", share_class_name(s->class[i]));
		show_occupied(s, &sh, i, &limits);
		show_percent(&sh, "utilisation", row->percent);
		show_percent(&sh, "utilisation_paper", row->paper_percent);
		ratio[0] = show_form(s, &sh, i);
		ratio[1] = show_registers(s, &sh, i);
		for (unsigned k = 0; k < 2; k++)
			if (ratio[k] > 0) {
				logs[k] += log(ratio[k]);
				n[k]++;
			}
		sheet_row_end(&sh);
	}
	sheet_end(&sh);
	json_num(j, "form_geomean", n[0] ? exp(logs[0] / n[0]) : NAN);
	json_num(j, "registers_geomean", n[1] ? exp(logs[1] / n[1]) : NAN);
	if (n[0] && n[1])
		cli_show(s->b.c,
			"cost of the workers' form: geometric mean %+.2f %% of time, %+.1f %% of "
			"registers\n",
			(exp(logs[0] / n[0]) - 1) * 100, (exp(logs[1] / n[1]) - 1) * 100);
	show_curves(s);
	return CLI_OK;
}
