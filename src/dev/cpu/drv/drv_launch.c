/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches: checks the arguments as a GPU's driver does at the call, copies the parameters, and
 * passes the blocks to the pool when the launch is first in its stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drv_engine.h"
#include "drv_func.h"
#include "drv_graph.h"

struct kernel_run {
	struct vgpu_run run;
	struct drv_op *op;
	/* for a cooperative launch: the grid workspace, which contains its own size and the grid
	 * barrier */
	uint32_t workspace[16];
};

static CUresult result_of_error(int error)
{
	switch (error) {
	case 0:
		return CUDA_SUCCESS;
	case -EAGAIN:
		return CUDA_ERROR_OPERATING_SYSTEM;
	case -ESTALE:
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	default:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	}
}

static CUresult result_of(const struct vgpu_run *r)
{
	if (!r->fault)
		return result_of_error(r->error);
	switch (r->fault->kind) {
	case VGPU_FAULT_NONE:
		return CUDA_SUCCESS;
	case VGPU_FAULT_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case VGPU_FAULT_ALIGN:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case VGPU_FAULT_TRAP:
		return CUDA_ERROR_LAUNCH_FAILED;
	case VGPU_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case VGPU_FAULT_INSTRUCTION:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case VGPU_FAULT_DEADLOCK:
		return CUDA_ERROR_LAUNCH_TIMEOUT;
	case VGPU_FAULT_STACK:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case VGPU_FAULT_PC:
		return CUDA_ERROR_INVALID_PC;
	}
	return CUDA_ERROR_LAUNCH_FAILED;
}

static void kernel_done(struct vgpu_run *r)
{
	struct kernel_run *k = CONTAINER_OF(r, struct kernel_run, run);
	struct drv_op *op = k->op;
	struct drv_ctx *c = op->ctx;
	CUresult result = result_of(r);

	op->run = NULL;
	if (result != CUDA_SUCCESS) {
		drv_report_fault(r->fault, op->launch.func->info.name, r->error);
		drv_fail(c, result);
	}
	vgpu_run_finish(r);
	if (r->launch.workspace)
		vgpu_mem_remove_host(drv.mem, k->workspace);
	free(k);
	drv_complete(op);
	drv_kick();
}

static void kernel_print(void *user, const char *text, size_t len)
{
	struct drv_ctx *c = user;

	pthread_mutex_lock(&c->print_lock);
	strbuf_add(&c->printed, text, len);
	pthread_mutex_unlock(&c->print_lock);
}

static uint64_t serial_timer(void *user)
{
	return drv_now_ns();
}

void drv_kernel_start(struct drv_op *op)
{
	const struct drv_launch *l = &op->launch;
	/* A graph can outlive the module that contains its kernel. */
	bool gone = !drv_get(l->func, OBJ_FUNC);
	struct kernel_run *k = gone ? NULL : calloc(1, sizeof(*k));

	/* For a graph's kernel this was not checked earlier. */
	CUresult r = drv_engine_ready(OP_KERNEL, op->ctx->dev);
	if (gone)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!k)
		r = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (r != CUDA_SUCCESS) {
		free(k);
		drv_fail(op->ctx, r);
		drv_complete(op);
		return;
	}
	k->op = op;
	k->run = (struct vgpu_run){
		.launch =
			{
				.kernel = l->func->code,
				.dynamic_shared_bytes = l->shared,
				.params = l->params,
				.grid_id = op->seq,
				.n_sms = drv.config.n_sms,
				.reach = 1u << op->ctx->dev | op->ctx->peers,
				.timer_ns = drv.config.serial ? serial_timer : NULL,
				.print = kernel_print,
				.user = op->ctx,
			},
		.demand =
			drv_demand_of(l->func, l->block[0] * l->block[1] * l->block[2], l->shared),
		.n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
		.priority = -l->priority,
		.cooperative = l->cooperative,
		.done = kernel_done,
	};
	memcpy(k->run.launch.grid, l->grid, sizeof(l->grid));
	memcpy(k->run.launch.block, l->block, sizeof(l->block));
	k->workspace[0] = sizeof(k->workspace);
	if (l->cooperative && vgpu_mem_add_host(drv.mem, k->workspace, sizeof(k->workspace)) == 0)
		k->run.launch.workspace = (uint64_t)(uintptr_t)k->workspace;
	op->run = &k->run;
	vgpu_pool_submit(drv.device[op->ctx->dev].pool, &k->run);
}

/* ---- checks ---- */

