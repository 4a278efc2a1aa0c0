/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Creates pools of tasks, adds kernels to them, and destroys them. Each new kernel requires that
 * the pool's module is built again. The kernels' forms keep their numbers in the new module, so
 * tasks that are queued but have not begun stay valid. */
#include "rt/pool_all.h"
#include "rt/pool_row.h"

#include "host/outside.h"
#include "pass/task/task_shared.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY_KERNEL   "ordinary launches run any kernel" /* a hint in errors */
#define THREADS      1024u
#define REGISTERS    32u
#define ARGS         1024u
#define ARGS_MAX     32768u
#define IDLE_US      1000u
#define BEAT_MS      10000u
#define BEATS        8u  /* beats within beat_ms */
#define BEAT_MOST    50u /* maximum time between two beats in ms, if the pool has a lifetime */
#define LIFETIME_MS  100u
#define TICKET_BYTES 128u
#define SHARED_MOST  (1024u * TASK_UNIT)
#define STAMPS_NS    10000000000u /* timeout after a task's end */
/* Barriers that a block of the pool uses if its tasks have barriers: all 16 that a block can have.
 * The code takes the barrier's number from a register, so the assembler has to reserve all of
 * them. */
#define BARRIERS 16u
/* An SM has this many barriers for each block that it can hold at most (CUDA's
 * cuda_occupancy.h). */
#define SM_BARRIERS 2u

/* ---- shape of the pool ---- */

static int check_options(struct heddle *h, struct heddle_tasks_options *o)
{
	o->threads = o->threads ? o->threads : THREADS;
	o->registers = o->registers ? o->registers : REGISTERS;
	o->args_bytes = o->args_bytes ? o->args_bytes : ARGS;
	o->idle_us = o->idle_us ? o->idle_us : IDLE_US;
	o->beat_ms = o->beat_ms ? o->beat_ms : BEAT_MS;
	o->lifetime_ms = o->lifetime_ms ? o->lifetime_ms : LIFETIME_MS;
	if (!o->beat_every_ms) {
		o->beat_every_ms = MAX(o->beat_ms / BEATS, 1u);
		if (o->lifetime_ms != UINT_MAX)
			o->beat_every_ms = MIN(o->beat_every_ms, BEAT_MOST);
	}
	if (o->threads < 64 || o->threads > 1024 || o->threads % 32)
		return rt_fail(h, -EINVAL, "64 to 1,024, a multiple of 32",
			"a pool with blocks of %u threads", o->threads);
	if (o->registers != 32 && o->registers != 64 && o->registers != 128)
		return rt_fail(h, -EINVAL, "32, 64 or 128", "a pool with %u registers a thread",
			o->registers);
	if (o->leave_sms >= h->d.n_sms)
		return rt_fail(h, -EINVAL, NULL, "a pool that leaves %u of %u SMs", o->leave_sms,
			h->d.n_sms);
	if (o->args_bytes > ARGS_MAX)
		return rt_fail(h, -EINVAL, NULL, "kernels with %u bytes of parameters: at most %u",
			o->args_bytes, ARGS_MAX);
	if (o->shared_bytes > SHARED_MOST)
		return rt_fail(h, -EINVAL, NULL, "%u bytes of shared memory a block: at most %u",
			o->shared_bytes, SHARED_MOST);
	return 0;
}

static int get_attribute(struct heddle *h, CUdevice_attribute what, unsigned *ret)
{
	int v = 0;

	RT_TRY(h, h->d.cu.cuDeviceGetAttribute(&v, what, h->d.device), "the device's limits");
	*ret = (unsigned)MAX(v, 0);
	return 0;
}

/* Computes how many blocks of the pool an SM holds, by its threads, registers and shared memory,
 * and divides the shared memory equally among them. If the program sets the number of blocks, only
 * checks that so many fit. If not, the number is also limited by the SM's barriers: a kernel with
 * barriers may be added later, and must fit in every block. */
