/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NB with the runtime API's launch; see ../nb.c. */
#include "../../kernels/nb.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	nb<<<c.grid, c.block, 0, c.stream>>>(
		c.at<float4>(0), c.at<float4>(1), c.word(2), c.real(3), c.word(4), c.word(5));
}
