/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any PTX text is loaded, and its kernels run for a limited number of steps on a small grid.
 * Arguments are pointers to valid memory, invalid pointers, or small numbers. Every kernel must
 * end or fault within the virtual GPU, and never touch the host's memory. Runs in each
 * convergence mode. */
#include "dev/cpu/vgpu.h"

#include <string.h>

#define STEPS  200
#define BUDGET 500

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t fixed_time(void *user)
{
	(void)user;
	return 1000;
}

static void run(const struct vgpu_kernel *k, uint64_t buffer)
{
	uint64_t params[512] = {0}, insns = 0, cycles = 0;
	struct vgpu_launch l = {.kernel = k,
		.grid = {2, 1, 1},
		.block = {40, 1, 1},
		.dynamic_shared_bytes = 64,
		.params = params,
		.n_sms = 2,
		.timer_ns = fixed_time};
	struct vgpu_block *b[2] = {0};
	struct vgpu_kernel_info info;

	vgpu_kernel_info(k, &info);
	if (info.param_bytes > sizeof(params) || info.static_shared_bytes > (1u << 20) ||
		info.local_bytes > (64u << 10))
		return;
	for (uint32_t i = 0; i < info.n_params; i++) {
		uint64_t v = i % 3 == 2 ? i : buffer;

		memcpy((char *)params + info.param_offset[i], &v, MIN(info.param_size[i], 8u));
	}
	for (unsigned i = 0; i < 2; i++)
		if (vgpu_block_create(&l, i, i, 0, &b[i]))
			break;
	for (unsigned s = 0; b[1] && s < STEPS; s++)
		if (vgpu_block_step(b[s & 1], BUDGET, &insns, &cycles) == VGPU_FAULT)
			break;
	vgpu_block_destroy(b[0]);
	vgpu_block_destroy(b[1]);
}

static void run_module(const uint8_t *data, size_t len)
{
	static struct diag_list diags;
	struct vgpu_kernel *kernels[4];
	struct vgpu_module *mod;
	struct vgpu_mem *m;
	struct arena a;
	uint64_t buffer;

	if (len > (64u << 10) || vgpu_mem_create(16u << 20, &m))
		return;
	arena_init(&a, 0);
	diag_init(&diags, &a, "input", (const char *)data, len);
	if (!vgpu_mem_alloc(m, 4096, &buffer) &&
		!vgpu_module_load(m, (const char *)data, len, &diags, &mod)) {
		unsigned n = vgpu_module_kernels(mod, kernels, 4);

		for (unsigned i = 0; i < MIN(n, 4u); i++)
			run(kernels[i], buffer);
		vgpu_module_free(mod);
	}
	vgpu_mem_destroy(m);
	arena_finish(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	for (int how = VC_NONE; how <= VC_POSTDOM; how++) {
		vgpu_set_converge((enum vgpu_converge)how);
		run_module(data, len);
	}
	return 0;
}
