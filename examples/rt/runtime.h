/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The function that each program defines for runtime.cu: its launch, in the notation of the runtime
 * API. */
#ifndef HEDDLE_EXAMPLES_RT_RUNTIME_H
#define HEDDLE_EXAMPLES_RT_RUNTIME_H

#include "../common.h"

#include <string.h>

struct rt_call {
	dim3 grid, block;
	cudaStream_t stream;
	void *const *memory; /* of the work's buffers, on the device */
	const struct ex_work *work;

	/* The k-th argument of the kernel, as what it is. */
	template <class T> T *at(unsigned k) const
	{
		return static_cast<T *>(memory[work->arg[k].buffer]);
	}
	unsigned word(unsigned k) const
	{
		return work->arg[k].word;
	}
	float real(unsigned k) const
	{
		float f;
		memcpy(&f, &work->arg[k].word, sizeof(f));
		return f;
	}
};

void rt_launch(const struct rt_call &c); /* defined once in each program */

#endif
