/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests several devices on the virtual GPU: their properties; that contexts, memory, launches and
 * libraries belong to one device; copies between devices; and the devices that
 * CUDA_VISIBLE_DEVICES shows. Each case runs in its own process, since cuInit reads the
 * environment only once. */
#include "drv.h"

#include <sys/wait.h>

#define TWO "workers=2,devices=2,report=none"

static const char library_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .u32 counter;\n"
	".visible .entry count(.param .u32 n)\n{\n	.reg .b32 %r<3>;\n"
	"	ld.param.u32 %r1, [n];\n	red.global.add.u32 [counter], %r1;\n	ret;\n}\n";

/* Gives each case an instance name of its own, so that cases do not share an instance. */
static void instance(const char *options)
{
	static int n;
	char text[160];

	snprintf(text, sizeof(text), "devices-%d-%d,%s", (int)getpid(), n++, options);
	setenv("HEDDLE_VGPU", text, 1);
}

static int end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs fn in a child process. */
static pid_t begin(void (*fn)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	alarm(60);
	fn();
	exit(0);
}

static void alone(void (*fn)(void))
{
	instance(TWO);
	assert_int_equal(end(begin(fn)), 0);
}

/* ---- device properties ---- */

static void say(void)
{
	CUuuid uuid[2];
	char name[2][64], id[2][16];
	int n, bus, can;
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 2);
	for (int i = 0; i < 2; i++) {
		OK(cuDeviceGet(&dev, i));
		assert_int_equal(dev, i);
		OK(cuDeviceGetUuid(&uuid[i], i));
		OK(cuDeviceGetName(name[i], sizeof(name[i]), i));
		OK(cuDeviceGetPCIBusId(id[i], sizeof(id[i]), i));
		OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
		assert_int_equal(bus, 0x7d + i);
		OK(cuDeviceGetByPCIBusId(&dev, id[i]));
		assert_int_equal(dev, i);
		OK(cuDeviceCanAccessPeer(&can, i, 1 - i));
		assert_int_equal(can, 1);
		OK(cuDeviceCanAccessPeer(&can, i, i));
		assert_int_equal(can, 0);
	}
	assert_memory_not_equal(&uuid[0], &uuid[1], sizeof(uuid[0]));
	assert_string_not_equal(name[0], name[1]);
	assert_string_equal(id[1], "0000:7E:00.0");
	assert_int_equal(cuDeviceGet(&dev, 2), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuDeviceGet(&dev, -1), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuDeviceGetByPCIBusId(&dev, "0000:7F:00.0"), CUDA_ERROR_INVALID_DEVICE);
	assert_int_equal(cuDeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
}

static void what_they_say(void **state)
{
	alone(say);
}

/* ---- objects and their devices ---- */

static CUcontext primary[2];

static void begin_two(struct drv_test *t)
{
	drv_begin(t, NULL);
	primary[0] = t->ctx;
	OK(cuDevicePrimaryCtxRetain(&primary[1], 1));
	assert_ptr_not_equal(primary[0], primary[1]);
}

static void on(int device)
{
	CUdevice dev;

	OK(cuCtxSetCurrent(primary[device]));
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(dev, device);
}

static void add(CUmodule mod, CUdeviceptr p, uint32_t n, uint32_t k, CUresult expected)
{
	void *params[] = {&p, &n, &k};
	CUfunction fn;

	OK(cuModuleGetFunction(&fn, mod, "add"));
	OK(cuLaunchKernel(fn, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), expected);
}

static void own_memory(void)
{
	struct drv_test t;
	size_t before[2], after[2], total;
	int ordinal;
	CUdeviceptr p;

	begin_two(&t);
	for (int i = 0; i < 2; i++) {
		on(i);
		OK(cuMemGetInfo(&before[i], &total));
	}
	OK(cuMemAlloc(&p, 1 << 20)); /* on device 1 */
	for (int i = 0; i < 2; i++) {
		on(i);
		OK(cuMemGetInfo(&after[i], &total));
	}
	assert_int_equal(after[0], before[0]);
	assert_int_equal(after[1], before[1] - (1 << 20));
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
	assert_int_equal(ordinal, 1);
	on(0);
	OK(cuMemFree(p)); /* works whichever device is current */
	on(1);
	OK(cuMemGetInfo(&after[1], &total));
	assert_int_equal(after[1], before[1]);
}

static void memory_is_its_own(void **state)
{
	alone(own_memory);
}

