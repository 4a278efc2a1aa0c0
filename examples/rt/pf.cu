/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PF with the runtime API's launch; see ../pf.c. */
#include "../../kernels/pf.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	pf<<<c.grid, c.block, 0, c.stream>>>(c.at<unsigned char>(0), c.at<int>(1), c.at<int>(2),
		c.word(3), c.word(4), c.word(5), c.word(6));
}