static int find_shape(struct heddle_tasks *t)
{
	struct heddle *h = t->h;
	const struct heddle_tasks_options *o = &t->o;
	unsigned threads = 0, regs = 0, shared = 0, most = 0, own = 0, blocks = 0, fit, left;
	int r = get_attribute(h, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &threads);

	if (r == 0)
		r = get_attribute(h, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &regs);
	if (r == 0)
		r = get_attribute(
			h, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &shared);
	if (r == 0)
		r = get_attribute(h, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &most);
	if (r == 0)
		r = get_attribute(h, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &own);
	if (r == 0)
		r = get_attribute(h, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &blocks);
	if (r < 0)
		return r;
	/* 128: alignment of the memory after it */
	own += (unsigned)sizeof(struct task_shared) + 128;
	fit = MIN(threads / o->threads, regs / (o->threads * o->registers));
	if (o->shared_bytes)
		fit = MIN(fit, shared / (own + o->shared_bytes));
	t->per_sm = o->blocks_per_sm;
	if (!t->per_sm)
		t->per_sm = MIN(fit, MAX(blocks * SM_BARRIERS / BARRIERS, 1u));
	if (fit == 0 || t->per_sm > fit)
		return rt_fail(h, -EINVAL, "fewer threads, registers or bytes of shared memory",
			"an SM holds %u blocks of %u threads with %u registers and %u bytes", fit,
			o->threads, o->registers, o->shared_bytes);
	left = MIN(shared / t->per_sm, most);
	t->shared_most = o->shared_bytes ? o->shared_bytes : left > own ? left - own : 0;
	t->shared_most = MIN(t->shared_most, SHARED_MOST) / TASK_UNIT * TASK_UNIT;
	t->shared_bytes = t->shared_most;
	if (!o->shared_bytes) /* the other half is for other programs and for the L1 cache */
		t->shared_bytes = t->shared_most / 2 / TASK_UNIT * TASK_UNIT;
	t->n_columns = MIN((h->d.n_sms - o->leave_sms) * t->per_sm, POOL_MAX_COLUMNS);
	t->executors = o->threads / 32 - 1;
	t->more_bytes = (uint32_t)round_up(o->args_bytes, 16);
	return 0;
}

static int get_memory(struct heddle_tasks *t)
{
	struct heddle *h = t->h;
	size_t n = t->n_columns, more = n * TASK_ROWS * t->more_bytes;
	size_t own = n * (sizeof(struct task_own) + TASK_ROWS * (size_t)t->more_bytes);
	const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;

	RT_TRY(h, h->d.cu.cuMemHostAlloc((void **)&t->columns, n * sizeof(*t->columns), flags),
		"a pool's rows");
	RT_TRY(h, h->d.cu.cuMemHostAlloc((void **)&t->more, more, flags), "a pool's parameters");
	RT_TRY(h, h->d.cu.cuMemHostGetDevicePointer(&t->columns_at, t->columns, 0),
		"a pool's rows");
	RT_TRY(h, h->d.cu.cuMemHostGetDevicePointer(&t->more_at, t->more, 0), "a pool's rows");
	RT_TRY(h, h->d.cu.cuMemAlloc(&t->own, own), "a pool's memory");
	RT_TRY(h, h->d.cu.cuMemsetD8(t->own, 0, own), "a pool's memory");
	RT_TRY(h, h->d.cu.cuMemAlloc(&t->tickets, POOL_LAUNCHES * TICKET_BYTES), "a pool's memory");
	RT_TRY(h, h->d.cu.cuMemHostAlloc((void **)&t->lists, POOL_LAUNCHES * n * 4, flags),
		"a pool's lists");
	RT_TRY(h, h->d.cu.cuMemHostGetDevicePointer(&t->lists_at, t->lists, 0), "a pool's lists");
	for (unsigned i = 0; i < POOL_LAUNCHES; i++) {
		struct pool_launch *l = &t->at_once[i];

		RT_TRY(h, h->d.cu.cuStreamCreate(&l->stream, CU_STREAM_NON_BLOCKING), "a stream");
		l->ticket = t->tickets + i * TICKET_BYTES;
		l->list = t->lists + i * n;
		l->list_at = t->lists_at + i * n * 4;
	}
	memset(t->columns, 0, n * sizeof(*t->columns));
	t->of = aligned_alloc(128, n * sizeof(*t->of));
	if (!t->of)
		return rt_out_of_memory(h);
	memset(t->of, 0, n * sizeof(*t->of));
	for (size_t c = 0; c < n; c++) {
		t->of[c].at = &t->columns[c];
		t->of[c].more = t->more + c * TASK_ROWS * t->more_bytes;
		t->of[c].free = (1u << TASK_ROWS) - 1;
		t->of[c].n_free = TASK_ROWS;
	}
	return 0;
}

