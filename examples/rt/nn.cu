/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NN with the runtime API's launch; see ../nn.c. */
#include "../../kernels/nn.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	nn<<<c.grid, c.block, 0, c.stream>>>(c.at<float>(0), c.at<float>(1), c.at<float>(2),
		c.at<float>(3), c.at<float>(4), c.word(5), c.word(6));
}
