/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* verify_tool pairs LIST STEP FIRST [EVERY]
 * verify_tool alone LIST
 * Runs the verifier on forms of every kernel of a list (kernels/list.txt), or of each EVERY-th
 * kernel. pairs: the forms that merge, fuse vertically and fuse horizontally each kernel with every
 * STEP-th other kernel, starting FIRST kernels after it. alone: the preemptible forms for each
 * order of blocks, one for each block shape in the list. The verifier must find nothing. Prints the
 * time that it takes. */
#include "pass/verify/verify.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KERNELS_MAX 4096
#define FILES_MAX   4096

static struct file {
	char *path;
	struct ptx_module *m;
} files[FILES_MAX];
static unsigned n_files;

static struct pass_kernel kernels[KERNELS_MAX];
static unsigned n_kernels;

static double passes_ms, verify_ms, worst;
static unsigned results, refused, bad, left_out;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void show(void)
{
	struct strbuf out = {0};

	diag_render(&diags, &out);
	fputs(out.at ? out.at : "", stdout);
	strbuf_finish(&out);
}

/* Parses each file once. */
static struct ptx_module *module_of(const char *path)
{
	for (unsigned i = 0; i < n_files; i++)
		if (!strcmp(files[i].path, path))
			return files[i].m;
	if (n_files == FILES_MAX)
		fail("too many files");
	files[n_files].path = strdup(path);
	files[n_files].m = access(path, R_OK) ? NULL : read_module(path);
	return files[n_files++].m;
}

static void add_kernel(const char *path, const char *name, const char *spec)
{
	struct pass_kernel g = {.name = name, .block = {1, 1, 1}};
	const char *block = strstr(spec, "--block "), *shared = strstr(spec, "--shared ");

	if (block)
		sscanf(block + 8, "%u,%u,%u", &g.block[0], &g.block[1], &g.block[2]);
	if (shared)
		g.dynamic_bytes = (uint32_t)strtoul(shared + 9, NULL, 10);
	g.m = module_of(path);
	for (unsigned i = 0; i < n_kernels; i++)
		if (kernels[i].m == g.m && !strcmp(kernels[i].name, name) &&
			!memcmp(kernels[i].block, g.block, sizeof(g.block)) &&
			kernels[i].dynamic_bytes == g.dynamic_bytes)
			return;
	if (!g.m || n_kernels == KERNELS_MAX)
		return;
	g.name = strdup(name);
	kernels[n_kernels++] = g;
}

static void read_list(const char *list)
{
	char line[4096], path[4096];
	const char *slash = strstr(list, "/kernels/");
	FILE *f = fopen(list, "r");

	if (!f || !slash)
		fail(list);
	while (fgets(line, sizeof(line), f)) {
		char *file = strtok(line, "\t\n"), *kernel = strtok(NULL, "\t\n");
		char *toolchain = strtok(NULL, "\t\n"), *spec = strtok(NULL, "\n");

		if (!toolchain || !spec)
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - list), list, file);
		add_kernel(path, kernel, spec);
	}
	fclose(f);
}

/* Verifies the result of a pass. */
static void judge(const char *way, const struct pass_result *r, double made_ms)
{
	double ms = now_ms();

	diag_init(&diags, &arena, way, NULL, 0);
	if (!pass_verify(r, &diags)) {
		printf("FAIL %s", way);
		for (unsigned k = 0; k < r->n; k++)
			printf(" %s(%u,%u,%u)", r->kernels[k].name, r->kernels[k].block[0],
				r->kernels[k].block[1], r->kernels[k].block[2]);
		printf("\n");
		show();
		bad++;
	}
	ms = now_ms() - ms;
	results++;
	passes_ms += made_ms;
	verify_ms += ms;
	if (ms > worst)
		worst = ms;
	if (getenv("VERBOSE"))
		printf("%s %s: %zu statements, %.3f ms\n", way, r->kernels[0].name, r->f->body.len,
			ms);
}

