/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Errors of the runtime. Each thread has a last error: every call that fails replaces it, and only
 * cudaGetLastError and a successful cudaDeviceReset clear it. Some errors make the context
 * unusable. The driver returns such an error from every later call, and cudaGetLastError does not
 * clear it. */
#include <stdio.h>
#include <unistd.h>

#include "cudart/cudart.h"

static _Thread_local rt_error last;

static const struct {
	rt_error value;
	const char *name, *text;
} errors[] = {
#define RT_ERROR(name, value, text) {value, #name, text},
#include "errors.def"
#undef RT_ERROR
};

/* Returns true for faults of kernels and of the device, after which the context executes nothing
 * more. */
static bool is_sticky(rt_error error)
{
	switch (error) {
	case cudaErrorECCUncorrectable:
	case cudaErrorNvlinkUncorrectable:
	case cudaErrorContained:
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
	case cudaErrorTensorMemoryLeak:
	case cudaErrorExternalDevice:
		return true;
	default:
		return false;
	}
}

rt_error rt_end(rt_error error)
{
	if (error)
		last = error;
	return error;
}

void rt_forget_error(void)
{
	last = cudaSuccess;
}

rt_error rt_lacks(const char *name, bool *io_said)
{
	char line[200];
	int n;

	if (__atomic_exchange_n(io_said, true, __ATOMIC_RELAXED))
		return cudaErrorNotSupported;
	n = snprintf(line, sizeof(line),
		"heddle: CUDA runtime on the virtual GPU: %s is not supported (error 801)\n", name);
	if (n > 0 && write(STDERR_FILENO, line, MIN((size_t)n, sizeof(line) - 1)) < 0)
		/* the write's failure is ignored: the caller gets the error anyway */
		return cudaErrorNotSupported;
	return cudaErrorNotSupported;
}

RT_API rt_error cudaGetLastError(void);
rt_error cudaGetLastError(void)
{
	rt_error error = last;

	if (!is_sticky(error))
		last = cudaSuccess;
	return error;
}

RT_API rt_error cudaPeekAtLastError(void);
rt_error cudaPeekAtLastError(void)
{
	return last;
}

RT_API const char *cudaGetErrorName(rt_error error);
const char *cudaGetErrorName(rt_error error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].value == error)
			return errors[i].name;
	return "unrecognized error code";
}

RT_API const char *cudaGetErrorString(rt_error error);
const char *cudaGetErrorString(rt_error error)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		if (errors[i].value == error)
			return errors[i].text;
	return "unrecognized error code";
}
