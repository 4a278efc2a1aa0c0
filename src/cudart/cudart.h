/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Inside libcudart.so.12 and .13: heddle's implementation of the CUDA runtime API on top of the
 * driver API. It exists for the virtual GPU, whose driver does not support the vendor's runtime.
 * All files except export.c are the same in both libraries.
 *
 * The RT_CU and RT_FN lines of cudart.def (most lines of the file) each make an exported function,
 * which does this:
 * - It calls rt_begin, which loads the driver and, if the line demands it, makes a context current.
 * - It calls the function that the line names, either of this folder or of the driver.
 * - It calls rt_end, which stores an error for cudaGetLastError.
 *
 * The functions of this folder that the lines name return an rt_error, take the arguments of the
 * API's function, and are thread safe. */
#ifndef HEDDLE_CUDART_H
#define HEDDLE_CUDART_H

#include "base/base.h"
#include "cudart/types.h"
#include "dev/cu.h"

#define RT_API __attribute__((visibility("default")))

enum rt_needs { RT_NOTHING, RT_DRIVER, RT_CONTEXT };

/* The driver's functions, valid after rt_begin(RT_DRIVER). For functions that have both variants,
 * rt_cu uses the legacy default stream, and rt_cu_per_thread the per-thread default stream. */
extern struct cu_api rt_cu, rt_cu_per_thread;

rt_error rt_begin(enum rt_needs needs);
/* Returns `error`. If it is not cudaSuccess, also stores it as the calling thread's last error. */
rt_error rt_end(rt_error error);
/* For a function that the driver or this library lacks: prints a message on stderr at the first
 * call (*io_said records that), and returns cudaErrorNotSupported. */
rt_error rt_lacks(const char *name, bool *io_said);
/* Calls rt_lacks for a driver function. */
#define RT_LACKING(name)                \
	({                              \
		static bool said;       \
		rt_lacks(#name, &said); \
	})
/* Calls cu->fn(args). Returns cudaErrorNotSupported if the driver lacks the function. */
#define RT_CALL(cu, fn, ...) ((cu)->fn ? (rt_error)(cu)->fn(__VA_ARGS__) : RT_LACKING(fn))

/* Returns the primary context of a device. Retains it at the first call, and never releases it. */
rt_error rt_primary(int device, CUcontext *ret);
/* Clears the calling thread's last error, even if it is sticky. */
void rt_forget_error(void);

/* ---- kernels and variables registered by the program (register.c) ---- */

/* Finds the kernel of a host function; if func is a cudaKernel_t, returns func itself. Loads the
 * module on first use. Returns cudaErrorInvalidDeviceFunction if func is neither a registered host
 * function nor a cudaKernel_t. */
rt_error rt_kernel_of(const void *func, CUkernel *ret);
/* Finds the function of a kernel in the current context. */
rt_error rt_function_of(const void *func, CUfunction *ret);
/* Returns the host function of a kernel that was looked up before, or NULL if there is none. */
const void *rt_host_function_of(CUkernel kernel, CUfunction fn);
/* Finds the device address and the size of a variable. `symbol` is the address of the host
 * variable. Returns cudaErrorInvalidSymbol if it is unknown. */
rt_error rt_symbol_of(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes);

/* Returns the device address of a variable plus `offset`. Returns cudaErrorInvalidValue if the
 * `bytes` bytes from there on are not all within the variable. */
rt_error rt_symbol_range(const void *symbol, size_t bytes, size_t offset, void **ret);
/* Converts the description of a copy for the driver. Sets *ret_any to false if there is nothing to
 * copy. */
rt_error rt_make_3d(const struct rt_copy3d *copy, CUDA_MEMCPY3D *ret, bool *ret_any);

/* Returns the size of an array element in bytes. */
rt_error rt_array_element(CUarray array, size_t *ret);
/* rt_format_of converts a format and its channels for the driver, and returns false if the driver
 * has no such format. rt_channels_of converts back. */
bool rt_format_of(const struct rt_channels *channels, CUarray_format *ret, unsigned *ret_channels);
struct rt_channels rt_channels_of(CUarray_format format, unsigned channels);
bool rt_is_kind(int kind);
CUmemorytype rt_src_type(int kind);
CUmemorytype rt_dst_type(int kind);

/* ---- functions named in cudart.def ---- */

#define RT_ROW(own, params)  rt_error own params;
#define RT_ROW2(own, params) rt_error own RT_WITH_DRIVER params;
#define RT_WITH_DRIVER(...)  (const struct cu_api *cu, __VA_ARGS__)
#define RT_CU(abi, name, needs, fn, params, args)
#define RT_CU2(abi, name, form, needs, fn, params, args)
#define RT_FN(abi, name, needs, own, params, args)        RT_ROW(own, params)
#define RT_FN2(abi, name, form, needs, own, params, args) RT_ROW2(own, params)
#define RT_OWN(abi, name)
#define RT_LACKS(abi, name)
#define RT_LACKS2(abi, name, form)
#include "cudart.def"
#undef RT_CU
#undef RT_CU2
#undef RT_FN
#undef RT_FN2
#undef RT_OWN
#undef RT_LACKS
#undef RT_LACKS2

#endif
