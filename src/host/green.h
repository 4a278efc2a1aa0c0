/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Green contexts: streams that own parts of the device's SMs. What CUDA has for the purpose since
 * 12.4, to compare with. */
#ifndef HEDDLE_GREEN_H
#define HEDDLE_GREEN_H

#include <stdint.h>

#include "dev/cu.h"

#define DEV_GREEN_MAX 8

struct dev_green {
	unsigned n;
	CUstream streams[DEV_GREEN_MAX]; /* non-blocking */
	uint32_t sms[DEV_GREEN_MAX];     /* that each has */
	void *contexts[DEV_GREEN_MAX];
};

/* n (2 to DEV_GREEN_MAX) streams on the current device, with SMs by their shares as far as the
 * driver's units allow. CUDA_ERROR_NOT_SUPPORTED: the driver has none, or the SMs do not suffice;
 * another driver error. */
CUresult dev_green_create(
	const struct cu_api *cu, unsigned n, const uint32_t *share, struct dev_green *ret);
void dev_green_destroy(const struct cu_api *cu, struct dev_green *g);

#endif
