/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Local memory. The driver reserves as much for each thread as any launch so far has needed. The
 * first launch that needs more waits, with a lock held, for all work in the context
 * (doc/notebook.md). This includes preempted launches, whose resume launches wait for the same
 * lock: a deadlock. So before a form's launches, while nothing runs, the shim launches a kernel of
 * its own that needs as much. The driver does not take the memory back. */
#include "shim/compile.h"
#include "shim/placing.h"

#include <stdatomic.h>
#include <stdio.h>

#define NAME "heddle_locals"
/* The default for kernels that do not set CU_LIMIT_STACK_SIZE. */
#define AT_FIRST 1024u
#define MOST     (512u << 10) /* of a thread (CUDA's programming guide, compute capabilities) */

static _Atomic uint32_t most[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = AT_FIRST};

/* The indices of the stored and loaded words are unknown at compile time, so no compiler removes
 * the accesses. */
static void print_text(char *to, size_t size, uint32_t bytes)
{
	snprintf(to, size,
		".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry " NAME
		"(.param .u64 to)\n{\n.local .align 8 .b8 room[%u];\n"
		".reg .b64 %%a, %%b, %%c;\n.reg .pred %%p;\nld.param.u64 %%a, [to];\n"
		"mov.u64 %%b, room;\nand.b64 %%c, %%a, %u;\nadd.u64 %%b, %%b, %%c;\n"
		"st.local.u64 [%%b], %%a;\nld.local.u64 %%c, [room];\n"
		"setp.ne.u64 %%p, %%a, 0;\n@%%p st.global.u64 [%%a], %%c;\nret;\n}\n",
		bytes, bytes - 8);
}

static bool launch_locals(const struct compiled *c)
{
	uint64_t none = 0;
	void *params[] = {&none};

	return cu.cuLaunchKernel(c->fn, 1, 1, 1, 1, 1, 1, 0, shim->helper, params, NULL) ==
		       CUDA_SUCCESS &&
	       cu.cuStreamSynchronize(shim->helper) == CUDA_SUCCESS;
}

void locals_forget(void)
{
	atomic_store(&most[shim_at()], AT_FIRST);
}

void locals_make_room(uint32_t bytes)
{
	struct compiled c = {0};
	uint32_t room = AT_FIRST;
	char text[768];

	if (bytes <= atomic_load(&most[shim_at()]) || bytes > MOST)
		return;
	while (room < bytes)
		room *= 2; /* few kernels do for all */
	print_text(text, sizeof(text), room);
	if (compile_here(&c, text, NAME) && launch_locals(&c))
		atomic_store(&most[shim_at()], room);
	compile_drop(&c);
}
