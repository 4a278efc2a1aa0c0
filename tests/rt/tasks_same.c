/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: tasks_same LIST ROOT TOOLCHAIN REFUSED [KERNEL]
 * Runs every kernel of a list (kernels/list.sh) as tasks of a pool and as plain launches: four
 * kernels per pool, several tasks of each at once, spawned in a random order. All buffers must
 * match bit for bit, unless the kernel is in REFUSED ("KERNEL: why"). The list includes kernels
 * with static and dynamic shared memory, with a partial last warp, and with structures as
 * parameters. With PART=k/n in the environment, runs only part k of n of the list. */
#include "heddle/task.h"
#include "job/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP    4 /* kernels per pool */
#define COPIES   5 /* tasks per kernel */
#define MAX_ARGS 32
#define WAIT_NS  120000000000u

struct kernel {
	char name[512], entry[256];
	struct spec_arg args[MAX_ARGS];
	unsigned n_args, number;
	unsigned grid[3], block[3], shared_bytes;
	bool made;                         /* its buffers exist */
	uint64_t at[COPIES + 1][MAX_ARGS]; /* buffers; the last copy is for the plain launch */
	void *params[COPIES + 1][MAX_ARGS];
};

static struct heddle *h;
static struct arena arena;
static unsigned failed, same, refused;
static uint64_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void fail(const struct kernel *k, const char *what, const char *why)
{
	printf("%s: %s: %s\n", k->name, what, why);
	failed++;
}

/* ---- the lines ---- */
static bool parse_word(struct kernel *k, char *word, const char *next)
{
	struct strbuf err = {0};

	if (!strcmp(word, "--grid"))
		return spec_parse_dims(next, k->grid) == 0;
	if (!strcmp(word, "--block"))
		return spec_parse_dims(next, k->block) == 0;
	if (!strcmp(word, "--shared")) {
		k->shared_bytes = (unsigned)strtoul(next, NULL, 10);
		return true;
	}
	return k->n_args < MAX_ARGS &&
	       spec_parse_arg(&arena, word, &k->args[k->n_args++], &err) == 0;
}

static bool parse_line(char *line, const char *root, const char *toolchain, struct kernel *k,
	char *path, size_t size)
{
	char *file = strtok(line, "\t\n"), *entry = strtok(NULL, "\t\n");
	char *tool = strtok(NULL, "\t\n"), *words = strtok(NULL, "\t\n"), *word, *save;
	static unsigned number;

	if (!words || strcmp(tool, toolchain) != 0 || !strcmp(words, "-"))
		return false;
	*k = (struct kernel){.grid = {1, 1, 1}, .block = {1, 1, 1}};
	snprintf(k->entry, sizeof(k->entry), "%s", entry);
	snprintf(k->name, sizeof(k->name), "%s#%u", entry, number++);
	snprintf(path, size, "%s/%s", root, file);
	for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		const char *next = word[0] == '-' ? strtok_r(NULL, " ", &save) : NULL;

		if (!parse_word(k, arena_strndup(&arena, word, strlen(word)), next)) {
			fail(k, "cannot be read", word);
			return false;
		}
	}
	return true;
}

/* ---- memory ---- */
static int make_buffers(struct kernel *k)
{
	struct strbuf err = {0};
	int r = 0;

	for (unsigned c = 0; r == 0 && c <= COPIES; c++)
		for (unsigned i = 0; r == 0 && i < k->n_args; i++) {
			struct spec_arg arg = k->args[i];
			void *data;

			k->params[c][i] = arg.is_buffer ? (void *)&k->at[c][i] : arg.value;
			if (!arg.is_buffer)
				continue;
			data = malloc(arg.bytes);
			r = heddle_alloc(h, arg.bytes, &k->at[c][i]);
			if (r == 0)
				r = spec_fill(&arg, data, &err);
			if (r == 0)
				r = heddle_write(h, k->at[c][i], data, arg.bytes);
			free(data);
		}
	k->made = r == 0;
	return r;
}

static void compare(struct kernel *k)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < k->n_args; i++) {
		size_t bytes = k->args[i].bytes;
		char *want = k->args[i].is_buffer ? malloc(bytes) : NULL, *got = malloc(bytes);

		for (unsigned c = 0; c <= COPIES && want; c++) {
			unsigned from = c ? c - 1 : COPIES;
			int r = heddle_read(h, c ? got : want, k->at[from][i], bytes);

			if (r < 0)
				fail(k, "reading", heddle_error(h));
			else if (c && memcmp(want, got, bytes) != 0)
				bad++;
		}
		free(want);
		free(got);
	}
	if (bad)
		fail(k, "tasks", "buffers differ from the plain launch's");
	else
		same++;
}

static void free_buffers(struct kernel *k)
{
	for (unsigned c = 0; c <= COPIES; c++)
		for (unsigned i = 0; i < k->n_args; i++)
			if (k->at[c][i])
				heddle_free(h, k->at[c][i]);
}