static void free_memory(struct heddle_tasks *t)
{
	const struct cu_api *cu = &t->h->d.cu;

	if (rt_enter(t->h) < 0)
		return;
	if (t->module)
		cu->cuModuleUnload(t->module);
	for (unsigned i = 0; i < POOL_LAUNCHES; i++)
		if (t->at_once[i].stream)
			cu->cuStreamDestroy(t->at_once[i].stream);
	if (t->own)
		cu->cuMemFree(t->own);
	if (t->tickets)
		cu->cuMemFree(t->tickets);
	if (t->lists)
		cu->cuMemFreeHost(t->lists);
	if (t->columns)
		cu->cuMemFreeHost(t->columns);
	if (t->more)
		cu->cuMemFreeHost(t->more);
	if (t->stamps)
		cu->cuMemFreeHost(t->stamps);
	rt_leave(t->h);
	free(t->of);
}

static int create_pool(struct heddle_tasks *t)
{
	int r = check_options(t->h, &t->o);

	if (r == 0)
		r = rt_enter(t->h);
	if (r < 0)
		return r;
	r = find_shape(t);
	if (r == 0)
		r = get_memory(t);
	rt_leave(t->h);
	atomic_store(&t->usable, t->n_columns);
	return r == 0 ? pool_start_monitor(t) : r;
}

RT_API int heddle_tasks_create(
	struct heddle *h, const struct heddle_tasks_options *options, struct heddle_tasks **ret)
{
	struct heddle_tasks *t;
	int r;

	if (!ret)
		return pool_fail(-EINVAL, "there is no place for the pool");
	*ret = NULL;
	if (!h)
		return pool_fail(-EINVAL, "NULL is no handle");
	if (options && options->size != sizeof(*options))
		return rt_fail(h, -EINVAL, "set it to sizeof(struct heddle_tasks_options)",
			"the options have the size %zu", options->size);
	t = aligned_alloc(
		_Alignof(struct heddle_tasks), round_up(sizeof(*t), _Alignof(struct heddle_tasks)));
	if (!t)
		return rt_out_of_memory(h);
	memset(t, 0, sizeof(*t));
	t->h = h;
	if (options)
		t->o = *options;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->build_lock, NULL);
	pthread_mutex_init(&t->failed_lock, NULL);
	pthread_mutex_init(&t->owner_lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	t->next = h->pools;
	h->pools = t;
	pools_enlist(t);
	r = create_pool(t);
	if (r < 0)
		heddle_tasks_destroy(t);
	else
		*ret = t;
	return r;
}

/* Takes the pool off the GPU permanently, and then all other pools temporarily, because the driver
 * frees nothing while a kernel is on the GPU. The caller frees this pool's memory and then lets the
 * other pools return. If the blocks of tasks that have begun do not end in time, returns
 * -ETIMEDOUT, and all pools continue. */
