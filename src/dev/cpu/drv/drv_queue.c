/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The execution order of ops (operations): within a stream, relative to the legacy default stream,
 * and after events and values in memory. */
#include "drv_func.h"

#include <stdlib.h>
#include <string.h>

#include "dev/cpu/fence.h"
#include "drv_engine.h"
#include "drv_graph.h"

static uint64_t next_seq = 1;

uint64_t drv_last_seq(void)
{
	return next_seq - 1;
}

struct drv_op *drv_op_new(enum op_kind kind, struct drv_stream *s)
{
	struct drv_op *op = calloc(1, sizeof(*op));

	if (op) {
		op->kind = kind;
		op->stream = s;
		op->ctx = s ? s->obj.ctx : NULL;
	}
	return op;
}

void drv_record_unref(struct drv_record *r)
{
	if (r && --r->refs == 0)
		free(r);
}

void drv_op_free(struct drv_op *op)
{
	switch (op->kind) {
	case OP_KERNEL:
		free(op->launch.params);
		break;
	case OP_COPY:
		free(op->copy.staged);
		break;
	case OP_RECORD:
	case OP_WAIT_EVENT:
		drv_record_unref(op->record);
		break;
	case OP_GRAPH:
		graph_exec_unref(op->exec);
		break;
	default:
		break;
	}
	free(op);
}

/* ---- conditions for starting an op ---- */

/* Returns true if the legacy stream's rule lets the op start. The legacy stream waits for earlier
 * work of all blocking streams, and blocking streams wait for earlier work of the legacy stream. */
static bool legacy_allows(const struct drv_op *op)
{
	const struct drv_stream *s = op->stream;
	const struct drv_ctx *c = op->ctx;

	if (!s || (s->flags & CU_STREAM_NON_BLOCKING))
		return true;
	if (!s->legacy)
		return !c->legacy->head || c->legacy->head->seq > op->seq;
	for (const struct drv_stream *t = c->active; t; t = t->next_active)
		if (t != s && !(t->flags & CU_STREAM_NON_BLOCKING) && t->head &&
			t->head->seq < op->seq)
			return false;
	return true;
}

static bool is_met(const struct drv_value *v)
{
	uint64_t now, want = v->value;

	if (v->wide) {
		now = __atomic_load_n((uint64_t *)(uintptr_t)v->addr, __ATOMIC_ACQUIRE);
	} else {
		now = __atomic_load_n((uint32_t *)(uintptr_t)v->addr, __ATOMIC_ACQUIRE);
		want = (uint32_t)want;
	}
	switch (v->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* compares modulo 2^32 or 2^64 */
		return v->wide ? (int64_t)(now - want) >= 0
			       : (int32_t)((uint32_t)now - (uint32_t)want) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return now == want;
	case CU_STREAM_WAIT_VALUE_AND:
		return (now & want) != 0;
	default: /* NOR */
		return v->wide ? ~(now | want) != 0 : (uint32_t) ~(now | want) != 0;
	}
}

/* Returns true unless the memory was freed since the op was queued. */
static bool value_there(const struct drv_value *v)
{
	return drv_in_range(v->addr, v->wide ? 8 : 4);
}

bool drv_value_met(const struct drv_value *v)
{
	if (!value_there(v))
		return true; /* so that the op ends with an error */
	if (!is_met(v))
		return false;
	/* an acquire fence: later ops see the stores that precede the value's store */
	vgpu_fence(__ATOMIC_ACQUIRE);
	return true;
}

static bool may_start(const struct drv_op *op)
{
	if (op->ctx->error)
		return true;
	if (!legacy_allows(op))
		return false;
	if (op->kind == OP_WAIT_EVENT)
		return op->record->done;
	if (op->kind == OP_WAIT_VALUE)
		return drv_value_met(&op->value);
	return true;
}

/* ---- list of the streams that have work ---- */

static void activate_stream(struct drv_stream *s)
{
	if (s->is_active)
		return;
	s->is_active = true;
	struct drv_stream **at = &s->obj.ctx->active;
	while (*at) /* appends the stream, so serial mode treats all streams fairly */
		at = &(*at)->next_active;
	s->next_active = NULL;
	*at = s;
}

static void deactivate_stream(struct drv_stream *s)
{
	for (struct drv_stream **at = &s->obj.ctx->active; *at; at = &(*at)->next_active)
		if (*at == s) {
			*at = s->next_active;
			break;
		}
	s->is_active = false;
}

