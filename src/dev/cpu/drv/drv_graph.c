/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Nodes of graphs, and the execution of graphs. */
#include "drv_graph.h"

#include <stdlib.h>
#include <string.h>

#include "drv_engine.h"

static struct graph_run *runs; /* launches in flight */

/* ---- creating and copying graphs ---- */

struct drv_graph *graph_new(struct drv_ctx *c)
{
	struct drv_graph *g = calloc(1, sizeof(*g));

	if (g)
		drv_obj_add(&g->obj, OBJ_GRAPH, c);
	return g;
}

void graph_destroy(struct drv_graph *g)
{
	for (size_t i = 0; i < g->nodes.len; i++) {
		struct graph_node *n = g->nodes.at[i];
		drv_obj_remove(&n->obj);
		drv_op_free(n->op);
		VEC_FREE(&n->deps);
		free(n->params);
		free(n);
	}
	VEC_FREE(&g->nodes);
	drv_obj_remove(&g->obj);
	free(g);
}

struct graph_node *graph_add(
	struct drv_graph *g, struct drv_op *op, struct graph_node *const *deps, size_t n_deps)
{
	struct graph_node *n = calloc(1, sizeof(*n));
	bool ok = n != NULL;

	for (size_t i = 0; i < n_deps && ok; i++)
		ok = deps[i]->graph == g && VEC_PUSH(&n->deps, deps[i]);
	ok = ok && VEC_PUSH(&g->nodes, n);
	if (!ok) {
		if (n)
			VEC_FREE(&n->deps);
		free(n);
		drv_op_free(op);
		return NULL;
	}
	n->graph = g;
	n->op = op;
	n->index = (unsigned)g->nodes.len - 1;
	op->stream = NULL;
	drv_obj_add(&n->obj, OBJ_NODE, g->obj.ctx);
	return n;
}

struct drv_op *graph_op_copy(const struct drv_op *op)
{
	struct drv_op *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *op;
	copy->next = copy->engine_next = NULL;
	if (op->kind == OP_KERNEL) {
		size_t bytes = op->launch.param_bytes + 16;
		copy->launch.params = malloc(bytes);
		if (!copy->launch.params) {
			free(copy);
			return NULL;
		}
		memcpy(copy->launch.params, op->launch.params, bytes);
	}
	if (op->kind == OP_COPY && op->copy.staged) {
		/* The original op owns the staged buffer, and the copy of the op must not free it.
		 * The copy needs no such buffer: a graph reads the program's pageable memory when
		 * the graph runs. */
		copy->copy.staged = NULL;
	}
	if ((op->kind == OP_RECORD || op->kind == OP_WAIT_EVENT) && op->record)
		op->record->refs++;
	if (op->kind == OP_GRAPH)
		op->exec->refs++;
	return copy;
}

void graph_exec_unref(struct graph_exec *e)
{
	if (!e || --e->refs)
		return;
	for (unsigned i = 0; i < e->n; i++) {
		if (e->nodes[i].op)
			drv_op_free(e->nodes[i].op);
		free(e->nodes[i].next);
	}
	free(e->nodes);
	free(e->of);
	free(e);
}

static bool add_next(struct exec_node *n, unsigned next)
{
	unsigned *more = realloc(n->next, (n->n_next + 1) * sizeof(*more));

	if (!more)
		return false;
	n->next = more;
	n->next[n->n_next++] = next;
	return true;
}

struct graph_exec *graph_instantiate(struct drv_graph *g)
{
	struct graph_exec *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->refs = 1;
	e->nodes = calloc(g->nodes.len + 1, sizeof(*e->nodes));
	e->of = calloc(g->nodes.len + 1, sizeof(*e->of));
	bool ok = e->nodes && e->of;
	for (unsigned i = 0; ok && i < g->nodes.len; i++) {
		struct graph_node *n = g->nodes.at[i];
		e->n = i + 1;
		e->of[i] = n;
		e->nodes[i].op = graph_op_copy(n->op);
		e->nodes[i].n_deps = (unsigned)n->deps.len;
		ok = e->nodes[i].op != NULL;
		n->index = i;
	}
	for (unsigned i = 0; ok && i < g->nodes.len; i++)
		for (size_t d = 0; ok && d < g->nodes.at[i]->deps.len; d++)
			ok = add_next(&e->nodes[g->nodes.at[i]->deps.at[d]->index], i);
	if (!ok) {
		graph_exec_unref(e);
		return NULL;
	}
	drv_obj_add(&e->obj, OBJ_EXEC, g->obj.ctx);
	return e;
}

/* ---- execution ---- */

