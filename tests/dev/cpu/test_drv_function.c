/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels as driver objects on the virtual GPU: a table of all function attributes, a table of
 * clusters, each launched in every possible way, and a table of module limits. */
#include "base/base.h"
#include "drv.h"

static CUmodule load(const char *target, const char *body)
{
	char text[4000];
	CUmodule mod;

	snprintf(
		text, sizeof(text), ".version 8.0\n.target %s\n.address_size 64\n%s", target, body);
	OK(cuModuleLoadData(&mod, text));
	return mod;
}

static CUfunction function_of(CUmodule mod, const char *name)
{
	CUfunction fn;

	OK(cuModuleGetFunction(&fn, mod, name));
	return fn;
}

/* ---- attributes ---- */

/* The kernels are the same for each target, except for what the table's columns say. */
static const char attributes_ptx[] =
	".const .align 4 .b32 table[25];\n"
	".visible .entry plain() { ret; }\n"
	".visible .entry sized() .maxntid 16, 8, 1 { .shared .align 4 .b8 room[1000];\n"
	".reg .b32 %r<2>; mov.u32 %r0, room; st.shared.u32 [%r0], %r0; ret; }\n"
	".visible .entry deep() .reqntid 96, 1, 1 { .local .align 8 .b8 room[264]; .reg .b64 "
	"%d<2>;\n"
	"mov.u64 %d0, room; st.local.u64 [%d0], %d0; ret; }\n";

/* For each attribute, the values that a GPU returns, a value that it can be set to, and a value
 * that is refused, with the error code (NO: none). */
#define NO (-1000)
static const struct {
	CUfunction_attribute attr;
	int plain, sized, deep;
	int set;
	int refused;
	CUresult error; /* result of setting `refused` */
} attributes[] = {
	{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024, 128, 96, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0, 1000, 0, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 100, 100, 100, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0, 0, 272, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_NUM_REGS, NO, NO, NO, NO, 64, CUDA_ERROR_INVALID_VALUE},
	/* PTX_VERSION: depends on the target, see below */
	{CU_FUNC_ATTRIBUTE_PTX_VERSION, NO, NO, NO, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90, 90, 90, NO, 64, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0, 0, 0, NO, 1, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152, 48152, 49152, 4096, 232449,
		CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1, -1, -1, 50, 101,
		CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 0, 0, 0, NO, 1, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0, 0, 0, 1, -1, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0, 0, 0, 1, -1, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0, 0, 0, 1, -1, CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0, 0, 0, 1, 2,
		CUDA_ERROR_INVALID_VALUE},
	{CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0, 0, 0,
		CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING, 3, CUDA_ERROR_INVALID_VALUE},
};

static int attribute(CUfunction fn, CUfunction_attribute attr)
{
	int v = NO;

	OK(cuFuncGetAttribute(&v, attr, fn));
	return v;
}

static void check_attribute(CUmodule mod, unsigned i)
{
	CUfunction plain = function_of(mod, "plain");
	CUfunction_attribute attr = attributes[i].attr;

	if (attributes[i].plain != NO) {
		assert_int_equal(attribute(plain, attr), attributes[i].plain);
		assert_int_equal(attribute(function_of(mod, "sized"), attr), attributes[i].sized);
		assert_int_equal(attribute(function_of(mod, "deep"), attr), attributes[i].deep);
	}
	int before = attribute(plain, attr);
	assert_int_equal(
		cuFuncSetAttribute(plain, attr, attributes[i].refused), attributes[i].error);
	assert_int_equal(attribute(plain, attr), before);
	if (attributes[i].set == NO)
		return;
	OK(cuFuncSetAttribute(plain, attr, attributes[i].set));
	assert_int_equal(attribute(plain, attr), attributes[i].set);
}

