/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* LM with the runtime API's launch; see ../lm.c. */
#include "../../kernels/lm.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	lm<<<c.grid, c.block, 0, c.stream>>>(c.at<struct lm_point>(0), c.at<double>(1),
		c.at<unsigned>(2), c.at<float4>(3), c.word(4), c.word(5), c.word(6), c.real(7),
		c.word(8));
}