static int leave_for_good(struct heddle_tasks *t)
{
	bool was;
	int r;

	pthread_mutex_lock(&t->lock);
	was = t->suspended;
	t->suspended = true;
	r = pool_park_within(t, ENDING_NS);
	if (r == -ETIMEDOUT)
		t->suspended = was;
	pthread_mutex_unlock(&t->lock);
	if (r == -ETIMEDOUT)
		return pool_fail(r,
			"a task of the pool has not ended within %u s: the pool stays, and can be "
			"destroyed later",
			(unsigned)(ENDING_NS / 1000000000u));
	if (pools_hold() < 0) {
		pthread_mutex_lock(&t->lock);
		t->suspended = was;
		pool_resume(t);
		pthread_mutex_unlock(&t->lock);
		return pool_fail(-ETIMEDOUT,
			"a task of another pool has not ended within %u s, and until then the "
			"device "
			"frees nothing: this pool stays, and can be destroyed later",
			(unsigned)(ENDING_NS / 1000000000u));
	}
	return 0;
}

RT_API int heddle_tasks_destroy(struct heddle_tasks *t)
{
	struct heddle_tasks **at;
	int r = t ? pool_check(t) : 0;

	if (!t || r < 0)
		return r;
	r = leave_for_good(t);
	if (r < 0)
		return r;
	pool_stop_monitor(t);
	free_memory(t);
	pools_delist(t);
	rt_pools_release();
	for (at = &t->h->pools; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->build_lock);
	pthread_mutex_destroy(&t->failed_lock);
	pthread_mutex_destroy(&t->owner_lock);
	pool_forget_failed(t);
	free(t);
	return 0;
}

/* ---- kernels of the pool ---- */

static int report_refusal(
	struct heddle_tasks *t, int err, const struct pool_form *f, const struct pass_verdict *v)
{
	const char *name = t->kernel[f->kernel].kernel->name;

	if (err == -ENOMEM)
		return rt_out_of_memory(t->h);
	if (err == -ENOTSUP && v->reason)
		return rt_fail(t->h, -ENOTSUP, ANY_KERNEL, "kernel '%s' cannot be a task%s: %s",
			name, f->partly ? " with blocks that end in a part of a warp" : "",
			v->reason);
	return rt_fail(t->h, -EINVAL, "this is a bug in heddle: please report it with the PTX",
		"kernel '%s' could not be made a task: %s", name, strerror(-err));
}

/* Sets the kernel's properties. Other threads may be reading those of its earlier form. */
static void note_form(
	struct heddle_tasks *t, const struct pool_form *f, const struct pass_task *made)
{
	struct pool_kernel *k = &t->kernel[f->kernel];

	if (!f->partly) { /* the kernel's first form, which no other thread uses yet */
		k->arg_bytes = made->arg_bytes;
		k->arg_align = made->arg_align;
		k->static_bytes = made->static_bytes;
	}
	k->barriers[f->partly] = made->barriers;
	k->one_dimensional[f->partly] = made->one_dimensional;
	k->rising[f->partly] = made->rising;
}

/* Compiles the pool's module. form[n - 1] is the new form. */
static int assemble_pool(struct heddle_tasks *t, const struct strbuf *text, unsigned n)
{
	char what[200];
	struct host_fault f;

	snprintf(what, sizeof(what), "kernel '%.100s' as a task%s",
		t->kernel[t->form[n - 1].kernel].kernel->name,
		n > 1 ? ", with those that the pool has" : "");
	return host_assemble(&t->h->d, text, what, NULL, &f) < 0
		       ? rt_host_failed(t->h, &f, NULL, ANY_KERNEL)
		       : 0;
}

/* Reports the error that, with the new kernel, fewer blocks fit on an SM than the pool has
 * there. */