CUresult drv_launch_check(const struct drv_launch *l)
{
	const struct drv_func *f = l->func;
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	if (!l->grid[0] || !l->grid[1] || !l->grid[2] || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->grid[0] > 0x7fffffff || l->grid[1] > 65535 || l->grid[2] > 65535)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64 ||
		threads > f->info.max_threads || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->shared > (uint32_t)f->max_dynamic_shared)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = drv_cluster_check(l);
	if (r != CUDA_SUCCESS)
		return r;
	struct sm_demand d = drv_demand_of(f, (uint32_t)threads, l->shared);
	uint32_t fit = sm_blocks_per_sm(&drv.config, &d);
	if (!fit)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	if (l->cooperative && blocks > (uint64_t)fit * drv.config.n_sms)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static CUresult params_from_buffer(const struct vgpu_kernel_info *info, void **extra, void *buf)
{
	const void *from = NULL;
	size_t size = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			from = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			size = *(size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (info->param_bytes && (!from || size < info->param_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (info->param_bytes)
		memcpy(buf, from, info->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult drv_launch_params(struct drv_launch *l, void **params, void **extra)
{
	const struct vgpu_kernel_info *info = &l->func->info;
	CUresult r = CUDA_SUCCESS;

	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	l->param_bytes = info->param_bytes;
	l->params = calloc(1, info->param_bytes + 16);
	if (!l->params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (extra) {
		r = params_from_buffer(info, extra, l->params);
	} else if (info->n_params && !params) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else {
		for (uint32_t i = 0; i < info->n_params && r == CUDA_SUCCESS; i++) {
			if (params[i])
				memcpy((char *)l->params + info->param_offset[i], params[i],
					info->param_size[i]);
			else
				r = CUDA_ERROR_INVALID_VALUE;
		}
	}
	if (r != CUDA_SUCCESS) {
		free(l->params);
		l->params = NULL;
	}
	return r;
}

CUresult drv_launch_op(struct drv_ctx *c, const struct drv_launch *shape, void **params,
	void **extra, struct drv_op **ret)
{
	CUresult r = drv_launch_check(shape);

	if (r != CUDA_SUCCESS)
		return r;
	struct drv_op *op = drv_op_new(OP_KERNEL, NULL);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->ctx = c;
	op->launch = *shape;
	op->launch.params = NULL;
	r = drv_launch_params(&op->launch, params, extra);
	if (r != CUDA_SUCCESS) {
		drv_op_free(op);
		return r;
	}
	*ret = op;
	return CUDA_SUCCESS;
}

/* ---- API calls that launch kernels ---- */

struct launch_extras {
	bool has_priority;
	int priority;
	CUevent done_event;
};

/* Applies the attributes for cooperative launches, clusters, priorities and completion events.
 * Device-updatable nodes are not supported. All other attributes are ignored. */
static CUresult take_attributes(
	const CUlaunchConfig *config, struct drv_launch *l, struct launch_extras *x)
{
	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];
		switch ((int)a->id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			l->cooperative = a->value.cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (!drv_cluster_of(a, l->cluster))
				return CUDA_ERROR_INVALID_VALUE;
			break;
		case CU_LAUNCH_ATTRIBUTE_PRIORITY:
			x->has_priority = true;
			x->priority = a->value.priority;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			x->done_event = a->value.launchCompletionEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			x->done_event = a->value.programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			return CUDA_ERROR_NOT_SUPPORTED;
		default:
			break;
		}
	}
	return CUDA_SUCCESS;
}

/* Prepares the context for the kernel. Waits for the context's work if the context lacks the code
 * of the kernel's library, or if the kernel needs more local memory per thread than the context has
 * set aside so far. */
static CUresult make_ready(struct drv_ctx *c, const struct drv_func *f)
{
	uint32_t local = (uint32_t)MIN(f->info.local_bytes, UINT32_MAX);
	CUresult r = drv_place(c, f->module->library);

	if (r != CUDA_SUCCESS || local <= MAX(c->local_bytes, c->limit[CU_LIMIT_STACK_SIZE]))
		return r;
	c->local_bytes = local;
	return drv_wait_alone(c);
}

static CUresult launch_config(struct drv_ctx *c, const CUlaunchConfig *config, const void *fn,
	void **params, void **extra)
{
	struct drv_stream *s = drv_stream_of(c, config->hStream);
	struct drv_launch l = {
		.func = drv_func_on(c->dev, fn),
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared = config->sharedMemBytes,
	};
	struct launch_extras x = {0};
	struct drv_op *op;

	if (!l.func || !s)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult r = take_attributes(config, &l, &x);
	if (r == CUDA_SUCCESS)
		r = capture_implicit(s);
	if (r == CUDA_SUCCESS && !s->capture)
		r = make_ready(c, l.func);
	if (r == CUDA_SUCCESS)
		r = drv_engine_ready(OP_KERNEL, c->dev);
	if (r == CUDA_SUCCESS)
		r = drv_launch_op(c, &l, params, extra, &op);
	if (r != CUDA_SUCCESS)
		return r;
	op->stream = s;
	op->launch.priority = x.has_priority ? x.priority : s->priority;
	r = drv_submit(s, op);
	if (r == CUDA_SUCCESS && x.done_event)
		r = drv_event_record(x.done_event, s);
	return r;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params, void **extra)
{
	DRV_ENTER_ADDING(c);
	return drv_leave(
		config ? launch_config(c, config, fn, params, extra) : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuLaunchKernel(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **params, void **extra)
{
	CUlaunchConfig config = {gx, gy, gz, bx, by, bz, shared, stream, NULL, 0};
	DRV_ENTER_ADDING(c);
	return drv_leave(launch_config(c, &config, fn, params, extra));
}

CUresult cuLaunchCooperativeKernel(CUfunction fn, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **params)
{
	CUlaunchAttribute together = {
		.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
	CUlaunchConfig config = {gx, gy, gz, bx, by, bz, shared, stream, &together, 1};
	DRV_ENTER_ADDING(c);
	return drv_leave(launch_config(c, &config, fn, params, NULL));
}

CUresult cuLaunchCooperativeKernelMultiDevice(
	CUDA_LAUNCH_PARAMS *list, unsigned int n, unsigned int flags)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user)
{
	DRV_ENTER_ADDING(c);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!fn)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	CUresult r = capture_implicit(s);
	if (r == CUDA_SUCCESS)
		r = drv_engine_ready(OP_HOST, c->dev);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_op *op = drv_op_new(OP_HOST, s);
	if (!op)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	op->host_fn = fn;
	op->user = user;
	return drv_leave(drv_submit(s, op));
}

/* The virtual GPU ignores mode, which tells how the calling thread waits for the function. */
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn fn, void *user, unsigned int mode)
{
	return mode <= 1 ? cuLaunchHostFunc(stream, fn, user) : CUDA_ERROR_INVALID_VALUE;
}
