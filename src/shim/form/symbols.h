/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Addresses of the variables of modules and libraries (symbols.c). */
#ifndef HEDDLE_SHIM_SYMBOLS_H
#define HEDDLE_SHIM_SYMBOLS_H

#include "shim/core/session.h"

/* Forgets the cached addresses of a module's or library's variables (symbols.c). If owner is NULL,
 * forgets all addresses. */
void symbols_forget(struct session *session, const void *owner);
struct session_ends;
void symbols_end(struct session *session, const struct session_ends *ends);
bool symbols_open(struct session *session);

#endif
