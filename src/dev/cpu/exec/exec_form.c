/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds which block and thread of the program a lane of a form runs, for reports of faults. The form
 * has the ids in registers. It computes only those that the kernel reads; the others follow from
 * these, from the number of the block in its claim, and from the grid. */
#include "exec.h"
#include "form.h"

#include <string.h>

/* Returns the frame of the kernel itself in which a lane is, or NULL if the lane has exited. */
static const struct vframe *entry_of(const struct vwarp *w, unsigned lane)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct vframe *f = w->frag[i].frame;

		if (!(w->frag[i].mask >> lane & 1))
			continue;
		while (f && f->parent)
			f = f->parent;
		return f;
	}
	return NULL;
}

static uint32_t value_of(const struct vframe *f, uint32_t at, unsigned lane)
{
	uint32_t v;

	memcpy(&v, f->regs + at + 4 * lane, sizeof(v));
	return v;
}

/* Completes the ids in io_block. `step` is the number of the block in its claim, whose first block
 * the ids name as far as the kernel does not read them. */
static void complete(
	const struct vform *form, const uint32_t grid[3], uint64_t step, uint32_t io_block[3])
{
	uint64_t x = io_block[0], rows = io_block[1];

	if (form->reads[1] || form->reads[2] || !grid[0] || !grid[1])
		return;
	if (form->reads[0]) {
		/* x has been advanced by `step` blocks, but y has not. */
		uint64_t first = (x + grid[0] - step % grid[0]) % grid[0];

		rows += (first + step) / grid[0];
	} else {
		/* x is a block's number in the grid. In a part y is a distance between blocks. */
		rows = form->is_part ? 0 : rows;
		x += rows * grid[0] + step;
		rows = x / grid[0];
	}
	io_block[0] = (uint32_t)(x % grid[0]);
	io_block[1] = (uint32_t)(rows % grid[1]);
	io_block[2] = (uint32_t)(rows / grid[1]);
}

bool vx_form_ids(const struct vgpu_block *b, const struct vwarp *w, unsigned lane, unsigned kernel,
	uint32_t io_block[3], uint32_t io_thread[3])
{
	const struct vprogram *p = b->program;
	const struct vframe *f = entry_of(w, lane);
	uint32_t n = p->n_forms == 1 ? 0 : kernel - 1, grid[3];

	if (!f || n >= p->n_forms)
		return false;
	const struct vform *form = &p->forms[n];
	for (unsigned i = 0; i < 3; i++) {
		if (form->id[i] != VX_NONE)
			io_block[i] = value_of(f, form->id[i], lane);
		if (form->id[3 + i] != VX_NONE)
			io_thread[i] = value_of(f, form->id[3 + i], lane);
	}
	if (form->grid == VX_NONE)
		return true;
	memcpy(grid, (const char *)b->launch->params + form->grid, sizeof(grid));
	complete(form, grid, form->step == VX_NONE ? 0 : value_of(f, form->step, lane) >> 5,
		io_block);
	return true;
}