static void all_attributes(void **state)
{
	static const struct {
		const char *name;
		int version;
	} targets[] = {{"sm_70", 70}, {"sm_75", 75}, {"sm_80", 80}, {"sm_86", 86}, {"sm_89", 89},
		{"sm_90", 90}, {"sm_90a", 90}};
	int v;

	for (unsigned t = 0; t < ARRAY_LEN(targets); t++) {
		CUmodule mod = load(targets[t].name, attributes_ptx);
		CUfunction fn = function_of(mod, "plain");

		for (unsigned i = 0; i < ARRAY_LEN(attributes); i++) {
			assert_int_equal(attributes[i].attr, i); /* no attribute is missing */
			check_attribute(mod, i);
		}
		v = attribute(fn, CU_FUNC_ATTRIBUTE_NUM_REGS);
		assert_true(v > 0 && v <= 255);
		assert_int_equal(attribute(fn, CU_FUNC_ATTRIBUTE_PTX_VERSION), targets[t].version);
		assert_int_equal(cuFuncGetAttribute(&v, (CUfunction_attribute)16, fn),
			CUDA_ERROR_INVALID_VALUE);
		assert_int_equal(cuFuncGetAttribute(&v, (CUfunction_attribute)-1, fn),
			CUDA_ERROR_INVALID_VALUE);
		OK(cuModuleUnload(mod));
	}
}

/* ---- clusters ---- */

static const char cluster_ptx[] =
	".visible .entry plain() { ret; }\n"
	".visible .entry most() .maxclusterrank 4 { ret; }\n"
	".visible .entry two() .reqnctapercluster 2 { ret; }\n"
	".visible .entry high() .reqnctapercluster 1, 2 { ret; }\n"
	".visible .entry cube() .explicitcluster .reqnctapercluster 1, 1, 2 { ret; }\n"
	".visible .entry one() .explicitcluster .reqnctapercluster 1, 1, 1 { ret; }\n"
	".visible .entry must() .explicitcluster { ret; }\n";

