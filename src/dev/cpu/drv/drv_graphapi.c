/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The API functions for graphs and capture. They cover programs that capture streams, or that build
 * graphs of kernels, copies, memsets, host functions and events. */
#include <stdlib.h>
#include <string.h>

#include "drv_func.h"
#include "drv_graph.h"

/* ---- creating and changing graphs and nodes ---- */

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	DRV_ENTER(c);
	if (!graph || flags)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*graph = (CUgraph)graph_new(c);
	return drv_leave(*graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuGraphDestroy(CUgraph graph)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);

	/* A graph that is being captured belongs to the capture until the capture ends. */
	if (!g || capture_fills(g))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	graph_destroy(g);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);
	struct drv_graph *n = clone && g ? graph_new(c) : NULL;

	if (!n)
		return drv_leave(clone && g ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE);
	bool ok = true;
	for (size_t i = 0; i < g->nodes.len && ok; i++) {
		struct drv_op *op = graph_op_copy(g->nodes.at[i]->op);
		ok = op && graph_add(n, op, NULL, 0);
		g->nodes.at[i]->index = (unsigned)i;
	}
	for (size_t i = 0; i < g->nodes.len && ok; i++)
		for (size_t k = 0; k < g->nodes.at[i]->deps.len && ok; k++)
			ok = VEC_PUSH(&n->nodes.at[i]->deps,
				n->nodes.at[g->nodes.at[i]->deps.at[k]->index]);
	if (ok)
		*clone = (CUgraph)n;
	else
		graph_destroy(n);
	return drv_leave(ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

/* Checks the graph and the dependencies, and adds the op as a node. Takes ownership of op. */
static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	struct drv_ctx *c, struct drv_op *op)
{
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);
	CUresult r = node && g && (!n || deps) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n && r == CUDA_SUCCESS; i++) {
		struct graph_node *d = drv_get(deps[i], OBJ_NODE);
		if (!d || d->graph != g)
			r = CUDA_ERROR_INVALID_VALUE;
	}
	if (r != CUDA_SUCCESS) {
		drv_op_free(op);
		return r;
	}
	op->ctx = c;
	struct graph_node *added = graph_add(g, op, (struct graph_node *const *)deps, n);
	if (added)
		*node = (CUgraphNode)added;
	return added ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* `keep` is the node's present launch, whose attributes are kept; NULL: none. */
static CUresult kernel_op(struct drv_ctx *c, const CUDA_KERNEL_NODE_PARAMS *p,
	const struct drv_launch *keep, struct drv_op **ret)
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	struct drv_launch l = {
		.func = drv_func_on(
			c->dev, p->func ? (const void *)p->func : (const void *)p->kern),
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.shared = p->sharedMemBytes,
	};
	if (!l.func)
		return CUDA_ERROR_INVALID_VALUE;
	if (keep)
		drv_attributes_copy(&l, keep);
	return drv_launch_op(c, &l, p->kernelParams, p->extra, ret);
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct drv_op *op;
	DRV_ENTER(c);
	CUresult r = kernel_op(c, params, NULL, &op);
	return drv_leave(r == CUDA_SUCCESS ? add_node(node, graph, deps, n, c, op) : r);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const CUDA_MEMCPY3D *copy, CUcontext ctx)
{
	struct drv_copy of;
	DRV_ENTER(c);
	CUresult r = copy ? drv_copy_of_3d(copy, &of) : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_op *op = drv_op_new(OP_COPY, NULL);
	if (op)
		op->copy = of;
	return drv_leave(add_node(node, graph, deps, n, c, op));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	DRV_ENTER(c);
	if (!params ||
		(params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_set set = {params->dst, params->pitch, params->width, params->height,
		params->value, params->elementSize};
	if (!set.width || !set.height || !drv_set_ok(&set))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_op *op = drv_op_new(OP_SET, NULL);
	if (op)
		op->set = set;
	return drv_leave(add_node(node, graph, deps, n, c, op));
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const CUDA_HOST_NODE_PARAMS *params)
{
	DRV_ENTER(c);
	if (!params || !params->fn)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_op *op = drv_op_new(OP_HOST, NULL);
	if (op) {
		op->host_fn = params->fn;
		op->user = params->userData;
	}
	return drv_leave(add_node(node, graph, deps, n, c, op));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n)
{
	DRV_ENTER(c);
	return drv_leave(add_node(node, graph, deps, n, c, drv_op_new(OP_EMPTY, NULL)));
}

static CUresult add_event(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	CUevent event, enum op_kind kind)
{
	DRV_ENTER(c);
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!e)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_op *op = drv_op_new(kind, NULL);
	if (op)
		op->event = e;
	return drv_leave(add_node(node, graph, deps, n, c, op));
}

CUresult cuGraphAddEventRecordNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUevent event)
{
	return add_event(node, graph, deps, n, event, OP_RECORD);
}

CUresult cuGraphAddEventWaitNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUevent event)
{
	return add_event(node, graph, deps, n, event, OP_WAIT_EVENT);
}

/* Checks the clusters of all kernels again, because a kernel's attributes may have changed after its
 * node was added. */
static CUresult check_clusters(const struct drv_graph *g)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < g->nodes.len && r == CUDA_SUCCESS; i++) {
		const struct drv_op *op = g->nodes.at[i]->op;

		if (op->kind == OP_KERNEL && drv_func_of(op->launch.func))
			r = drv_cluster_check(&op->launch);
	}
	return r;
}

CUresult cuGraphAddChildGraphNode(
	CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n, CUgraph child)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(child, OBJ_GRAPH);

	CUresult r = g && child != graph ? check_clusters(g) : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_op *op = drv_op_new(OP_GRAPH, NULL);
	if (op) {
		op->exec = graph_instantiate(g);
		if (!op->exec) {
			free(op);
			op = NULL;
		} else {
			drv_obj_remove(&op->exec->obj); /* the child graph has no handle */
		}
	}
	return drv_leave(add_node(node, graph, deps, n, c, op));
}

CUresult cuGraphAddDependencies(
	CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);

	if (!g || (n && (!from || !to)))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++) {
		struct graph_node *a = drv_get(from[i], OBJ_NODE), *b = drv_get(to[i], OBJ_NODE);
		if (!a || !b || a == b || a->graph != g || b->graph != g)
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
		if (!VEC_PUSH(&b->deps, a))
			return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	return drv_leave(CUDA_SUCCESS);
}

