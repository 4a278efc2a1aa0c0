/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parameters of an entry as the driver lays them out: in order, each at its natural or declared
 * alignment. */
#include "pass/pass.h"

#include <errno.h>

static uint32_t param_align(const struct ptx_sym *p)
{
	uint32_t natural = ptx_type_bytes(p->type.base) * MAX(p->type.vec, 1u);

	return p->align ? p->align : MAX(natural, 1u);
}

/* Opaque ones (.texref and its kin) are 64-bit handles. */
static uint32_t param_bytes(const struct ptx_sym *p)
{
	return p->bytes ? (uint32_t)p->bytes : 8;
}

int pass_param_layout(const struct ptx_func *f, uint32_t *ret_bytes, uint32_t *ret_offsets,
	uint32_t *ret_sizes, uint32_t max)
{
	uint64_t end = 0;

	for (size_t i = 0; i < f->params.len; i++) {
		const struct ptx_sym *p = f->params.at[i];

		end = round_up(end, param_align(p));
		if (i < max && ret_offsets)
			ret_offsets[i] = (uint32_t)end;
		if (i < max && ret_sizes)
			ret_sizes[i] = param_bytes(p);
		end += param_bytes(p);
		if (end > UINT32_MAX)
			return -E2BIG;
	}
	*ret_bytes = (uint32_t)end;
	return 0;
}