/* A kernel, the launch's cluster attribute (0: none), the grid, and the expected result. */
static const struct cluster_case {
	const char *name;
	unsigned dims[3], grid[3];
	CUresult result;
} clusters[] = {
	{"plain", {0, 0, 0}, {3, 1, 1}, CUDA_SUCCESS},
	{"plain", {1, 1, 1}, {3, 1, 1}, CUDA_SUCCESS},
	{"plain", {2, 1, 1}, {4, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"plain", {1, 2, 1}, {1, 2, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"plain", {1, 1, 2}, {1, 1, 2}, CUDA_ERROR_NOT_SUPPORTED},
	{"plain", {2, 1, 1}, {3, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	{"plain", {2, 0, 1}, {4, 1, 1}, CUDA_ERROR_INVALID_VALUE},
	{"most", {0, 0, 0}, {4, 1, 1}, CUDA_SUCCESS},
	{"most", {1, 1, 1}, {4, 1, 1}, CUDA_SUCCESS},
	{"most", {4, 1, 1}, {4, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"two", {0, 0, 0}, {4, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"two", {2, 1, 1}, {4, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"two", {1, 1, 1}, {4, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	{"two", {0, 0, 0}, {3, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	{"high", {0, 0, 0}, {1, 2, 1}, CUDA_ERROR_NOT_SUPPORTED},
	{"cube", {0, 0, 0}, {1, 1, 2}, CUDA_ERROR_NOT_SUPPORTED},
	{"one", {0, 0, 0}, {3, 1, 1}, CUDA_SUCCESS},
	{"must", {0, 0, 0}, {3, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	{"must", {1, 1, 1}, {3, 1, 1}, CUDA_SUCCESS},
	{"must", {3, 1, 1}, {3, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
};

static CUlaunchAttribute attribute_of(const struct cluster_case *c)
{
	CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};

	a.value.clusterDim.x = c->dims[0];
	a.value.clusterDim.y = c->dims[1];
	a.value.clusterDim.z = c->dims[2];
	return a;
}

/* Tries the launch calls that cannot carry a launch attribute. */
static void try_plain_ways(CUfunction fn, CUgraph graph, const struct cluster_case *c)
{
	const unsigned *g = c->grid;
	CUDA_KERNEL_NODE_PARAMS node = {.func = fn,
		.gridDimX = g[0],
		.gridDimY = g[1],
		.gridDimZ = g[2],
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUDA_KERNEL_NODE_PARAMS other = node;
	CUmodule mod;
	CUgraphNode n;

	assert_int_equal(
		cuLaunchKernel(fn, g[0], g[1], g[2], 32, 1, 1, 0, NULL, NULL, NULL), c->result);
	assert_int_equal(cuLaunchCooperativeKernel(fn, g[0], g[1], g[2], 32, 1, 1, 0, NULL, NULL),
		c->result);
	OK(cuFuncSetBlockShape(fn, 32, 1, 1));
	if (g[2] == 1)
		assert_int_equal(cuLaunchGrid(fn, (int)g[0], (int)g[1]), c->result);
	assert_int_equal(cuGraphAddKernelNode(&n, graph, NULL, 0, &node), c->result);
	OK(cuFuncGetModule(&mod, fn));
	other.func = function_of(mod, "plain");
	OK(cuGraphAddKernelNode(&n, graph, NULL, 0, &other));
	assert_int_equal(cuGraphKernelNodeSetParams(n, &node), c->result);
}

/* Sets the attribute after adding the node: the result is that of cuLaunchKernelEx, and a node
 * that refuses the attribute does not change. */
static void try_later(CUfunction fn, const struct cluster_case *c)
{
	const unsigned *g = c->grid;
	CUDA_KERNEL_NODE_PARAMS params = {.func = fn,
		.gridDimX = g[0],
		.gridDimY = g[1],
		.gridDimZ = g[2],
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUlaunchAttribute a = attribute_of(c);
	CUlaunchAttributeValue got;
	CUgraphNode n, copy;
	CUgraphExec exec;
	CUgraph graph;
	bool taken = c->result == CUDA_SUCCESS;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&n, graph, NULL, 0, &params));
	OK(cuGraphAddKernelNode(&copy, graph, NULL, 0, &params));
	assert_int_equal(cuGraphKernelNodeSetAttribute(n, a.id, &a.value), c->result);
	OK(cuGraphKernelNodeGetAttribute(n, a.id, &got));
	assert_int_equal(got.clusterDim.x, taken ? c->dims[0] : 0);
	assert_int_equal(got.clusterDim.z, taken ? c->dims[2] : 0);
	OK(cuGraphKernelNodeSetParams(n, &params)); /* this keeps the attribute */
	OK(cuGraphKernelNodeCopyAttributes(copy, n));
	OK(cuGraphKernelNodeGetAttribute(copy, a.id, &got));
	assert_int_equal(got.clusterDim.y, taken ? c->dims[1] : 0);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static void try_cluster(CUmodule mod, const struct cluster_case *c)
{
	CUfunction fn = function_of(mod, c->name);
	CUlaunchAttribute a = attribute_of(c);
	CUlaunchConfig config = {c->grid[0], c->grid[1], c->grid[2], 32, 1, 1, 0, NULL, &a, 1};
	CUstream s;
	CUgraph graph;
	int n;

	print_message("%s, clusters of %u %u %u, grid %u %u %u\n", c->name, c->dims[0], c->dims[1],
		c->dims[2], c->grid[0], c->grid[1], c->grid[2]);
	config.numAttrs = c->dims[0] != 0;
	assert_int_equal(cuLaunchKernelEx(&config, fn, NULL, NULL), c->result);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	config.hStream = s;
	assert_int_equal(cuLaunchKernelEx(&config, fn, NULL, NULL), c->result);
	OK(cuStreamEndCapture(s, &graph));
	config.hStream = NULL;
	if (!c->dims[0])
		try_plain_ways(fn, graph, c);
	else if (!strcmp(c->name, "plain") || !strcmp(c->name, "most"))
		try_later(fn, c);
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy(s));
	/* The occupancy calls ignore the grid. */
	if (c->result == CUDA_SUCCESS || c->result == CUDA_ERROR_NOT_SUPPORTED)
		assert_int_equal(cuOccupancyMaxActiveClusters(&n, fn, &config), c->result);
	OK(cuCtxSynchronize());
}

static void all_clusters(void **state)
{
	CUmodule mod = load("sm_90", cluster_ptx);
	CUlaunchConfig config = {4, 1, 1, 32, 1, 1, 0, NULL, NULL, 0};
	CUfunction plain = function_of(mod, "plain"), two = function_of(mod, "two");
	int n, v;

	for (unsigned i = 0; i < ARRAY_LEN(clusters); i++)
		try_cluster(mod, &clusters[i]);
	OK(cuOccupancyMaxPotentialClusterSize(&n, plain, &config));
	assert_int_equal(n, 1);
	assert_int_equal(
		cuOccupancyMaxPotentialClusterSize(&n, two, &config), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
	assert_int_equal(v, 0);
	/* A cluster size in the PTX text is fixed. A size that the text leaves open can be set,
	 * and takes effect. */
	assert_int_equal(attribute(two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
	assert_int_equal(attribute(two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
	assert_int_equal(
		attribute(function_of(mod, "must"), CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
	assert_int_equal(cuFuncSetAttribute(two, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 1),
		CUDA_ERROR_NOT_PERMITTED);
	OK(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
	OK(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
	OK(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
	assert_int_equal(cuLaunchKernel(plain, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		CUDA_ERROR_NOT_SUPPORTED);
	OK(cuModuleUnload(mod));
}

static void set_size(CUfunction fn, int x, int y, int z)
{
	OK(cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, x));
	OK(cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, y));
	OK(cuFuncSetAttribute(fn, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, z));
}

/* Sets the cluster size of the kernel after nodes that launch it were added to a graph. An
 * executable graph that was made before the change stays valid. */
static void later_clusters(void **state)
{
	static const struct {
		int size[3];
		CUresult result; /* for a grid of 4 blocks in x */
	} all[] = {
		{{1, 1, 1}, CUDA_SUCCESS},
		{{2, 1, 1}, CUDA_ERROR_NOT_SUPPORTED},
		{{1, 2, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{{3, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
	};
	CUmodule mod = load("sm_90", cluster_ptx);
	CUfunction fn = function_of(mod, "plain");
	CUDA_KERNEL_NODE_PARAMS params = {.func = fn,
		.gridDimX = 4,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUlaunchAttributeValue value = {.cooperative = 1};

	for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
		CUgraphExecUpdateResultInfo info;
		CUgraphExec before, exec;
		CUgraph graph, parent;
		CUgraphNode n, child;
		CUresult want = all[i].result;
		bool fine = want == CUDA_SUCCESS;

		set_size(fn, 1, 1, 1);
		OK(cuGraphCreate(&graph, 0));
		OK(cuGraphCreate(&parent, 0));
		OK(cuGraphAddKernelNode(&n, graph, NULL, 0, &params));
		OK(cuGraphInstantiate(&before, graph, 0));
		set_size(fn, all[i].size[0], all[i].size[1], all[i].size[2]);
		assert_int_equal(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph), want);
		assert_int_equal(cuGraphExecUpdate(before, graph, &info),
			fine ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
		assert_int_equal(info.result, fine ? CU_GRAPH_EXEC_UPDATE_SUCCESS
						   : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
		assert_int_equal(cuGraphKernelNodeSetParams(n, &params), want);
		assert_int_equal(cuGraphExecKernelNodeSetParams(before, n, &params), want);
		assert_int_equal(
			cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
			want);
		assert_int_equal(cuGraphInstantiate(&exec, graph, 0), want);
		OK(cuGraphLaunch(before, NULL));
		OK(cuCtxSynchronize());
		OK(cuGraphExecDestroy(before));
		if (fine)
			OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(parent));
		OK(cuGraphDestroy(graph));
	}
	OK(cuModuleUnload(mod));
}

/* Tests node attributes other than the cluster size, and invalid calls. */
static void node_attributes(void **state)
{
	CUmodule mod = load("sm_90", cluster_ptx);
	CUDA_KERNEL_NODE_PARAMS params = {.func = function_of(mod, "plain"),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUlaunchAttributeValue value = {.cooperative = 1}, got;
	CUgraphNode n, empty;
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&n, graph, NULL, 0, &params));
	OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
	OK(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
	OK(cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &got));
	assert_int_equal(got.cooperative, 1);
	value.priority = -3;
	OK(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
	OK(cuGraphKernelNodeGetAttribute(n, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got));
	assert_int_equal(got.priority, -3);
	assert_int_equal(cuGraphKernelNodeSetAttribute(
				 n, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value),
		CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuGraphKernelNodeSetAttribute(n, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphKernelNodeSetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphKernelNodeGetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &got),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphKernelNodeCopyAttributes(n, empty), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(graph));
	OK(cuModuleUnload(mod));
}

/* ---- module limits ---- */

/* A module's text after .version and .target, and a part of the expected log (NULL: the module
 * loads). */
static const struct limit_case {
	const char *version, *body, *says;
} limits[] = {
	{"8.0", ".const .align 4 .b8 t[65536]; .visible .entry k() { ret; }", NULL},
	{"8.0", ".const .align 4 .b8 t[65537]; .visible .entry k() { ret; }",
		"constants (.const) of 65537 bytes: a module has 65536 at most"},
	{"8.0", ".const .align 4 .b8 t[40000]; .const .align 4 .b8 u[40000];",
		"constants (.const) of 80000 bytes"},
	{"8.0", ".const .b8 t[1]; .const .align 256 .b8 u[65280];", NULL},
	{"8.0", ".const .b8 t[1]; .const .align 256 .b8 u[65281];",
		"constants (.const) of 65537 bytes"},
	{"8.0", ".visible .entry k() { .shared .align 4 .b8 s[49152]; ret; }", NULL},
	{"8.0", ".visible .entry k() { .shared .align 4 .b8 s[49153]; ret; }",
		"kernel k: static shared memory of 49153 bytes: a kernel has 49152 at most"},
	{"8.0", ".visible .entry k() { .shared .align 4 .b8 s[65536]; ret; }",
		"static shared memory of 65536 bytes"},
	{"8.0",
		".shared .align 4 .b8 s[65536]; .visible .entry k() { .reg .b32 %r; mov.u32 %r, s; "
		"ret; }",
		"static shared memory of 65536 bytes"},
	/* an unused variable, and two variables of which each kernel uses one */
	{"8.0", ".shared .align 4 .b8 s[65536]; .visible .entry k() { ret; }", NULL},
	{"8.0",
		".shared .align 4 .b8 s[40000]; .shared .align 4 .b8 t[40000];\n"
		".visible .entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }\n"
		".visible .entry l() { .reg .b32 %r; mov.u32 %r, t; ret; }",
		NULL},
	/* shared memory of a function that the kernel calls */
	{"8.0",
		".func f() { .shared .align 4 .b8 t[40000]; ret; }\n"
		".visible .entry k() { .shared .align 4 .b8 s[10000]; call f; ret; }",
		"kernel k: static shared memory of 50000 bytes"},
	{"8.0", ".visible .entry k(.param .align 4 .b8 p[4352]) { ret; }", NULL},
	{"8.0", ".visible .entry k(.param .align 4 .b8 p[4356]) { ret; }",
		"parameters of 4356 bytes: a kernel has 4352 at most before PTX 8.1"},
	{"8.1", ".visible .entry k(.param .align 4 .b8 p[32764]) { ret; }", NULL},
	{"8.1", ".visible .entry k(.param .align 4 .b8 p[32768]) { ret; }",
		"parameters of 32768 bytes: a kernel has 32764 at most"},
	{"8.1", ".visible .entry k(.param .align 4 .b8 p[80000]) { ret; }",
		"parameters of over 64 KiB"},
};

static void all_limits(void **state)
{
	static char text[1000], log[1000];

	for (unsigned i = 0; i < ARRAY_LEN(limits); i++) {
		CUjit_option options[] = {
			CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
		void *values[] = {log, (void *)sizeof(log)};
		CUlibrary library;
		CUmodule mod;

		print_message("%s\n", limits[i].body);
		snprintf(text, sizeof(text), ".version %s\n.target sm_80\n.address_size 64\n%s",
			limits[i].version, limits[i].body);
		CUresult r = cuModuleLoadDataEx(&mod, text, 2, options, values);
		assert_int_equal(r, limits[i].says ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS);
		if (limits[i].says && !strstr(log, limits[i].says))
			fail_msg("the log is: %s", log);
		if (!limits[i].says)
			OK(cuModuleUnload(mod));
		assert_int_equal(cuModuleLoadData(&mod, text), r);
		if (!limits[i].says)
			OK(cuModuleUnload(mod));
		assert_int_equal(
			cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), r);
		if (!limits[i].says)
			OK(cuLibraryUnload(library));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_attributes),
		cmocka_unit_test(all_clusters),
		cmocka_unit_test(later_clusters),
		cmocka_unit_test(node_attributes),
		cmocka_unit_test(all_limits),
	};
	return cmocka_run_group_tests(tests, drv_setup, drv_teardown);
}