static void pop_op(struct drv_stream *s)
{
	s->head = s->head->next;
	if (!s->head) {
		s->tail = NULL;
		deactivate_stream(s);
		if (s->destroyed)
			drv_stream_release(s);
	}
}

/* ---- starting and completing ops ---- */

void drv_complete(struct drv_op *op)
{
	struct drv_stream *s = op->stream;
	bool keep = op->by_caller;

	if (op->kind == OP_RECORD) {
		uint64_t now = drv_now_ns();
		op->record->time_ns = s ? MAX(now, s->last_ns) : now;
		op->record->done = true;
	}
	if (s)
		s->last_ns = MAX(s->last_ns, drv_now_ns());
	op->done = true;
	struct graph_run *run = op->graph_run;
	unsigned node = op->node;
	for (size_t i = 0; i < ARRAY_LEN(op->hold); i++)
		if (op->hold[i])
			vgpu_mem_drop(drv.mem, op->hold[i]);
	if (s)
		pop_op(s);
	if (run)
		graph_node_done(run, node); /* reads the op, so call it before freeing the op */
	if (!keep)
		drv_op_free(op);
	pthread_cond_broadcast(&drv.changed);
}

/* Ends an op of a failed context without executing it. Frees and callbacks still happen, because
 * other objects rely on them. */
static void skip_op(struct drv_op *op)
{
	if (op->kind == OP_FREE)
		drv_alloc_destroy(op->alloc);
	if (op->kind == OP_CALLBACK)
		drv_engine_host(op);
	else
		drv_complete(op);
}

static void fail_freed(struct drv_op *op, uint64_t addr)
{
	drv_report("virtual GPU: a %s finds its memory at 0x%llx freed: by cuMemFreeAsync, or "
		   "before its graph was launched\n",
		op->kind == OP_COPY  ? "copy"
		: op->kind == OP_SET ? "memset"
				     : "stream's value operation",
		(unsigned long long)addr);
	drv_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Checks, before a copy or memset, that its memory still exists, and keeps that memory until
 * drv_complete. If the memory is gone, makes the context fail and returns false. */
static bool drv_copy_begin(struct drv_op *op)
{
	struct part {
		uint64_t addr, bytes;
	} parts[2] = {{0}};

	if (op->kind == OP_COPY) {
		const struct drv_copy *c = &op->copy;
		if (c->dst_known)
			parts[0] = (struct part){c->dst, drv_extent(c->width, c->height, c->depth,
								 c->dst_pitch, c->dst_plane)};
		if (c->src_known)
			parts[1] = (struct part){c->src, drv_extent(c->width, c->height, c->depth,
								 c->src_pitch, c->src_plane)};
	} else {
		const struct drv_set *s = &op->set;
		parts[0] = (struct part){
			s->dst, drv_extent(s->width * s->element, s->height, 1, s->pitch, 0)};
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!parts[i].bytes ||
			vgpu_mem_hold(drv.mem, parts[i].addr, parts[i].bytes, &op->hold[i]))
			continue;
		fail_freed(op, parts[i].addr);
		return false;
	}
	return true;
}

static void start_value(struct drv_op *op)
{
	const struct drv_value *v = &op->value;

	if (!value_there(v))
		fail_freed(op, v->addr);
	else if (op->kind == OP_WRITE_VALUE && v->wide)
		__atomic_store_n((uint64_t *)(uintptr_t)v->addr, v->value, __ATOMIC_RELEASE);
	else if (op->kind == OP_WRITE_VALUE)
		__atomic_store_n(
			(uint32_t *)(uintptr_t)v->addr, (uint32_t)v->value, __ATOMIC_RELEASE);
	drv_complete(op);
}

void drv_start(struct drv_op *op)
{
	op->started = true;
	if (op->ctx->error) {
		skip_op(op);
		return;
	}
	switch (op->kind) {
	case OP_KERNEL:
		drv_kernel_start(op);
		break;
	case OP_COPY:
	case OP_SET:
		if (drv_copy_begin(op))
			drv_engine_copy(op);
		else
			drv_complete(op);
		break;
	case OP_HOST:
	case OP_CALLBACK:
		drv_engine_host(op);
		break;
	case OP_WRITE_VALUE:
	case OP_WAIT_VALUE:
		start_value(op);
		break;
	case OP_FREE:
		drv_alloc_destroy(op->alloc);
		drv_complete(op);
		break;
	case OP_GRAPH:
		graph_start(op);
		break;
	case OP_RECORD:
	case OP_WAIT_EVENT:
	case OP_EMPTY:
		drv_complete(op);
		break;
	}
}

