/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: bench_ptx [-m MIB] FILE.ptx…
 *        bench_ptx -c COMMAND ARG…
 * Measures the speed of the parser, of the printer and of both together, in MB of PTX text per
 * second of processor time. The last figure is MB per second of wall time, which also includes
 * freeing the module. The input is all files one after the other. With -m, each file also becomes a
 * module of MIB MiB: its text repeated, with new names for functions and labels. Prints the median
 * of several rounds, then the smallest and the largest.
 * -c: measures the wall time, processor time and memory of a command and discards its output. */
#include "ptx/ptx.h"

#include <fcntl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 7

struct text {
	char *at;
	size_t len;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
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

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

/* True for a name that other copies of the function must not share: a function, a parameter or a
 * label. */
static bool is_distinct(const struct ptx_module *m, const char *s, size_t len)
{
	if (len > 3 && (!memcmp(s, "$L_", 3) || !memcmp(s, "LBB", 3)))
		return true;
	for (size_t i = 0; i < m->items.len; i++) {
		const struct ptx_func *f = m->items.at[i].func;

		if (m->items.at[i].kind == PTX_ITEM_FUNC && f->has_body &&
			f->sym->name_len <= len && !memcmp(f->sym->name, s, f->sym->name_len))
			return true;
	}
	return false;
}

/* Repeats the PTX text until it has this many bytes. In each copy, appends the copy's number to the
 * names for which is_distinct is true. */
static struct text enlarge(const struct text *t, size_t bytes)
{
	struct ptx_module *m = parse(t);
	struct strbuf out = {0};
	const char *end = t->at + t->len;

	for (unsigned k = 0; out.len < bytes; k++) {
		const char *from = t->at, *s = from, *e;

		for (; s < end; s = e) {
			for (e = s + 1; is_word(*s) && e < end && is_word(*e); e++)
				;
			if (!is_word(*s) || (s > t->at && (s[-1] == '%' || s[-1] == '.')) ||
				!is_distinct(m, s, (size_t)(e - s)))
				continue;
			strbuf_add(&out, from, (size_t)(e - from));
			strbuf_printf(&out, "_%u", k);
			from = e;
		}
		strbuf_add(&out, from, (size_t)(end - from));
	}
	ptx_module_free(m);
	return (struct text){out.at, out.len};
}

struct figure {
	double s[ROUNDS];
};

/* Prints the median in MB/s, and the spread. */
static void show(const char *what, struct figure *f, double mb)
{
	qsort(f->s, ROUNDS, sizeof(double), by_value);
	printf("  %s %4.0f (%.0f-%.0f)", what, mb / f->s[ROUNDS / 2], mb / f->s[ROUNDS - 1],
		mb / f->s[0]);
}

static void measure(const char *what, const struct text *texts, size_t n, size_t repeat)
{
	struct figure parse_s = {0}, print_s = {0}, both_s = {0}, wall_s = {0};
	double mb = 0;

	for (size_t i = 0; i < n; i++)
		mb += (double)texts[i].len * (double)repeat * 1e-6;
	for (int r = 0; r < ROUNDS; r++) {
		double wall = now(CLOCK_MONOTONIC);

		for (size_t k = 0; k < repeat * n; k++) {
			struct strbuf out = {0};
			double a = now(CLOCK_PROCESS_CPUTIME_ID), b;
			struct ptx_module *m = parse(&texts[k % n]);

			b = now(CLOCK_PROCESS_CPUTIME_ID);
			parse_s.s[r] += b - a;
			ptx_print(m, &out);
			print_s.s[r] += now(CLOCK_PROCESS_CPUTIME_ID) - b;
			ptx_module_free(m);
			strbuf_finish(&out);
		}
		wall_s.s[r] = now(CLOCK_MONOTONIC) - wall;
		both_s.s[r] = parse_s.s[r] + print_s.s[r];
	}
	printf("%-28s %6.2f MB", what, mb);
	show("parse", &parse_s, mb);
	show("print", &print_s, mb);
	show("both", &both_s, mb);
	show("wall", &wall_s, mb);
	printf("\n");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static int measure_command(char **argv)
{
	double began = now(CLOCK_MONOTONIC), wall;
	struct rusage used;
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0)
			execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0)
		return 1;
	wall = now(CLOCK_MONOTONIC) - began;
	printf("%.2f s (%.2f s of processor time), %.2f GB\n", wall,
		seconds(used.ru_utime) + seconds(used.ru_stime), (double)used.ru_maxrss * 1024e-9);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	size_t mib = 0, n = 0, total = 0;
	struct text *texts = calloc((size_t)argc, sizeof(*texts));
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-c"))
		return measure_command(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "-m")) {
		mib = strtoul(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc && texts; i++) {
		struct text t = read_file(argv[i]);

		if (!t.len)
			continue;
		if (mib) {
			struct text large = enlarge(&t, mib << 20);

			measure(base_name(argv[i]), &large, 1, 1);
			free(large.at);
		}
		total += t.len;
		texts[n++] = t;
	}
	if (!n) {
		fprintf(stderr, "bench_ptx: no PTX files\n");
		return 77;
	}
	measure("the files as they are", texts, n, (8u << 20) / total + 1);
	for (size_t k = 0; k < n; k++)
		free(texts[k].at);
	free(texts);
	return 0;
}
