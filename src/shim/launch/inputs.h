/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Derives the size of a launch's input from its parameters (inputs.c). */
#ifndef HEDDLE_SHIM_INPUTS_H
#define HEDDLE_SHIM_INPUTS_H

#include "wire/page.h"

struct form;
/* Computes the input sizes of a launch. `params` is one buffer in the driver's layout. If a
 * parameter is a pointer, its size is that of the allocation. This asks the driver for that size,
 * unless the driver's last answer is recent. */
void inputs_of(struct form *f, const uint8_t *params, float ret[WIRE_INPUTS]);

#endif
