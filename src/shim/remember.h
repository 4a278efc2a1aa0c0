/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Carries the results of measured launches (known.h) to the cache and back. Writing waits for
 * the disk, and a thread that notices ends of launches may not wait. So that thread notes the
 * kernel, the next launch hands the kernel to a form-making thread, and the program's end writes
 * the rest. */
#ifndef HEDDLE_SHIM_REMEMBER_H
#define HEDDLE_SHIM_REMEMBER_H

#include "shim/kernel.h"

void remember_recall(struct form *f);        /* as it is made; f->known_key says what is its */
void remember_taught(struct kernel *k);      /* under any lock: waits for nobody */
void remember_soon(void);                    /* what has been taught since, if anything */
void remember_write(const struct kernel *k); /* now, if nobody has */
void remember_write_all(void);               /* what has been taught so far, now */
void remember_at_exit(void);                 /* from now on; once */
void remember_after_fork(void);

#endif
