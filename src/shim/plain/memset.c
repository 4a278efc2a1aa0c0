/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles memsets. The driver executes a memset as a kernel.
 * - Under MPS that kernel waits until another program's workers leave room on an SM, so the memset
 *   counts as an unmanaged launch.
 * - Without MPS the memset is not counted. The device's own time slicing lets it run. Counting it
 *   would make heddled switch to this tenant, which takes longer than the memset. */
#include "shim/order/channels.h"
#include "shim/order/copy.h"
#include "shim/plain/opaque.h"

#define MEMSET_FORM(name, symbol, params, own, args)                      \
	SHIM_API CUresult symbol params;                                  \
	CUresult symbol params                                            \
	{                                                                 \
		struct opaque o = {0};                                    \
		struct stream *s;                                         \
		CUresult r;                                               \
		SHIM_NEED(name);                                          \
		stream = shim_stream(stream, own);                        \
		session = stream_touch(session, stream);                  \
		copy_note(session);                                       \
		s = shim_on(session) ? stream_of(session, stream) : NULL; \
		opaque_pass(session, s, &o);                              \
		r = cu.name args;                                         \
		opaque_end(session, s, &o, r);                            \
		return r;                                                 \
	}
#define MEMSET(name, params, args)                   \
	MEMSET_FORM(name, name, params, false, args) \
	MEMSET_FORM(name, name##_ptsz, params, true, args)

MEMSET(cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream),
	(dst, value, n, stream))
MEMSET(cuMemsetD16Async, (CUdeviceptr dst, unsigned short value, size_t n, CUstream stream),
	(dst, value, n, stream))
MEMSET(cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t n, CUstream stream),
	(dst, value, n, stream))
