/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Private tables that NVIDIA's libraries request from a driver. NVIDIA does not document any of
 * them. A request alone says little: NVRTC and the runtime of CUDA 13 do without some of them. The
 * CUDA runtime fails without the one below, in every release since CUDA 3. */
#include <string.h>

#include "drv.h"
#include "drv_accept.h"

static const CUuuid runtime_table = {
	{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7, 0x4a, (char)0x89,
		(char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd, (char)0x9d, (char)0xf9}};

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	if (!table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (memcmp(id, &runtime_table, sizeof(*id)) == 0)
		drv_say_runtime(__builtin_return_address(0));
	return CUDA_ERROR_NOT_FOUND;
}
