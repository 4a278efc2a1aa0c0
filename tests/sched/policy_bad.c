/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A policy that does what its options say, mostly wrong things. The options are a word, or a number
 * N: every kernel gets N blocks on each SM. BAD_ABI and BAD_SIZE set the version and size in its
 * table. BAD_MISSING: it calls an undefined function. */
#include "policy_bad.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef BAD_ABI
#define BAD_ABI HEDDLE_POLICY_ABI
#endif
#ifndef BAD_SIZE
#define BAD_SIZE sizeof(struct heddle_policy)
#endif

struct bad {
	char does[32];
	uint32_t n_sms;
};

/* An invalid address. Not NULL, on which a sanitizer would end the program itself. */
static volatile uintptr_t nowhere = 64;

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* Overflows the stack by recursion with a large n. */
static int overflow(unsigned n)
{
	volatile char here[4096];

	here[0] = (char)n;
	return n ? overflow(n - 1) + here[0] : 0;
}

/* Ends the process in the given way. The policy's option is just the way if `decide` is to end the
 * process, and CALL=WAY for another function. BAD_LOAD in the environment selects the way at load
 * time. */
static void end_process(const char *way)
{
	if (strcmp(way, "crash") == 0)
		*(volatile int *)nowhere = 1;
	else if (strcmp(way, "abort") == 0)
		abort();
	else if (strcmp(way, "overflow") == 0)
		overflow(~0u);
	else if (strcmp(way, "exit") == 0)
		exit(0);
	else if (strcmp(way, "_exit") == 0)
		_exit(0);
	else if (strcmp(way, "_Exit") == 0)
		_Exit(0);
	else if (strcmp(way, "quick_exit") == 0)
		quick_exit(0);
	else if (strcmp(way, "kill") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(way, "hang") == 0)
		wait_for_ever();
}

static void end_in(const char *options, const char *call)
{
	size_t n = strlen(call);

	if (strncmp(options, call, n) == 0 && options[n] == '=')
		end_process(options + n + 1);
}

static void __attribute__((constructor)) on_load(void)
{
	const char *way = getenv("BAD_LOAD");

	if (way)
		end_process(way);
}

static void *create(const struct heddle_policy_device *device, const char *options)
{
	struct bad *b = calloc(1, sizeof(*b));

	if (strcmp(options, "create=null") == 0 || !b) {
		free(b);
		return NULL;
	}
	end_in(options, "create");
	strncpy(b->does, options, sizeof(b->does) - 1);
	b->n_sms = device->n_sms;
	return b;
}

static void destroy(void *state)
{
	struct bad *b = state;

	end_in(b->does, "destroy");
	free(b);
}

static void give(const struct heddle_policy_view *in, struct heddle_policy_plan *out, uint8_t n)
{
	for (uint32_t i = 0; i < in->n_kernels; i++)
		memset(heddle_policy_row(in, out, i), n, in->device->n_sms);
}

/* unranked=N: kernels in the guard form have N blocks on each SM, all others have no bound. */
static void give_unranked(
	const struct heddle_policy_view *in, struct heddle_policy_plan *out, uint8_t n)
{
	give(in, out, HEDDLE_POLICY_UNBOUNDED);
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		if (heddle_policy_kernel_at(in, i)->unranked)
			memset(heddle_policy_row(in, out, i), n, in->device->n_sms);
	}
}

/* Swaps the halves of the SMs between the kernels every 20 ms. */
#define MOVE_NS 20000000u
static void move(const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	uint32_t n = in->device->n_sms, half = n / 2;

	for (uint32_t i = 0; i < in->n_kernels; i++) {
		uint32_t upper = (uint32_t)(in->now_ns / MOVE_NS + i) & 1;

		memset(heddle_policy_row(in, out, i) + (upper ? half : 0), HEDDLE_POLICY_UNBOUNDED,
			upper ? n - half : half);
	}
	out->wake_ns = (in->now_ns / MOVE_NS + 1) * MOVE_NS;
}

/* sizes=N: each kernel has the same number of blocks on each SM, and the number changes every N ms.
 * Near the end of each step it is 1 for 2 ms, and then larger again before many blocks have
 * noticed. */
#define BRIEF_NS 2000000u
static void resize(
	const struct heddle_policy_view *in, struct heddle_policy_plan *out, uint64_t step_ns)
{
	static const uint8_t sizes[] = {2, 12, 3, HEDDLE_POLICY_UNBOUNDED, 1, 8};
	uint64_t step = in->now_ns / step_ns, brief = (step + 1) * step_ns - step_ns / 12;

	if (in->now_ns < brief)
		out->wake_ns = brief;
	else if (in->now_ns < brief + BRIEF_NS)
		out->wake_ns = brief + BRIEF_NS;
	else
		out->wake_ns = (step + 1) * step_ns;
	give(in, out, out->wake_ns == brief + BRIEF_NS ? 1 : sizes[step % sizeof(sizes)]);
}

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	const struct bad *b = state;

	bad_view(in);
	if (strcmp(b->does, "nobody") == 0)
		return;
	/* plans for one kernel and never asks to be called again */
	if (strcmp(b->does, "first") == 0) {
		if (in->n_kernels)
			memset(heddle_policy_row(in, out, 0), HEDDLE_POLICY_UNBOUNDED, b->n_sms);
		return;
	}
	if (strcmp(b->does, "move") == 0) {
		move(in, out);
		return;
	}
	if (strncmp(b->does, "last=", 5) == 0) { /* last=N: N blocks, only on the last SM */
		for (uint32_t i = 0; i < in->n_kernels; i++)
			heddle_policy_row(in, out, i)[b->n_sms - 1] = (uint8_t)atoi(b->does + 5);
		return;
	}
	if (strncmp(b->does, "unranked=", 9) == 0) {
		give_unranked(in, out, (uint8_t)atoi(b->does + 9));
		return;
	}
	if (strncmp(b->does, "sizes=", 6) == 0) {
		resize(in, out, (uint64_t)atoi(b->does + 6) * 1000000u);
		return;
	}
	if (strncmp(b->does, "hold", 4) == 0) {
		memset(out->held, 1, in->n_tenants);
		if (strcmp(b->does, "hold but first") == 0 && in->n_kernels)
			memset(heddle_policy_row(in, out, 0), 2, b->n_sms);
		return;
	}
	give(in, out, b->does[0] >= '0' && b->does[0] <= '9' ? (uint8_t)atoi(b->does) : 255);
	if (strcmp(b->does, "soon") == 0)
		out->wake_ns = in->now_ns;
	else if (strcmp(b->does, "doze") == 0 && in->n_kernels)
		/* longer than a step of the loop should take, shorter than a hang */
		usleep(150000);
	else if (strcmp(b->does, "behind") == 0)
		out->quota[in->n_kernels * b->n_sms] = 0;
	else if (strcmp(b->does, "before") == 0)
		out->quota[-1] = 0;
	else if (strcmp(b->does, "held=behind") == 0)
		out->held[in->n_tenants] = 1;
	else if (in->n_kernels)
		end_process(b->does);
}

#ifdef BAD_MISSING
void bad_nowhere(void);
#define BAD_CALL bad_nowhere()
#else
#define BAD_CALL (void)0
#endif

static const struct heddle_policy table = {
	.size = BAD_SIZE,
	.abi = BAD_ABI,
	.name = "bad",
	.create = create,
	.destroy = destroy,
	.decide = decide,
};

const struct heddle_policy *heddle_policy(void)
{
	BAD_CALL;
	return &table;
}