/* ---- running ---- */
static int run_plain(struct kernel *k)
{
	struct heddle_launch l = {.size = sizeof(l),
		.kernel = k->name,
		.shared_bytes = k->shared_bytes,
		.params = k->params[COPIES]};

	memcpy(l.grid, k->grid, sizeof(l.grid));
	memcpy(l.block, k->block, sizeof(l.block));
	return heddle_corun(h, &l, 1, "sequential", NULL, NULL);
}

/* Returns whether REFUSED lists the kernel. A kernel that a pool refuses must be listed. */
static bool is_known(const char *list, const struct kernel *k, const char *why)
{
	FILE *f = fopen(list, "r");
	size_t n = strlen(k->entry);
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = !strncmp(line, k->entry, n) && line[n] == ':' && strstr(why, line + n + 2);
	}
	if (f)
		fclose(f);
	return found;
}

/* Returns false if this pool refuses the kernel. */
static bool spawn(struct heddle_tasks *t, struct kernel *k, unsigned copy, const char *list)
{
	struct heddle_task task = {.size = sizeof(task),
		.kernel = k->number,
		.shared_bytes = k->shared_bytes,
		.params = k->params[copy]};
	int r;

	memcpy(task.grid, k->grid, sizeof(task.grid));
	memcpy(task.block, k->block, sizeof(task.block));
	r = heddle_tasks_spawn(t, &task, NULL);
	if ((r == -ENOTSUP || r == -E2BIG) && is_known(list, k, heddle_tasks_error(t))) {
		refused++;
		return false;
	}
	if (r < 0)
		fail(k, "spawning", heddle_tasks_error(t));
	return r == 0;
}

static void run_group(struct kernel *k, unsigned n, const char *list)
{
	static const unsigned threads[] = {1024, 544, 768};
	struct heddle_tasks_options o = {
		.size = sizeof(o), .threads = threads[any(3)], .registers = 32u << any(2)};
	struct heddle_tasks *t;
	unsigned left[GROUP], total = 0;

	if (heddle_tasks_create(h, &o, &t) < 0) {
		fail(k, "a pool", heddle_error(h));
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		int r = heddle_tasks_add(t, k[i].name, &k[i].number);

		left[i] = r == 0 ? COPIES : 0;
		if (r == -ENOTSUP && is_known(list, &k[i], heddle_tasks_error(t)))
			refused++;
		else if (r < 0)
			fail(&k[i], "adding", heddle_tasks_error(t));
		if (r == 0 && (make_buffers(&k[i]) < 0 || run_plain(&k[i]) < 0)) {
			fail(&k[i], "the plain launch", heddle_error(h));
			left[i] = 0;
		}
		total += left[i];
	}
	for (unsigned done[GROUP] = {0}; total;) {
		unsigned i = any(n);

		if (!left[i])
			continue;
		total--;
		left[i]--;
		if (spawn(t, &k[i], done[i], list)) {
			done[i]++;
		} else {
			total -= left[i];
			left[i] = 0;
			k[i].n_args = 0; /* nothing to compare */
		}
	}
	if (heddle_tasks_wait_all(t, WAIT_NS) < 0)
		fail(k, "waiting for this and the next three", heddle_tasks_error(t));
	for (unsigned i = 0; i < n; i++)
		if (k[i].made && k[i].n_args)
			compare(&k[i]);
	heddle_tasks_destroy(t);
	for (unsigned i = 0; i < n; i++)
		free_buffers(&k[i]);
}

int main(int argc, char **argv)
{
	static struct kernel group[GROUP];
	char line[4096], path[4096];
	unsigned n = 0, number = 0, part = 1, parts = 1;
	FILE *f;

	arena_init(&arena, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	f = argc > 4 ? fopen(argv[1], "r") : NULL;
	if (!f || heddle_open(getenv("DEVICE") ? getenv("DEVICE") : "cpu", &h) < 0) {
		printf("usage: tasks_same LIST ROOT TOOLCHAIN REFUSED [KERNEL]\n");
		return 2;
	}
	if (getenv("PART"))
		sscanf(getenv("PART"), "%u/%u", &part, &parts);
	while (fgets(line, sizeof(line), f)) {
		struct kernel *k = &group[n];

		if (!parse_line(line, argv[2], argv[3], k, path, sizeof(path)) ||
			(argc > 5 && strncmp(k->entry, argv[5], strlen(argv[5])) != 0))
			continue;
		if (number++ % parts != part - 1)
			continue;
		if (heddle_load_file(h, k->name, path, k->entry) < 0) {
			fail(k, "loading", heddle_error(h));
			continue;
		}
		if (++n == GROUP)
			run_group(group, n, argv[4]);
		n %= GROUP;
	}
	if (n)
		run_group(group, n, argv[4]);
	fclose(f);
	heddle_close(h);
	arena_finish(&arena);
	printf("%u kernels the same as tasks, %u refused, %u failed\n", same, refused, failed);
	return failed != 0;
}
