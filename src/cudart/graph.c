/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The graph functions for which the runtime's nodes differ from the driver's: the runtime names
 * kernels by host function, and copies do not name a context. */
#include "cudart/cudart.h"

static rt_error kernel_params(const struct rt_kernel_node *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	CUfunction fn;
	rt_error r = p ? rt_function_of(p->func, &fn) : cudaErrorInvalidValue;

	if (!r)
		*ret = (CUDA_KERNEL_NODE_PARAMS){
			.func = fn,
			.gridDimX = p->grid.x,
			.gridDimY = p->grid.y,
			.gridDimZ = p->grid.z,
			.blockDimX = p->block.x,
			.blockDimY = p->block.y,
			.blockDimZ = p->block.z,
			.sharedMemBytes = p->shared_bytes,
			.kernelParams = p->params,
			.extra = p->extra,
		};
	return r;
}

rt_error rt_add_kernel_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const struct rt_kernel_node *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	rt_error r = kernel_params(params, &p);

	return r ? r : RT_CALL(&rt_cu, cuGraphAddKernelNode, node, graph, deps, n, &p);
}

rt_error rt_get_kernel_node(CUgraphNode node, struct rt_kernel_node *ret)
{
	CUDA_KERNEL_NODE_PARAMS p;
	rt_error r =
		ret ? RT_CALL(&rt_cu, cuGraphKernelNodeGetParams, node, &p) : cudaErrorInvalidValue;

	if (!r)
		*ret = (struct rt_kernel_node){
			.func = (void *)rt_host_function_of(p.kern, p.func),
			.grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
			.block = {p.blockDimX, p.blockDimY, p.blockDimZ},
			.shared_bytes = p.sharedMemBytes,
			.params = p.kernelParams,
			.extra = p.extra,
		};
	return r;
}

rt_error rt_set_kernel_node(CUgraphNode node, const struct rt_kernel_node *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	rt_error r = kernel_params(params, &p);

	return r ? r : RT_CALL(&rt_cu, cuGraphKernelNodeSetParams, node, &p);
}

rt_error rt_exec_set_kernel_node(
	CUgraphExec exec, CUgraphNode node, const struct rt_kernel_node *params)
{
	CUDA_KERNEL_NODE_PARAMS p;
	rt_error r = kernel_params(params, &p);

	return r ? r : RT_CALL(&rt_cu, cuGraphExecKernelNodeSetParams, exec, node, &p);
}

rt_error rt_add_copy_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const struct rt_copy3d *copy)
{
	CUDA_MEMCPY3D c;
	CUcontext ctx;
	bool any;
	rt_error r = rt_make_3d(copy, &c, &any);

	if (!r)
		r = RT_CALL(&rt_cu, cuCtxGetCurrent, &ctx);
	return r ? r : RT_CALL(&rt_cu, cuGraphAddMemcpyNode, node, graph, deps, n, &c, ctx);
}

rt_error rt_add_copy_node_1d(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	void *dst, const void *src, size_t bytes, int kind)
{
	struct rt_copy3d c = {
		.src = {(void *)src, bytes, bytes, 1},
		.dst = {dst, bytes, bytes, 1},
		.extent = {bytes, 1, 1},
		.kind = kind,
	};

	return rt_add_copy_node(node, graph, deps, n, &c);
}

rt_error rt_add_to_symbol_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const void *symbol, const void *src, size_t bytes, size_t offset, int kind)
{
	void *dst;
	rt_error r = rt_symbol_range(symbol, bytes, offset, &dst);

	return r ? r : rt_add_copy_node_1d(node, graph, deps, n, dst, src, bytes, kind);
}

rt_error rt_add_from_symbol_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
	size_t n, void *dst, const void *symbol, size_t bytes, size_t offset, int kind)
{
	void *src;
	rt_error r = rt_symbol_range(symbol, bytes, offset, &src);

	return r ? r : rt_add_copy_node_1d(node, graph, deps, n, dst, src, bytes, kind);
}

rt_error rt_add_set_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
	const CUDA_MEMSET_NODE_PARAMS *params)
{
	CUcontext ctx;
	rt_error r = RT_CALL(&rt_cu, cuCtxGetCurrent, &ctx);

	return r ? r : RT_CALL(&rt_cu, cuGraphAddMemsetNode, node, graph, deps, n, params, ctx);
}

/* ---- edges with data; only programmatic launches use such edges ---- */

static bool are_plain(const CUgraphEdgeData *edges, size_t n)
{
	for (size_t i = 0; edges && i < n; i++)
		if (edges[i].from_port || edges[i].to_port || edges[i].type)
			return false;
	return true;
}

rt_error rt_add_dependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *edges, size_t n)
{
	return are_plain(edges, n) ? RT_CALL(&rt_cu, cuGraphAddDependencies, graph, from, to, n)
				   : cudaErrorNotSupported;
}

rt_error rt_update_capture(const struct cu_api *cu, CUstream stream, CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, unsigned flags)
{
	return are_plain(edges, n)
		       ? RT_CALL(cu, cuStreamUpdateCaptureDependencies, stream, deps, n, flags)
		       : cudaErrorNotSupported;
}
