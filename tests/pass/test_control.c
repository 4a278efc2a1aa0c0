/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the protocol of control.h step by step, with a rewritten kernel on the virtual GPU. The
 * host writes each word before it launches, so that the result is certain. */
#include "unit.h"

#include "../shim/code.h"
#include "dev/cu_link.h"
#include "pass/pass.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOTAL   600
#define THREADS 64
#define WORKERS 20
#define STOP_AT sizeof(struct ctl_tenant) /* two words that the host uses: stop, and stopped */

static struct {
	/* fn: the form; standing: forms in which a worker that reports a drain pauses at one of two
	 * points (see stop) */
	CUfunction fn, standing[2];
	CUstream stream, other;
	CUdeviceptr in, out, block;
	struct pass_options options;
	struct pass_kernel_info info;
	struct ctl_host *host;
	struct ctl_tenant *tenant;
	uint32_t gen;
} t;

static void ok(CUresult r)
{
	assert_int_equal(r, CUDA_SUCCESS);
}

static void rewrite(struct strbuf *ret)
{
	static const char text[] = PTX_HEAD PTX_MIX("mix");
	struct diag_list *diags = calloc(1, sizeof(*diags));
	struct pass_verdict v;
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, 0);
	diag_init(diags, &a, "mix", text, sizeof(text) - 1);
	assert_int_equal(ptx_parse(text, sizeof(text) - 1, 0, diags, &m), 0);
	assert_int_equal(pass_preempt(m, "mix", &t.options, diags, &v, &t.info), 0);
	assert_int_equal(t.info.tier, PASS_MANAGED);
	ptx_print(m, ret);
	ptx_module_free(m);
	arena_finish(&a);
	free(diags);
}

static CUfunction load(const char *text)
{
	CUmodule module;
	CUfunction fn;

	ok(cuModuleLoadData(&module, text));
	ok(cuModuleGetFunction(&fn, module, "mix"));
	return fn;
}

/* Inserts code into the form's text after the first `line` that follows the label $hd_drained:
 * while the host's stop word is set, a worker waits there, and tells the host that it waits. */
static CUfunction stop(const char *text, const char *line)
{
	const char *at = strstr(strstr(text, "\n$hd_drained:\n"), line) + strlen(line);
	struct strbuf out = {0};
	CUfunction fn;

	strbuf_add(&out, text, (size_t)(at - text));
	strbuf_printf(&out,
		"ld.param.u64 %%hd_d6, [hd_args+%zu];\n"
		"$stop:\nld.volatile.global.u32 %%hd_r6, [%%hd_d6+%zu];\n"
		"setp.eq.u32 %%hd_p1, %%hd_r6, 0;\n@%%hd_p1 bra $go_on;\n"
		"st.volatile.global.u32 [%%hd_d6+%zu], %%hd_r6;\nbra $stop;\n$go_on:\n",
		offsetof(struct ctl_args, tenant), STOP_AT, STOP_AT + 4);
	strbuf_puts(&out, at);
	fn = load(out.at);
	strbuf_finish(&out);
	return fn;
}

static int begin(void **state)
{
	struct strbuf text = {0};
	CUdevice device;
	CUcontext ctx;

	ok(cuInit(0));
	ok(cuDeviceGet(&device, 0));
	ok(cuDevicePrimaryCtxRetain(&ctx, device));
	ok(cuCtxSetCurrent(ctx));
	rewrite(&text);
	t.fn = load(text.at);
	t.standing[0] = stop(text.at, "$hd_drained:\n");
	t.standing[1] = stop(text.at, "setp.ge.u64 %hd_p1, %hd_d3, %hd_d2;\n");
	strbuf_finish(&text);
	ok(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING));
	ok(cuStreamCreate(&t.other, CU_STREAM_NON_BLOCKING));
	ok(cuMemAlloc(&t.in, TOTAL * THREADS * 4));
	ok(cuMemAlloc(&t.out, TOTAL * THREADS * 4));
	ok(cuMemsetD32(t.in, 1, TOTAL * THREADS));
	ok(cuMemAlloc(&t.block, sizeof(struct ctl_block)));
	ok(cuMemsetD8(t.block, 0, sizeof(struct ctl_block)));
	ok(cuMemsetD32(t.block + offsetof(struct ctl_block, quota), CTL_NO_QUOTA, CTL_MAX_SMS));
	ok(cuMemHostAlloc((void **)&t.host, sizeof(*t.host), CU_MEMHOSTALLOC_DEVICEMAP));
	ok(cuMemHostAlloc((void **)&t.tenant, STOP_AT + 8, CU_MEMHOSTALLOC_DEVICEMAP));
	return 0;
}