static void together(const struct pass_kernel *of, unsigned n)
{
	static pass_merge_fn *const make[] = {pass_merge, pass_fuse_vertical, pass_fuse_horizontal};
	static const char *const names[] = {"merge", "vertical", "horizontal"};

	for (unsigned i = 0; i < ARRAY_LEN(make); i++) {
		struct pass_record record = {0};
		struct pass_merged form;
		struct pass_verdict verdict;
		struct ptx_module *m;
		unsigned which;
		double ms = now_ms();
		int r;

		arena_finish(&arena);
		diag_init(&diags, &arena, names[i], NULL, 0);
		r = make[i](of, n, &diags, &m, &form, &verdict, &which, &record);
		if (r == -ENOTSUP || r == -EEXIST) {
			refused++;
		} else if (r < 0) {
			fail(names[i]);
		} else {
			struct pass_result result = {
				m, ptx_find_func(m, CTL_MERGE_ENTRY), n, of, &record, &form};

			judge(names[i], &result, now_ms() - ms);
			ptx_module_free(m);
		}
		pass_record_finish(&record);
	}
}

static const char *path_of(const struct ptx_module *m)
{
	for (unsigned i = 0; i < n_files; i++)
		if (files[i].m == m)
			return files[i].path;
	return NULL;
}

static void alone(const struct pass_kernel *of, enum pass_order order)
{
	struct pass_record record = {0};
	struct pass_options options = {.record = &record, .order = order};
	struct ptx_module *m = read_module(path_of(of->m));
	struct pass_verdict verdict;
	struct pass_kernel_info info;
	double ms = now_ms();
	int r = pass_preempt(m, of->name, &options, &diags, &verdict, &info);

	if (r == -ENOTSUP) {
		refused++;
	} else if (r < 0) {
		fail(of->name);
	} else if (info.order == order) { /* else the pass chose another order, verified already */
		struct pass_result result = {m, ptx_find_func(m, of->name), 1, of, &record, NULL};

		judge("preempt", &result, now_ms() - ms);
	}
	pass_record_finish(&record);
	ptx_module_free(m);
}

/* Kernels that cannot be managed are in no pair. */
static void keep_workers(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < n_kernels; i++) {
		struct pass_record record = {0};
		struct pass_merged form;
		struct pass_verdict verdict;
		struct ptx_module *m = NULL;
		unsigned which;

		diag_init(&diags, &arena, "alone", NULL, 0);
		if (pass_merge(&kernels[i], 1, &diags, &m, &form, &verdict, &which, &record) == 0) {
			ptx_module_free(m);
			kernels[kept++] = kernels[i];
		} else {
			free((char *)kernels[i].name);
			left_out++;
		}
		pass_record_finish(&record);
	}
	n_kernels = kept;
}

int main(int argc, char **argv)
{
	unsigned step = argc > 4 ? (unsigned)atoi(argv[3]) : 1;
	unsigned every = argc > 5 ? (unsigned)atoi(argv[5]) : 1;

	if (argc < 3)
		fail("usage: verify_tool pairs|alone LIST [STEP FIRST [EVERY]]");
	arena_init(&arena, 0);
	read_list(argv[2]);
	if (!strcmp(argv[1], "pairs"))
		keep_workers();
	for (unsigned i = 0; i < n_kernels; i += every) {
		if (!strcmp(argv[1], "alone")) {
			for (unsigned order = 0; order < PASS_ORDERS; order++)
				alone(&kernels[i], (enum pass_order)order);
			continue;
		}
		for (unsigned k = argc > 4 ? (unsigned)atoi(argv[4]) : 0; k < n_kernels;
			k += step) {
			struct pass_kernel two[] = {kernels[i], kernels[(i + k) % n_kernels]};

			together(two, 2);
		}
	}
	printf("%u kernels (%u left out): %u results, %u refused, %u with findings; made in %.3f "
	       "ms each, looked "
	       "at in %.3f ms, %.1f at most\n",
		n_kernels, left_out, results, refused, bad, passes_ms / (results ? results : 1),
		verify_ms / (results ? results : 1), worst);
	for (unsigned i = 0; i < n_files; i++) {
		ptx_module_free(files[i].m);
		free(files[i].path);
	}
	for (unsigned i = 0; i < n_kernels; i++)
		free((char *)kernels[i].name);
	arena_finish(&arena);
	return bad || !results;
}