static int too_few(struct heddle *h, int per_sm, unsigned had)
{
	char advice[80];

	if (per_sm == 0)
		return rt_fail(h, -E2BIG, "a pool with fewer threads or registers",
			"with these kernels an SM holds no block of this pool");
	snprintf(advice, sizeof(advice), "create the pool with blocks_per_sm = %d", per_sm);
	return rt_fail(h, -E2BIG, advice,
		"with these kernels an SM holds %d blocks of this pool, which has %u there", per_sm,
		had);
}

/* Loads the module, and sets `usable`: how many of its blocks can be on the GPU at once. */
static int load_module(struct heddle_tasks *t, const struct strbuf *text, unsigned n)
{
	struct heddle *h = t->h;
	struct host_fault f;
	CUmodule module;
	CUfunction fn;
	unsigned usable;
	int per_sm, r;

	pthread_mutex_lock(&t->lock);
	r = atomic_load(&t->state) == POOL_FAILED ? rt_fail(h, -EIO, NULL, "%s", t->why) : 0;
	pthread_mutex_unlock(&t->lock);
	if (r == 0 &&
		host_load(&h->d, "a pool's kernel", text->at, TASK_ENTRY, &module, &fn, &f) < 0)
		r = rt_host_failed(h, &f, NULL, NULL);
	if (r < 0)
		return r;
	/* Set the kernel's limit of shared memory, the same that launches use. For more shared
	 * memory than the kernel's limit, the driver would report an occupancy of 0. */
	RT_TRY(h,
		h->d.cu.cuFuncSetAttribute(
			fn, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)t->shared_most),
		"a pool's shared memory");
	RT_TRY(h,
		h->d.cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
			&per_sm, fn, (int)t->o.threads, t->shared_most),
		"a pool's kernel");
	usable = MIN(t->n_columns, (unsigned)per_sm * (h->d.n_sms - t->o.leave_sms));
	if (per_sm == 0 || (t->module && usable < atomic_load(&t->usable)))
		r = too_few(h, per_sm, atomic_load(&t->usable) / (h->d.n_sms - t->o.leave_sms));
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = host_kernel_fill_vars(
			    &h->d, &t->kernel[t->form[i].kernel].kernel->host, i, module, &f) < 0
			    ? rt_host_failed(h, &f, NULL, NULL)
			    : 0;
	if (r < 0) {
		h->d.cu.cuModuleUnload(module);
		return r;
	}
	if (t->module)
		h->d.cu.cuModuleUnload(t->module);
	t->module = module;
	t->fn = fn;
	/* Never falls, because tasks in later columns would never run. */
	atomic_store(&t->usable, usable);
	return 0;
}

/* Builds the module with the first n forms. The pool keeps running until the module is compiled.
 * The caller holds the build lock. */
static int build_module(struct heddle_tasks *t, unsigned n, bool wide)
{
	struct pass_task kinds[POOL_FORMS] = {0};
	const struct pass_pool pool = {.threads = t->o.threads,
		.registers = t->o.registers,
		.wide = wide,
		.nap_ns = t->nap_ns,
		.stamps = t->stamps != NULL};
	struct pass_verdict verdict = {0};
	struct ptx_module *m;
	struct diag_list diags;
	struct strbuf text = {0};
	ptx_lines lines = {0};
	struct arena arena;
	unsigned which = 0;
	int r;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "tasks", NULL, 0);
	for (unsigned i = 0; i < n; i++) {
		const struct rt_kernel *k = t->kernel[t->form[i].kernel].kernel;

		kinds[i] = (struct pass_task){
			.m = k->host.alone, .name = k->entry, .partly = t->form[i].partly};
	}
	r = pass_tasks(kinds, n, &pool, &diags, &m, &verdict, &which);
	if (r < 0) {
		r = report_refusal(t, r, &t->form[which], &verdict);
	} else {
		if (host_leave_const(m) < 0 || host_leave_nc(m) < 0)
			text.failed = true;
		ptx_print_lines(m, &text, &lines);
		ptx_module_free(m);
		dev_tell_lines(&t->h->d.cu, text.at, text.len, lines.at, lines.len);
		r = text.failed ? rt_out_of_memory(t->h) : assemble_pool(t, &text, n);
		if (r == 0)
			r = rt_pools_hold(t->h);
		if (r == 0) { /* from here on, no pool is on the GPU */
			r = load_module(t, &text, n);
			if (r == 0)
				atomic_store(&t->wide, wide);
			rt_pools_release();
		}
	}
	if (r == 0)
		note_form(t, &t->form[n - 1], &kinds[n - 1]);
	VEC_FREE(&lines);
	strbuf_finish(&text);
	arena_finish(&arena);
	return r;
}

