/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* vabsdiff2 and vabsdiff4: absolute differences of two halves or four bytes, which nvcc emits for
 * __vabsdiffu4, __vsadu4 and similar functions. in->d, a, b, c are registers, in->size is the
 * number of bytes of an element, and in->op is an enum vvideo_op. Bits 0, 1 and 2 of in->vec tell
 * whether d, a and b are signed. */
#include "exec_ctl.h"

static int64_t get_element(uint32_t v, unsigned k, unsigned bits, bool is_signed)
{
	uint32_t e = v >> (k * bits) & ((1u << bits) - 1);

	return is_signed && e >> (bits - 1) ? (int64_t)e - (1ll << bits) : (int64_t)e;
}

static uint32_t add_differences(const struct vinsn *in, uint32_t a, uint32_t b, uint32_t c)
{
	unsigned bits = in->size * 8u;
	uint32_t packed = 0, sum = c;

	for (unsigned k = 0; k < 32 / bits; k++) {
		int64_t t =
			get_element(a, k, bits, in->vec & 2) - get_element(b, k, bits, in->vec & 4);
		int64_t most = in->vec & 1 ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;

		if (t < 0)
			t = -t;
		if (in->op == VV_SATURATED && t > most)
			t = most;
		sum += (uint32_t)t;
		packed |= ((uint32_t)t & ((1u << bits) - 1)) << (k * bits);
	}
	return in->op == VV_ADDED ? sum : packed;
}

const struct vinsn *vop_absdiff(struct vx *x, const struct vinsn *in)
{
	const uint32_t *a = VX_U32(x, in->a), *b = VX_U32(x, in->b), *c = VX_U32(x, in->c);
	uint32_t *d = VX_U32(x, in->d);

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		d[i] = add_differences(in, a[i], b[i], c[i]);
	}
	return in + 1;
}
