/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Module variables of a kernel that is rewritten in a module of its own (host/outside.h). The
 * driver gives the addresses of the original variables. When the form is loaded, the shim writes
 * these addresses into an array in the form. */
#include "shim/form/globals.h"

#include "shim/form/placing.h"

#include "host/outside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- addresses of variables ---- */

bool globals_address(const struct kernel *k, const char *name, CUdeviceptr *ret, size_t *ret_bytes)
{
	if (!k->in_library)
		return cu.cuModuleGetGlobal(ret, ret_bytes, (CUmodule)k->owner, name) ==
		       CUDA_SUCCESS;
	if (cu.cuLibraryGetGlobal &&
		cu.cuLibraryGetGlobal(ret, ret_bytes, (CUlibrary)k->owner, name) == CUDA_SUCCESS)
		return true;
	return cu.cuLibraryGetManaged &&
	       cu.cuLibraryGetManaged(ret, ret_bytes, (CUlibrary)k->owner, name) == CUDA_SUCCESS;
}

/* Returns the addresses of the variables in v. The driver returns addresses for the current
 * context, and can load the module to find them. */
uint64_t *globals_find(const struct kernel *k, const struct vars *v)
{
	uint64_t *at = malloc(v->n * sizeof(*at));
	const char *name = v->names.at;

	for (uint32_t i = 0; at && i < v->n; i++) {
		CUdeviceptr start = 0;
		size_t bytes;

		if (!globals_address(k, name, &start, &bytes)) {
			free(at);
			return NULL;
		}
		at[i] = start + v->at[i].offset;
		name += strlen(name) + 1;
	}
	return at;
}

static uint64_t *place_and_find(
	struct session *session, const struct kernel *k, const struct vars *v)
{
	struct shim_inside in;
	uint64_t *at = NULL;

	if (placing_begin(session, &in)) {
		at = globals_find(k, v);
		placing_end(session, &in);
	}
	return at;
}

bool globals_fit(struct session *session, const struct kernel *k, const struct vars *v)
{
	uint64_t *at = v->n ? place_and_find(session, k, v) : NULL;
	bool fit = at || !v->n;

	for (uint32_t i = 0; at && i < v->n; i++)
		fit &= !(at[i] & (v->at[i].align - 1));
	free(at);
	return fit;
}

/* ---- listing variables for the pass ---- */

static uint64_t align_of(uint64_t at)
{
	return at & (ALIGN_MAX - 1) ? at & -at : ALIGN_MAX;
}

struct listing {
	const struct kernel *k;
	struct vars *ret;
};

/* Lists the variables in `vars` of the listing, with the alignment of their actual addresses. */
static int list_variables(void *user, struct host_outside *vars, size_t n)
{
	struct vars *ret = ((struct listing *)user)->ret;
	uint64_t *at;

	ret->at = calloc(n, sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	ret->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		ret->at[i].offset = vars[i].offset;
		strbuf_add(&ret->names, vars[i].name, strlen(vars[i].name) + 1);
	}
	if (ret->names.failed)
		return -ENOMEM;
	at = place_and_find(((struct listing *)user)->k->session, ((struct listing *)user)->k, ret);
	for (size_t i = 0; at && i < n; i++)
		vars[i].align = ret->at[i].align = align_of(at[i]);
	free(at);
	return at ? 0 : -ENXIO;
}

int globals_bake(
	struct ptx_module *m, const struct kernel *k, struct vars *ret, struct diag_list *diags)
{
	struct listing l = {k, ret};

	return host_leave_outside(m, diags, list_variables, &l);
}

/* ---- filling the form's array after loading ---- */

bool globals_fill(struct session *session, CUmodule form, const uint64_t *at, uint32_t n)
{
	size_t bytes = 0;
	CUdeviceptr to = 0;

	if (cu.cuModuleGetGlobal(&to, &bytes, form, HOST_OUTSIDE_ARRAY) != CUDA_SUCCESS ||
		bytes != n * sizeof(*at))
		return false;
	/* The copy runs on the shim's helper stream, because the legacy default stream might wait
	 * for the program's work. */
	return cu.cuMemcpyHtoDAsync(to, at, bytes, session->helper) == CUDA_SUCCESS &&
	       cu.cuStreamSynchronize(session->helper) == CUDA_SUCCESS;
}