/* Call with the build lock. */
static int add_form(struct heddle_tasks *t, unsigned kernel, bool partly)
{
	struct heddle *h = t->h;
	int r;

	if (t->n_forms == POOL_FORMS)
		return rt_fail(h, -E2BIG, NULL, "a pool has no more than %u forms", POOL_FORMS);
	t->form[t->n_forms] = (struct pool_form){kernel, partly};
	r = rt_enter(h);
	if (r == 0) {
		r = build_module(t, t->n_forms + 1, atomic_load(&t->wide));
		rt_leave(h);
	}
	if (r == 0)
		atomic_store(&t->kernel[kernel].form[partly], (int)t->n_forms++);
	return r;
}

static int get_stamps(struct heddle_tasks *t)
{
	const struct cu_api *cu = &t->h->d.cu;
	size_t bytes = (size_t)t->n_columns * 32 * sizeof(*t->stamps);

	RT_TRY(t->h,
		cu->cuMemHostAlloc((void **)&t->stamps, bytes,
			CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
		"a pool's stamps");
	memset(t->stamps, 0, bytes);
	RT_TRY(t->h, cu->cuMemHostGetDevicePointer(&t->stamps_at, t->stamps, 0), "a pool's stamps");
	return 0;
}

int pool_ask_stamps(struct heddle_tasks *t)
{
	int r = rt_enter(t->h);

	if (r < 0)
		return r;
	r = get_stamps(t);
	rt_leave(t->h);
	return r;
}

int pool_read_stamps(struct heddle_tasks *t, uint64_t id, struct task_stamps *ret)
{
	struct pool_column *c;
	struct task_stamps *from;
	uint64_t gen, until = clock_ns() + STAMPS_NS;
	unsigned row;

	c = pool_of_id(t, id, &row, &gen);
	from = &t->stamps[(c - t->of) * 32 + row];
	while (__atomic_load_n(&from->gen, __ATOMIC_ACQUIRE) != (uint8_t)gen)
		if (clock_ns() > until)
			return pool_fail(-ETIMEDOUT, "a task's stamps do not come");
	*ret = *from;
	return 0;
}

int pool_need_wide(struct heddle_tasks *t)
{
	struct heddle *h = t->h;
	int r = 0;

	if (t->stamps)
		return pool_fail(-ENOTSUP, "a pool that makes stamps has no blocks of all warps");
	pthread_mutex_lock(&t->build_lock);
	if (!atomic_load(&t->wide)) {
		r = rt_enter(h);
		if (r == 0) {
			r = build_module(t, t->n_forms, true);
			rt_leave(h);
		}
	}
	if (r < 0)
		pool_fail_as(h, r);
	pthread_mutex_unlock(&t->build_lock);
	return r;
}

int pool_need_shared(struct heddle_tasks *t)
{
	int r;

	pthread_mutex_lock(&t->build_lock);
	r = rt_pools_hold(t->h);
	if (r == 0) {
		t->shared_bytes = t->shared_most;
		rt_pools_release();
	} else {
		pool_fail_as(t->h, r);
	}
	pthread_mutex_unlock(&t->build_lock);
	return r;
}

int pool_need_form(struct heddle_tasks *t, unsigned kernel, bool partly)
{
	int r = 0;

	pthread_mutex_lock(&t->build_lock);
	if (atomic_load(&t->kernel[kernel].form[partly]) < 0)
		r = add_form(t, kernel, partly);
	if (r < 0)
		pool_fail_as(t->h, r);
	pthread_mutex_unlock(&t->build_lock);
	return r;
}

RT_API int heddle_tasks_add(struct heddle_tasks *t, const char *kernel, unsigned *ret_kernel)
{
	struct pool_kernel *to;
	struct rt_kernel *k;
	unsigned n;
	int r = pool_check(t);

	if (r < 0)
		return r;
	if (!ret_kernel)
		return pool_fail(-EINVAL, "there is no place for the kernel's number");
	n = atomic_load(&t->n_kernels);
	k = kernel ? rt_find(t->h, kernel) : NULL;
	to = &t->kernel[n];
	if (!k)
		return pool_fail(-ENOENT,
			"no kernel is called '%s'; heddle_load gives kernels "
			"their names",
			kernel ? kernel : "");
	if (n == HEDDLE_MAX_TASK_KERNELS)
		return pool_fail(
			-E2BIG, "a pool has no more than %d kernels", HEDDLE_MAX_TASK_KERNELS);
	if (k->host.bytes > t->more_bytes)
		return pool_fail(-E2BIG,
			"kernel '%s' has %u bytes of parameters, and the pool was made for %u; "
			"args_bytes says how many",
			kernel, k->host.bytes, t->o.args_bytes);
	if (k->host.no_vars)
		return pool_fail(
			-ENOTSUP, "kernel '%s' cannot be a task: %s", kernel, k->host.no_vars);
	*to = (struct pool_kernel){.kernel = k};
	atomic_init(&to->form[0], -1);
	atomic_init(&to->form[1], -1);
	r = pool_need_form(t, n, false);
	if (r < 0)
		return r;
	atomic_store_explicit(&t->n_kernels, n + 1, memory_order_release);
	*ret_kernel = n;
	return 0;
}

/* ---- suspending and resuming ---- */
static int set_suspended(struct heddle_tasks *t, bool suspended)
{
	int r = pool_check(t);

	if (r < 0)
		return r;
	pthread_mutex_lock(&t->lock);
	t->suspended = suspended;
	r = suspended ? pool_park(t) : pool_resume(t);
	pthread_mutex_unlock(&t->lock);
	return r;
}

RT_API int heddle_tasks_suspend(struct heddle_tasks *t)
{
	return set_suspended(t, true);
}

RT_API int heddle_tasks_resume(struct heddle_tasks *t)
{
	return set_suspended(t, false);
}

RT_API int heddle_tasks_look(struct heddle_tasks *t, struct heddle_tasks_state *ret)
{
	struct heddle_tasks_state s = {.size = sizeof(s)};
	uint64_t running = 0;
	int r = pool_check(t);

	if (r < 0)
		return r;
	if (!ret || ret->size != sizeof(*ret))
		return pool_fail(
			-EINVAL, "a state's size is not sizeof(struct heddle_tasks_state)");
	s.columns = t->n_columns;
	s.executors = t->executors;
	s.shared_bytes = t->shared_bytes;
	s.running = atomic_load(&t->state) == POOL_RUNNING;
	s.launches = atomic_load(&t->launches);
	for (unsigned c = 0; c < t->n_columns; c++)
		for (unsigned row = 0; row < TASK_ROWS; row++) {
			uint64_t gen = atomic_load(&t->of[c].row[row].gen);
			bool inner = atomic_load(&t->of[c].row[row].then) & POOL_INNER;

			s.spawned += gen;
			running += gen && !inner && !pool_has_ended(t, &t->of[c], row, gen);
		}
	s.spawned -= atomic_load(&t->n_inner);
	s.ended = s.spawned - running;
	s.failed = pool_count_failed(t);
	*ret = s;
	return 0;
}
