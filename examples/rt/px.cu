/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PX with the runtime API's launch; see ../px.c. */
#include "../../kernels/px.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	px<<<c.grid, c.block, 0, c.stream>>>(c.at<float>(0), c.at<float>(1), c.at<float>(2),
		c.at<float>(3), c.at<float>(4), c.at<float>(5), c.word(6), c.word(7));
}
