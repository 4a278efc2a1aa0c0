/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs every form of every exact instruction on a device:
 *	ops [--device cpu|cuda] [--jobs N] [--match TEXT] [--tsv FILE] …
 * Reports how many forms give the same results as the virtual GPU, and which do not; FILE gets a
 * line for each form that did not. Exit status 0: all gave the same. --write DIR writes the
 * modules instead, for an assembler. */
#include "ops.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const verdict_names[OPS_N_VERDICTS] = {
	"lost", "same", "open", "unknown", "newer", "refused", "FAILS", "DIFFERS"};

static const struct option long_options[] = {
	{"device", required_argument, NULL, 'd'},
	{"jobs", required_argument, NULL, 'j'},
	{"limit", required_argument, NULL, 'l'}, /* timeout in seconds for the whole run */
	{"match", required_argument, NULL, 'm'},
	{"tsv", required_argument, NULL, 't'},
	{"plant", required_argument, NULL, 'p'}, /* see ops_options.plant */
	{"write", required_argument, NULL, 'w'},
	{"sm", required_argument, NULL, 's'}, /* with --write: the target */
	/* with --write: only forms that need a later target than this one */
	{"above", required_argument, NULL, 'a'},
	{0},
};

struct request {
	struct ops_options ops;
	const char *tsv, *write;
	unsigned sm, above;
};

static int usage(void)
{
	fprintf(stderr,
		"usage: ops [--device cpu|cuda] [--jobs N] [--limit SECONDS] [--match TEXT] "
		"[--tsv FILE] [--plant FORM] [--write DIR [--sm N] [--above N]]\n");
	return 2;
}

static bool number(const char *text, unsigned *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*ret = (unsigned)v;
	return *text && !*end && v && v <= 100000;
}

static int read_options(int argc, char **argv, struct request *ret)
{
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 'd':
			ok = dev_kind_parse(optarg, &ret->ops.device);
			break;
		case 'j':
			ok = number(optarg, &ret->ops.jobs);
			break;
		case 'l':
			ok = number(optarg, &ret->ops.limit_s);
			break;
		case 'm':
			ret->ops.match = optarg;
			break;
		case 't':
			ret->tsv = optarg;
			break;
		case 'p':
			ret->ops.plant = optarg;
			break;
		case 'w':
			ret->write = optarg;
			break;
		case 'a':
			ok = number(optarg, &ret->above);
			break;
		case 's':
			ok = number(optarg, &ret->sm);
			break;
		default:
			ok = false;
		}
	return ok && optind == argc ? 0 : usage();
}

/* Writes DIR/0.ptx and so on: the modules that a device of that kind would load. */
static int write_modules(const struct request *r, const form_vec *forms)
{
	unsigned which[OPS_BATCH], n = 0, modules = 0;

	for (unsigned i = 0; i < forms->len; i++) {
		const struct form *f = &forms->at[i];
		if (form_rows[f->row].target <= r->sm && form_rows[f->row].target > r->above &&
			(!r->ops.match || strstr(f->insn.text, r->ops.match)))
			which[n++] = i;
		if (n == 0 || (n < OPS_BATCH && i + 1 < forms->len))
			continue;
		struct strbuf s = {0};
		char path[512];
		snprintf(path, sizeof(path), "%s/%u.ptx", r->write, modules++);
		FILE *file = fopen(path, "w");
		ops_module(&s, forms, which, n, r->sm);
		if (!file || s.failed || fputs(s.at, file) < 0 || fclose(file)) {
			perror(path);
			return 1;
		}
		strbuf_finish(&s);
		n = 0;
	}
	printf("%u modules\n", modules);
	return 0;
}

static int write_tsv(const char *path, const form_vec *forms, const struct ops_outcome *o)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -errno;
	fprintf(file, "form\tverdict\tvalues\tdiffer\topen\toperands\tdevice\treference\n");
	for (size_t i = 0; i < forms->len; i++) {
		if (o[i].verdict == OPS_SAME)
			continue;
		fprintf(file, "%s\t%s\t%u\t%u\t%u\t", forms->at[i].insn.text,
			verdict_names[o[i].verdict], o[i].verdict == OPS_LOST ? 0 : FORM_N,
			o[i].differ, o[i].open);
		for (unsigned k = 0; k < forms->at[i].insn.n_src; k++)
			fprintf(file, "%s%llx", k ? " " : "", (unsigned long long)o[i].in[k]);
		fprintf(file, "\t%llx %llx\t%llx %llx\n", (unsigned long long)o[i].got[0],
			(unsigned long long)o[i].got[1], (unsigned long long)o[i].want[0],
			(unsigned long long)o[i].want[1]);
	}
	return fclose(file) ? -errno : 0;
}

/* Counts the forms of each verdict; prints a line for each failure, up to TOLD lines. */
#define TOLD 40
static int report(
	const struct request *r, const form_vec *forms, const struct ops_outcome *o, double seconds)
{
	unsigned of[OPS_N_VERDICTS] = {0}, told = 0, asked = 0;

	for (size_t i = 0; i < forms->len; i++) {
		if (r->ops.match && !strstr(forms->at[i].insn.text, r->ops.match))
			continue;
		asked++;
		of[o[i].verdict]++;
		if (o[i].verdict != OPS_LOST && o[i].verdict < OPS_REFUSED)
			continue;
		if (told++ < TOLD)
			printf("%s: %s, %u of %u values: of %llx %llx %llx it makes %llx %llx, not "
			       "%llx "
			       "%llx\n",
				forms->at[i].insn.text, verdict_names[o[i].verdict], o[i].differ,
				FORM_N, (unsigned long long)o[i].in[0],
				(unsigned long long)o[i].in[1], (unsigned long long)o[i].in[2],
				(unsigned long long)o[i].got[0], (unsigned long long)o[i].got[1],
				(unsigned long long)o[i].want[0], (unsigned long long)o[i].want[1]);
	}
	if (told > TOLD)
		printf("and %u more\n", told - TOLD);
	unsigned compared = of[OPS_SAME] + of[OPS_OPEN] + of[OPS_DIFFERS];
	printf("%u forms, %u compared on %u values each: %u same, %u but for open bits of NaNs, %u "
	       "DIFFER; %u fail, %u refused, %u for newer devices, %u not known to the virtual "
	       "GPU, "
	       "%u not run; %.1f s\n",
		asked, compared, FORM_N, of[OPS_SAME], of[OPS_OPEN], of[OPS_DIFFERS], of[OPS_FAILS],
		of[OPS_REFUSED], of[OPS_NEWER], of[OPS_UNKNOWN], of[OPS_LOST], seconds);
	return told || !compared;
}

int main(int argc, char **argv)
{
	struct request r = {.ops = {.device = DEV_AUTO, .jobs = 2, .limit_s = 300}, .sm = 90};
	struct timespec begin, end;
	form_vec forms = {0};

	int status = read_options(argc, argv, &r);
	if (status)
		return status;
	forms_expand(&forms);
	if (r.write)
		return write_modules(&r, &forms);
	struct ops_outcome *o = calloc(forms.len, sizeof(*o));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (!o || ops_run(&r.ops, &forms, o) != 0) {
		fprintf(stderr, "ops: no memory, or no processes\n");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	status = report(&r, &forms, o,
		(double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
	if (r.tsv && write_tsv(r.tsv, &forms, o) != 0) {
		perror(r.tsv);
		status = 1;
	}
	free(o);
	VEC_FREE(&forms);
	return status;
}