static CUresult list_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n, bool roots)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);
	size_t found = 0;

	if (!g || !n)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < g->nodes.len; i++) {
		if (roots && g->nodes.at[i]->deps.len)
			continue;
		if (nodes && found < *n)
			nodes[found] = (CUgraphNode)g->nodes.at[i];
		found++;
	}
	for (size_t i = found; nodes && i < *n; i++)
		nodes[i] = NULL;
	*n = nodes ? MIN(*n, found) : found;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	return list_nodes(graph, nodes, n, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	return list_nodes(graph, nodes, n, true);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	static const CUgraphNodeType types[] = {
		[OP_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
		[OP_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
		[OP_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
		[OP_HOST] = CU_GRAPH_NODE_TYPE_HOST,
		[OP_CALLBACK] = CU_GRAPH_NODE_TYPE_HOST,
		[OP_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		[OP_WAIT_EVENT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
		[OP_WAIT_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		[OP_WRITE_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		[OP_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[OP_GRAPH] = CU_GRAPH_NODE_TYPE_GRAPH,
		[OP_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
	};
	DRV_ENTER(c);
	struct graph_node *n = drv_get(node, OBJ_NODE);

	if (!n || !type)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*type = types[n->op->kind];
	return drv_leave(CUDA_SUCCESS);
}

static CUresult set_kernel(struct drv_ctx *c, struct drv_op *op, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct drv_op *with;
	CUresult r = op->kind == OP_KERNEL ? kernel_op(c, p, &op->launch, &with)
					   : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return r;
	void *old = op->launch.params;
	op->launch = with->launch;
	with->launch.params = old;
	drv_op_free(with);
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	DRV_ENTER(c);
	struct graph_node *n = drv_get(node, OBJ_NODE);
	return drv_leave(n ? set_kernel(c, n->op, params) : CUDA_ERROR_INVALID_VALUE);
}

/* Makes n->params point to the kernel's parameters, one pointer for each. */
static CUresult find_params(struct graph_node *n)
{
	const struct vgpu_kernel_info *info = &n->op->launch.func->info;
	void **params = realloc(n->params, (info->n_params + 1) * sizeof(*params));

	if (!params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < info->n_params; i++)
		params[i] = (char *)n->op->launch.params + info->param_offset[i];
	n->params = params;
	return CUDA_SUCCESS;
}

/* The node owns the parameters. They are valid until they are set or the node is destroyed. */
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	DRV_ENTER(c);
	struct graph_node *n = drv_get(node, OBJ_NODE);

	if (!n || !params || n->op->kind != OP_KERNEL)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	const struct drv_launch *l = &n->op->launch;
	CUresult r = find_params(n);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	*params = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)&l->func->obj,
		.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->shared,
		.kernelParams = n->params,
		.ctx = (CUcontext)c,
	};
	return drv_leave(CUDA_SUCCESS);
}

/* ---- executable graphs ---- */

static bool has_cycle(const struct drv_graph *g)
{
	size_t done = 0, last = SIZE_MAX;

	for (size_t i = 0; i < g->nodes.len; i++)
		g->nodes.at[i]->mark = 0;
	while (done != last) {
		last = done;
		for (size_t i = 0; i < g->nodes.len; i++) {
			struct graph_node *n = g->nodes.at[i];
			bool ready = !n->mark;
			for (size_t k = 0; ready && k < n->deps.len; k++)
				ready = n->deps.at[k]->mark;
			if (ready) {
				n->mark = 1;
				done++;
			}
		}
	}
	return done != g->nodes.len;
}

static CUresult instantiate_graph(CUgraphExec *exec, CUgraph graph, uint64_t flags)
{
	DRV_ENTER(c);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);

	if (!exec || !g || has_cycle(g))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	CUresult r = check_clusters(g);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct graph_exec *e = graph_instantiate(g);
	if (!e)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	e->flags = flags;
	*exec = (CUgraphExec)e;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return instantiate_graph(exec, graph, flags);
}

CUresult cuGraphInstantiate_v2(
	CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t log_bytes)
{
	if (node)
		*node = NULL;
	if (log && log_bytes)
		*log = 0;
	return instantiate_graph(exec, graph, 0);
}

CUresult cuGraphInstantiateWithParams(
	CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult r =
		params ? instantiate_graph(exec, graph, params->flags) : CUDA_ERROR_INVALID_VALUE;

	if (params) {
		params->hErrNode_out = NULL;
		params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
						       : CUDA_GRAPH_INSTANTIATE_ERROR;
	}
	return r;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	DRV_ENTER(c);
	struct graph_exec *e = drv_get(exec, OBJ_EXEC);

	if (!e)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	drv_obj_remove(&e->obj);
	graph_exec_unref(e); /* launches in flight hold their own references */
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t *flags)
{
	DRV_ENTER(c);
	struct graph_exec *e = drv_get(exec, OBJ_EXEC);

	if (!e || !flags)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = e->flags;
	return drv_leave(CUDA_SUCCESS);
}

/* Updates an executable graph from a graph whose nodes have the same kinds and numbers of
 * dependencies. In a launch in flight, nodes that have started keep the old parameters, and later
 * ones use the new parameters. */
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *result)
{
	DRV_ENTER(c);
	struct graph_exec *e = drv_get(exec, OBJ_EXEC);
	struct drv_graph *g = drv_get(graph, OBJ_GRAPH);

	if (!e || !g || !result)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	memset(result, 0, sizeof(*result));
	result->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (e->n != g->nodes.len)
		return drv_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	for (unsigned i = 0; i < e->n; i++)
		if (e->nodes[i].op->kind != g->nodes.at[i]->op->kind ||
			e->nodes[i].n_deps != g->nodes.at[i]->deps.len) {
			result->errorNode = (CUgraphNode)g->nodes.at[i];
			return drv_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
		}
	if (check_clusters(g) != CUDA_SUCCESS) {
		result->result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
		return drv_leave(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	}
	for (unsigned i = 0; i < e->n; i++) {
		struct drv_op *op = graph_op_copy(g->nodes.at[i]->op);
		if (!op)
			return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
		drv_op_free(e->nodes[i].op);
		e->nodes[i].op = op;
		e->of[i] = g->nodes.at[i];
	}
	result->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecKernelNodeSetParams(
	CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	DRV_ENTER(c);
	struct graph_exec *e = drv_get(exec, OBJ_EXEC);

	for (unsigned i = 0; e && i < e->n; i++)
		if ((CUgraphNode)e->of[i] == node)
			return drv_leave(set_kernel(c, e->nodes[i].op, params));
	return drv_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	DRV_ENTER_ADDING(c);
	struct graph_exec *e = drv_get(exec, OBJ_EXEC);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!e || !s)
		return drv_leave(e ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	CUresult r = capture_implicit(s);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_op *op = drv_op_new(OP_GRAPH, s);
	if (!op)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	op->exec = e;
	e->refs++;
	return drv_leave(drv_submit(s, op));
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	DRV_ENTER(c);
	bool ok = drv_get(exec, OBJ_EXEC) && drv_stream_of(c, stream);
	return drv_leave(ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- capture ---- */

static CUresult begin_capture(CUstream stream, CUgraph graph, const CUgraphNode *deps, size_t n,
	CUstreamCaptureMode mode, bool to_graph)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);
	struct drv_graph *g = to_graph ? drv_get(graph, OBJ_GRAPH) : NULL;

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED || (to_graph && !g) || (n && !deps))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++) {
		struct graph_node *d = drv_get(deps[i], OBJ_NODE);
		if (!d || d->graph != g)
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return drv_leave(capture_begin(s, mode, g, (struct graph_node *const *)deps, n));
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
	return begin_capture(stream, NULL, NULL, 0, mode, false);
}

CUresult cuStreamBeginCapture_v1(CUstream stream)
{
	return begin_capture(stream, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL, false);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode)
{
	return edges ? CUDA_ERROR_NOT_SUPPORTED : begin_capture(stream, graph, deps, n, mode, true);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);
	struct drv_graph *g = NULL;

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	CUresult r = graph ? capture_end(s, &g) : CUDA_ERROR_INVALID_VALUE;
	if (graph)
		*graph = (CUgraph)g;
	return drv_leave(r);
}

static CUstreamCaptureStatus status_of(const struct drv_stream *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!s || !status)
		return drv_leave(s ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	CUresult r = capture_implicit(s);
	*status = status_of(s);
	return drv_leave(r);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
	CUgraph *graph, const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *n)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!s || !status)
		return drv_leave(s ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	CUresult r = capture_implicit(s);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	*status = status_of(s);
	bool on = *status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id && on)
		*id = s->capture->id;
	if (graph && on)
		*graph = (CUgraph)s->capture->graph;
	if (deps && on)
		*deps = (const CUgraphNode *)s->deps;
	if (edges)
		*edges = NULL;
	if (n)
		*n = on ? s->n_deps : 0;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
	CUgraph *graph, const CUgraphNode **deps, size_t *n)
{
	return cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, NULL, n);
}

CUresult cuStreamGetCaptureInfo_v1(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id)
{
	return cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult cuStreamUpdateCaptureDependencies(
	CUstream stream, CUgraphNode *deps, size_t n, unsigned int flags)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!s || !s->capture)
		return drv_leave(s ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE);
	if ((n && !deps) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++) {
		struct graph_node *d = drv_get(deps[i], OBJ_NODE);
		if (!d || d->graph != s->capture->graph)
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return drv_leave(capture_set_deps(s, (struct graph_node *const *)deps, n,
		flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES));
}