/* Starts all ops of one context that can start, and returns true if it started any. Some ops end as
 * soon as they start, so that further ops can start: call it until it returns false. */
static bool kick_ctx(struct drv_ctx *c)
{
	bool any = false;

	for (struct drv_stream *s = c->active, *next; s; s = next) {
		next = s->next_active;
		struct drv_op *op = s->head;
		if (!op || op->started || !may_start(op))
			continue;
		if (op->by_caller) {
			op->started = true;
			pthread_cond_broadcast(&drv.changed);
			continue;
		}
		drv_start(op);
		any = true;
		/* Starting the op may have changed the list. */
		next = c->active;
	}
	return any;
}

void drv_kick(void)
{
	static bool busy, again;

	/* An op that ends can call this function again. Then the outer call loops once more instead
	 * of recursing. */
	if (busy) {
		again = true;
		return;
	}
	busy = true;
	do {
		again = false;
		for (unsigned i = 0; i < drv.n_contexts; i++)
			again |= kick_ctx(drv.contexts[i]);
		again |= graph_kick();
	} while (again);
	busy = false;
	drv_engine_wake();
}

static void append_op(struct drv_stream *s, struct drv_op *op)
{
	op->seq = next_seq++;
	op->next = NULL;
	if (s->tail)
		s->tail->next = op;
	else
		s->head = op;
	s->tail = op;
	activate_stream(s);
	drv_kick();
}

CUresult drv_submit(struct drv_stream *s, struct drv_op *op)
{
	if (s->capture)
		return capture_op(s, op);
	append_op(s, op);
	return CUDA_SUCCESS;
}

CUresult drv_do(struct drv_stream *s, struct drv_op *op)
{
	struct drv_ctx *c = op->ctx;

	op->by_caller = true;
	append_op(s, op);
	while (!op->started)
		drv_engine_wait();
	if (!c->error && drv_copy_begin(op)) {
		pthread_mutex_unlock(&drv.lock);
		if (op->kind == OP_COPY)
			drv_copy_run(&op->copy);
		else if (op->kind == OP_SET)
			drv_set_run(&op->set);
		pthread_mutex_lock(&drv.lock);
		drv_engine_spend(op);
	}
	drv_complete(op);
	drv_op_free(op);
	drv_kick();
	return c->error;
}

/* ---- host waits ---- */

bool drv_stream_idle(const struct drv_stream *s, uint64_t seq)
{
	if (s->head && s->head->seq <= seq)
		return false;
	if (!s->legacy)
		return true;
	for (const struct drv_stream *t = s->obj.ctx->active; t; t = t->next_active)
		if (!(t->flags & CU_STREAM_NON_BLOCKING) && t->head && t->head->seq <= seq)
			return false;
	return true;
}

CUresult drv_wait_stream(struct drv_stream *s)
{
	uint64_t seq = drv_last_seq();
	struct drv_ctx *c = s->obj.ctx;

	/* The stream object can be destroyed during the wait, so its handle is looked up again each
	 * time. */
	while (drv_get(s, OBJ_STREAM) == s && !drv_stream_idle(s, seq))
		drv_engine_wait();
	return c->error;
}

CUresult drv_wait_ctx(struct drv_ctx *c)
{
	uint64_t seq = drv_last_seq();

	for (;;) {
		bool busy = false;
		for (const struct drv_stream *s = c->active; s; s = s->next_active)
			busy |= s->head && s->head->seq <= seq;
		if (!busy)
			return c->error;
		drv_engine_wait();
	}
}

CUresult drv_wait_alone(struct drv_ctx *c)
{
	CUresult r;

	c->alone++;
	r = drv_wait_ctx(c);
	c->alone--;
	pthread_cond_broadcast(&drv.changed);
	return r;
}

CUresult drv_wait_record(struct drv_ctx *c, struct drv_record *r)
{
	r->refs++;
	while (!r->done)
		drv_engine_wait();
	drv_record_unref(r);
	return c->error;
}

void drv_fail(struct drv_ctx *c, CUresult error)
{
	if (!c->error)
		c->error = error;
	for (struct drv_stream *s = c->active; s; s = s->next_active)
		if (s->head && s->head->started && s->head->kind == OP_KERNEL && s->head->run)
			vgpu_pool_cancel(drv.device[c->dev].pool, s->head->run);
	graph_cancel(c);
	drv_kick();
}
