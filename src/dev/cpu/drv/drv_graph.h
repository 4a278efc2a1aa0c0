/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Graphs. A node is an op used as a template, together with the nodes that it depends on. An
 * executable graph is a copy of the nodes. A graph launch is one op of a stream; it ends when the
 * ops of all nodes have ended. Capture turns work that is submitted to streams into nodes. Callers
 * hold drv.lock. */
#ifndef HEDDLE_VGPU_DRV_GRAPH_H
#define HEDDLE_VGPU_DRV_GRAPH_H

#include "drv_queue.h"

struct graph_node {
	struct obj obj;
	struct drv_graph *graph;
	struct drv_op *op; /* copied for each launch; has no stream */
	void **params;     /* pointers into op's parameters; NULL until the program asks for them */
	VEC(struct graph_node *) deps;
	unsigned index, mark;
};

struct drv_graph {
	struct obj obj;
	VEC(struct graph_node *) nodes;
};

struct exec_node {
	struct drv_op *op;
	unsigned n_deps, n_next;
	unsigned *next; /* indices of the nodes that depend on this node */
};

/* An executable graph, shared by its handle and by launches in flight. */
struct graph_exec {
	struct obj obj;
	unsigned refs, n;
	struct exec_node *nodes;
	/* for updates: the graph node that each of `nodes` was copied from */
	struct graph_node **of;
	uint64_t flags;
};

/* One launch of an executable graph. */
struct graph_run {
	struct graph_exec *exec;
	struct drv_op *op; /* the operation in the stream that launched the graph */
	unsigned left, *waiting_for;
	/* nodes whose dependencies are done, but whose own condition is not met */
	VEC(struct drv_op *) held;
	VEC(struct drv_op *) running;
	struct graph_run *next; /* next in the list `runs` (drv_graph.c); run_end frees it */
};

struct capture {
	struct drv_graph *graph;
	bool own_graph; /* created for this capture (not by cuStreamBeginCaptureToGraph) */
	struct drv_stream *origin;
	pthread_t thread;
	CUstreamCaptureMode mode;
	uint64_t id;
	bool invalidated;
	VEC(struct drv_stream *) streams;
	/* next in the list `captures` (drv_capture.c); capture_free frees it */
	struct capture *next;
};

struct drv_graph *graph_new(struct drv_ctx *c);
void graph_destroy(struct drv_graph *g);
/* Adds a node to a graph and takes ownership of op. Returns NULL if out of memory, or if a
 * dependency belongs to another graph. */
struct graph_node *graph_add(
	struct drv_graph *g, struct drv_op *op, struct graph_node *const *deps, size_t n_deps);
struct drv_op *graph_op_copy(const struct drv_op *op);
struct graph_exec *graph_instantiate(struct drv_graph *g);
void graph_exec_unref(struct graph_exec *e);
void graph_start(struct drv_op *op);
void graph_node_done(struct graph_run *run, unsigned node);
bool graph_kick(void); /* starts one held node whose condition is met; false if there is none */
bool graph_waits_for_value(void);
void graph_cancel(struct drv_ctx *c);

CUresult capture_op(struct drv_stream *s, struct drv_op *op);
CUresult capture_begin(struct drv_stream *s, CUstreamCaptureMode mode, struct drv_graph *g,
	struct graph_node *const *deps, size_t n_deps);
CUresult capture_set_deps(
	struct drv_stream *s, struct graph_node *const *deps, size_t n, bool replace);
CUresult capture_end(struct drv_stream *s, struct drv_graph **ret);
bool capture_fills(const struct drv_graph *g);
/* Removes a stream that is destroyed while it is captured. */
void capture_leave(struct drv_stream *s);
/* Recording and waiting for events during a capture. */
CUresult capture_record(struct drv_stream *s, struct drv_event *e);
CUresult capture_wait(struct drv_stream *s, struct drv_event *e);
/* Call this first in functions that are unsafe during stream capture. Returns CUDA_SUCCESS if the
 * function may continue. It may not while this thread (in global mode: any thread) captures a
 * stream; then these captures are invalidated, and an error is returned. */
CUresult capture_unsafe(struct drv_ctx *c);
/* Work in the legacy stream is an error while a blocking stream of the same context is captured. In
 * this case, invalidates the capture and returns the error; otherwise returns CUDA_SUCCESS. */
CUresult capture_implicit(struct drv_stream *s);
CUresult capture_invalidate(struct drv_stream *s, CUresult why);

struct drv_event {
	struct obj obj;
	unsigned flags;
	struct drv_record *record; /* the latest record; NULL: never recorded */
	/* capture in which the event was recorded last; may have ended (capture_id) */
	struct capture *capture;
	uint64_t capture_id;
	VEC(struct graph_node *) deps; /* nodes of that capture that precede the event */
};

#endif