/* Resets the memory that a launch uses, as for a new launch. */
static int anew(void **state)
{
	memset(t.host, 0, sizeof(*t.host));
	memset(t.host->quota, CTL_NO_QUOTA, sizeof(t.host->quota));
	memset(t.tenant, 0, STOP_AT + 8);
	ok(cuMemsetD32(t.out, 0, TOTAL * THREADS));
	ok(cuCtxSynchronize());
	return 0;
}

static void word(uint32_t seq, int quota)
{
	memset(t.host->quota, quota, sizeof(t.host->quota));
	t.host->seq = seq;
}

static void ends(CUstream stream)
{
	for (int i = 0; i < 6000 && cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; i++)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	/* Fails after 30 s: some worker never exits. */
	ok(cuStreamQuery(stream));
}

static void start(CUfunction fn, CUstream stream, uint32_t flags, uint32_t seq, uint32_t round)
{
	uint8_t params[256] = {0};
	uint32_t n = TOTAL * THREADS, loops = 20;
	size_t bytes = t.info.param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};
	struct ctl_args args = {.block = t.block,
		.host = (uint64_t)(uintptr_t)t.host,
		.tenant = (uint64_t)(uintptr_t)t.tenant,
		.total = TOTAL,
		.grid = {TOTAL, 1, 1},
		.gen = t.gen,
		.chunk = 1,
		.flags = CTL_RELAY | flags,
		.seq = seq,
		.round = round};

	memcpy(params, &t.in, 8);
	memcpy(params + 8, &t.out, 8);
	memcpy(params + 16, &n, 4);
	memcpy(params + 20, &loops, 4);
	memcpy(params + t.info.arg_offset, &args, sizeof(args));
	ok(cuLaunchKernel(fn, WORKERS + 1, 1, 1, THREADS, 1, 1, 0, stream, NULL, extra));
}

/* Launches workers of one round; returns when all of them have exited. */
static void launch(uint32_t flags, uint32_t seq, uint32_t round)
{
	start(t.fn, t.stream, flags, seq, round);
	ends(t.stream);
}

static struct ctl_block block(void)
{
	struct ctl_block b;

	ok(cuMemcpyDtoH(&b, t.block, sizeof(b)));
	return b;
}

static uint32_t low(uint64_t state)
{
	return (uint32_t)state;
}

/* The launch must be over, with every block run; then the next one may begin. */
static void ended(void)
{
	uint32_t *out = malloc(TOTAL * THREADS * 4);

	assert_int_equal(t.host->done, t.gen + 1);
	assert_int_equal(t.host->finished, TOTAL);
	assert_int_equal(block().gate, t.gen + 1);
	ok(cuMemcpyDtoH(out, t.out, TOTAL * THREADS * 4));
	for (unsigned i = 0; i < TOTAL * THREADS; i++)
		assert_int_not_equal(out[i], 0);
	free(out);
	t.gen++;
}

static void drained(uint32_t seq, uint32_t rounds)
{
	assert_int_not_equal(t.host->done, t.gen + 1);
	assert_true(t.host->drains > 0);
	assert_int_equal(t.host->drained_seq, seq);
	assert_int_equal(t.host->rounds, rounds);
	assert_int_equal(low(block().state) & ~CTL_NARROW, 0);
}

static void resume(uint32_t seq, uint32_t round)
{
	word(seq, CTL_NO_QUOTA);
	launch(CTL_WAIT_WORD, seq, round);
	ended();
}

/* Runs whole launches. The relay may start after the workers have finished the launch, and then
 * reports nothing, so the test repeats launches until one reports that it arrived. */
static void runs(void **state)
{
	bool arrived = false;

	for (unsigned i = 0; i < 100 && !arrived; i++) {
		anew(state);
		launch(0, 0, 0);
		arrived = t.host->arrived == t.gen + 1;
		assert_int_equal(t.host->began, 0);
		ended();
	}
	assert_true(arrived);
}

/* A launch begins with its tenant's word (a sequence number and quotas), here with quotas 0. */
static void begins_with_the_tenants_word(void **state)
{
	t.tenant->seq = 7;
	launch(CTL_WAIT_WORD, 0, 0);
	assert_int_equal(t.host->arrived, t.gen + 1);
	assert_int_equal(t.host->began, 7);
	drained(0, 0);
	assert_int_equal(t.host->finished, 0);
	resume(1, 1);
	assert_int_equal(low(block().state), 0);
}

