/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The values in the columns of hooks.def, and the list of the functions that the shim itself
 * defines. */
#ifndef HEDDLE_SHIM_HOOKS_H
#define HEDDLE_SHIM_HOOKS_H

enum hook_own { HOOK_OWN_NONE, HOOK_OWN_PTSZ, HOOK_OWN_PTDS };
enum hook_how { HOOK_PASS, HOOK_OURS, HOOK_FENCE, HOOK_FENCE_LOAD };
/* The column `stream` of hooks.def. Above 0: number of the stream parameter, from 1. */
enum hook_stream {
	HOOK_STREAM_NONE = 0,
	HOOK_STREAM_INSIDE = -1,
	HOOK_STREAM_MADE = -2,
	HOOK_STREAM_DEFAULT = -3,
	HOOK_STREAM_ALL = -4,
};

/* HOOKED(how, own, symbol) expands to FN(variant) for each variant of a driver function that the
 * shim defines itself. For PASS it expands to nothing. */
#define HOOKED(how, own, symbol) HOOKED_##how(own, symbol)
#define HOOKED_PASS(own, symbol)
#define HOOKED_OURS(own, symbol)       FORMS_##own(symbol)
#define HOOKED_FENCE(own, symbol)      FORMS_##own(symbol)
#define HOOKED_FENCE_LOAD(own, symbol) FORMS_##own(symbol)
#define FORMS_NONE(symbol)             FN(symbol)
#define FORMS_PTSZ(symbol)             FN(symbol) FN(symbol##_ptsz)
#define FORMS_PTDS(symbol)             FN(symbol) FN(symbol##_ptds)

#endif
