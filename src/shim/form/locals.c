/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Local memory. For each thread, the driver reserves as much local memory as any launch so far has
 * needed. The first launch that needs more waits for all work in the context, and holds a lock
 * meanwhile (doc/notebook.md). If some of that work is preempted, the launch that resumes it waits
 * for the same lock: a deadlock.
 *
 * So before the first launch of a form, while nothing runs, the shim launches a kernel of its own
 * that needs as much local memory as the form. The driver does not release the memory
 * afterwards. */
#include "shim/form/locals.h"

#include "shim/core/ends.h"
#include "shim/form/compile.h"

#include <stdatomic.h>
#include <stdio.h>

#define NAME "heddle_locals"
/* Local memory per thread that is reserved from the start: the driver's default if the program does
 * not set CU_LIMIT_STACK_SIZE. */
#define AT_FIRST 1024u
/* largest local memory of a thread, in bytes (CUDA's programming guide, compute capabilities) */
#define MOST (512u << 10)

/* Prints the PTX of a kernel that needs `bytes` of local memory. It stores and loads elements whose
 * indices are unknown at compile time, so that no compiler removes the accesses. */
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

static bool launch_locals(struct session *session, const struct compiled *c)
{
	uint64_t none = 0;
	void *params[] = {&none};

	return cu.cuLaunchKernel(c->fn, 1, 1, 1, 1, 1, 1, 0, session->helper, params, NULL) ==
		       CUDA_SUCCESS &&
	       cu.cuStreamSynchronize(session->helper) == CUDA_SUCCESS;
}

void locals_forget(struct session *session, const struct session_ends *ends)
{
	atomic_store(&session->locals, AT_FIRST);
}

void locals_make_room(struct session *session, uint32_t bytes)
{
	struct compiled c = {0};
	uint32_t room = AT_FIRST;
	char text[768];

	if (bytes <= atomic_load(&session->locals) || bytes > MOST)
		return;
	while (room < bytes)
		room *= 2; /* so that a few kernels serve all sizes */
	print_text(text, sizeof(text), room);
	if (compile_here(&c, text, NAME) && launch_locals(session, &c))
		atomic_store(&session->locals, room);
	compiled_drop(&c);
}

bool locals_open(struct session *session)
{
	atomic_store(&session->locals, AT_FIRST);
	return true;
}
