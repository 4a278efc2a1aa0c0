/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The code that the driver accepts: PTX by NVIDIA's rules for its version and device; never a
 * cubin. */
#ifndef HEDDLE_DRV_ACCEPT_H
#define HEDDLE_DRV_ACCEPT_H

#include "base/diag.h"
#include "dev/cu.h"

#define DRV_DEVICE_CC   90 /* sm_90 */
#define DRV_PTX_VERSION 90 /* PTX ISA 9.0, that of CUDA 13.0 */

/* CUDA_ERROR_UNSUPPORTED_PTX_VERSION, or CUDA_ERROR_INVALID_PTX for a .target that the device
 * cannot run, with the reason in diags. CUDA_SUCCESS: the parser judges the rest. ptx ends in a
 * zero byte. */
CUresult drv_accept_ptx(const char *ptx, struct diag_list *diags);

/* Report, once a process, what the virtual GPU cannot run and what to do. */
void drv_say_runtime(void); /* a program of the CUDA runtime */
void drv_say_no_ptx(void);  /* code without PTX for this device */

#endif
