/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: bench_vgpu FOLDER…
 * Measures the speed of the virtual GPU's core on the kernels of the eight programs, from each
 * folder of PTX (build/kernels/nvcc, build/kernels/clang). Prints thread instructions per second of
 * one core's time for each kernel, and the geometric mean. Fails if the mean is below 100 million,
 * the promised minimum. */
#include "../tests/dev/cpu/grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name, *spec;
} kernels[] = {
	{"va", "--grid 400 --block 256 f32[409600]:rand(1) f32[409600]:rand(2) f32[409600]:zero "
	       "u32:409600 u32:4"},
	{"nn", "--grid 40,8 --block 256 f32[40960]:rand(1) f32[40960]:rand(2) f32[32]:rand(3) "
	       "f32[32]:rand(4) f32[40960]:zero u32:40960 u32:4"},
	{"pf", "--grid 20,4 --block 256 u8[200000]:rand(1) i32[4320]:iota i32[34560]:zero u32:4320 "
	       "u32:40 u32:20 u32:2"},
	{"pl", "--grid 32,3 --block 256 u8[24576]:rand(1) f32[8192]:rand(2) f32[8192]:rand(3) "
	       "i32[42]:rand(4) f32[49152]:zero f32[192]:zero u32:8192 u32:64 u32:64 u32:21 "
	       "f32:0.0001 u32:2"},
	{"md", "--grid 32,4 --block 128 f32[262144]:rand(1) u32[131072]:const(3) f32[262144]:zero "
	       "u32:4096 u32:32 f32:0.5 f32:1.5 f32:2 u32:4"},
	{"spmv", "--grid 256,4 --block 128 f32[32768]:rand(1) u32[32768]:const(7) u32[1025]:iota "
		 "f32[8192]:rand(2) f32[8192]:zero u32:1024 u32:1024 u32:2"},
	{"mm", "--grid 4,4,2 --block 256 f32[131072]:rand(1) f32[131072]:rand(2) "
	       "f32[131072]:zero u32:256 u32:1"},
	{"cfd", "--grid 32,2 --block 128 f32[40960]:const(1) u32[16384]:const(5) "
		"f32[49152]:rand(1) "
		"f32[40960]:zero u32:4096 u32:4 f32:0.01 u32:1"},
};

static double core_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Returns thread instructions per second, or 0 after an error. */
static double measure(
	struct vgpu_module *mod, struct vgpu_mem *m, const char *name, const char *spec)
{
	char params[1024];
	struct vgpu_launch l = {.params = params, .n_sms = 4};
	struct grid_result g;
	struct grid_spec s;
	double from, best = 0;
	int r;

	l.kernel = vgpu_module_kernel(mod, name);
	if (!l.kernel || grid_parse_spec(m, spec, &s))
		return 0;
	memcpy(l.grid, s.grid, sizeof(l.grid));
	memcpy(l.block, s.block, sizeof(l.block));
	r = grid_pack(l.kernel, s.args, s.n_args, params, sizeof(params));
	for (unsigned k = 0; k < 3 && !r; k++) {
		from = core_seconds();
		r = vgpu_run_grid(&l, 10000, 0, &g);
		best = fmax(best, (double)g.thread_insns / (core_seconds() - from));
	}
	grid_free_spec(m, &s);
	return r ? 0 : best;
}

static double bench_file(const char *folder, const char *name, const char *spec)
{
	static char text[1 << 20];
	static struct diag_list diags;
	struct vgpu_module *mod;
	struct vgpu_mem *m;
	struct arena a;
	char path[1000];
	double rate = 0;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	arena_init(&a, 0);
	diag_init(&diags, &a, path, text, n);
	if (!vgpu_mem_create(1ull << 30, &m)) {
		if (!vgpu_module_load(m, text, n, &diags, &mod)) {
			rate = measure(mod, m, name, spec);
			vgpu_module_free(mod);
		}
		vgpu_mem_destroy(m);
	}
	arena_finish(&a);
	return rate;
}

int main(int argc, char **argv)
{
	double sum = 0;
	unsigned n = 0;

	for (int i = 1; i < argc; i++) {
		for (size_t k = 0; k < ARRAY_LEN(kernels); k++) {
			double rate = bench_file(argv[i], kernels[k].name, kernels[k].spec);

			if (rate < 0)
				continue;
			printf("%s/%s %.0f M/s\n", argv[i], kernels[k].name, rate * 1e-6);
			sum += log(fmax(rate, 1));
			n++;
		}
	}
	if (!n) {
		printf("no PTX in the folders given: skipped\n");
		return 77;
	}
	printf("geometric mean %.0f M thread instructions a second and core\n",
		exp(sum / n) * 1e-6);
	return exp(sum / n) < 100e6;
}
