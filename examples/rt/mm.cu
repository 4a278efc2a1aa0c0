/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MM with the runtime API's launch; see ../mm.c. */
#include "../../kernels/mm.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	mm<<<c.grid, c.block, 0, c.stream>>>(
		c.at<float>(0), c.at<float>(1), c.at<float>(2), c.word(3), c.word(4));
}
