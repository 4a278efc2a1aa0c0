/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* task_tool THREADS REGISTERS full|partly|stamps FILE KERNEL [FILE KERNEL]...
 * Prints the master kernel for tasks of these kernels, with blocks of THREADS threads and at
 * most REGISTERS registers (0: no limit).
 * task_tool list FILE...: prints for every kernel whether it can be a task, in both forms, or
 * the reason why not. */
#include "pass/task/tasks.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make(struct pass_task *kinds, unsigned n, const struct pass_pool *pool,
	struct ptx_module **ret, struct pass_verdict *ret_why, unsigned *ret_which)
{
	diag_init(&diags, &arena, "tasks", NULL, 0);
	return pass_tasks(kinds, n, pool, &diags, ret, ret_why, ret_which);
}

static void list_kernel(const struct ptx_module *m, const char *name)
{
	const struct pass_pool pool = {.threads = 1024};

	printf("%s:", name);
	for (int partly = 0; partly < 2; partly++) {
		struct pass_task kind = {.m = m, .name = name, .partly = partly};
		struct pass_verdict why = {0};
		struct ptx_module *form;
		unsigned which;
		int r = make(&kind, 1, &pool, &form, &why, &which);

		if (r == 0) {
			printf(" %s: %u bytes of parameters, %u shared%s%s;",
				partly ? "partly" : "full", kind.arg_bytes, kind.static_bytes,
				kind.barriers ? ", barriers" : "",
				kind.one_dimensional ? ", one dimension" : "");
			ptx_module_free(form);
		} else if (r == -ENOTSUP) {
			printf(" %s: no: %s;", partly ? "partly" : "full",
				why.reason ? why.reason : "module");
		} else {
			fail(strerror(-r));
		}
	}
	printf("\n");
}

static int list(char **files)
{
	for (; *files; files++) {
		struct ptx_module *m = read_module(*files);

		for (size_t i = 0; i < m->items.len; i++)
			if (m->items.at[i].kind == PTX_ITEM_FUNC && m->items.at[i].func->is_entry)
				list_kernel(m, m->items.at[i].func->sym->name);
		ptx_module_free(m);
	}
	arena_finish(&arena);
	return 0;
}

int main(int argc, char **argv)
{
	struct pass_task kinds[TASK_KINDS] = {0};
	struct pass_verdict why = {0};
	struct strbuf out = {0};
	struct pass_pool pool;
	struct ptx_module *m;
	unsigned n = 0, which = 0;
	int r;

	arena_init(&arena, 0);
	if (argc > 1 && !strcmp(argv[1], "list"))
		return list(argv + 2);
	if (argc < 6)
		fail("usage: task_tool THREADS REGISTERS full|partly|stamps FILE KERNEL...");
	pool = (struct pass_pool){.threads = (uint32_t)atoi(argv[1]),
		.registers = (uint32_t)atoi(argv[2]),
		.wide = !strcmp(argv[3], "partly"), /* a block may need one warp more */
		.stamps = !strcmp(argv[3], "stamps")};
	for (int i = 4; i + 1 < argc && n < TASK_KINDS; i += 2)
		kinds[n++] = (struct pass_task){.m = read_module(argv[i]),
			.name = argv[i + 1],
			.partly = !strcmp(argv[3], "partly")};
	r = make(kinds, n, &pool, &m, &why, &which);
	if (r == -ENOTSUP) {
		fprintf(stderr, "%s: %s\n", kinds[which].name, why.reason ? why.reason : "module");
		return 2;
	}
	if (r < 0)
		fail(strerror(-r));
	ptx_print(m, &out);
	fwrite(out.at, 1, out.len, stdout);
	strbuf_finish(&out);
	ptx_module_free(m);
	for (unsigned k = 0; k < n; k++)
		ptx_module_free((struct ptx_module *)kinds[k].m);
	arena_finish(&arena);
	return 0;
}
