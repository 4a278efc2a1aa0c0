/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Merging and fusing, and a look at what came of it (verify.h). */
#include "pass/verify.h"

#include <errno.h>

static int verified(pass_recorded_fn *make, const struct pass_guest *guests, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which)
{
	struct pass_record record = {0};
	int r = make(guests, n, diags, ret_m, ret, ret_verdict, ret_which, &record);
	struct pass_result result = {.n = n, .guests = guests, .record = &record, .form = ret};

	if (r == 0) {
		result.m = *ret_m;
		result.f = ptx_find_func(*ret_m, CTL_MERGE_ENTRY);
		if (!pass_verify(&result, diags)) {
			ptx_module_free(*ret_m);
			*ret_m = NULL;
			r = -EINVAL;
		}
	}
	pass_record_finish(&record);
	return r;
}

int pass_merge(const struct pass_guest *guests, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which)
{
	return verified(pass_merge_recorded, guests, n, diags, ret_m, ret, ret_verdict, ret_which);
}

int pass_fuse_vertical(const struct pass_guest *guests, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which)
{
	return verified(
		pass_fuse_vertical_recorded, guests, n, diags, ret_m, ret, ret_verdict, ret_which);
}

int pass_fuse_horizontal(const struct pass_guest *guests, unsigned n, struct diag_list *diags,
	struct ptx_module **ret_m, struct pass_merged *ret, struct pass_verdict *ret_verdict,
	unsigned *ret_which)
{
	return verified(pass_fuse_horizontal_recorded, guests, n, diags, ret_m, ret, ret_verdict,
		ret_which);
}
