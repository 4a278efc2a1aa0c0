/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* TP with the runtime API's launch; see ../tp.c. */
#include "../../kernels/tp.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	tp<<<c.grid, c.block, 0, c.stream>>>(c.at<float>(0), c.at<float>(1), c.at<float>(2),
		c.at<unsigned>(3), c.word(4), c.word(5), c.word(6), c.word(7));
}
