/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MD with the runtime API's launch; see ../md.c. */
#include "../../kernels/md.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	md<<<c.grid, c.block, 0, c.stream>>>(c.at<float4>(0), c.at<unsigned>(1), c.at<float4>(2),
		c.word(3), c.word(4), c.real(5), c.real(6), c.real(7), c.word(8));
}
