/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Merged launches, waited for. What always holds: between launches all control blocks are idle. A
 * kernel that is done stays in the launches that follow for the others' sake: its generation is
 * over, which workers find out as they come. */
#include "dev/merged.h"

#include <string.h>

/* ---- the plan ---- */
static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Slots to kernels by their shares, each at least one where there are as many. What rounding leaves
 * goes to who has the least of what is due to it. */
static void apportion(const uint32_t *share, unsigned n, uint32_t slots, uint32_t *ret)
{
	uint64_t sum = 0;
	uint32_t given = 0;

	for (unsigned k = 0; k < n; k++)
		sum += share[k];
	for (unsigned k = 0; k < n; k++) {
		ret[k] = (uint32_t)(slots * (uint64_t)share[k] / sum);
		if (slots >= n && ret[k] == 0)
			ret[k] = 1;
		given += ret[k];
	}
	while (given != slots) {
		bool more = given < slots;
		unsigned best = n;
		double best_lack = 0;

		for (unsigned k = 0; k < n; k++) {
			double due = (double)slots * share[k] / (double)sum;
			double lack = more ? due - ret[k] : ret[k] - due;

			if (!more && ret[k] <= (slots >= n))
				continue;
			if (best == n || lack > best_lack) {
				best = k;
				best_lack = lack;
			}
		}
		ret[best] += more ? 1 : UINT32_MAX;
		given += more ? 1 : UINT32_MAX;
	}
}

/* The shares themselves, in lowest terms, where a round of them goes into the slots: then who comes
 * last finds the same mixture as who comes first. */
static void mix(const uint32_t *share, unsigned n, uint32_t slots, uint32_t *ret)
{
	uint32_t common = share[0];
	uint64_t sum = 0;

	for (unsigned k = 1; k < n; k++)
		common = gcd(common, share[k]);
	for (unsigned k = 0; k < n; k++) {
		ret[k] = share[k] / common;
		sum += ret[k];
	}
	if (sum > slots)
		apportion(share, n, slots, ret);
}

/* Without a common divisor with n, and near the golden section of it: wherever workers begin, those
 * that follow belong to the kernels in due proportion. */
static uint32_t spread(uint32_t n)
{
	uint32_t stride = MAX((uint32_t)(n * 0.618), 1u);

	while (gcd(stride, n) != 1)
		stride++;
	return stride;
}

static enum dev_merge_status plan_kinds(const struct dev_merging *how, unsigned n, uint32_t n_sms,
	struct dev_merge_plan *p, unsigned *ret_which)
{
	uint32_t count[CTL_MAX_MERGED] = {0}, upto = 0;

	if (how->order == CTL_PARTITION)
		apportion(how->share, n, p->workers, count);
	else if (how->order == CTL_MIXED)
		mix(how->share, n, (p->workers + n_sms - 1) / n_sms, count);
	else if (how->order == CTL_APART)
		apportion(how->share, n, n_sms, count);
	for (unsigned k = 0; k < n; k++) {
		upto += count[k];
		p->merge.upto[k] = upto;
		if (how->order != CTL_STEAL && !count[k] && !how->help_others) {
			*ret_which = k;
			return DEV_MERGE_NO_WORKER;
		}
	}
	p->merge.stride = how->order == CTL_PARTITION ? spread(p->workers) : 1;
	return DEV_MERGE_OK;
}

/* Kernels that natively have all their blocks there at once, and may need it: whoever runs one of
 * these blocks may stay with it until the last of them has begun. With CTL_STEAL no worker leaves
 * while there are any, so enough workers are enough. */
static enum dev_merge_status plan_together(const struct dev_merging *how,
	const struct pass_merged *form, unsigned n, const struct dev_merge_shape *shapes,
	struct dev_merge_plan *p, unsigned *ret_which, uint64_t *ret_blocks)
{
	uint64_t blocks = 0;
	unsigned last = 0;

	for (unsigned k = 0; k < n; k++) {
		p->together[k] = form->of[k].rising_order && shapes[k].fits;
		if (!p->together[k])
			continue;
		blocks += dev_total_blocks(&shapes[k].shape);
		last = k;
		/* One block has nobody to wait for; of one kernel everybody is. */
		if (how->order != CTL_STEAL && n > 1 && dev_total_blocks(&shapes[k].shape) > 1) {
			*ret_which = k;
			return DEV_MERGE_ORDER;
		}
	}
	if (blocks <= p->workers)
		return DEV_MERGE_OK;
	*ret_which = last;
	*ret_blocks = blocks;
	return DEV_MERGE_TOO_FEW;
}

