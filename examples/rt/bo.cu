/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* BO with the runtime API's launch; see ../bo.c. */
#include "../../kernels/bo.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	bo<<<c.grid, c.block, 0, c.stream>>>(
		c.at<float>(0), c.at<float>(1), c.word(2), c.word(3), c.word(4));
}
