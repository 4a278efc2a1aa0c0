/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs merged launches one at a time, and waits for each. Between launches no worker uses the
 * control blocks. If blocks are left when a launch ends, another launch of the same kernels
 * follows. A kernel that is already complete still takes part in this later launch. The workers see
 * on entry that its generation is over, and do nothing for it. */
#include "host/merged.h"

#include <string.h>
#include <time.h>

#define PATIENCE 8u /* launches in a row without a block, before workers serve all kernels */

/* ---- computing the plan ---- */
static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Divides places among kernels in proportion to their shares. Each kernel gets at least one place,
 * if there are enough. Places that are left after rounding go to the kernel that is furthest below
 * its share. Kernels that are raised to one place can make the sum larger than the number of
 * places; then the kernel that is furthest above its share gives places back. */
static void apportion_places(const uint32_t *share, unsigned n, uint32_t places, uint32_t *ret)
{
	uint64_t sum = 0;
	uint32_t given = 0;

	for (unsigned k = 0; k < n; k++)
		sum += share[k];
	for (unsigned k = 0; k < n; k++) {
		ret[k] = (uint32_t)(places * (uint64_t)share[k] / sum);
		if (places >= n && ret[k] == 0)
			ret[k] = 1;
		given += ret[k];
	}
	while (given != places) {
		bool more = given < places;
		unsigned best = n;
		double best_lack = 0;

		for (unsigned k = 0; k < n; k++) {
			double due = (double)places * share[k] / (double)sum;
			double lack = more ? due - ret[k] : ret[k] - due;

			if (!more && ret[k] <= (places >= n))
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

/* Reduces the shares to lowest terms, for example 4:2 to 2:1, if there are at least as many places
 * as the sum. The pattern of kernels then repeats after as few workers as possible, so that late
 * workers get the same mixture of kernels as early ones. */
static void mix_shares(const uint32_t *share, unsigned n, uint32_t places, uint32_t *ret)
{
	uint32_t common = share[0];
	uint64_t sum = 0;

	for (unsigned k = 1; k < n; k++)
		common = gcd(common, share[k]);
	for (unsigned k = 0; k < n; k++) {
		ret[k] = share[k] / common;
		sum += ret[k];
	}
	if (sum > places)
		apportion_places(share, n, places, ret);
}

/* Returns a stride that is coprime to n, the number of workers, and close to 0.618 n (the golden
 * section). A worker's index times the stride, modulo n, selects its kernel (ctl/merge.h). So any
 * sequence of successive workers contains the kernels nearly in proportion to their shares. */
static uint32_t find_stride(uint32_t n)
{
	uint32_t stride = MAX((uint32_t)(n * 0.618), 1u);

	while (gcd(stride, n) != 1)
		stride++;
	return stride;
}

static bool has_own(const struct host_merging *merging, unsigned k)
{
	return merging->own >> k & 1;
}

/* Reduces the number of workers in the merged launch, so that kernels with launches of their own
 * get space in proportion to their shares. Each kernel without a launch of its own keeps at least
 * one worker, if there are enough. CTL_APART does not need this: the merged launch starts with all
 * workers, and those on the SMs of kernels with a launch of their own exit. */
static void leave_room(
	const struct host_merging *merging, unsigned n, uint32_t n_sms, struct host_merge_plan *p)
{
	bool per_sm = merging->order == CTL_MIXED;
	uint32_t places = per_sm ? (p->workers + n_sms - 1) / n_sms : p->workers, left, others = 0;
	uint64_t rest = 0, sum = 0;

	for (unsigned k = 0; k < n; k++) {
		sum += merging->share[k];
		rest += has_own(merging, k) ? 0 : merging->share[k];
		others += !has_own(merging, k);
	}
	left = MIN(MAX((uint32_t)(places * rest / sum), others), places);
	p->workers = per_sm ? left * n_sms : left;
}

/* Computes each kernel's share, counted in workers (CTL_PARTITION), in workers on each SM
 * (CTL_MIXED), or in SMs (CTL_APART). A kernel with a launch of its own has no share of the merged
 * launch, because its own workers serve it. With CTL_APART it still gets its SMs. */
static void divide_workers(const struct host_merging *merging, unsigned n, uint32_t n_sms,
	const struct host_merge_plan *p, uint32_t *ret_count)
{
	uint32_t share[CTL_MAX_MERGED] = {0}, count[CTL_MAX_MERGED] = {0};
	unsigned m = 0;

	for (unsigned k = 0; k < n; k++)
		if (merging->order == CTL_APART || !has_own(merging, k))
			share[m++] = merging->share[k];
	if (merging->order == CTL_PARTITION)
		apportion_places(share, m, p->workers, count);
	else if (merging->order == CTL_MIXED)
		mix_shares(share, m, (p->workers + n_sms - 1) / n_sms, count);
	else if (merging->order == CTL_APART)
		apportion_places(share, m, n_sms, count);
	m = 0;
	for (unsigned k = 0; k < n; k++)
		ret_count[k] = merging->order == CTL_APART || !has_own(merging, k) ? count[m++] : 0;
}

/* Stores the kernels' shares in the plan. With CTL_APART, the SMs of the merged launch come first,
 * and then those of the kernels' own launches. */
static enum host_merge_status plan_kinds(const struct host_merging *merging, unsigned n,
	uint32_t n_sms, struct host_merge_plan *p, unsigned *ret_which)
{
	bool apart = merging->order == CTL_APART;
	uint32_t count[CTL_MAX_MERGED], upto = 0;

	if (merging->own && (merging->order == CTL_PARTITION || merging->order == CTL_MIXED))
		leave_room(merging, n, n_sms, p);
	divide_workers(merging, n, n_sms, p, count);
	for (unsigned k = 0; k < n; k++) {
		bool own = has_own(merging, k);

		upto += own ? 0 : count[k];
		p->merge.upto[k] = upto;
		if (!ctl_steals(merging->order) && !count[k] &&
			(own ? apart : !merging->help_others)) {
			*ret_which = k;
			return HOST_MERGE_NO_WORKER;
		}
	}
	p->merge.of = apart ? n_sms : upto;
	p->merge.stride = merging->order == CTL_PARTITION ? find_stride(p->workers) : 1;
	for (unsigned k = 0; k < n && apart; k++) {
		if (!has_own(merging, k))
			continue;
		p->own[k].merge.upto[0] = count[k];
		p->own[k].merge.of = n_sms;
		p->own[k].merge.shift = n_sms - upto;
		upto += count[k];
	}
	return HOST_MERGE_OK;
}

/* Gives each launch of a kernel's own as many workers as the kernel would have alone. Workers that
 * do not fit start when others exit. */
static void plan_own(const struct host_merging *merging, const struct host_merge_part *own,
	unsigned n, const struct host_merge_shape *shapes, uint32_t n_sms,
	struct host_merge_plan *p)
{
	for (unsigned k = 0; k < n; k++) {
		uint64_t workers = own && has_own(merging, k) ? (uint64_t)own[k].per_sm * n_sms : 0;

		p->own[k].per_sm = workers ? own[k].per_sm : 0;
		/* With CTL_APART, workers that start on an SM of another kernel exit. */
		if (merging->order != CTL_APART)
			workers = MIN(workers, host_total_blocks(&shapes[k].shape));
		p->own[k].workers = (uint32_t)workers;
		p->own[k].merge.order = merging->order == CTL_APART ? CTL_APART : CTL_STEAL;
		p->own[k].merge.flags = p->merge.flags & ~(uint32_t)CTL_HELP;
		p->own[k].merge.stride = 1;
	}
}

/* Finds the kernels whose blocks may wait for each other and would all be on the device at once in
 * a separate launch. A worker that runs a block of such a kernel may not finish it until the last
 * block of that kernel has begun. So all blocks of these kernels together need as many workers, or
 * this returns HOST_MERGE_TOO_FEW. With stealing that many workers are enough, because no worker
 * exits while such blocks are left. */
static enum host_merge_status plan_together(const struct host_merging *merging,
	const struct pass_merged *form, unsigned n, const struct host_merge_shape *shapes,
	struct host_merge_plan *p, unsigned *ret_which, uint64_t *ret_blocks)
{
	uint64_t blocks = 0;
	unsigned last = 0;

	for (unsigned k = 0; k < n; k++) {
		p->together[k] = form->of[k].rising_order && shapes[k].fits;
		if (!p->together[k])
			continue;
		blocks += host_total_blocks(&shapes[k].shape);
		last = k;
		/* Refuse the kernel if some of its blocks might get no worker: without stealing,
		 * and also if it has a launch of its own, because the hardware decides which
		 * workers of the two launches start first. Exceptions: a single kernel gets all
		 * workers, and a single block waits for no other block. */
		if ((!ctl_steals(merging->order) || has_own(merging, k)) && n > 1 &&
			host_total_blocks(&shapes[k].shape) > 1) {
			*ret_which = k;
			return HOST_MERGE_ORDER;
		}
	}
	if (blocks <= p->workers)
		return HOST_MERGE_OK;
	*ret_which = last;
	*ret_blocks = blocks;
	return HOST_MERGE_TOO_FEW;
}

static uint32_t plan_workers(const struct host_merging *merging, uint32_t per_sm, unsigned n,
	const struct host_merge_shape *shapes, uint32_t n_sms)
{
	uint64_t workers = (uint64_t)per_sm * n_sms, blocks = 0;
	unsigned rest = n - (unsigned)__builtin_popcount(merging->own);

	if (merging->own && ctl_steals(merging->order) && !merging->workers &&
		!merging->workers_per_sm)
		workers = (uint64_t)MAX(per_sm * rest / n, 1u) * n_sms;
	for (unsigned k = 0; k < n; k++)
		blocks += host_total_blocks(&shapes[k].shape);
	/* With shares on each SM, do not reduce the workers to the number of blocks: if an SM had
	 * space left, the hardware would decide how many workers each kernel gets there. */
	if (ctl_steals(merging->order) || merging->order == CTL_PARTITION)
		workers = MIN(workers, blocks);
	if (merging->workers_per_sm)
		workers = MIN(workers, (uint64_t)merging->workers_per_sm * n_sms);
	if (merging->workers)
		workers = MIN(workers, merging->workers);
	return (uint32_t)workers;
}

enum host_merge_status host_merge_plan(const struct host_merging *merging,
	const struct host_merge_part *all, const struct host_merge_part *own, unsigned n,
	const struct host_merge_shape *shapes, uint32_t n_sms, struct host_merge_plan *ret,
	unsigned *ret_which, uint64_t *ret_blocks)
{
	struct host_merge_plan p = {
		.per_sm = all->per_sm,
		.workers = plan_workers(merging, all->per_sm, n, shapes, n_sms),
		.merge = {.order = merging->order,
			.flags = (merging->help_others ? CTL_HELP : 0) |
				 (merging->times ? CTL_TIMES : 0) |
				 (merging->count ? CTL_COUNT : 0)},
	};
	enum host_merge_status status =
		plan_together(merging, all->form, n, shapes, &p, ret_which, ret_blocks);

	if (status == HOST_MERGE_OK && merging->own && merging->order == CTL_APART &&
		merging->help_others) {
		*ret_which = (unsigned)__builtin_ctz(merging->own);
		status = HOST_MERGE_NO_HELP;
	}
	if (status == HOST_MERGE_OK)
		status = plan_kinds(merging, n, n_sms, &p, ret_which);
	plan_own(merging, own, n, shapes, n_sms, &p);
	*ret = p;
	return status;
}

/* ---- running the launches ---- */
CUresult host_merged_create(const struct cu_api *cu, unsigned n, struct host_merged *ret)
{
	struct host_merged d = {0};
	CUresult r = cu->cuMemAlloc(&d.turns, sizeof(struct ctl_turns));

	for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++)
		r = host_control_create(cu, &d.block[k]);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventCreate(&d.began, 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventCreate(&d.ended, 0);
	if (r == CUDA_SUCCESS)
		*ret = d;
	else
		host_merged_destroy(cu, &d);
	return r;
}

void host_merged_destroy(const struct cu_api *cu, struct host_merged *d)
{
	if (d->turns)
		cu->cuMemFree(d->turns);
	for (unsigned k = 0; k < CTL_MAX_MERGED; k++) {
		if (d->block[k])
			cu->cuMemFree(d->block[k]);
		if (d->stream[k])
			cu->cuStreamDestroy(d->stream[k]);
		if (d->done[k])
			cu->cuEventDestroy(d->done[k]);
	}
	if (d->ready)
		cu->cuEventDestroy(d->ready);
	if (d->began)
		cu->cuEventDestroy(d->began);
	if (d->ended)
		cu->cuEventDestroy(d->ended);
	*d = (struct host_merged){0};
}

/* One merged launch and its arguments. */
struct run {
	const struct cu_api *cu;
	const struct host_merge_part *all, *own;
	unsigned n;
	const struct host_merge_shape *shapes;
	const struct host_merging *merging;
	const struct host_merge_plan *plan;
	struct host_merged *d;
};

static uint32_t inverse_of(uint32_t n)
{
	return (uint32_t)MIN((1ull << 32) / n, UINT32_MAX);
}

/* Computes the constants with which workers of merged and fused forms divide, to get block indices
 * (ctl/args.h). */
static void fill_inverse(struct ctl_args *args)
{
	if (args->total >= CTL_TICKETS_32)
		return;
	args->inverse[0] = inverse_of(args->grid[0]);
	args->inverse[1] = inverse_of(args->grid[1]);
}

/* Computes how many blocks each claim has. At the beginning, workers that run at the same time have
 * neighbouring blocks, as in a separate launch, so that their memory accesses are close as well.
 * Towards the end of the grid the claims shrink; at most half of the blocks are in shrunk
 * claims. */
static void count_claims(uint32_t workers, struct ctl_args *args)
{
	unsigned s = 31 - (unsigned)__builtin_clz(workers), c = 0;
	uint64_t end;

	if (args->total >= CTL_TICKETS_32)
		return;
	args->chunk = (uint32_t)MIN(args->chunk, args->total);
	while (1ull << c < args->chunk)
		c++;
	while (s && ((1ull << c) - 1) << s > args->total / 2)
		c--;
	end = s ? ((1ull << c) - 1) << s : 0;
	args->chunk = s ? MIN(args->chunk, 1u << c) : args->chunk;
	args->even = (uint32_t)((args->total - end) / args->chunk);
	args->claims = (uint32_t)(args->even + (s ? (uint64_t)c << s : 0) +
				  (args->total - end) % args->chunk);
	args->apart = s | c << 8 | (s ? c : 0) << 16;
	args->flags |= CTL_BY_CLAIMS;
}

/* Fills struct ctl_args of kernel k, which is kernel number `at` in the form. */
static void fill_args(
	const struct run *x, const struct host_merge_part *part, unsigned at, unsigned k)
{
	uint32_t workers = x->plan->workers + x->plan->own[k].workers;
	struct pass_kernel_info info = {
		.tier = PASS_MANAGED, .rising_order = part->form->of[at].rising_order};
	struct host_steering steering = {
		.chunk = x->merging->chunks[k] ? x->merging->chunks[k] : x->merging->chunk,
		.yield_every = x->plan->together[k] ? 0 : x->merging->yield_every};
	struct ctl_args args;

	host_fill_args(&x->shapes[k].shape, &info, x->d->block[k], 0, x->d->gen[k], workers,
		&steering, &args);
	if (!steering.yield_every && !info.rising_order) {
		args.flags |= CTL_UNSTEERED;
		args.shrink = host_shrink(workers);
		count_claims(workers, &args);
	}
	fill_inverse(&args);
	memcpy((char *)part->params + part->form->of[at].arg_offset, &args, sizeof(args));
}

static void fill_merge(const struct run *x, uint32_t more_flags)
{
	struct ctl_merge merge = x->plan->merge;

	merge.turns = x->d->turns;
	merge.flags |= more_flags;
	memcpy((char *)x->all->params + x->all->form->merge_offset, &merge, sizeof(merge));
}

static void fill_params(const struct run *x)
{
	struct ctl_merge merge;

	for (unsigned k = 0; k < x->n; k++)
		fill_args(x, x->all, k, k);
	fill_merge(x, 0);
	for (unsigned k = 0; k < x->n; k++) {
		if (!x->plan->own[k].workers)
			continue;
		fill_args(x, &x->own[k], 0, k);
		merge = x->plan->own[k].merge;
		/* A form of one kernel uses the first fields of struct ctl_turns, so `turns` points
		 * to the fields of this kernel. Launches of their own have the order CTL_STEAL or
		 * CTL_APART, with which no other field of the structure is used. */
		merge.turns = x->d->turns + k * sizeof(struct ctl_times);
		memcpy((char *)x->own[k].params + x->own[k].form->merge_offset, &merge,
			sizeof(merge));
	}
}

static CUresult reset_turns(const struct cu_api *cu, CUdeviceptr turns)
{
	struct ctl_turns t = {0};

	for (unsigned k = 0; k < CTL_MAX_MERGED; k++)
		t.of[k].began_ns = UINT64_MAX;
	return cu->cuMemcpyHtoD(turns, &t, sizeof(t));
}

static CUresult launch_part(const struct cu_api *cu, const struct host_merge_part *part,
	uint32_t blocks, CUstream stream)
{
	const struct pass_merged *form = part->form;
	size_t bytes = form->param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, part->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	return cu->cuLaunchKernel(part->fn, blocks, 1, 1, form->block[0], form->block[1],
		form->block[2], form->shared_bytes, stream, NULL, extra);
}

/* Makes the streams for the kernels' own launches. They start after earlier work has ended. */
static CUresult ready_streams(const struct run *x)
{
	const struct cu_api *cu = x->cu;
	struct host_merged *d = x->d;
	CUresult r = CUDA_SUCCESS;

	if (!d->ready)
		r = cu->cuEventCreate(&d->ready, 0);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(d->ready, NULL);
	for (unsigned k = 0; r == CUDA_SUCCESS && k < x->n; k++) {
		if (!x->plan->own[k].workers)
			continue;
		if (!d->stream[k])
			r = cu->cuStreamCreate(&d->stream[k], CU_STREAM_NON_BLOCKING);
		if (r == CUDA_SUCCESS && !d->done[k])
			r = cu->cuEventCreate(&d->done[k], 0);
		if (r == CUDA_SUCCESS)
			r = cu->cuStreamWaitEvent(d->stream[k], d->ready, 0);
	}
	return r;
}

static CUresult launch_own(const struct run *x)
{
	const struct cu_api *cu = x->cu;
	struct host_merged *d = x->d;
	CUresult r = CUDA_SUCCESS;

	for (unsigned k = 0; r == CUDA_SUCCESS && k < x->n; k++) {
		if (!x->plan->own[k].workers)
			continue;
		r = launch_part(cu, &x->own[k], x->plan->own[k].workers, d->stream[k]);
		if (r == CUDA_SUCCESS)
			r = cu->cuEventRecord(d->done[k], d->stream[k]);
	}
	return r;
}

static CUresult join_own(const struct run *x)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned k = 0; r == CUDA_SUCCESS && k < x->n; k++)
		if (x->plan->own[k].workers)
			r = x->cu->cuStreamWaitEvent(NULL, x->d->done[k], 0);
	return r;
}

/* Launches the merged grid and the kernels' own grids. The merged grid usually comes first, because
 * its workers need the most space on an SM. With CTL_APART it comes last: the kernels' own launches
 * fill all SMs first, and those of their workers that are on an SM of another kernel exit. The
 * merged workers then fit only on the SMs that became free in this way. In the opposite order,
 * merged workers that exit would only make space for further merged workers. */
static CUresult launch_grids(const struct run *x, uint32_t workers, bool first)
{
	const struct cu_api *cu = x->cu;
	bool last = x->merging->order == CTL_APART;
	CUresult r = first ? cu->cuEventRecord(x->d->began, NULL) : CUDA_SUCCESS;

	if (r == CUDA_SUCCESS && x->merging->own)
		r = ready_streams(x);
	if (r == CUDA_SUCCESS && last)
		r = launch_own(x);
	if (r == CUDA_SUCCESS)
		r = launch_part(cu, x->all, workers, NULL);
	if (r == CUDA_SUCCESS && !last)
		r = launch_own(x);
	if (r == CUDA_SUCCESS)
		r = join_own(x);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(x->d->ended, NULL);
	return r == CUDA_SUCCESS ? cu->cuCtxSynchronize() : r;
}

/* The progress of all kernels. */
struct progress {
	uint64_t handed; /* number of blocks claimed so far */
	uint64_t left;   /* number of blocks not claimed yet */
	unsigned undone; /* number of incomplete kernels */
	unsigned first;  /* the first incomplete kernel */
};

/* Reads how far the kernels are, and removes the quotas of incomplete kernels for the next
 * launch. */
static CUresult read_progress(const struct cu_api *cu, unsigned n,
	const struct host_merge_shape *shapes, const struct host_merged *d, struct progress *ret)
{
	struct progress p = {0};

	for (unsigned k = n; k-- > 0;) {
		uint64_t total = host_total_blocks(&shapes[k].shape), handed = total;
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

static CUresult add_times(const struct cu_api *cu, unsigned n, const struct host_merged *d,
	struct host_merged_stats *stats)
{
	struct ctl_turns t;
	CUresult r = cu->cuMemcpyDtoH(&t, d->turns, sizeof(t));

	for (unsigned k = 0; r == CUDA_SUCCESS && k < n; k++) {
		struct ctl_times *sum = &stats->of[k];

		sum->began_ns = MIN(sum->began_ns, t.of[k].began_ns);
		sum->ended_ns = MAX(sum->ended_ns, t.of[k].ended_ns);
		sum->busy_ns += t.of[k].busy_ns;
		sum->most = MAX(sum->most, t.of[k].most);
		stats->first_ns = MIN(stats->first_ns, sum->began_ns);
	}
	return r;
}

/* After a launch that ran no block. With CTL_MIXED and CTL_APART, the worker's SM (CTL_APART), or the
 * worker's number on that SM (CTL_MIXED), decides which kernel the worker serves, and the hardware
 * chooses the SM. If other programs occupy all SMs of the kernel that is left, a launch gets no
 * worker for this kernel. So wait for these programs, a little longer each time; and after a few
 * launches let all workers serve all kernels, if that is possible. If not (a kernel has a launch of
 * its own on SMs of its own), wait for as long as it takes. Returns false if no other program can be
 * the cause. */
static bool wait_for_sms(const struct run *x, unsigned in_vain)
{
	const struct host_merging *merging = x->merging;
	bool can_help = !(merging->own && merging->order == CTL_APART);
	struct timespec t = {.tv_nsec = 1000000 * MIN(in_vain, 20)};

	if (merging->order != CTL_MIXED && merging->order != CTL_APART)
		return false;
	if (in_vain > 2 * PATIENCE && can_help)
		return false;
	if (in_vain == PATIENCE && can_help)
		fill_merge(x, CTL_HELP);
	nanosleep(&t, NULL);
	return true;
}

CUresult host_merged_run(const struct cu_api *cu, const struct host_merge_part *all,
	const struct host_merge_part *own, unsigned n, const struct host_merge_shape *shapes,
	const struct host_merging *merging, const struct host_merge_plan *plan,
	struct host_merged *io, struct host_merged_stats *ret)
{
	const struct run x = {cu, all, own, n, shapes, merging, plan, io};
	struct host_merged_stats stats = {.first_ns = UINT64_MAX};
	struct progress before = {0}, p;
	uint32_t workers = plan->workers;
	unsigned in_vain = 0;
	CUresult r = CUDA_SUCCESS;

	for (unsigned k = 0; k < n; k++)
		stats.of[k].began_ns = UINT64_MAX;
	fill_params(&x);
	for (;; before = p) {
		r = reset_turns(cu, io->turns);
		if (r == CUDA_SUCCESS)
			r = launch_grids(&x, workers, stats.launches == 0);
		if (r == CUDA_SUCCESS)
			r = read_progress(cu, n, shapes, io, &p);
		if (r == CUDA_SUCCESS && (merging->times || merging->count))
			r = add_times(cu, n, io, &stats);
		if (r != CUDA_SUCCESS)
			return r;
		stats.launches++;
		if (!p.undone)
			break;
		in_vain = p.handed > before.handed ? 0 : in_vain + 1;
		if (in_vain && !wait_for_sms(&x, in_vain)) {
			ret->stalled = p.first;
			return CUDA_ERROR_UNKNOWN;
		}
		/* Otherwise the number of workers decides which kernel a worker serves, so it must
		 * not change. */
		if (ctl_steals(merging->order))
			workers = (uint32_t)MIN(workers, MAX(p.left, 1ull));
	}
	for (unsigned k = 0; k < n; k++)
		io->gen[k]++;
	r = cu->cuEventElapsedTime(&stats.ms, io->began, io->ended);
	if (r == CUDA_SUCCESS)
		*ret = stats;
	return r;
}

uint64_t host_fused_blocks(unsigned n, const struct host_merge_shape *shapes)
{
	uint64_t most = 0;

	for (unsigned k = 0; k < n; k++)
		most = MAX(most, host_total_blocks(&shapes[k].shape));
	return most;
}

CUresult host_fused_run(const struct cu_api *cu, CUfunction fn, const struct pass_merged *form,
	unsigned n, const struct host_merge_shape *shapes, void *params, struct host_merged *io,
	struct host_merged_stats *ret)
{
	static const struct host_steering none;
	const struct host_merge_part part = {fn, form, params, 0};
	struct host_merged_stats stats = {.launches = 1};
	struct pass_kernel_info info = {0};
	CUresult r;

	for (unsigned k = 0; k < n; k++) {
		struct ctl_args args;

		host_fill_args(&shapes[k].shape, &info, 0, 0, 0, 1, &none, &args);
		fill_inverse(&args);
		memcpy((char *)params + form->of[k].arg_offset, &args, sizeof(args));
	}
	r = cu->cuEventRecord(io->began, NULL);
	if (r == CUDA_SUCCESS)
		r = launch_part(cu, &part, (uint32_t)host_fused_blocks(n, shapes), NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuEventRecord(io->ended, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	if (r == CUDA_SUCCESS)
		r = cu->cuEventElapsedTime(&stats.ms, io->began, io->ended);
	if (r == CUDA_SUCCESS)
		*ret = stats;
	return r;
}
