/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What does the ops' work when it is not a kernel's: a thread for large copies that also looks at
 * values that streams wait for, a thread for host functions; in serial mode the thread that waits,
 * in virtual time. Wants drv.lock held. */
#ifndef HEDDLE_VGPU_DRV_ENGINE_H
#define HEDDLE_VGPU_DRV_ENGINE_H

#include "drv_queue.h"

void drv_engine_copy(struct drv_op *op); /* OP_COPY, OP_SET: done now or later */
void drv_engine_host(struct drv_op *op); /* OP_HOST, OP_CALLBACK */
void drv_engine_wake(void);              /* something changed: look at waiting values */
void drv_engine_wait(void);              /* a host thread waits for drv.changed */
/* Ahead of queueing such an op: there is a thread for it, or an error that says so. */
CUresult drv_engine_ready(enum op_kind kind, CUdevice dev);
void drv_engine_spend(struct drv_op *op); /* serial mode: the time that a copy takes passes */

/* drv_launch.c */
void drv_kernel_start(struct drv_op *op);

/* drv_init.c: whoever stands before the lock, which the caller has and takes again, comes in first.
 * A mutex promises nothing to one who waits while another lets go and takes it again. */
void drv_let_others_in(void);

#endif
