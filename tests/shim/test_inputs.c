/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the sizes of a launch's inputs, which the shim derives from its parameters (addresses of
 * allocations, integers, and other values), and how often it asks the driver for them. */
#include "unit.h"

#include "shim/form/form.h"
#include "shim/launch/inputs.h"
#include "shim/order/fence.h"

#include <string.h>

#define AT 0x7f0000000000ull /* address of an allocation of `bytes` */

struct cu_api cu;
static uint64_t bytes;
static unsigned asked, n_fences;

unsigned fence_count(void)
{
	return n_fences;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
	asked++;
	assert_int_equal(attribute, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
	if (at < AT || at >= AT + bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*(size_t *)data = bytes;
	return CUDA_SUCCESS;
}

static struct form form;
static uint32_t offsets[32], sizes[32];
static uint8_t params[512];

static void begin(void)
{
	form = (struct form){.offsets = offsets, .sizes = sizes};
	lock_init(&form.lock, LOCK_form);
	memset(params, 0, sizeof(params));
	cu.cuPointerGetAttribute = pointer_attribute;
	bytes = 4096;
	asked = 0;
}

static void add(const void *value, uint32_t size)
{
	uint32_t i = form.info.n_params++;

	offsets[i] = i ? (offsets[i - 1] + sizes[i - 1] + 7) & ~7u : 0;
	sizes[i] = size;
	memcpy(params + offsets[i], value, size);
}

static void add_long(uint64_t v)
{
	add(&v, sizeof(v));
}

static void add_word(uint32_t v)
{
	add(&v, sizeof(v));
}

static void add_float(float v)
{
	add(&v, sizeof(v));
}

static void kinds(void **state)
{
	float got[WIRE_INPUTS];
	double real = 0.5;

	begin();
	add_long(AT + 100);
	add_word(1000000);
	add_word((uint32_t)-7);
	add_float(0.001f);
	add_float(1e9f);
	add(params, 24); /* adds a structure */
	add_long(3000000000);
	add_long(5);
	add(&real, sizeof(real));
	add_long(AT + 5000); /* not in any allocation */
	add(&(uint16_t){300}, 2);
	add(&(uint8_t){9}, 1);
	inputs_of(&form, params, got);
	{
		const float want[WIRE_INPUTS] = {
			4096, 1000000, 0, 0, 0, 3000000000.0f, 5, 0, 0, 300, 9, 0};

		for (unsigned i = 0; i < WIRE_INPUTS; i++)
			assert_true(got[i] == want[i]);
	}
	/* The driver does not have this function. */
	cu.cuPointerGetAttribute = NULL;
	n_fences++;
	inputs_of(&form, params, got);
	assert_true(got[0] == 0 && got[1] == 1000000);
}

static void many(void **state)
{
	float got[WIRE_INPUTS + 1];

	begin();
	for (uint32_t i = 0; i < 30; i++)
		add_word(i + 1);
	got[WIRE_INPUTS] = -1;
	inputs_of(&form, params, got);
	for (unsigned i = 0; i < WIRE_INPUTS; i++)
		assert_true(got[i] == (float)(i + 1));
	assert_true(got[WIRE_INPUTS] == -1);
	assert_int_equal(asked, 0);
}

static void rarely_asked(void **state)
{
	float got[WIRE_INPUTS];
	unsigned before;

	begin();
	add_long(AT);
	add_long(AT + 8);
	for (unsigned i = 0; i < 10; i++)
		inputs_of(&form, params, got);
	assert_int_equal(asked, 2);
	/* The allocation was freed, and another one is at the same address. */
	bytes = 64;
	n_fences++;
	inputs_of(&form, params, got);
	assert_true(got[0] == 64 && got[1] == 64);
	assert_int_equal(asked, 4);
	/* The parameter is another address in the same allocation. */
	memcpy(params, &(uint64_t){AT + 16}, 8);
	inputs_of(&form, params, got);
	assert_int_equal(asked, 5);
	/* The allocation was freed in stream order, which the shim does not see. It notices this
	 * after a while. */
	bytes = 128;
	before = asked;
	for (unsigned i = 0; i < 100; i++)
		inputs_of(&form, params, got);
	assert_true(got[0] == 128 && got[1] == 128);
	assert_in_range(asked - before, 2, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(many),
		cmocka_unit_test(rarely_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
