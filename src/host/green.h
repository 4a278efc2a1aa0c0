/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Green contexts: streams that own parts of the device's SMs. This is CUDA's own mechanism for
 * sharing a device since 12.4; heddle uses it for comparison. */
#ifndef HEDDLE_HOST_GREEN_H
#define HEDDLE_HOST_GREEN_H

#include <stdint.h>

#include "dev/cu.h"

#define HOST_GREEN_MAX 8

struct host_green {
	unsigned n;
	CUstream streams[HOST_GREEN_MAX]; /* non-blocking */
	uint32_t sms[HOST_GREEN_MAX];     /* number of SMs of each stream */
	void *contexts[HOST_GREEN_MAX];
};

/* Makes n streams (2 to HOST_GREEN_MAX) on the current device, and divides the SMs among them by
 * their shares, as closely as the driver's units allow. Returns CUDA_ERROR_NOT_SUPPORTED if the
 * driver has no green contexts or there are too few SMs, or another driver error. */
CUresult host_green_create(
	const struct cu_api *cu, unsigned n, const uint32_t *share, struct host_green *ret);
void host_green_destroy(const struct cu_api *cu, struct host_green *g);

#endif
