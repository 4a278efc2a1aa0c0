/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How many threads make forms at once, and how long launches wait for them. */
#ifndef HEDDLE_SHIM_TURNS_H
#define HEDDLE_SHIM_TURNS_H

#include <stdbool.h>

/* Limits how many form-making threads work at once: half as many as there are processors, but at
 * least one and at most four. turn_begin waits until the calling thread may work. While a
 * thread waits for another process, it calls turn_end, so that another thread can work. */
void turn_begin(void);
void turn_end(void);
void turns_init(void);       /* call this once, before the first turn_begin */
void turns_await_none(void); /* launches that wait for a form run unmanaged instead */
/* Changes with each call of turns_await_none. Under kernel_lock. */
unsigned turns_round(void);

#endif
