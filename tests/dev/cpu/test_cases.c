/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: test_cases [--converge=none|postdom] [--weak=SEEDS] FILE.ptx…
 * Comments in each file say what its kernels do:
 *   // run: KERNEL --grid X --block X [--shared N] ARG…      (arguments as for `heddle exec`)
 *   // expect N: V V*COUNT …    the first elements of buffer argument N, decimal or 0x…
 *   // fault: KIND TEXT         the run faults; the message or source line contains TEXT
 *   // fault MODE: KIND TEXT    the same, only with this --converge
 *   // endless MODE: yes        with this --converge, the run neither ends nor faults
 *   // fault hardware: likely   a GPU may hang, see tests/hw/lanes.sh; ignored here
 *   // print: TEXT              part of the printed output
 *   // idle: yes                at least one step yields its turn
 *   // breaks: yes              with --weak, some seed gives other results than expected
 * Without --weak, no run breaks. Every run is repeated in steps of 1, 7, 1000 and very many
 * instructions, and must have one outcome. */
#include "grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[VGPU_FAULT_ADDRESS] = "address",
	[VGPU_FAULT_ALIGN] = "align",
	[VGPU_FAULT_TRAP] = "trap",
	[VGPU_FAULT_ASSERT] = "assert",
	[VGPU_FAULT_INSTRUCTION] = "instruction",
	[VGPU_FAULT_DEADLOCK] = "deadlock",
	[VGPU_FAULT_STACK] = "stack",
	[VGPU_FAULT_PC] = "pc"};

struct run {
	const char *file, *text; /* the run line and the text after it, up to the next run line */
	size_t len;
	unsigned line;
	struct strbuf printed;
	uint64_t budget;
	bool breaks;     /* weak memory must change some result */
	unsigned broken; /* number of changed results */
};

static int failures;
static const char *way = "none"; /* value of --converge */
static uint64_t seeds;           /* --weak: seeds 1 to this; 0: memory is not weak */

#define MAX_STEPS     3000000
#define ENDLESS_STEPS 2000

static void complain(const struct run *r, const char *what, const char *more)
{
	fprintf(stderr, "%s:%u: %s%s%.300s\n", r->file, r->line, what, more ? ": " : "",
		more ? more : "");
	failures++;
}

static void collect(void *user, const char *text, size_t len)
{
	struct run *r = user;

	if (r->printed.len < 100000)
		strbuf_add(&r->printed, text, len);
}

/* Finds the text after "// KEY: " on the next line that has it. Returns NULL if none has. */
static const char *find_line(
	const char *from, const char *end, const char *key, char *to, size_t size)
{
	char want[32];
	size_t n = (size_t)snprintf(want, sizeof(want), "// %s", key);

	for (const char *s = from; s < end;) {
		const char *e = memchr(s, '\n', (size_t)(end - s));

		e = e ? e : end;
		if ((size_t)(e - s) > n && !memcmp(s, want, n)) {
			snprintf(to, size, "%.*s", (int)(e - s - (long)n), s + n);
			return e;
		}
		s = e + 1;
	}
	return NULL;
}

static uint64_t element(const struct grid_arg *a, uint64_t i)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)(uintptr_t)a->addr + i * a->bits / 8, a->bits / 8);
	return v;
}

static uint64_t wanted(const struct grid_arg *a, const char *word)
{
	uint64_t bits = 0;
	double d;
	float f;

	if (a->type != 'f' || !strncmp(word, "0x", 2))
		bits = word[0] == '-' ? (uint64_t)strtoll(word, NULL, 0) : strtoull(word, NULL, 0);
	else if (d = strtod(word, NULL), f = (float)d, a->bits == 32)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &d, 8);
	return a->bits == 64 ? bits : bits & ((1ull << a->bits) - 1);
}

static void check_expect(struct run *r, const struct grid_spec *s, char *line)
{
	char *save = NULL, *word = strtok_r(line, ": ", &save);
	unsigned n = word ? (unsigned)strtoul(word, NULL, 10) : GRID_MAX_ARGS;
	uint64_t at = 0;

	if (n >= s->n_args || !s->args[n].n) {
		complain(r, "expect names no buffer", NULL);
		return;
	}
	while ((word = strtok_r(NULL, " ", &save))) {
		const char *times = strchr(word, '*');
		uint64_t count = times ? strtoull(times + 1, NULL, 10) : 1;

		for (; count; count--, at++) {
			char text[160];

			if (at < s->args[n].n &&
				element(&s->args[n], at) == wanted(&s->args[n], word))
				continue;
			snprintf(text, sizeof(text), "[%llu] is 0x%llx, expected %s",
				(unsigned long long)at,
				(unsigned long long)(at < s->args[n].n ? element(&s->args[n], at)
								       : 0),
				word);
			if (!r->breaks)
				complain(r, "wrong result", text);
			r->broken++;
			return;
		}
	}
}

static bool is_endless(const struct run *r)
{
	char key[32], line[32];

	snprintf(key, sizeof(key), "endless %s: ", way);
	return find_line(r->text, r->text + r->len, key, line, sizeof(line)) != NULL;
}

static void check_outcome(
	struct run *r, int error, const struct grid_result *g, const struct grid_spec *s)
{
	const char *end = r->text + r->len, *at = r->text;
	char line[4000], fault[32], *text;

