/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The limits that ptxas checks, and with it the compiler in NVIDIA's driver: constants of a module,
 * static shared memory and parameters of a kernel. The numbers are those of sm_90, as ptxas 13.0
 * states them. The virtual GPU itself needs none of them. */
#include "code.h"

#include <errno.h>

#define MAX_CONSTANTS     65536u
#define MAX_STATIC_SHARED 49152u
#define MAX_PARAMS_OLD    4352u /* limit before PTX 8.1 */
#define MAX_PARAMS        32764u

/* Places the constants in the order of their declarations, and reports the first one beyond the
 * limit. */
static void check_constants(const struct vgpu_module *mod, struct diag_list *diags)
{
	const struct ptx_sym *beyond = NULL;
	uint64_t end = 0;

	for (size_t i = 0; i < mod->globals.len; i++) {
		const struct ptx_sym *sym = mod->globals.at[i].sym;
		uint32_t align = sym->align ? sym->align : MAX(ptx_type_bytes(sym->type.base), 1u);

		if (sym->space != PTX_CONST)
			continue;
		end = round_up(end, align) + mod->globals.at[i].bytes;
		if (!beyond && end > MAX_CONSTANTS)
			beyond = sym;
	}
	if (beyond)
		diag_line_error(diags, beyond->line,
			"constants (.const) of %llu bytes: a module has %u at most",
			(unsigned long long)end, MAX_CONSTANTS);
}

static void check_kernel(const struct vgpu_kernel *k, unsigned ptx_version, struct diag_list *diags)
{
	uint32_t params = ptx_version < 81 ? MAX_PARAMS_OLD : MAX_PARAMS;
	struct vgpu_kernel_info info;

	vgpu_kernel_info(k, &info);
	if (info.static_shared_bytes > MAX_STATIC_SHARED)
		diag_line_error(diags, k->ptx->line,
			"kernel %.100s: static shared memory of %u bytes: a kernel has %u at most, "
			"and more only as dynamic shared memory",
			info.name, info.static_shared_bytes, MAX_STATIC_SHARED);
	if (info.param_bytes > params)
		diag_line_error(diags, k->ptx->line,
			"kernel %.100s: parameters of %u bytes: a kernel has %u at most%s",
			info.name, info.param_bytes, params,
			ptx_version < 81 ? " before PTX 8.1" : "");
}

int vgpu_module_limits(const struct vgpu_module *mod, struct diag_list *diags)
{
	check_constants(mod, diags);
	for (unsigned i = 0; i < mod->n_kernels; i++)
		check_kernel(&mod->kernels[i], mod->ptx->version, diags);
	return diags->errors ? -EINVAL : 0;
}
