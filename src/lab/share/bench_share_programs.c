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

/* A percentage of -1 is not known. */
struct utilisation {
	const char *name;
	double percent, paper_percent;
	double scale; /* of the large input */
};

static const struct utilisation rows[] = {
#define UTILISATION(name, percent, paper, scale) {#name, percent, paper, scale},
#include "lab/share/utilisation.def"
#undef UTILISATION
};
_Static_assert(ARRAY_LEN(rows) == SHARE_PROGRAMS, "SHARE_PROGRAMS counts them");

/* ---- which ---- */

/* Returns the row of this name, or NULL. */
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

/* Without --low, the table of utilisations decides which programs are low. */
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

/* Prints an SM's time for a block for each number of blocks on the SM. Times are relative to the
 * time with the largest number of blocks. */
static void show_curve(struct share *s, unsigned i)
{
	unsigned most = SCHED_PER_SM;

	while (most && !(s->curve_ns[i][most - 1] > 0))
		most--;
	json_begin_array(s->b.j, "curve");
	if (most)
		cli_show(s->b.c, "%-7s", s->programs[i]);
	for (unsigned n = 1; n <= most; n++) {
		double ns = s->curve_ns[i][n - 1];

		if (!(ns > 0))
			continue;
		json_begin_object(s->b.j, NULL);
		json_uint(s->b.j, "per_sm", n);
		json_num(s->b.j, "block_ns", ns);
		json_num(s->b.j, "of_most", ns / s->curve_ns[i][most - 1]);
		json_end(s->b.j, '}');
		cli_show(s->b.c, " %u: %.3f", n, ns / s->curve_ns[i][most - 1]);
	}
	json_end(s->b.j, ']');
	if (most)
		cli_show(s->b.c, "\n");
}

static void show_curves(struct share *s)
{
	json_begin_array(s->b.j, "curves");
	if (s->store)
		cli_show(s->b.c, "\ntime by blocks on each SM, over that with the most\n");
	for (unsigned i = 0; i < s->n; i++) {
		json_begin_object(s->b.j, NULL);
		json_str(s->b.j, "program", s->programs[i]);
		show_curve(s, i);
		json_end(s->b.j, '}');
	}
	json_end(s->b.j, ']');
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

static void show_occupied(struct share *s, unsigned i, const struct share_limits *l)
{
	const struct crew_kernel *k = &s->alone[i]->by[SHARE_SEQUENTIAL].of[0].kernel;
	double threads, registers, shared, blocks;

	if (!k->blocks_per_sm) {
		cli_show(s->b.c, " %31s", "-");
		return;
	}
	threads = percent_of(k, k->threads, l->threads);
	registers = percent_of(k, (double)k->threads * k->registers, l->registers);
	shared = percent_of(k, k->shared_bytes, l->shared_bytes);
	blocks = percent_of(k, 1, l->blocks);
	json_begin_object(s->b.j, "takes");
	json_uint(s->b.j, "threads", k->threads);
	json_uint(s->b.j, "registers", k->registers);
	json_uint(s->b.j, "shared_bytes", k->shared_bytes);
	json_uint(s->b.j, "blocks_per_sm", k->blocks_per_sm);
	json_num(s->b.j, "threads_percent", threads);
	json_num(s->b.j, "registers_percent", registers);
	json_num(s->b.j, "shared_percent", shared);
	json_num(s->b.j, "blocks_percent", blocks);
	json_end(s->b.j, '}');
	cli_show(s->b.c, " %7.0f %9.0f %6.0f %6.0f", threads, registers, shared, blocks);
}

/* ---- figure 8: the cost of the form ---- */

/* Returns 0 if it was not measured. */
static double kernel_ns(const struct share *s, unsigned i, enum share_arrangement k)
{
	const struct crew_result *res = &s->alone[i]->by[k];

	return res->n ? res->of[0].kernel_median_ns : 0;
}

static double kernel_spread(const struct share *s, unsigned i, enum share_arrangement k)
{
	return cases_spread(&s->alone[i]->by[k], 0);
}

static double show_form(struct share *s, unsigned i)
{
	double plain = kernel_ns(s, i, SHARE_SEQUENTIAL), form = kernel_ns(s, i, SHARE_WORKERS);
	double spread;

	json_num(s->b.j, "plain_us", plain ? plain / 1e3 : NAN);
	json_num(s->b.j, "workers_us", form ? form / 1e3 : NAN);
	if (!plain || !form) {
		cli_show(s->b.c, " %29s", "-");
		return 0;
	}
	spread = MAX(kernel_spread(s, i, SHARE_SEQUENTIAL), kernel_spread(s, i, SHARE_WORKERS));
	json_num(s->b.j, "form_ratio", form / plain);
	json_num(s->b.j, "spread", spread < 0 ? NAN : spread);
	cli_show(s->b.c, " %10.1f %10.1f %c%.3f", plain / 1e3, form / 1e3,
		spread < 0 || spread > FIGURES_SPREAD ? '~' : ' ', form / plain);
	return form / plain;
}

/* Returns the ratio, or 0 if it is not known. */
static double show_registers(struct share *s, unsigned i)
{
	unsigned plain = s->registers[i].plain, workers = s->registers[i].workers;

	json_num(s->b.j, "plain_registers", plain ? plain : NAN);
	json_num(s->b.j, "workers_registers", workers ? workers : NAN);
	cli_show(s->b.c, " %5u %7u", plain, workers);
	return plain && workers ? (double)workers / plain : 0;
}

static void show_percent(struct share *s, const char *key, double percent)
{
	json_num(s->b.j, key, percent < 0 ? NAN : percent);
	if (percent < 0)
		cli_show(s->b.c, " %6s", "-");
	else
		cli_show(s->b.c, " %6.1f", percent);
}

int share_show_programs(struct share *s)
{
	struct share_limits limits;
	struct json *j = s->b.j;
	double logs[2] = {0}; /* of times, of registers */
	unsigned n[2] = {0};
	int r = share_read_limits(s, &limits);

	if (r != CLI_OK)
		return r;
	json_begin_array(j, "programs");
	cli_show(s->b.c,
		"occupied of an SM, percent; issue slots used, percent, and in the paper; kernel "
		"alone, us (~ noise)\n"
		"program threads registers shared blocks  slots  paper      plain    workers  "
		"ratio  regs workers\n");
	for (unsigned i = 0; i < s->n; i++) {
		const struct utilisation *row = find_row(s->programs[i], strlen(s->programs[i]));
		double ratio[2];

		json_begin_object(j, NULL);
		json_str(j, "program", row->name);
		json_str(j, "class", share_class_name(s->class[i]));
		cli_show(s->b.c, "%-7s", row->name);
		show_occupied(s, i, &limits);
		show_percent(s, "utilisation", row->percent);
		show_percent(s, "utilisation_paper", row->paper_percent);
		ratio[0] = show_form(s, i);
		ratio[1] = show_registers(s, i);
		for (unsigned k = 0; k < 2; k++)
			if (ratio[k] > 0) {
				logs[k] += log(ratio[k]);
				n[k]++;
			}
		json_end(j, '}');
		cli_show(s->b.c, "\n");
	}
	json_end(j, ']');
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
