/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles each kernel with this device's driver, plain and in the form that heddle's workers
 * execute, and compares their register counts ("Adaptive simultaneous multi-tenancy", figure
 * 8b). */
#include "lab/share/bench_share.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab/form_file.h"

/* Returns the number of registers of each thread, or 0 if the driver cannot load the file. */
static unsigned registers_of(struct cu_api *cu, const char *path, const char *kernel)
{
	CUfunction fn;
	CUmodule module;
	int registers = 0;

	if (cu->cuModuleLoad(&module, path))
		return 0;
	if (cu->cuModuleGetFunction(&fn, module, kernel) ||
		cu->cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, fn))
		registers = 0;
	cu->cuModuleUnload(module);
	return (unsigned)registers;
}

static void read_program(
	struct share *s, struct cu_api *cu, const char *heddle, const char *folder, unsigned i)
{
	char form[96], *plain = NULL;

	snprintf(form, sizeof(form), "%s/form.ptx", folder);
	if (form_file_find(s->programs[i], &plain) ||
		form_file_make(s->b.c, heddle, "preempt", s->programs[i], form) != CLI_OK) {
		s->b.failures++;
	} else {
		s->registers[i].plain = registers_of(cu, plain, s->programs[i]);
		s->registers[i].workers = registers_of(cu, form, s->programs[i]);
	}
	free(plain);
}

int share_read_registers(struct share *s)
{
	char folder[64] = "", *heddle = NULL;
	CUcontext context;
	struct cu_api cu;
	CUdevice device;
	int r;

	if (dev_open(s->b.device, NULL, &cu) || cu.cuInit(0) || cu.cuDeviceGet(&device, 0) ||
		cu.cuDevicePrimaryCtxRetain(&context, device))
		return cli_error(s->b.c, "heddle doctor says what this machine has", "no device");
	r = cu.cuCtxSetCurrent(context) || cli_make_folder("form", folder) < 0 ||
			    cli_find_part(NULL, "heddle", &heddle)
		    ? cli_error(s->b.c, "TMPDIR says where else", "no folder for forms")
		    : CLI_OK;
	for (unsigned i = 0; r == CLI_OK && i < s->n; i++)
		read_program(s, &cu, heddle, folder, i);
	if (*folder)
		cli_remove_folder(folder);
	free(heddle);
	cu.cuDevicePrimaryCtxRelease(device);
	return r;
}
