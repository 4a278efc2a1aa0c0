/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests graphs: captured ones, and ones built from nodes. */
#include "host.h"

static const void *number_host(void)
{
	return (const void *)(uintptr_t)(void (*)(void))number;
}

static void expect(CUdeviceptr p, unsigned first, unsigned second)
{
	unsigned host[2];

	OK(cudaMemcpy(host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST));
	assert_int_equal(host[0], first);
	assert_int_equal(host[1], second);
}

static void test_capture(void **state)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraphExec exec;
	CUgraph graph, seen = NULL;
	CUdeviceptr p;
	CUstream s;
	uint64_t id = 0;
	size_t n = 0;

	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&p, 64));
	OK(cudaStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cudaMemsetAsync(p, 0xff, 64, s));
	LAUNCH(number, 1, 1, 0, s, (unsigned *)p, 1);
	OK(cudaStreamIsCapturing(s, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
#if RT_ABI == 12
	const CUgraphNode *deps;
	OK(cudaStreamGetCaptureInfo_v2(s, &status, &id, &seen, &deps, &n));
#else
	const CUgraphEdgeData *edges;
	const CUgraphNode *deps;
	OK(cudaStreamGetCaptureInfo(s, &status, &id, &seen, &deps, &edges, &n));
#endif
	assert_int_equal(n, 1);
	OK(cudaStreamEndCapture(s, &graph));
	assert_ptr_equal(seen, graph);
	n = 0;
	OK(cudaGraphGetNodes(graph, NULL, &n));
	assert_int_equal(n, 2);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphDestroy(graph));
	OK(cudaMemset(p, 0, 64));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	expect(p, 0, 0xffffffff);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaFree(p));
	OK(cudaStreamDestroy(s));
}

static void test_nodes(void **state)
{
	unsigned n = 2, value = 9;
	CUdeviceptr p;
	void *args[] = {&p, &n};
	struct rt_kernel_node k = {.func = (void *)number_host(),
				      .grid = {1, 1, 1},
				      .block = {2, 1, 1},
				      .params = args},
			      got;
	CUgraphNode kernel, copy, to_symbol;
	CUgraphNodeType type;
	CUgraphExec exec;
	CUgraph graph;

	OK(cudaMalloc(&p, 64));
	CUDA_MEMSET_NODE_PARAMS set = {p, 0, 0x11, 1, 8, 1};
	CUgraphNode first;
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set));
	OK(cudaGraphAddKernelNode(&kernel, graph, &first, 1, &k));
	OK(cudaGraphAddMemcpyNode1D(
		&copy, graph, NULL, 0, (void *)p, &value, sizeof(value), RT_HOST_TO_DEVICE));
	OK(cudaGraphAddMemcpyNodeToSymbol(
		&to_symbol, graph, NULL, 0, table, &value, sizeof(value), 4, RT_HOST_TO_DEVICE));
#if RT_ABI == 12
	OK(cudaGraphAddDependencies(graph, &kernel, &copy, 1));
#else
	CUgraphEdgeData edge = {.type = 1};
	assert_int_equal(
		cudaGraphAddDependencies(graph, &kernel, &copy, &edge, 1), cudaErrorNotSupported);
	OK(cudaGraphAddDependencies(graph, &kernel, &copy, NULL, 1));
#endif
	OK(cudaGraphNodeGetType(kernel, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
	OK(cudaGraphKernelNodeGetParams(kernel, &got));
	assert_ptr_equal(got.func, number_host());
	assert_int_equal(got.block.x, 2);
	OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, NULL));
	OK(cudaDeviceSynchronize());
	expect(p, 9, 1);
	OK(cudaMemcpyFromSymbol(&n, table, 4, 4, RT_DEVICE_TO_HOST));
	assert_int_equal(n, 9);
	/* With n = 1, the kernel writes only the first of the two numbers. */
	n = 1;
	OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &k));
	OK(cudaGraphLaunch(exec, NULL));
	OK(cudaDeviceSynchronize());
	expect(p, 9, 0x11111111);
	/* Setting parameters keeps the attributes. The virtual GPU has no clusters of several
	 * blocks. */
	CUlaunchAttributeValue with = {.cooperative = 1}, seen = {.cooperative = 0};
	OK(cudaGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &with));
	OK(cudaGraphKernelNodeSetParams(kernel, &k));
	OK(cudaGraphKernelNodeGetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &seen));
	assert_int_equal(seen.cooperative, 1);
	OK(cudaGraphKernelNodeCopyAttributes(kernel, kernel));
	with.clusterDim.x = with.clusterDim.y = with.clusterDim.z = 1;
	OK(cudaGraphKernelNodeSetAttribute(kernel, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &with));
	with.clusterDim.x = 2;
	assert_int_equal(cudaGraphKernelNodeSetAttribute(
				 kernel, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &with),
		cudaErrorInvalidClusterSize);
	k.grid.x = 4;
	OK(cudaGraphKernelNodeSetParams(kernel, &k));
	assert_int_equal(cudaGraphKernelNodeSetAttribute(
				 kernel, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &with),
		cudaErrorNotSupported);
	k.func = &value;
	assert_int_equal(cudaGraphKernelNodeSetParams(kernel, &k), cudaErrorInvalidDeviceFunction);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(p));
	cudaGetLastError();
}

int run_graphs(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