static void copy_between(void)
{
	struct drv_test t;
	CUdeviceptr p[2];
	CUmodule mod;
	CUstream stream;

	begin_two(&t);
	on(1);
	OK(cuModuleLoadData(&mod, drv_ptx));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	p[1] = drv_words(1000);
	add(mod, p[1], 1000, 7, CUDA_SUCCESS);
	on(0);
	p[0] = drv_words(1000);
	OK(cuMemcpyPeer(p[0], primary[0], p[1], primary[1], 4000));
	assert_int_equal(drv_read(p[0] + 3996), 7);
	add(t.mod, p[0], 1000, 2, CUDA_SUCCESS);
	OK(cuMemcpyDtoD(p[1], p[0], 4000));
	assert_int_equal(drv_read(p[1]), 9);
	/* The stream belongs to a device that is not current. */
	OK(cuMemsetD32(p[0], 5, 1000));
	OK(cuCtxSynchronize());
	OK(cuMemcpyPeerAsync(p[1], primary[1], p[0], primary[0], 4000, stream));
	OK(cuStreamSynchronize(stream));
	assert_int_equal(drv_read(p[1] + 3996), 5);
	assert_int_equal(
		cuMemcpyPeer(p[1], primary[1], p[0], (CUcontext)&p, 4), CUDA_ERROR_INVALID_CONTEXT);
}

static void copies_between_devices(void **state)
{
	alone(copy_between);
}

