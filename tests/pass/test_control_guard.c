/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the guard form's part of the protocol (control.h) step by step, on the virtual GPU. The
 * host writes each word before it launches a grid, so that the result is certain. */
#include "unit.h"

#include "../shim/code.h"
#include "dev/cu_link.h"
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>

#define TOTAL   600
#define THREADS 64
#define ALL     (CTL_NO_QUOTA - 1) /* as `more` with `least` 1: the grid serves every quota but 0 */

static struct {
	CUfunction fn, closer;
	CUdeviceptr in, out, block;
	struct pass_kernel_info info;
	struct ctl_host *host;
	uint32_t gen, sms, drains;
} t;

static void ok(CUresult r)
{
	assert_int_equal(r, CUDA_SUCCESS);
}

/* The kernel mix of code.h, with an added barrier whose number is in a register. */
static void rewrite(struct strbuf *ret)
{
	static const char text[] = PTX_HEAD PTX_MIX("mix"), line[] = "DONE:\n";
	struct diag_list *diags = calloc(1, sizeof(*diags));
	const char *at = strstr(text, line) + sizeof(line) - 1;
	struct strbuf guarded = {0};
	struct pass_verdict v;
	struct ptx_module *m;
	struct arena a;

	strbuf_add(&guarded, text, (size_t)(at - text));
	strbuf_printf(&guarded, "	mov.u32 %%r9, 0;\n	bar.sync %%r9;\n%s", at);
	arena_init(&a, 0);
	diag_init(diags, &a, "mix", guarded.at, guarded.len);
	assert_int_equal(ptx_parse(guarded.at, guarded.len, 0, diags, &m), 0);
	assert_int_equal(pass_preempt(m, "mix", &(struct pass_options){0}, diags, &v, &t.info), 0);
	assert_int_equal(t.info.tier, PASS_GUARD);
	ptx_print(m, ret);
	ptx_module_free(m);
	arena_finish(&a);
	free(diags);
	strbuf_finish(&guarded);
}

static int begin(void **state)
{
	struct strbuf text = {0};
	CUmodule module;
	CUdevice device;
	CUcontext ctx;
	int sms;

	ok(cuInit(0));
	ok(cuDeviceGet(&device, 0));
	ok(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	t.sms = (uint32_t)sms;
	ok(cuDevicePrimaryCtxRetain(&ctx, device));
	ok(cuCtxSetCurrent(ctx));
	rewrite(&text);
	ok(cuModuleLoadData(&module, text.at));
	ok(cuModuleGetFunction(&t.fn, module, "mix"));
	strbuf_finish(&text);
	ok(cuModuleLoadData(&module, pass_closer_ptx()));
	ok(cuModuleGetFunction(&t.closer, module, CTL_CLOSER));
	ok(cuMemAlloc(&t.in, TOTAL * THREADS * 4));
	ok(cuMemAlloc(&t.out, TOTAL * THREADS * 4));
	ok(cuMemsetD32(t.in, 1, TOTAL * THREADS));
	ok(cuMemAlloc(&t.block, sizeof(struct ctl_block)));
	ok(cuMemsetD8(t.block, 0, sizeof(struct ctl_block)));
	ok(cuMemsetD32(t.block + offsetof(struct ctl_block, quota), CTL_NO_QUOTA, CTL_MAX_SMS));
	ok(cuMemHostAlloc((void **)&t.host, sizeof(*t.host), CU_MEMHOSTALLOC_DEVICEMAP));
	return 0;
}

static int anew(void **state)
{
	memset(t.host, 0, sizeof(*t.host));
	memset(t.host->quota, CTL_NO_QUOTA, sizeof(t.host->quota));
	t.drains = 0;
	ok(cuMemsetD32(t.out, 0, TOTAL * THREADS));
	ok(cuCtxSynchronize());
	return 0;
}

static void word(uint32_t seq, int quota)
{
	memset(t.host->quota, quota, sizeof(t.host->quota));
	t.host->seq = seq;
}

/* Launches a grid that serves the quotas least to least + more, and its closer (a kernel of one
 * thread that runs after the grid). Returns when both have ended. The grid has more blocks than are
 * left to run: the blocks of a smaller grid might all be placed on an SM whose quota the grid does
 * not serve. */
static void launch(uint32_t flags, uint32_t seq, uint32_t round, uint32_t least, uint32_t more)
{
	uint8_t params[256] = {0};
	uint32_t n = TOTAL * THREADS, loops = 20;
	size_t bytes = t.info.param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};
	struct ctl_args args = {.block = t.block,
		.host = (uint64_t)(uintptr_t)t.host,
		.total = TOTAL,
		.grid = {TOTAL, 1, 1},
		.gen = t.gen,
		.chunk = 1,
		.flags = CTL_RELAY | CTL_GUARD | CTL_WAIT_WORD | flags,
		.least = least,
		.more = more,
		.seq = seq,
		.round = round};
	void *closer[] = {&args};

	memcpy(params, &t.in, 8);
	memcpy(params + 8, &t.out, 8);
	memcpy(params + 16, &n, 4);
	memcpy(params + 20, &loops, 4);
	memcpy(params + t.info.arg_offset, &args, sizeof(args));
	ok(cuLaunchKernel(t.fn, TOTAL + 1, 1, 1, THREADS, 1, 1, 0, NULL, NULL, extra));
	ok(cuLaunchKernel(t.closer, 1, 1, 1, 1, 1, 1, 0, NULL, closer, NULL));
	ok(cuCtxSynchronize());
}

