/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Device mathematics for clang without CUDA's library: CUDA's names, each with CUDA's rounding.
 * Those that end in _rn are exact to the last bit and are never contracted with a neighbour, so a
 * host can reproduce them. __expf and its kin are the hardware's approximations. Included by
 * heddle_cuda.h only. */
#ifndef HEDDLE_MATH_H
#define HEDDLE_MATH_H

#define HD_OP2(name, type, builtin)   \
	HD type name(type a, type b)  \
	{                             \
		return builtin(a, b); \
	}
#define HD_OP1(name, type, builtin) \
	HD type name(type a)        \
	{                           \
		return builtin(a);  \
	}

HD_OP2(__fdiv_rn, float, __nvvm_div_rn_f)
HD_OP1(__fsqrt_rn, float, __nvvm_sqrt_rn_f)
HD_OP1(__frcp_rn, float, __nvvm_rcp_rn_f)
HD_OP1(sqrtf, float, __nvvm_sqrt_rn_f)
HD_OP1(sqrt, double, __nvvm_sqrt_rn_d)
HD_OP1(rsqrtf, float, __nvvm_rsqrt_approx_f)
HD_OP2(fminf, float, __nvvm_fmin_f)
HD_OP2(fmaxf, float, __nvvm_fmax_f)
HD_OP1(fabsf, float, __builtin_fabsf)
HD_OP1(fabs, double, __builtin_fabs)
HD_OP1(__sinf, float, __nvvm_sin_approx_f)
HD_OP1(__cosf, float, __nvvm_cos_approx_f)
HD_OP1(__log2f, float, __nvvm_lg2_approx_f)
HD_OP1(exp2f, float, __nvvm_ex2_approx_f)
HD_OP2(__fdividef, float, __nvvm_div_approx_f)

/* In assembly: clang forgets the rounding of its own builtins for these, and fuses them. */
#define HD_RN(name, type, op, reg)                                    \
	HD type name(type a, type b)                                  \
	{                                                             \
		type r;                                               \
		asm(op " %0, %1, %2;" : "=" reg(r) : reg(a), reg(b)); \
		return r;                                             \
	}
HD_RN(__fadd_rn, float, "add.rn.f32", "f")
HD_RN(__fmul_rn, float, "mul.rn.f32", "f")
HD_RN(__dadd_rn, double, "add.rn.f64", "d")
HD_RN(__dmul_rn, double, "mul.rn.f64", "d")
#undef HD_RN

HD float fmaf(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}
HD float __fmaf_rn(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}
HD double fma(double a, double b, double c)
{
	return __nvvm_fma_rn_d(a, b, c);
}
HD float __expf(float a)
{
	return __nvvm_ex2_approx_f(a * 1.4426950408889634f);
}
/* exp(a) = 2^k exp(r), |r| <= ln2/2: within 2 ulp where the result is normal. */
HD float expf(float a)
{
	float k = __nvvm_round_f(a * 1.4426950408889634f);
	float r = __nvvm_fma_rn_f(k, -0.693359375f, a);
	r = __nvvm_fma_rn_f(k, 2.12194440e-4f, r);
	return __nvvm_ex2_approx_f(r * 1.4426950408889634f) * __nvvm_ex2_approx_f(k);
}
HD float logf(float a)
{
	return __nvvm_lg2_approx_f(a) * 0.6931471805599453f;
}

/* ---- integers ---- */
#define HD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HD_MAX(a, b) ((a) < (b) ? (b) : (a))
HD_OP2(min, int, HD_MIN)
HD_OP2(max, int, HD_MAX)
HD_OP2(min, u32, HD_MIN)
HD_OP2(max, u32, HD_MAX)
#undef HD_MIN
#undef HD_MAX
HD_OP1(__popc, int, __builtin_popcount)
HD_OP1(__clzll, u64, __builtin_clzll)
HD_OP1(__brev, u32, __builtin_bitreverse32)
HD_OP2(__mulhi, int, __nvvm_mulhi_i)
HD_OP2(__umulhi, u32, __nvvm_mulhi_ui)
HD_OP2(__umul64hi, u64, __nvvm_mulhi_ull)

HD int __clz(u32 a)
{
	return a ? __builtin_clz(a) : 32;
}
HD int __ffs(u32 a)
{
	return __builtin_ffs(a);
}
HD u32 __byte_perm(u32 a, u32 b, u32 s)
{
	return __nvvm_prmt(a, b, s);
}
HD u32 __float_as_uint(float a)
{
	return __builtin_bit_cast(u32, a);
}
HD float __uint_as_float(u32 a)
{
	return __builtin_bit_cast(float, a);
}
HD int __float2int_rn(float a)
{
	return __nvvm_f2i_rn(a);
}
HD float __int2float_rn(int a)
{
	return __nvvm_i2f_rn(a);
}
HD double __longlong_as_double(long long a)
{
	return __builtin_bit_cast(double, a);
}
HD long long __double_as_longlong(double a)
{
	return __builtin_bit_cast(long long, a);
}
HD long long clock64()
{
	return __nvvm_read_ptx_sreg_clock64();
}
HD float4 make_float4(float x, float y, float z, float w)
{
	return float4{x, y, z, w};
}
HD float __ldg(const float *p)
{
	return __nvvm_ldg_f(p);
}
HD int __ldg(const int *p)
{
	return __nvvm_ldg_i(p);
}

#undef HD_OP1
#undef HD_OP2
#endif
