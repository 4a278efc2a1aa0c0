/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks properties of merged forms in their text. tests/exec/merge.sh tests the forms' results,
 * and tests/exec/order.sh the order of blocks. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pass/registry.h"
#include "ptx/graft.h"

/* Some lanes exit; the barriers come before or after that. */
#define PARTS(name, ahead, behind)                                                       \
	".visible .entry " name "(.param .u64 p)\n{\n"                                   \
	".reg .b64 %a; .reg .b32 %v; .reg .pred %q;\n"                                   \
	"ld.param.u64 %a, [p];\nmov.u32 %v, %tid.x;\n" ahead "setp.gt.u32 %q, %v, 40;\n" \
	"@%q ret;\n" behind "st.global.u32 [%a], %v;\nret;\n}\n"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry put(.param .u64 p)\n{\n"
	".reg .b64 %a; .reg .b32 %v;\n"
	"ld.param.u64 %a, [p];\nmov.u32 %v, %ctaid.x;\n"
	"st.global.u32 [%a], %v;\nret;\n}\n"
	".visible .entry meet(.param .u64 p)\n{\n"
	".reg .b64 %a; .reg .b32 %v; .reg .pred %q;\n"
	"ld.param.u64 %a, [p];\nred.global.add.u32 [%a], 1;\n"
	"$w:\nld.volatile.global.u32 %v, [%a];\n"
	"setp.lt.u32 %q, %v, 4;\n@%q bra $w;\nret;\n}\n" PARTS("before", "bar.sync 0;\n", "")
		PARTS("behind", "", "bar.sync 0;\n")
	/* Atomics with and without a used result, and atomics that `red` cannot do. */
	".visible .entry sums(.param .u64 p)\n{\n"
	".reg .b64 %a; .reg .b32 %v<9>; .shared .b32 s;\n"
	"ld.param.u64 %a, [p];\n"
	"atom.global.min.s32 %v0, [%a], 1;\n"
	"atom.relaxed.gpu.max.u32 %v1, [%a], 2;\n"
	"atom.global.min.u32 %v2, [%a], 3;\n"
	"atom.acquire.gpu.global.or.b32 %v3, [%a], 4;\n"
	"atom.global.exch.b32 %v4, [%a], 5;\n"
	"atom.global.cas.b32 %v5, [%a], 6, 7;\n"
	"atom.shared.xor.b32 %v6, [s], 8;\n"
	"st.global.u32 [%a+4], %v2;\nret;\n}\n";

struct made {
	struct arena arena;
	struct diag_list diags;
	struct ptx_module *from, *m;
	struct strbuf text;
	struct pass_merged form;
};

/* Merges the n named kernels, with blocks of threads[0, n) threads; fits as in pass_kernel. */
static void make(struct made *t, unsigned n, const char *const *names, const uint32_t *threads,
	const uint32_t *fits)
{
	struct pass_kernel kernels[CTL_MAX_MERGED] = {0};
	struct pass_request rq = {.kernels = kernels, .n = n};
	struct pass_form form;

	*t = (struct made){0};
	arena_init(&t->arena, 0);
	diag_init(&t->diags, &t->arena, "test", ptx, sizeof(ptx) - 1);
	assert_int_equal(ptx_parse(ptx, sizeof(ptx) - 1, 0, &t->diags, &t->from), 0);
	assert_int_equal(t->diags.errors, 0);
	for (unsigned k = 0; k < n; k++)
		kernels[k] = (struct pass_kernel){.m = t->from,
			.name = names[k],
			.block = {threads[k], 1, 1},
			.fits = fits[k]};
	assert_int_equal(pass_run(pass_find("merge"), &rq, &t->diags, &form), 0);
	t->m = form.m;
	t->form = form.merged;
	ptx_print(t->m, &t->text);
	assert_false(t->text.failed);
}

static void finish(struct made *t)
{
	strbuf_finish(&t->text);
	ptx_module_free(t->m);
	ptx_module_free(t->from);
	arena_finish(&t->arena);
}

static uint32_t per_sm(struct made *t)
{
	struct ptx_bounds b;

	ptx_bounds_get(ptx_find_func(t->m, CTL_MERGE_ENTRY), &b);
	return b.minnctapersm;
}

static unsigned count(const struct made *t, const char *what)
{
	unsigned n = 0;

	for (const char *p = strstr(t->text.at, what); p; p = strstr(p + 1, what))
		n++;
	return n;
}

/* The workers of a merged launch need the registers of the kernel that needs most. So an SM holds
 * as many threads of workers as threads of the kernel of which it holds the fewest. */
static void registers(void **state)
{
	static const char *const names[] = {"put", "put"};
	struct made t;

	make(&t, 2, names, (const uint32_t[]){128, 256}, (const uint32_t[]){16, 6});
	assert_int_equal(per_sm(&t), 6); /* 1536 threads, in blocks of 256 */
	finish(&t);
	make(&t, 2, names, (const uint32_t[]){100, 256}, (const uint32_t[]){8, 8});
	assert_int_equal(per_sm(&t), 4); /* 1024 threads */
	finish(&t);
	make(&t, 2, names, (const uint32_t[]){128, 256}, (const uint32_t[]){16, 0});
	assert_int_equal(per_sm(&t), 0); /* unknown for one kernel */
	finish(&t);
}

/* A register that a worker keeps throughout a body exists once, not once for each kernel. */
static void shared_registers(void **state)
{
	static const char *const names[] = {"put", "put", "put"};
	struct made t;

	make(&t, 3, names, (const uint32_t[]){32, 32, 32}, (const uint32_t[]){0, 0, 0});
	/* Each kernel still declares such registers, but code writes those of only one kernel. */
	for (int what = 0; what < 2; what++) {
		const char *p = t.text.at, *name = what ? "_hd_t," : "_hd_s,";
		char first[8] = "";

		while ((p = strstr(p, name))) {
			char now[8];

			while (p[-1] != '%')
				p--;
			snprintf(now, sizeof(now), "%.*s", (int)strcspn(p + 3, "_") + 3, p);
			if (!first[0])
				strcpy(first, now);
			assert_string_equal(now, first);
			p = strchr(p, ',');
		}
		assert_true(first[0]);
	}
	finish(&t);
}

/* Workers do not claim the next block ahead if blocks may wait for each other: the block claimed
 * ahead cannot run until the current block ends, which may wait for it. */
static void ahead(void **state)
{
	static const char *const plain[] = {"put", "put"}, *const waits[] = {"put", "meet"};
	struct made t;

	make(&t, 2, plain, (const uint32_t[]){32, 32}, (const uint32_t[]){0, 0});
	assert_false(t.form.of[0].rising_order);
	assert_int_equal(count(&t, "$hd_ahead1:"), 1);
	finish(&t);
	make(&t, 2, waits, (const uint32_t[]){32, 32}, (const uint32_t[]){0, 0});
	assert_true(t.form.of[1].rising_order);
	assert_int_equal(count(&t, "$hd_ahead"), 0);
	finish(&t);
}

/* Code after an early exit is duplicated, for whole warps and for other warps, only if no barrier
 * follows the exit.
 */
static void parting(void **state)
{
	static const char *const names[] = {"before", "behind"};
	static const uint32_t threads[] = {64}, fits[] = {8};

	for (unsigned i = 0; i < 2; i++) {
		struct made t;

		make(&t, 1, &names[i], threads, fits);
		assert_int_equal(count(&t, "st.global.u32 ["), i == 0 ? 2 : 1);
		assert_int_equal(count(&t, "hd_parted:\n"), i == 0);
		finish(&t);
	}
}

/* Atomics whose result nothing reads become `red`, without the return from memory. */
static void unread(void **state)
{
	static const char *const names[] = {"sums"};
	static const char *const kept[] = {"atom.global.min.u32 %",
		"atom.acquire.gpu.global.or.b32 %", "atom.global.exch.b32 %",
		"atom.global.cas.b32 %", "atom.shared.xor.b32 %"};
	struct made t;

	make(&t, 1, names, (const uint32_t[]){32}, (const uint32_t[]){0});
	assert_int_equal(count(&t, "red.global.min.s32 ["), 1);
	assert_int_equal(count(&t, "red.relaxed.gpu.max.u32 ["), 1);
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		assert_int_equal(count(&t, kept[i]), 1);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers),
		cmocka_unit_test(shared_registers),
		cmocka_unit_test(ahead),
		cmocka_unit_test(parting),
		cmocka_unit_test(unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