enum dev_merge_status dev_merge_plan(const struct dev_merging *how, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, uint32_t per_sm, uint32_t n_sms,
	struct dev_merge_plan *ret, unsigned *ret_which, uint64_t *ret_blocks)
{
	struct dev_merge_plan p = {
		.per_sm = per_sm,
		.merge = {.order = how->order,
			.flags = (how->help_others ? CTL_HELP : 0) | (how->times ? CTL_TIMES : 0)},
	};
	uint64_t workers = (uint64_t)per_sm * n_sms, blocks = 0;
	enum dev_merge_status status;

	for (unsigned k = 0; k < n; k++)
		blocks += dev_total_blocks(&shapes[k].shape);
	/* By SM, every place is filled: with fewer workers than places it would be for the hardware
	 * to say which kernel has how many. */
	if (how->order == CTL_STEAL || how->order == CTL_PARTITION)
		workers = MIN(workers, blocks);
	if (how->workers_per_sm)
		workers = MIN(workers, (uint64_t)how->workers_per_sm * n_sms);
	if (how->workers)
		workers = MIN(workers, how->workers);
	p.workers = (uint32_t)workers;
	status = plan_together(how, form, n, shapes, &p, ret_which, ret_blocks);
	if (status == DEV_MERGE_OK)
		status = plan_kinds(how, n, n_sms, &p, ret_which);
	*ret = p;
	return status;
}

/* ---- launches ---- */
CUresult dev_merged_create(const struct cu_api *cu, unsigned n, struct dev_merged *ret)
{
	struct dev_merged d = {0};
	CUresult r = cu->cuMemAlloc(&d.turns, sizeof(struct ctl_turns));

	for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++)
		r = dev_control_create(cu, &d.block[k]);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventCreate(&d.began, 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventCreate(&d.ended, 0);
	if (r == CUDA_SUCCESS)
		*ret = d;
	else
		dev_merged_destroy(cu, &d);
	return r;
}

void dev_merged_destroy(const struct cu_api *cu, struct dev_merged *d)
{
	if (d->turns)
		cu->cuMemFree(d->turns);
	for (unsigned k = 0; k < CTL_MAX_MERGED; k++)
		if (d->block[k])
			cu->cuMemFree(d->block[k]);
	if (d->began)
		cu->cuEventDestroy(d->began);
	if (d->ended)
		cu->cuEventDestroy(d->ended);
	*d = (struct dev_merged){0};
}

static void fill_params(const struct pass_merged *form, unsigned n,
	const struct dev_merge_shape *shapes, const struct dev_merging *how,
	const struct dev_merge_plan *plan, const struct dev_merged *d, void *params)
{
	struct ctl_merge merge = plan->merge;

	for (unsigned k = 0; k < n; k++) {
		struct pass_kernel_info info = {
			.tier = PASS_MANAGED, .rising_order = form->of[k].rising_order};
		struct dev_steering steering = {
			.chunk = how->chunks[k] ? how->chunks[k] : how->chunk,
			.yield_every = plan->together[k] ? 0 : how->yield_every};
		struct ctl_args args;

		dev_fill_args(&shapes[k].shape, &info, d->block[k], 0, d->gen[k], plan->workers,
			&steering, &args);
		/* Who claims ahead leaves the last blocks to whoever comes first. */
		if (!steering.yield_every && !info.rising_order) {
			args.flags |= CTL_UNSTEERED;
			args.shrink = dev_shrink(plan->workers);
		}
		memcpy((char *)params + form->of[k].arg_offset, &args, sizeof(args));
	}
	merge.turns = d->turns;
	memcpy((char *)params + form->merge_offset, &merge, sizeof(merge));
}

static CUresult reset_turns(const struct cu_api *cu, CUdeviceptr turns)
{
	struct ctl_turns t = {0};

	for (unsigned k = 0; k < CTL_MAX_MERGED; k++)
		t.of[k].began_ns = UINT64_MAX;
	return cu->cuMemcpyHtoD(turns, &t, sizeof(t));
}

