/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Streams and their ops (operations). Callers hold drv.lock for all functions, except for those
 * that only copy or set memory (drv_extent, drv_copy_run, drv_set_run).
 * - An op starts when it is the first of its stream, the legacy stream's rule allows it, and its
 *   own condition is met.
 * - Kernels, graph launches, host functions and large copies end some time after they start; in
 *   serial mode, small copies, too. All other ops end as soon as they start.
 * - The nodes of a graph are ops without a stream. */
#ifndef HEDDLE_VGPU_DRV_QUEUE_H
#define HEDDLE_VGPU_DRV_QUEUE_H

#include "drv.h"

/* as in the API: lower numbers are more urgent, 0 is the least urgent */
#define DRV_GREATEST_PRIORITY (-5)

/* One recording of an event. The event, the op that records it, and the ops that wait for it share
 * this object. */
struct drv_record {
	unsigned refs;
	bool done;
	uint64_t time_ns;
};

enum op_kind {
	OP_KERNEL,
	OP_COPY,
	OP_SET,
	OP_HOST,
	OP_CALLBACK,
	OP_RECORD,
	OP_WAIT_EVENT,
	OP_WAIT_VALUE,
	OP_WRITE_VALUE,
	OP_FREE,
	OP_GRAPH,
	OP_EMPTY,
};

/* A copy of a box of bytes: `depth` planes of `height` rows of `width` bytes. A plain copy has one
 * row. Addresses are host addresses. */
struct drv_copy {
	uint64_t dst, src;
	size_t dst_pitch, src_pitch, dst_plane, src_plane, width, height, depth;
	void *staged; /* freed with the op */
	/* true for memory that the virtual GPU allocated or that the program registered; false for
	 * the program's pageable memory */
	bool dst_known, src_known;
};
struct drv_set {
	uint64_t dst;
	size_t pitch, width, height; /* width in elements, not bytes */
	uint32_t value;
	unsigned element; /* bytes */
};
struct drv_launch {
	struct drv_func *func;
	uint32_t grid[3], block[3], shared;
	uint32_t cluster[3]; /* cluster size from the launch's attribute; zeros: none given */
	bool cooperative;
	int priority;
	uint32_t param_bytes;
	void *params; /* owned */
};
struct drv_value {
	uint64_t addr, value;
	unsigned flags;
	bool wide;
};

struct drv_op {
	enum op_kind kind;
	struct drv_ctx *ctx;
	struct drv_stream *stream; /* NULL for a node of a graph */
	/* next: in drv_stream.head. engine_next: in one list of drv_engine.c (copies, hosts, timed)
	 * while it runs there. drv_op_free frees it after it is done. */
	struct drv_op *next, *engine_next;
	uint64_t seq, due_ns; /* due_ns: in serial mode, the virtual time when the op ends */
	bool started, done;
	uint64_t hold[2]; /* memory that a copy or memset keeps while it runs (vgpu_mem_hold) */
	bool by_caller;   /* the waiting host thread executes the op and frees it */
	struct graph_run *graph_run;
	unsigned node;
	union {
		struct {
			struct drv_launch launch;
			struct vgpu_run *run;
		};
		struct drv_copy copy;
		struct drv_set set;
		struct {
			CUhostFn host_fn;
			CUstreamCallback callback;
			void *user;
		};
		struct {
			struct drv_record *record;
			/* for a graph's record or wait node; holds no reference */
			struct drv_event *event;
		};
		struct drv_value value;
		struct drv_alloc *alloc;
		struct graph_exec *exec;
	};
};

struct drv_stream {
	struct obj obj;
	unsigned flags;
	int priority; /* as in the API: lower numbers are more urgent */
	uint64_t id;
	bool legacy, destroyed, is_active;
	struct drv_op *head, *tail;
	struct drv_stream *next_active; /* next in drv_ctx.active, while the stream has ops */
	uint64_t last_ns;               /* time at which the last op ended */
	struct capture *capture;
	struct graph_node **deps; /* during a capture: nodes on which the next node depends */
	unsigned n_deps;
	CUsynchronizationPolicy sync_policy;
};

struct drv_op *drv_op_new(enum op_kind kind, struct drv_stream *s);
void drv_op_free(struct drv_op *op);
/* Takes ownership of op and appends it to stream s. If s is being captured, adds op as a graph node
 * instead. */
CUresult drv_submit(struct drv_stream *s, struct drv_op *op);
/* Appends op, waits until it can start, executes it in this thread and frees it. Returns the
 * context's sticky error. If the context has failed, op is not executed. */
CUresult drv_do(struct drv_stream *s, struct drv_op *op);
void drv_start(struct drv_op *op);    /* call it when the op's turn has come */
void drv_complete(struct drv_op *op); /* call it when the op has ended */
void drv_kick(void);                  /* starts all ops that can start */
uint64_t drv_last_seq(void);

/* These functions wait in the calling thread until work has ended. They release the lock while they
 * wait, and return the context's sticky error. */
CUresult drv_wait_stream(struct drv_stream *s);
CUresult drv_wait_ctx(struct drv_ctx *c);
CUresult drv_wait_record(struct drv_ctx *c, struct drv_record *r);
bool drv_stream_idle(const struct drv_stream *s, uint64_t up_to_seq);
void drv_poll(void); /* serial mode: lets virtual time pass when the program queries */
/* Marks the context as failed and cancels its running kernels. Its other ops then end without being
 * executed, except for frees and callbacks, which still happen. */
void drv_fail(struct drv_ctx *c, CUresult error);

struct drv_stream *drv_stream_new(struct drv_ctx *c, unsigned flags, int priority);
void drv_stream_release(struct drv_stream *s);
/* Returns the stream of a handle. The handles 0, 1 and 2 are the default streams. NULL if the
 * handle is invalid or belongs to another context. */
struct drv_stream *drv_stream_of(struct drv_ctx *c, CUstream h);
/* Returns a stream of any context, for calls that are allowed while another context is current,
 * such as copies, memsets, waits, frees and queries. */
struct drv_stream *drv_stream_any(struct drv_ctx *c, CUstream h);
void drv_record_unref(struct drv_record *r);
bool drv_value_met(const struct drv_value *v);
/* Returns the number of bytes from the first to the last byte of a box that fits in the address
 * space (in drv_copy.c). */
uint64_t drv_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t plane);
void drv_copy_run(const struct drv_copy *c);
void drv_set_run(const struct drv_set *s);
uint64_t drv_now_ns(void);

#endif
