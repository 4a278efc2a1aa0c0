/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Executes all ops but kernels: one thread for large copies and for values that streams wait for,
 * one thread for host functions. In serial mode the waiting thread does so, in virtual time. Needs
 * drv.lock held. */
#ifndef HEDDLE_VGPU_DRV_ENGINE_H
#define HEDDLE_VGPU_DRV_ENGINE_H

#include "drv_queue.h"

void drv_engine_copy(struct drv_op *op); /* OP_COPY, OP_SET: done now or later */
void drv_engine_host(struct drv_op *op); /* OP_HOST, OP_CALLBACK */
void drv_engine_wake(void);              /* something changed: look at waiting values */
void drv_engine_wait(void);              /* a host thread waits for drv.changed */
/* Call before queueing such an op. Success: there is a thread for it. */
CUresult drv_engine_ready(enum op_kind kind, CUdevice dev);
void drv_engine_spend(struct drv_op *op); /* serial mode: lets the time of a copy pass */

/* drv_launch.c */
void drv_kernel_start(struct drv_op *op);

/* drv_init.c: lets waiting threads take the lock, which the caller holds, and takes it again. A
 * mutex alone gives a waiter no turn while another thread releases and retakes it. */
void drv_let_others_in(void);

#endif
