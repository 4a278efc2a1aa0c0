/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stream capture: work that is submitted to a captured stream becomes a graph node, which depends
 * on the stream's latest nodes. Waiting for an event that was recorded in a captured stream adds
 * another stream to the capture. */
#include <stdlib.h>
#include <string.h>

#include "drv_func.h"
#include "drv_graph.h"

static struct capture *captures;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void set_deps(struct drv_stream *s, struct graph_node **deps, unsigned n)
{
	free(s->deps);
	s->deps = deps;
	s->n_deps = n;
}

/* Adds those dependencies that the stream does not have yet. */
static bool add_deps(struct drv_stream *s, struct graph_node *const *deps, size_t n)
{
	struct graph_node **all = malloc((s->n_deps + n + 1) * sizeof(*all));
	unsigned len = s->n_deps;

	if (!all)
		return false;
	if (len)
		memcpy(all, s->deps, len * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		bool there = false;
		for (unsigned k = 0; k < len; k++)
			there |= all[k] == deps[i];
		if (!there)
			all[len++] = deps[i];
	}
	set_deps(s, all, len);
	return true;
}

CUresult capture_op(struct drv_stream *s, struct drv_op *op)
{
	struct capture *cap = s->capture;
	struct graph_node **deps = malloc(sizeof(*deps));

	if (cap->invalidated || !deps) {
		free(deps);
		drv_op_free(op);
		return cap->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
					: CUDA_ERROR_OUT_OF_MEMORY;
	}
	struct graph_node *n = graph_add(cap->graph, op, s->deps, s->n_deps);
	if (!n) {
		free(deps);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	deps[0] = n;
	set_deps(s, deps, 1);
	return CUDA_SUCCESS;
}

static bool join_stream(struct capture *cap, struct drv_stream *s)
{
	if (!VEC_PUSH(&cap->streams, s))
		return false;
	s->capture = cap;
	return true;
}

CUresult capture_begin(struct drv_stream *s, CUstreamCaptureMode mode, struct drv_graph *g,
	struct graph_node *const *deps, size_t n_deps)
{
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	struct capture *cap = calloc(1, sizeof(*cap));
	if (!cap)
		return CUDA_ERROR_OUT_OF_MEMORY;
	cap->own_graph = g == NULL;
	cap->graph = g ? g : graph_new(s->obj.ctx);
	cap->mode = mode;
	cap->thread = pthread_self();
	cap->origin = s;
	cap->id = ++drv.next_id;
	if (!cap->graph || !join_stream(cap, s) || !add_deps(s, deps, n_deps)) {
		if (cap->own_graph && cap->graph)
			graph_destroy(cap->graph);
		s->capture = NULL;
		VEC_FREE(&cap->streams);
		free(cap);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	cap->next = captures;
	captures = cap;
	return CUDA_SUCCESS;
}

/* Returns true if every forked stream was joined, so that its last nodes precede the origin
 * stream's last nodes. A node comes after its dependencies in the list, so one walk from the end of
 * the list reaches all of them. */
static bool all_joined(struct capture *cap)
{
	struct drv_graph *g = cap->graph;
	bool ok = true;

	for (size_t i = 0; i < g->nodes.len; i++)
		g->nodes.at[i]->mark = 0;
	for (unsigned i = 0; i < cap->origin->n_deps; i++)
		cap->origin->deps[i]->mark = 1;
	for (size_t i = g->nodes.len; i-- > 0;)
		for (size_t k = 0; g->nodes.at[i]->mark && k < g->nodes.at[i]->deps.len; k++)
			g->nodes.at[i]->deps.at[k]->mark = 1;
	for (size_t i = 0; i < cap->streams.len; i++)
		for (unsigned k = 0; k < cap->streams.at[i]->n_deps; k++)
			ok = ok && cap->streams.at[i]->deps[k]->mark;
	return ok;
}

CUresult capture_set_deps(
	struct drv_stream *s, struct graph_node *const *deps, size_t n, bool replace)
{
	if (replace)
		set_deps(s, NULL, 0);
	return add_deps(s, deps, n) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void capture_free(struct capture *cap)
{
	for (size_t i = 0; i < cap->streams.len; i++) {
		cap->streams.at[i]->capture = NULL;
		set_deps(cap->streams.at[i], NULL, 0);
	}
	for (struct capture **at = &captures; *at; at = &(*at)->next)
		if (*at == cap) {
			*at = cap->next;
			break;
		}
	VEC_FREE(&cap->streams);
	free(cap);
}

CUresult capture_end(struct drv_stream *s, struct drv_graph **ret)
{
	struct capture *cap = s->capture;

	if (!cap)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (cap->origin != s)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (cap->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		!pthread_equal(cap->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	CUresult r = cap->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	if (r == CUDA_SUCCESS && !all_joined(cap))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	struct drv_graph *g = cap->graph;
	bool own = cap->own_graph;
	capture_free(cap);
	if (r != CUDA_SUCCESS) {
		if (own)
			graph_destroy(g);
		g = NULL;
	}
	*ret = g;
	return r;
}

bool capture_fills(const struct drv_graph *g)
{
	for (struct capture *cap = captures; cap; cap = cap->next)
		if (cap->graph == g)
			return true;
	return false;
}

void capture_leave(struct drv_stream *s)
{
	struct capture *cap = s->capture;

	if (!cap)
		return;
	cap->invalidated = true;
	if (cap->origin == s) {
		if (cap->own_graph)
			graph_destroy(cap->graph);
		capture_free(cap);
		return;
	}
	for (size_t i = 0; i < cap->streams.len; i++)
		if (cap->streams.at[i] == s) {
			cap->streams.at[i] = cap->streams.at[--cap->streams.len];
			break;
		}
	s->capture = NULL;
	set_deps(s, NULL, 0);
}

CUresult capture_invalidate(struct drv_stream *s, CUresult why)
{
	if (s->capture)
		s->capture->invalidated = true;
	return why;
}

/* ---- events ---- */

CUresult capture_record(struct drv_stream *s, struct drv_event *e)
{
	if (s->capture->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	e->deps.len = 0;
	for (unsigned i = 0; i < s->n_deps; i++)
		if (!VEC_PUSH(&e->deps, s->deps[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	e->capture = s->capture;
	e->capture_id = s->capture->id;
	return CUDA_SUCCESS;
}

CUresult capture_wait(struct drv_stream *s, struct drv_event *e)
{
	struct capture *cap = captures;

	while (cap && (cap != e->capture || cap->id != e->capture_id))
		cap = cap->next;
	if (!cap) /* the event belongs to no capture, or its capture has ended */
		return s->capture ? capture_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
				  : CUDA_ERROR_CAPTURED_EVENT;
	if (cap->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (s->capture && s->capture != cap) {
		cap->invalidated = s->capture->invalidated = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (!s->capture && !join_stream(cap, s))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return add_deps(s, e->deps.at, e->deps.len) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- calls that are not allowed during a capture ---- */

CUresult capture_unsafe(struct drv_ctx *c)
{
	bool any = false;

	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	for (struct capture *cap = captures; cap; cap = cap->next) {
		bool mine = pthread_equal(cap->thread, pthread_self());
		bool forbids =
			thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
				? cap->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
					  (mine && cap->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
				: mine && cap->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		if (!forbids)
			continue;
		cap->invalidated = true;
		any = true;
	}
	return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult capture_implicit(struct drv_stream *s)
{
	bool any = false;

	if (!s->legacy)
		return CUDA_SUCCESS;
	for (struct capture *cap = captures; cap; cap = cap->next)
		for (size_t i = 0; i < cap->streams.len; i++)
			if (cap->streams.at[i]->obj.ctx == s->obj.ctx &&
				!(cap->streams.at[i]->flags & CU_STREAM_NON_BLOCKING)) {
				cap->invalidated = true;
				any = true;
			}
	return any ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	CUstreamCaptureMode old = thread_mode;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