static CUresult launch(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	uint32_t workers, void *params, struct dev_merged *d, bool first)
{
	size_t bytes = form->param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};
	CUresult r = CUDA_SUCCESS;

	if (first)
		r = cu->cuEventRecord(d->began, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuLaunchKernel(fn, workers, 1, 1, form->block[0], form->block[1],
			form->block[2], form->shared_bytes, NULL, NULL, extra);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(d->ended, NULL);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

/* How far the kernels are. */
struct progress {
	uint64_t handed; /* blocks handed out so far */
	uint64_t left;   /* not yet */
	unsigned undone; /* kernels */
	unsigned first;  /* of these */
};

/* Quotas of those that are not done are lifted, for the next launch. */
static CUresult look(const struct cu_api *cu, unsigned n, const struct dev_merge_shape *shapes,
	const struct dev_merged *d, struct progress *ret)
{
	struct progress p = {0};

	for (unsigned k = n; k-- > 0;) {
		uint64_t total = dev_total_blocks(&shapes[k].shape), handed = total;
		struct ctl_block state;
		CUresult r = cu->cuMemcpyDtoH(&state, d->block[k], sizeof(state));

		if (r != CUDA_SUCCESS)
			return r;
		if (state.gate != d->gen[k] + 1) {
			handed = MIN(state.ticket, total);
			p.undone++;
			p.first = k;
			r = cu->cuMemsetD32(d->block[k] + offsetof(struct ctl_block, quota),
				CTL_NO_QUOTA, CTL_MAX_SMS);
			if (r != CUDA_SUCCESS)
				return r;
		}
		p.handed += handed;
		p.left += total - handed;
	}
	*ret = p;
	return CUDA_SUCCESS;
}

static CUresult add_times(const struct cu_api *cu, unsigned n, const struct dev_merged *d,
	struct dev_merged_stats *stats)
{
	struct ctl_turns t;
	CUresult r = cu->cuMemcpyDtoH(&t, d->turns, sizeof(t));

	for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++) {
		struct ctl_times *sum = &stats->of[k];

		sum->began_ns = MIN(sum->began_ns, t.of[k].began_ns);
		sum->ended_ns = MAX(sum->ended_ns, t.of[k].ended_ns);
		sum->busy_ns += t.of[k].busy_ns;
		stats->first_ns = MIN(stats->first_ns, sum->began_ns);
	}
	return r;
}

/* Launches in a row that may hand out nothing. Which SMs workers come to is for the hardware to
 * say, and where others use the device, too, a kernel's own may all be taken. */
static unsigned patience(const struct dev_merging *how)
{
	return how->order == CTL_MIXED || how->order == CTL_APART ? 8 : 0;
}

CUresult dev_merged_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, const struct dev_merging *how,
	const struct dev_merge_plan *plan, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret)
{
	struct dev_merged_stats stats = {.first_ns = UINT64_MAX};
	struct progress before = {0}, p;
	uint32_t workers = plan->workers;
	unsigned in_vain = 0;
	CUresult r = CUDA_SUCCESS;

	for (unsigned k = 0; k < n; k++)
		stats.of[k].began_ns = UINT64_MAX;
	fill_params(form, n, shapes, how, plan, io, params);
	for (;; before = p) {
		r = reset_turns(cu, io->turns);
		if (r == CUDA_SUCCESS)
			r = launch(cu, fn, form, workers, params, io, stats.launches == 0);
		if (r == CUDA_SUCCESS)
			r = look(cu, n, shapes, io, &p);
		if (r == CUDA_SUCCESS && how->times)
			r = add_times(cu, n, io, &stats);
		if (r != CUDA_SUCCESS)
			return r;
		stats.launches++;
		if (!p.undone)
			break;
		in_vain = p.handed > before.handed ? 0 : in_vain + 1;
		if (in_vain > patience(how)) {
			ret->stalled = p.first;
			return CUDA_ERROR_UNKNOWN;
		}
		/* Who belongs to which kernel depends on how many they are. */
		if (how->order == CTL_STEAL)
			workers = (uint32_t)MIN(workers, MAX(p.left, 1ull));
	}
	for (unsigned k = 0; k < n; k++)
		io->gen[k]++;
	r = cu->cuEventElapsedTime(&stats.ms, io->began, io->ended);
	if (r == CUDA_SUCCESS)
		*ret = stats;
	return r;
}

uint64_t dev_fused_blocks(unsigned n, const struct dev_merge_shape *shapes)
{
	uint64_t most = 0;

	for (unsigned k = 0; k < n; k++)
		most = MAX(most, dev_total_blocks(&shapes[k].shape));
	return most;
}

CUresult dev_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct dev_merge_shape *shapes, void *params, struct dev_merged *io,
	struct dev_merged_stats *ret)
{
	static const struct dev_steering none;
	struct dev_merged_stats stats = {.launches = 1};
	struct pass_kernel_info info = {0};
	CUresult r;

	for (unsigned k = 0; k < n; k++) {
		struct ctl_args args;

		dev_fill_args(&shapes[k].shape, &info, 0, 0, 0, 1, &none, &args);
		memcpy((char *)params + form->of[k].arg_offset, &args, sizeof(args));
	}
	r = launch(cu, fn, form, (uint32_t)dev_fused_blocks(n, shapes), params, io, true);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventElapsedTime(&stats.ms, io->began, io->ended);
	if (r == CUDA_SUCCESS)
		*ret = stats;
	return r;
}