/* All blocks must have exited because of word `seq`, after `finished` blocks had run. */
static void drained(uint32_t seq, uint64_t finished)
{
	assert_int_not_equal(t.host->done, t.gen + 1);
	assert_int_equal(t.host->drains, ++t.drains);
	assert_int_equal(t.host->drained_seq, seq);
	assert_int_equal(t.host->finished, finished);
}

/* Each block must have run; then the next launch may begin. */
static void ended(void)
{
	uint32_t *out = malloc(TOTAL * THREADS * 4);

	assert_int_equal(t.host->done, t.gen + 1);
	assert_int_equal(t.host->finished, TOTAL);
	ok(cuMemcpyDtoH(out, t.out, TOTAL * THREADS * 4));
	for (unsigned i = 0; i < TOTAL * THREADS; i++)
		assert_int_not_equal(out[i], 0);
	free(out);
	t.gen++;
}

/* The host pads a grid with shared memory so that an SM holds as many blocks as the quota says. The
 * blocks run if the word's quota is among those that this padding serves, and else exit. */
static void serves(void **state)
{
	static const uint8_t others[] = {0, 1, 2, 6, 31, CTL_NO_QUOTA};
	uint32_t seq = 1;

	for (size_t i = 0; i < sizeof(others); i++, seq++) {
		word(seq, others[i]);
		launch(0, seq, seq, 3, 2);
		drained(seq, 0);
	}
	word(seq, 5);
	launch(0, seq, seq, 3, 2);
	ended();
	for (uint8_t q = 3; q < 5; q++) {
		anew(state);
		word(1, q);
		launch(0, 1, 0, 3, 2);
		ended();
	}
}

/* If a kernel cannot be padded, its grid serves every quota but 0. */
static void all_or_none(void **state)
{
	word(1, 0);
	launch(0, 1, 0, 1, ALL);
	drained(1, 0);
	word(2, 1);
	launch(0, 2, 1, 1, ALL);
	ended();
	anew(state);
	word(1, CTL_NO_QUOTA);
	launch(0, 1, 0, 1, ALL);
	ended();
}

/* If the SMs' quotas differ, only the blocks on SMs whose quota the grid serves run. */
static void by_sm(void **state)
{
	uint32_t round = 0;

	word(1, 4);
	t.host->quota[0] = 7;
	t.host->quota[1] = 0;
	while (t.host->done != t.gen + 1 && round < 100)
		launch(0, 1, round++, 4, 0);
	assert_true(round > 1); /* in round 0, blocks on other SMs exited without running */
	ended();
}

/* A grid for a word that a newer word has replaced (CTL_ONCE) still runs one block on each SM, so
 * that each word makes progress. A second grid for the same word runs none. */
static void overtaken(void **state)
{
	uint64_t done = 0;

	for (uint32_t seq = 1; done + t.sms < TOTAL; seq += 2) {
		word(seq + 1, seq % 4 == 1 ? 0 : 8);
		launch(CTL_ONCE, seq, seq, 4, 0);
		done += t.sms;
		drained(seq + 1, done);
		launch(CTL_ONCE, seq, seq, 4, 0);
		drained(seq + 1, done);
		launch(0, seq, seq, 4, 0);
		drained(seq + 1, done);
	}
	word(1001, 4);
	launch(CTL_ONCE, 1001, 1001, 4, 0);
	ended();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(serves, anew),
		cmocka_unit_test_setup(all_or_none, anew),
		cmocka_unit_test_setup(by_sm, anew),
		cmocka_unit_test_setup(overtaken, anew),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