static bool node_may_start(const struct drv_op *op)
{
	if (op->ctx->error)
		return true;
	if (op->kind == OP_WAIT_VALUE)
		return drv_value_met(&op->value);
	return op->kind != OP_WAIT_EVENT || !op->record || op->record->done;
}

static void start_node(struct graph_run *run, unsigned i)
{
	struct drv_op *op = graph_op_copy(run->exec->nodes[i].op);

	if (!op || !VEC_PUSH(&run->held, op)) {
		free(op);
		drv_fail(run->op->ctx, CUDA_ERROR_OUT_OF_MEMORY);
		graph_node_done(run, i);
		return;
	}
	op->ctx = run->op->ctx;
	op->graph_run = run;
	op->node = i;
	op->seq = run->op->seq;
	if (op->kind == OP_KERNEL && run->op->stream)
		op->launch.priority = run->op->stream->priority;
	/* An event node uses the event in the state it has when the node runs. */
	if (op->event && !drv_get(op->event, OBJ_EVENT) &&
		(op->kind == OP_RECORD || op->kind == OP_WAIT_EVENT))
		op->event = NULL; /* the event was destroyed after instantiation */
	if (op->kind == OP_RECORD && op->event) {
		drv_record_unref(op->record);
		op->record = calloc(1, sizeof(*op->record));
		if (op->record) {
			op->record->refs = 2;
			drv_record_unref(op->event->record);
			op->event->record = op->record;
		} else {
			op->kind = OP_EMPTY;
		}
	}
	if (op->kind == OP_WAIT_EVENT && op->event) {
		drv_record_unref(op->record);
		op->record = op->event->record;
		if (op->record)
			op->record->refs++;
		else
			op->kind = OP_EMPTY;
	}
}

static void run_end(struct graph_run *run)
{
	struct drv_op *op = run->op;

	for (struct graph_run **at = &runs; *at; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	VEC_FREE(&run->held);
	VEC_FREE(&run->running);
	free(run->waiting_for);
	free(run);
	drv_complete(op);
	drv_kick();
}

void graph_start(struct drv_op *op)
{
	struct graph_exec *e = op->exec;
	struct graph_run *run = calloc(1, sizeof(*run));

	if (run)
		run->waiting_for = calloc(e->n + 1, sizeof(*run->waiting_for));
	if (!run || !run->waiting_for) {
		free(run);
		drv_fail(op->ctx, CUDA_ERROR_OUT_OF_MEMORY);
		drv_complete(op);
		return;
	}
	run->exec = e;
	run->op = op;
	run->left = e->n;
	run->next = runs;
	runs = run;
	if (e->n == 0) {
		run_end(run);
		return;
	}
	for (unsigned i = 0; i < e->n; i++)
		run->waiting_for[i] = e->nodes[i].n_deps;
	for (unsigned i = 0; i < e->n; i++)
		if (e->nodes[i].n_deps == 0)
			start_node(run, i);
	drv_kick();
}

void graph_node_done(struct graph_run *run, unsigned node)
{
	const struct exec_node *n = &run->exec->nodes[node];

	for (size_t i = 0; i < run->running.len; i++)
		if (run->running.at[i]->node == node) {
			run->running.at[i] = run->running.at[--run->running.len];
			break;
		}
	for (unsigned i = 0; i < n->n_next; i++)
		if (--run->waiting_for[n->next[i]] == 0)
			start_node(run, n->next[i]);
	if (--run->left == 0)
		run_end(run);
	else
		drv_kick();
}

bool graph_kick(void)
{
	for (struct graph_run *run = runs; run; run = run->next)
		for (size_t i = 0; i < run->held.len; i++) {
			struct drv_op *op = run->held.at[i];
			if (!node_may_start(op))
				continue;
			memmove(&run->held.at[i], &run->held.at[i + 1],
				(run->held.len - i - 1) * sizeof(run->held.at[0]));
			run->held.len--;
			if (op->kind == OP_KERNEL)
				(void)VEC_PUSH(&run->running, op);
			drv_start(op); /* this may end and free the run */
			return true;
		}
	return false;
}

bool graph_waits_for_value(void)
{
	for (struct graph_run *run = runs; run; run = run->next)
		for (size_t i = 0; i < run->held.len; i++)
			if (run->held.at[i]->kind == OP_WAIT_VALUE)
				return true;
	return false;
}

void graph_cancel(struct drv_ctx *c)
{
	for (struct graph_run *run = runs; run; run = run->next)
		for (size_t i = 0; run->op->ctx == c && i < run->running.len; i++)
			if (run->running.at[i]->run)
				vgpu_pool_cancel(drv.device[c->dev].pool, run->running.at[i]->run);
}