static void no_peer(void)
{
	struct drv_test t;
	CUdeviceptr p;

	begin_two(&t);
	on(1);
	p = drv_words(100);
	on(0);
	add(t.mod, p, 100, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void peer(void)
{
	struct drv_test t;
	CUdeviceptr p;

	begin_two(&t);
	on(1);
	p = drv_words(100);
	on(0);
	assert_int_equal(cuCtxDisablePeerAccess(primary[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	assert_int_equal(cuCtxEnablePeerAccess(primary[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	OK(cuCtxEnablePeerAccess(primary[1], 0));
	assert_int_equal(
		cuCtxEnablePeerAccess(primary[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	add(t.mod, p, 100, 3, CUDA_SUCCESS);
	assert_int_equal(drv_read(p), 3);
	OK(cuCtxDisablePeerAccess(primary[1]));
	add(t.mod, p, 100, 3, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void peers_must_be_enabled(void **state)
{
	alone(no_peer);
	alone(peer);
}

/* An endless launch on one device leaves the other device's SMs free. */
static void busy_neighbour(void)
{
	struct drv_test t;
	uint32_t *flag;
	CUdeviceptr p;
	CUmodule mod;
	CUfunction fn;
	void *params[] = {&p};

	begin_two(&t);
	on(1);
	OK(cuModuleLoadData(&mod, drv_ptx));
	flag = drv_mapped(1);
	p = (CUdeviceptr)(uintptr_t)flag;
	OK(cuModuleGetFunction(&fn, mod, "spin"));
	/* Launches more blocks than the device can hold. */
	OK(cuLaunchKernel(fn, 1000, 1, 1, 1024, 1, 1, 0, NULL, params, NULL));
	on(0);
	p = drv_words(1000);
	add(t.mod, p, 1000, 1, CUDA_SUCCESS);
	assert_int_equal(drv_read(p + 3996), 1);
	on(1);
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
}

static void sms_are_its_own(void **state)
{
	alone(busy_neighbour);
}

static void library_twice(void)
{
	struct drv_test t;
	CUlibrary lib;
	CUkernel kernel;
	CUdeviceptr p[2];
	uint32_t n;
	void *params[] = {&n};

	begin_two(&t);
	OK(cuLibraryLoadData(&lib, library_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, lib, "count"));
	for (int i = 0; i < 2; i++) {
		on(i);
		OK(cuLibraryGetGlobal(&p[i], NULL, lib, "counter"));
		n = 5 + (uint32_t)i;
		OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		OK(cuCtxSynchronize());
	}
	assert_true(p[0] != p[1]);
	assert_int_equal(drv_read(p[0]), 5);
	assert_int_equal(drv_read(p[1]), 6);
	OK(cuLibraryUnload(lib));
}

static void libraries_are_on_both(void **state)
{
	alone(library_twice);
}

/* ---- CUDA_VISIBLE_DEVICES ---- */

#define UUID "GPU-68656464-6c65-"

static const struct visible {
	const char *shown, *expected; /* expected: the devices' numbers; "" for none */
} visible[] = {
	{"0", "0"},
	{"1", "1"},
	{"2,0,1", "201"},
	{" 1 , 2 ", "12"},
	{"", ""},
	{"-1", ""},
	{"none", ""},
	{"NoDevFiles", ""},
	{"3", ""},
	{"0,3,1", "0"}, /* the first invalid entry ends the list */
	{"2,x,1", "2"},
	{"1,,2", "1"},
	{"99999999999999999999", ""},
	{"0,1,0", ""}, /* a repeated device: none is visible */
	{UUID "0201", "2"},
	{"gpu-68656464-6C65-0101", "1"},
	{"GPU-68656464", ""}, /* every UUID begins so: ambiguous */
	{"GPU-", ""},
	{UUID "0001," UUID "0201", "02"},
	{UUID "0201,1", "21"},
	{UUID "0701", ""},
	{"MIG-" UUID "0001", ""},
};
static const struct visible *shown_now;

static void look(void)
{
	char found[16] = "";
	CUresult r;
	int n = 0, bus;

	setenv("CUDA_VISIBLE_DEVICES", shown_now->shown, 1);
	r = cuInit(0);
	assert_int_equal(r, *shown_now->expected ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
	if (r == CUDA_SUCCESS)
		OK(cuDeviceGetCount(&n));
	for (int i = 0; i < n; i++) {
		OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
		found[i] = (char)('0' + bus - 0x7d);
	}
	if (strcmp(found, shown_now->expected)) {
		fprintf(stderr, "CUDA_VISIBLE_DEVICES='%s' shows '%s', not '%s'\n",
			shown_now->shown, found, shown_now->expected);
		exit(1);
	}
}

static void visible_devices(void **state)
{
	for (size_t i = 0; i < sizeof(visible) / sizeof(*visible); i++) {
		instance("workers=1,devices=3,report=none");
		shown_now = &visible[i];
		if (end(begin(look)))
			fail_msg("CUDA_VISIBLE_DEVICES='%s'", shown_now->shown);
	}
}

/* ---- processes with different options ---- */

static char told[64];

static void look_on(void)
{
	char text[200], line[300] = "";
	const char *name = getenv("HEDDLE_VGPU");
	int n;

	snprintf(text, sizeof(text), "%.*s,devices=4,report=%s", (int)strcspn(name, ","), name,
		told);
	setenv("HEDDLE_VGPU", text, 1);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 2);
	FILE *f = fopen(told, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_non_null(strstr(line, "HEDDLE_VGPU=devices=4: "));
	assert_non_null(strstr(line, "HEDDLE_VGPU=NAME,devices=4 is a GPU of its own"));
	assert_non_null(strstr(line, "have 2 already"));
	fclose(f);
}

/* A process that names no options uses the existing instance. */
static void look_quietly(void)
{
	char text[200];
	const char *name = getenv("HEDDLE_VGPU");
	int n;

	snprintf(text, sizeof(text), "%.*s,report=%s", (int)strcspn(name, ","), name, told);
	setenv("HEDDLE_VGPU", text, 1);
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 1);
	assert_int_equal(access(told, F_OK), -1);
}

static void first_of_all(void)
{
	struct drv_test t;

	/* Forks before cuInit: children forked after it could not use the device. */
	int to_child[2], from_child[2];
	char c;
	assert_int_equal(pipe(to_child), 0);
	assert_int_equal(pipe(from_child), 0);
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		if (pid)
			continue;
		close(to_child[1]);
		if (read(to_child[0], &c, 1) != 1)
			exit(1);
		if (c == 'q')
			look_quietly();
		else
			look_on();
		c = 'd';
		exit(write(from_child[1], &c, 1) != 1);
	}
	drv_begin(&t, NULL);
	for (int i = 0; i < 2; i++) {
		int status;
		assert_int_equal(write(to_child[1], i ? "l" : "q", 1), 1);
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	drv_end(&t);
}

static void disagreement_is_told(void **state)
{
	snprintf(told, sizeof(told), "/tmp/devices-%d.txt", (int)getpid());
	alone(first_of_all);
	unlink(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_they_say),
		cmocka_unit_test(memory_is_its_own),
		cmocka_unit_test(copies_between_devices),
		cmocka_unit_test(peers_must_be_enabled),
		cmocka_unit_test(sms_are_its_own),
		cmocka_unit_test(libraries_are_on_both),
		cmocka_unit_test(visible_devices),
		cmocka_unit_test(disagreement_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
