/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* CFD with the runtime API's launch; see ../cfd.c. */
#include "../../kernels/cfd.cu"
#include "runtime.h"

void rt_launch(const struct rt_call &c)
{
	cfd<<<c.grid, c.block, 0, c.stream>>>(c.at<float>(0), c.at<unsigned>(1), c.at<float>(2),
		c.at<float>(3), c.word(4), c.word(5), c.real(6), c.word(7));
}
