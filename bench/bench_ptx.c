/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: bench_ptx [-m MIB] FILE.ptx…
 * Parse and print, in megabytes of PTX text a second of one core: each file by itself (many small
 * modules), and one large module a file, in which each function stands many times under new names.
 * Medians of several rounds. */
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 7

struct text {
	char *at;
	size_t len;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct text read_file(const char *path)
{
	struct text t = {0};
	FILE *f = fopen(path, "rb");
	long len;

	if (!f)
		return t;
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	t.at = malloc((size_t)len + 1);
	if (t.at && fread(t.at, 1, (size_t)len, f) == (size_t)len)
		t.len = (size_t)len;
	fclose(f);
	return t;
}

static struct ptx_module *parse(const struct text *t)
{
	static struct diag_list d;
	struct arena a;
	struct ptx_module *m = NULL;

	arena_init(&a, 0);
	diag_init(&d, &a, "bench", t->at, t->len);
	if (ptx_parse(t->at, t->len, 0, &d, &m) < 0 || d.errors) {
		struct strbuf b = {0};

		diag_render(&d, &b);
		fprintf(stderr, "bench_ptx: %s\n", b.at ? b.at : "does not parse");
		exit(1);
	}
	arena_finish(&a);
	return m;
}

/* The module's text with clones of its functions until it has about so many bytes. */
static struct text enlarge(const struct text *t, size_t bytes)
{
	struct ptx_module *m = parse(t);
	size_t n = m->items.len, copies = bytes / t->len;
	struct strbuf out = {0};

	for (size_t k = 0; k < copies; k++) {
		for (size_t i = 0; i < n; i++) {
			const struct ptx_func *f = m->items.at[i].func;
			char name[512];

			if (m->items.at[i].kind != PTX_ITEM_FUNC || !f->has_body)
				continue;
			snprintf(name, sizeof(name), "%.400s_copy%zu", f->sym->name, k);
			ptx_clone_func(m, f, name, NULL);
		}
	}
	ptx_print(m, &out);
	ptx_module_free(m);
	return (struct text){out.at, out.len};
}

static void measure(const char *what, const struct text *texts, size_t n, size_t repeat)
{
	double parse_s[ROUNDS], print_s[ROUNDS], both_s[ROUNDS], mb = 0;

	for (size_t i = 0; i < n; i++)
		mb += (double)texts[i].len * (double)repeat * 1e-6;
	for (int r = 0; r < ROUNDS; r++) {
		parse_s[r] = print_s[r] = 0;
		for (size_t k = 0; k < repeat * n; k++) {
			struct strbuf out = {0};
			double a = now(), b;
			struct ptx_module *m = parse(&texts[k % n]);

			b = now();
			parse_s[r] += b - a;
			ptx_print(m, &out);
			print_s[r] += now() - b;
			ptx_module_free(m);
			strbuf_finish(&out);
		}
		both_s[r] = parse_s[r] + print_s[r];
	}
	qsort(parse_s, ROUNDS, sizeof(double), by_value);
	qsort(print_s, ROUNDS, sizeof(double), by_value);
	qsort(both_s, ROUNDS, sizeof(double), by_value);
	printf("%-32s %8.2f MB  parse %6.0f  print %6.0f  both %6.0f MB/s\n", what, mb,
		mb / parse_s[ROUNDS / 2], mb / print_s[ROUNDS / 2], mb / both_s[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	size_t mib = 16, n = 0, total = 0;
	struct text *texts = calloc((size_t)argc, sizeof(*texts));
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-m")) {
		mib = strtoul(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc && texts; i++) {
		texts[n] = read_file(argv[i]);
		if (!texts[n].len)
			continue;
		total += texts[n].len;
		n++;
	}
	if (!n) {
		fprintf(stderr, "bench_ptx: no PTX files\n");
		return 77;
	}
	measure("the files as they are", texts, n, (4u << 20) / total + 1);
	for (size_t k = 0; k < n && k < 4; k++) {
		struct text large = enlarge(&texts[k], mib << 20);

		measure("one large module", &large, 1, 1);
		free(large.at);
	}
	for (size_t k = 0; k < n; k++)
		free(texts[k].at);
	free(texts);
	return 0;
}
