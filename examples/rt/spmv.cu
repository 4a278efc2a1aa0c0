/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* SPMV with the runtime API's launch; see ../spmv.c. */
#include "../../kernels/spmv.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	spmv<<<c.grid, c.block, 0, c.stream>>>(c.at<float>(0), c.at<unsigned>(1), c.at<unsigned>(2),
		c.at<float>(3), c.at<float>(4), c.word(5), c.word(6), c.word(7));
}
