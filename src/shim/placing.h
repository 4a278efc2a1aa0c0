/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads the shim's code into the program's context, and unloads it, while no work of the program
 * runs. */
#ifndef HEDDLE_SHIM_PLACING_H
#define HEDDLE_SHIM_PLACING_H

#include "shim/managed.h"

/* Call these around driver calls that load or unload code. The calling thread makes forms
 * (preemptible kernels) and has called kernel_turn_begin. placing_begin waits until no kernel runs,
 * however long that takes, and lets another thread make forms meanwhile. Until placing_end the
 * shim's context is current, and the end of the program waits. placing_begin returns false if the
 * program or its context ends; then do not call placing_end. */
bool placing_begin(struct shim_inside *in);
void placing_end(struct shim_inside *in);

/* Reserves local memory, so that launches of kernels with up to `bytes` bytes of local memory per
 * thread do not wait (locals.c). Call between placing_begin and placing_end. */
void locals_make_room(uint32_t bytes);
void locals_forget(void); /* the context has ended */

/* ---- launches ---- */
/* Waits until the shim no longer holds back launches in order to load code. It may hold them back
 * again immediately afterwards. */
void placing_await(void);
/* Call these around a launch. placing_pass waits while launches are held back; from then until
 * placing_passed this launch is not held back. Before placing_passed the launch must either have
 * failed or be counted as outstanding or in flight. */
void placing_pass(void);
void placing_passed(void);

/* Call these around the end of the shim's context. placing_pause waits, for at most 2 s, until no
 * thread of the shim waits for the context's work. No thread begins such a wait until
 * placing_resume. */
void placing_pause(void);
void placing_resume(void);

void placing_after_fork(void);

#endif
