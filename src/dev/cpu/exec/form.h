/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The ids of the program's blocks and threads in a kernel that a pass wrote, for reports. */
#ifndef HEDDLE_VGPU_FORM_H
#define HEDDLE_VGPU_FORM_H

#include <stdbool.h>
#include <stdint.h>

/* One kernel of a form. VX_NONE: the form has no such register or parameter. */
struct vform {
	/* offsets of the registers with the block's ids and the thread's, in the entry's frame */
	uint32_t id[6];
	/* offset of the register with 32 times the number of the block in its claim; VX_NONE: id[]
	 * is of the block itself */
	uint32_t step;
	uint32_t grid; /* offset of the grid (three numbers) among the launch's parameters */
	/* which of the block's ids the kernel reads: a form need not compute the others */
	bool reads[3];
	bool is_part; /* the worker runs several kernels, and this is one of them */
};

#endif