/* A word for the launch itself takes precedence over the tenant's word. */
static void own_word_first(void **state)
{
	t.tenant->seq = 8;
	word(1, CTL_NO_QUOTA);
	launch(CTL_WAIT_WORD, 0, 0);
	assert_int_equal(t.host->began, 0);
	ended();
}

/* After a launch that did not have the whole device (CTL_NARROW), the next launch obeys the
 * tenant's word from the start. */
static void narrow_goes_on(void **state)
{
	word(1, 0);
	t.host->quota[0] = CTL_NO_QUOTA;
	t.host->quota[1] = CTL_NO_QUOTA;
	for (uint32_t round = 0; t.host->done != t.gen + 1 && round < 100; round++)
		launch(CTL_WAIT_WORD, 1, round);
	ended();
	assert_int_equal(low(block().state), CTL_NARROW);
	anew(state);
	t.tenant->seq = 9;
	launch(0, 0, 0);
	drained(0, 0);
	assert_int_equal(t.host->ticket, 0);
	resume(1, 1);
	assert_int_equal(low(block().state), 0);
	/* If there is no such word, the next launch runs to its end. */
	anew(state);
	word(1, 1);
	launch(CTL_WAIT_WORD, 1, 0);
	ended();
	assert_int_equal(low(block().state), CTL_NARROW);
	anew(state);
	launch(0, 0, 0);
	ended();
	assert_int_equal(low(block().state), 0);
}

/* If no worker is left, the host launches workers for a word with CTL_ONCE. They make progress even
 * if the next word revokes their quota: one worker on each SM runs a block, for each such word. */
