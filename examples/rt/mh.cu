/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MH with the runtime API's launch; see ../mh.c. */
#include "../../kernels/mh.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	mh<<<c.grid, c.block, 0, c.stream>>>(c.at<uint4>(0), c.at<unsigned>(1), c.at<unsigned>(2),
		c.word(3), c.word(4), c.word(5));
}
