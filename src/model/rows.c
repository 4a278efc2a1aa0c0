/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See rows.h. */
#include "model/rows.h"

#include <string.h>

_Static_assert(WIRE_PER_SM == SCHED_PER_SM && WIRE_INPUTS == SCHED_INPUTS, "copied whole");

void rows_of_kernel(const struct duration_kernel *k, struct wire_kernel *ret)
{
	double mean = 0, worst = 0;

	duration_error(k, &mean, &worst);
	*ret = (struct wire_kernel){
		.uid = k->owner.uid,
		.n_sms = k->owner.n_sms,
		.n_shapes = k->n_shapes,
		.claim = k->claim,
		.code = k->code,
		.launches = k->launches,
		.cost_ns = duration_cost(k),
		.n_costs = k->costs.n,
		.n_errors = k->errors.n,
		.error_mean = (float)mean,
		.error_worst = (float)worst,
	};
	memcpy(ret->curve_ns, k->curve_ns, sizeof(ret->curve_ns));
	memcpy(ret->name, k->name, sizeof(ret->name));
	memcpy(ret->device, k->owner.device, sizeof(ret->device));
	memcpy(ret->driver, k->owner.driver, sizeof(ret->driver));
	wire_head_init(&ret->head, WIRE_KERNEL, sizeof(*ret));
}

void rows_of_shape(const struct duration_shape *at, struct wire_shape *ret)
{
	*ret = (struct wire_shape){
		.threads = at->threads,
		.shared_bytes = at->shared_bytes,
		.total = at->total,
		.launches = at->n,
		.mean_ns = at->mean_ns,
		.moving_ns = at->moving_ns,
		.predicted_ns = at->predicted_ns,
		.first_ns = at->first_ns,
	};
	memcpy(ret->input, at->input, sizeof(ret->input));
	wire_head_init(&ret->head, WIRE_SHAPE, sizeof(*ret));
}
