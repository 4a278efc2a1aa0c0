/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* merge_tool FILE KERNEL X,Y,Z BYTES [FILE KERNEL X,Y,Z BYTES]...
 * Prints the module that runs these kernels in one launch, with blocks of these shapes and this
 * much dynamic shared memory. Exit status 2, with the reason on standard error: a kernel cannot
 * be merged. */
#include "pass/registry.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_kernel(char **argv, struct pass_kernel *g)
{
	g->m = read_module(argv[0]);
	g->name = argv[1];
	if (sscanf(argv[2], "%u,%u,%u", &g->block[0], &g->block[1], &g->block[2]) != 3)
		fail("a block is X,Y,Z");
	g->dynamic_bytes = (uint32_t)strtoul(argv[3], NULL, 10);
}

int main(int argc, char **argv)
{
	struct pass_kernel kernels[CTL_MAX_MERGED] = {0};
	struct pass_request rq = {.kernels = kernels};
	struct pass_form form;
	struct strbuf out = {0};
	unsigned n = 0;
	int r;

	arena_init(&arena, 0);
	for (int i = 1; i + 3 < argc && n < CTL_MAX_MERGED; i += 4)
		read_kernel(argv + i, &kernels[n++]);
	if (n == 0)
		fail("usage: merge_tool FILE KERNEL X,Y,Z BYTES...");
	diag_init(&diags, &arena, "merged", NULL, 0);
	rq.n = n;
	r = pass_run(pass_find("merge"), &rq, &diags, &form);
	if (r == -ENOTSUP) {
		fprintf(stderr, "%s: %s\n", kernels[form.which].name,
			form.verdict.reason ? form.verdict.reason
					    : "modules that do not go together");
		return 2;
	}
	if (r < 0)
		fail(strerror(-r));
	ptx_print(form.m, &out);
	fwrite(out.at, 1, out.len, stdout);
	strbuf_finish(&out);
	ptx_module_free(form.m);
	for (unsigned k = 0; k < n; k++)
		ptx_module_free((struct ptx_module *)kernels[k].m);
	arena_finish(&arena);
	return 0;
}
