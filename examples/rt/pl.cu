/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PL with the runtime API's launch; see ../pl.c. */
#include "../../kernels/pl.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	pl<<<c.grid, c.block, 0, c.stream>>>(c.at<unsigned char>(0), c.at<float>(1), c.at<float>(2),
		c.at<int2>(3), c.at<float>(4), c.at<float>(5), c.word(6), c.word(7), c.word(8),
		c.word(9), c.real(10), c.word(11));
}
