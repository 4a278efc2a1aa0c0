/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides which code the driver accepts: PTX according to NVIDIA's rules for its version and
 * device, but never a cubin. */
#ifndef HEDDLE_DRV_ACCEPT_H
#define HEDDLE_DRV_ACCEPT_H

#include "base/diag.h"
#include "dev/cu.h"

#define DRV_DEVICE_CC   90 /* sm_90 */
#define DRV_PTX_VERSION 90 /* PTX ISA 9.0, the version of CUDA 13.0 */

/* Checks the .version and .target of a PTX text, which ends in a zero byte. Returns CUDA_SUCCESS if
 * both are acceptable; the parser checks the rest. Otherwise returns
 * CUDA_ERROR_UNSUPPORTED_PTX_VERSION, or CUDA_ERROR_INVALID_PTX for a .target that the device
 * cannot run, and adds the reason to diags. */
CUresult drv_accept_ptx(const char *ptx, struct diag_list *diags);

/* Report, once per process, what the virtual GPU cannot run and what the user can do. */
/* A call of NVIDIA's CUDA runtime, which fails now. caller is an address in the code of the program
 * or library that has this runtime inside; the message names that file. */
void drv_say_runtime(const void *caller);
void drv_say_no_ptx(void); /* reports that the code has no PTX for this device */

#endif
