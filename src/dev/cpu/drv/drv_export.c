/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Private tables that the CUDA runtime requests from a driver. NVIDIA does not document any of
 * them. */
#include <string.h>

#include "drv.h"
#include "drv_accept.h"

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	drv_say_runtime();
	return CUDA_ERROR_NOT_FOUND;
}
