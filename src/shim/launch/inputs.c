/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Computes the input sizes of a managed launch (FLEP, section 4.2), from which heddled predicts the
 * launch's duration. The shim does not know the types of the parameters, so it guesses from
 * parameters of 1, 2, 4 and 8 bytes:
 * - 8 bytes that point into an allocation count as the allocation's size.
 * - 8 bytes with any other number above 2^40 count as 0.
 * - 4 bytes that could be an ordinary floating-point number, or a negative integer, count as 0.
 * - All other numbers count as their values.
 * - Parameters of other sizes are skipped.
 *
 * The driver knows the size of an allocation. For each parameter the shim keeps the last pointer
 * and its allocation's size. It asks the driver again in three cases: for another pointer, after a
 * call that may free memory, and after USES uses. The last case covers memory that is freed in
 * stream order, which the shim does not notice. An outdated size only makes a prediction worse. The
 * shim holds no lock while it asks the driver. */
#include "shim/launch/inputs.h"

#include "shim/core/lock.h"
#include "shim/form/kernel.h"
#include "shim/order/fence.h"

#include <string.h>

#define LEAST_ADDRESS (1u << 20)   /* a smaller 8-byte value is not a pointer */
#define GREATEST      (1ull << 40) /* a larger value is not a size */
#define USES          16u
/* Bit patterns of the floats 2^-31 and 2^33. Values between them count as floating point. */
#define LEAST_FLOAT    0x30000000u
#define GREATEST_FLOAT 0x50000000u

/* Returns the size of the allocation that contains the address; 0: there is none. */
static uint64_t allocation_of(uint64_t at)
{
	size_t bytes = 0;

	if (!cu.cuPointerGetAttribute ||
		cu.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at) !=
			CUDA_SUCCESS)
		return 0;
	return bytes;
}

/* Returns allocation_of(at), or its last result for this address if that is recent. */
static uint64_t input_bytes(struct form *f, unsigned i, uint64_t at)
{
	uint32_t now = 1 + fence_count();
	struct form_input *in = &f->input[i];
	uint64_t bytes;
	bool known;

	lock_take(&f->lock);
	known = in->value == at && in->epoch == now && in->uses++ < USES;
	bytes = in->bytes;
	lock_drop(&f->lock);
	if (known)
		return bytes;
	bytes = allocation_of(at);
	lock_take(&f->lock);
	*in = (struct form_input){.value = at, .bytes = bytes, .epoch = now};
	lock_drop(&f->lock);
	return bytes;
}

static float input_of_long(struct form *f, unsigned i, uint64_t v)
{
	uint64_t bytes = v >= LEAST_ADDRESS ? input_bytes(f, i, v) : 0;

	return bytes ? (float)bytes : v <= GREATEST ? (float)v : 0;
}

static float input_of_word(uint32_t v)
{
	return v >= LEAST_FLOAT && (v < GREATEST_FLOAT || v > INT32_MAX) ? 0 : (float)v;
}

/* Returns the input value of one parameter, which has 1, 2, 4 or 8 bytes. */
static float input_of(struct form *f, unsigned i, const uint8_t *at, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, at, bytes);
	return bytes == 8 ? input_of_long(f, i, v) : input_of_word((uint32_t)v);
}

void inputs_of(struct form *f, const uint8_t *params, float ret[WIRE_INPUTS])
{
	unsigned n = 0;

	memset(ret, 0, WIRE_INPUTS * sizeof(*ret));
	for (uint32_t i = 0; i < f->info.n_params && n < WIRE_INPUTS; i++) {
		uint32_t bytes = f->sizes[i];

		if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
			continue;
		ret[n] = input_of(f, n, params + f->offsets[i], bytes);
		n++;
	}
}
