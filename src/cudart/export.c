/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Defines the exported functions of the table cudart.def. This file is compiled once for each
 * library, with RT_ABI as 12 or 13. */
#include "cudart/cudart.h"

#if RT_ABI == 12
#define IN_12(x) x
#define IN_13(x)
#else
#define IN_12(x)
#define IN_13(x) x
#endif
#define IN_BOTH(x) x

#define WITH_LEGACY(...)     (&rt_cu, __VA_ARGS__)
#define WITH_PER_THREAD(...) (&rt_cu_per_thread, __VA_ARGS__)

#define EXPORT(name, needs, params, call)              \
	RT_API rt_error name params;                   \
	rt_error name params                           \
	{                                              \
		rt_error error = rt_begin(RT_##needs); \
		return rt_end(error ? error : (call)); \
	}
#define EXPORT_CU(name, needs, cu, fn, params, args) \
	EXPORT(name, needs, params, (cu).fn ? (rt_error)(cu).fn args : RT_LACKING(fn))
#define EXPORT_LACK(name)                              \
	RT_API rt_error name(void);                    \
	rt_error name(void)                            \
	{                                              \
		static bool said;                      \
		return rt_end(rt_lacks(#name, &said)); \
	}

#define RT_CU(abi, name, needs, fn, params, args) \
	IN_##abi(EXPORT_CU(name, needs, rt_cu, fn, params, args))
#define RT_CU2(abi, name, form, needs, fn, params, args)         \
	IN_##abi(EXPORT_CU(name, needs, rt_cu, fn, params, args) \
			EXPORT_CU(name##form, needs, rt_cu_per_thread, fn, params, args))
#define RT_FN(abi, name, needs, own, params, args) IN_##abi(EXPORT(name, needs, params, own args))
#define RT_FN2(abi, name, form, needs, own, params, args)          \
	IN_##abi(EXPORT(name, needs, params, own WITH_LEGACY args) \
			EXPORT(name##form, needs, params, own WITH_PER_THREAD args))
#define RT_OWN(abi, name)
#define RT_LACKS(abi, name)        IN_##abi(EXPORT_LACK(name))
#define RT_LACKS2(abi, name, form) IN_##abi(EXPORT_LACK(name) EXPORT_LACK(name##form))
#include "cudart.def"

RT_API rt_error cudaRuntimeGetVersion(int *version);
rt_error cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return rt_end(cudaErrorInvalidValue);
	*version = RT_ABI == 12 ? 12090 : 13000;
	return cudaSuccess;
}