static void overtaken(void **state)
{
	uint32_t round = 0;
	int sms = 0;
	CUdevice device;

	ok(cuCtxGetDevice(&device));
	ok(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
	assert_in_range(sms, 2, WORKERS - 1);

	for (uint32_t seq = 1; t.host->done != t.gen + 1; seq += 2, round++) {
		uint64_t before = t.host->finished;

		word(seq + 1, 0);
		/* A slow SM may get no worker of this launch. So launches for the same word are
		 * repeated until each SM has run a block. */
		for (int i = 0; i < 1000 && t.host->finished < before + (uint64_t)sms; i++) {
			uint64_t last = t.host->finished;

			launch(CTL_WAIT_WORD | CTL_ONCE, seq, round);
			if (t.host->done == t.gen + 1)
				break;
			drained(seq + 1, round);
			assert_in_range(
				t.host->finished, i == 0 ? last + 1 : last, before + (uint64_t)sms);
		}
		if (t.host->done == t.gen + 1)
			break;
		assert_int_equal(t.host->finished, before + (uint64_t)sms);
		/* After that, neither further workers for the same word nor workers for other
		 * words run a block. */
		launch(CTL_WAIT_WORD | CTL_ONCE, seq, round);
		launch(CTL_WAIT_WORD, seq + 1, round);
		launch(CTL_WAIT_WORD, seq - 1, round);
		assert_int_equal(t.host->finished, before + (uint64_t)sms);
	}
	ended();
	/* On an SM that the word does not grant, no worker runs a block. */
	anew(state);
	word(1, 0);
	launch(CTL_WAIT_WORD, 1, 0);
	drained(1, 0);
	assert_int_equal(t.host->ticket, 0);
	resume(2, 1);
}

/* The word grants only an SM that the device does not have. All workers exit, and the relay must
 * exit with the last of them. */
static void relay_leaves_alone(void **state)
{
	word(1, 0);
	t.host->quota[CTL_MAX_SMS - 1] = CTL_NO_QUOTA;
	launch(CTL_WAIT_WORD, 1, 0);
	drained(1, 0);
	assert_int_equal(block().relay, 0);
	launch(CTL_WAIT_WORD, 1, 1);
	drained(1, 1);
	resume(2, 2);
}

/* If all SMs have the same quota, the word itself says so, and workers do not read the quotas: a
 * single thread would take long to read them. */
static void same_on_all(void **state)
{
	uint8_t quota[CTL_MAX_SMS] = {0};

	ctl_tell(t.host->quota, &t.host->word, 1, quota);
	assert_int_equal(t.host->seq, 1);
	assert_int_equal(t.host->same, 1);
	memset(t.host->quota, CTL_NO_QUOTA, sizeof(t.host->quota));
	launch(CTL_WAIT_WORD, 1, 0);
	drained(1, 0);
	assert_int_equal(t.host->ticket, 0);
	for (unsigned i = 0; i < CTL_MAX_SMS; i++)
		assert_int_equal(block().quota[i], 0);
	memset(quota, CTL_NO_QUOTA, sizeof(quota));
	ctl_tell(t.host->quota, &t.host->word, 2, quota);
	assert_int_equal(t.host->same, 1 + CTL_NO_QUOTA);
	memset(t.host->quota, 0, sizeof(t.host->quota));
	launch(CTL_WAIT_WORD, 2, 1);
	ended();
	assert_int_equal(low(block().state), 0); /* CTL_NARROW is not set */
	/* If one quota differs, workers read all of them. */
	anew(state);
	quota[CTL_MAX_SMS - 1] = 1;
	ctl_tell(t.host->quota, &t.host->word, 1, quota);
	assert_int_equal(t.host->same, 0);
	assert_memory_equal(t.host->quota, quota, sizeof(quota));
	launch(CTL_WAIT_WORD, 1, 0);
	ended();
	/* The tenant's word works like the launch's own. */
	anew(state);
	memset(quota, 0, sizeof(quota));
	ctl_tell(t.tenant->quota, &t.tenant->word, 5, quota);
	memset(t.tenant->quota, CTL_NO_QUOTA, sizeof(t.tenant->quota));
	launch(CTL_WAIT_WORD, 0, 0);
	assert_int_equal(t.host->began, 5);
	drained(0, 0);
	assert_int_equal(t.host->ticket, 0);
	resume(1, 1);
}

/* The last worker to exit pauses just before it reports a drain. While it pauses, other workers run
 * all blocks of the launch, and with `another` the next launch drains. When the worker continues,
 * its report is outdated, and must do no harm. `where`: the point at which it pauses. */
static void stands_still(unsigned where, bool another)
{
	volatile uint32_t *stops = (uint32_t *)((char *)t.tenant + STOP_AT);
	uint32_t drains = 0;

	stops[0] = 1;
	word(1, 0);
	start(t.standing[where], t.stream, CTL_WAIT_WORD, 1, 0);
	for (int i = 0; i < 6000 && stops[1] == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	assert_int_equal(stops[1], 1);
	word(2, CTL_NO_QUOTA);
	start(t.fn, t.other, CTL_WAIT_WORD, 2, 1);
	ends(t.other);
	/* The paused worker no longer counts as present, so the launch is over, and the slot
	 * belongs to the next launch. */
	if (another) {
		ended();
		memset(t.host, 0, sizeof(*t.host));
		word(1, 0);
		start(t.fn, t.other, CTL_WAIT_WORD, 1, 0);
		ends(t.other);
		drained(1, 0);
		drains = t.host->drains;
	}
	stops[0] = 0;
	ends(t.stream);
	if (another) {
		drained(1, 0);
		/* Each hardware block of the current launch may have been at this point, too.
		 * Each reports a drain, and the last one reports again for each worker that has
		 * exited or left this code since. So only a range of drains is certain. */
		assert_in_range(t.host->drains, drains, drains + 3 * (WORKERS + 1));
		assert_int_equal(t.host->drains, block().drains);
		assert_int_equal(t.host->finished, 0);
		word(2, CTL_NO_QUOTA);
		start(t.fn, t.other, CTL_WAIT_WORD, 2, 1);
		ends(t.other);
	}
	assert_true(t.host->ticket >= TOTAL);
	assert_int_equal(block().drains, 0);
	assert_int_equal(low(block().state), 0);
	ended();
}

static void tells_late(void **state)
{
	stands_still(0, true);
	anew(state);
	stands_still(1, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(runs, anew),
		cmocka_unit_test_setup(begins_with_the_tenants_word, anew),
		cmocka_unit_test_setup(own_word_first, anew),
		cmocka_unit_test_setup(narrow_goes_on, anew),
		cmocka_unit_test_setup(overtaken, anew),
		cmocka_unit_test_setup(relay_leaves_alone, anew),
		cmocka_unit_test_setup(same_on_all, anew),
		cmocka_unit_test_setup(tells_late, anew),
	};

	int r = cmocka_run_group_tests(tests, begin, NULL);

	t.options.no_pull_ahead = true; /* as in the shim: workers do not claim ahead */
	t.gen = 0;
	return r | cmocka_run_group_tests(tests, begin, NULL);
}