	snprintf(fault, sizeof(fault), "fault %s: ", way);
	if (is_endless(r)) {
		if (error != -ETIMEDOUT)
			complain(r, "it came to an end", NULL);
		return;
	}
	if (find_line(r->text, end, fault, line, sizeof(line)) ||
		find_line(r->text, end, "fault: ", line, sizeof(line))) {
		text = strchr(line, ' ');
		if (text)
			*text++ = 0;
		if (error != -EFAULT)
			complain(r, "no fault", NULL);
		else if (strcmp(kinds[g->fault.kind], line) ||
			 (text && !strstr(g->fault.message, text) &&
				 !strstr(g->fault.source, text)))
			complain(r, "another fault", g->fault.message);
		return;
	}
	if (error) {
		complain(r, "the run failed",
			error == -EFAULT ? g->fault.message : strerror(-error));
		return;
	}
	while ((at = find_line(at, end, "expect ", line, sizeof(line))))
		check_expect(r, s, line);
	for (at = r->text; (at = find_line(at, end, "print: ", line, sizeof(line)));)
		if (!r->printed.at || !strstr(r->printed.at, line))
			complain(r, "not printed", line);
	/* Very short steps end before the block can show that nothing changes. */
	if (find_line(r->text, end, "idle: ", line, sizeof(line)) && r->budget >= 1000 &&
		!g->idle_steps)
		complain(r, "never idle", NULL);
}

static void run_once(struct run *r, struct vgpu_mem *m, struct vgpu_module *mod, const char *line,
	uint64_t budget)
{
	char name[100] = "", params[4096];
	struct vgpu_launch l = {.params = params, .n_sms = 4, .print = collect, .user = r};
	struct grid_result g;
	struct grid_spec s;
	int n = 0, error;

	sscanf(line, "%99s %n", name, &n);
	l.kernel = vgpu_module_kernel(mod, name);
	if (!l.kernel || grid_parse_spec(m, line + n, &s)) {
		complain(r, "the run line cannot be read", line);
		return;
	}
	r->budget = budget;
	memcpy(l.grid, s.grid, sizeof(l.grid));
	memcpy(l.block, s.block, sizeof(l.block));
	l.dynamic_shared_bytes = s.shared;
	if (grid_pack(l.kernel, s.args, s.n_args, params, sizeof(params))) {
		complain(r, "the arguments do not fit the kernel", line);
	} else {
		error = vgpu_run_grid(&l, budget, is_endless(r) ? ENDLESS_STEPS : MAX_STEPS, &g);
		check_outcome(r, error, &g, &s);
	}
	strbuf_finish(&r->printed);
	grid_free_spec(m, &s);
}

static unsigned run_all(
	const char *file, const char *text, size_t len, struct vgpu_mem *m, struct vgpu_module *mod)
{
	static const uint64_t budgets[] = {1000000, 1000, 7, 1};
	const char *end = text + len, *at = text, *next;
	unsigned n = 0;

	for (; at; at = next, n++) {
		struct run r = {.file = file};
		char line[2000], dummy[2000];

		at = find_line(at, end, "run: ", line, sizeof(line));
		if (!at)
			break;
		next = find_line(at, end, "run: ", dummy, sizeof(dummy));
		r.text = at;
		r.len = (size_t)((next ? next - strlen(dummy) - 8 : end) - at);
		r.line = 1;
		for (const char *s = text; s < at; s++)
			r.line += *s == '\n';
		r.breaks = seeds && find_line(at, r.text + r.len, "breaks: ", dummy, sizeof(dummy));
		for (uint64_t seed = MIN(seeds, 1); seed <= seeds; seed++) {
			vgpu_set_weak(seed);
			for (size_t k = 0; k < ARRAY_LEN(budgets) && !failures; k++)
				if (budgets[k] >= 1000 || !is_endless(&r))
					run_once(&r, m, mod, line, budgets[k]);
		}
		if (r.breaks && !r.broken)
			complain(&r, "right with every seed", NULL);
		next = next ? at : NULL;
	}
	return n;
}

static void run_file(const char *file)
{
	static struct diag_list diags;
	struct vgpu_module *mod = NULL;
	struct strbuf text = {0}, shown = {0};
	struct vgpu_mem *m = NULL;
	struct arena a;
	FILE *f = fopen(file, "r");
	char buf[4096];
	size_t n;
	int before = failures;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&text, buf, n);
	if (f)
		fclose(f);
	arena_init(&a, 0);
	failures = 0;
	diag_init(&diags, &a, file, text.at, text.len);
	if (!text.at || vgpu_mem_create(1 << 28, &m) ||
		vgpu_module_load(m, text.at, text.len, &diags, &mod)) {
		diag_render(&diags, &shown);
		fprintf(stderr, "%s: cannot be loaded\n%s", file, shown.at ? shown.at : "");
		failures++;
	} else {
		n = run_all(file, text.at, text.len, m, mod);
		printf("%s: %u runs\n", file, (unsigned)n);
		failures += !n;
	}
	failures += before;
	vgpu_module_free(mod);
	vgpu_mem_destroy(m);
	strbuf_finish(&text);
	strbuf_finish(&shown);
	arena_finish(&a);
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {[VC_NONE] = "none", [VC_POSTDOM] = "postdom"};
	static const char option[] = "--converge=", weak[] = "--weak=";

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], weak, strlen(weak))) {
			seeds = strtoull(argv[i] + strlen(weak), NULL, 10);
			vgpu_set_weak(seeds);
			continue;
		}
		if (strncmp(argv[i], option, strlen(option))) {
			run_file(argv[i]);
			continue;
		}
		way = argv[i] + strlen(option);
		for (unsigned k = 0; k < ARRAY_LEN(ways); k++)
			if (!strcmp(way, ways[k]))
				vgpu_set_converge((enum vgpu_converge)k);
	}
	return failures || argc < 2;
}
