/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Executes copies, memsets and host functions, and polls the values in memory that streams wait
 * for. One thread does the large copies and the polling; another thread executes host functions. In
 * serial mode, a thread of the program does all this when it waits for work, and copies take
 * virtual time. Callers hold drv.lock. */
#ifndef HEDDLE_VGPU_DRV_ENGINE_H
#define HEDDLE_VGPU_DRV_ENGINE_H

#include "drv_queue.h"

void drv_engine_copy(struct drv_op *op); /* OP_COPY, OP_SET: done now or later */
void drv_engine_host(struct drv_op *op); /* OP_HOST, OP_CALLBACK */
void drv_engine_wake(void);              /* checks values that streams wait for, after a change */
void drv_engine_wait(void);              /* a host thread waits for drv.changed */
/* Starts the thread that operations of this kind need, if it does not run yet. Call it before
 * queueing such an operation. If no thread can be started, reports this and returns
 * CUDA_ERROR_OPERATING_SYSTEM. */
CUresult drv_engine_ready(enum op_kind kind, CUdevice dev);
void drv_engine_spend(struct drv_op *op); /* serial mode: advances the time by that of a copy */

/* drv_launch.c */
void drv_kernel_start(struct drv_op *op);

/* Releases the lock so that waiting threads can take it, and takes it again (in drv_init.c). A
 * plain unlock and lock is not enough: the mutex can give the lock back to the same thread while
 * others wait. */
void drv_let_others_in(void);

#endif
