/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Executes copies, memsets and host functions, and polls the values in memory that streams wait
 * for. One thread does the large copies and the polling; another thread executes host functions. In
 * serial mode, a thread of the program does all this when it waits for work, and copies take
 * virtual time. Callers hold drv.lock. */
#ifndef HEDDLE_VGPU_DRV_ENGINE_H
#define HEDDLE_VGPU_DRV_ENGINE_H

#include "drv_queue.h"

void drv_engine_copy(struct drv_op *op); /* executes an OP_COPY or OP_SET now, or queues it */
void drv_engine_host(struct drv_op *op); /* queues an OP_HOST or OP_CALLBACK */
/* Call it after memory changed: checks the values that streams wait for. */
void drv_engine_wake(void);
void drv_engine_wait(void); /* the calling host thread waits for drv.changed */
/* Starts the thread that operations of this kind need, if it does not run yet. Call it before
 * queueing such an operation. If no thread can be started, reports this and returns
 * CUDA_ERROR_OPERATING_SYSTEM. */
CUresult drv_engine_ready(enum op_kind kind, CUdevice dev);
/* Serial mode: advances virtual time by the duration of a copy. */
void drv_engine_spend(struct drv_op *op);

/* drv_launch.c */
void drv_kernel_start(struct drv_op *op);

/* Releases the lock so that waiting threads can take it, and takes it again (in drv_init.c). A
 * plain unlock and lock is not enough: the mutex can give the lock back to the same thread while
 * others wait. */
void drv_let_others_in(void);

#endif
