/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads and stores, in three ways, the fastest first:
 * - one check and one copy, if all 32 lanes access contiguous memory in the range that this
 *   instruction accessed last time
 * - a vector operation, if all lanes are in that range
 * - lane by lane in all other cases
 *
 * Races between plain accesses of kernels are bugs of the program, not of the virtual GPU, so
 * thread checkers skip these functions. */
#include "dev/cpu/fence.h"
#include "vec.h"

#if defined(__SANITIZE_THREAD__)
#define RACY __attribute__((no_sanitize_thread))
#elif defined(__clang__)
#define RACY __attribute__((no_sanitize("thread")))
#else
#define RACY
#endif

/* ---- checking the addresses of a full warp ---- */

enum shape { SHAPE_BAD, SHAPE_LINE, SHAPE_SAME, SHAPE_MIXED };

/* Checks all 32 addresses at once. LINE: each address is `step` above the one before. SAME: all are
 * equal. MIXED: any other addresses. In these three cases all addresses are aligned and in [base,
 * base + limit]; otherwise the result is BAD. */
INLINE enum shape look(const u64 *a, u64 offset, u64 base, u64 limit, u64 step, u64 align)
{
	u64 first = a[0] + offset, odd = 0, off_line = 0, outside = 0, low = 0;

	if (first & align)
		return SHAPE_BAD;
	if (first - base > limit)
		return SHAPE_BAD;
	EACH off_line |= a[i] - a[0] - (u64)i * step;
	if (!off_line)
		return first + 31 * step - base <= limit ? SHAPE_LINE : SHAPE_BAD;
	EACH
	{
		u64 at = a[i] + offset;

		odd |= a[i] ^ a[0];
		low |= at;
		/* For an address in the range, both differences are below 2^63. */
		outside |= (at - base) | (limit - (at - base));
	}
	if (!odd)
		return SHAPE_SAME;
	return (outside >> 63) | (low & align) ? SHAPE_BAD : SHAPE_MIXED;
}

INLINE enum shape look_range(struct vx *x, const struct vinsn *in, u64 bytes, u64 *ret_shift)
{
	const struct vgpu_range *r = &x->b->ranges[in->x];

	*ret_shift = in->imm;
	if (r->generation != vgpu_mem_generation(x->b->mem) || r->end - r->base < bytes)
		return SHAPE_BAD;
	return look(ALIGN(VX_PTR(x, in->a)), in->imm, r->base, r->end - r->base - bytes, bytes,
		MIN(bytes, 16) - 1);
}

/* Checks all 32 addresses of an access to shared memory, in registers of 32 or 64 bits. */
INLINE enum shape look_shared(struct vx *x, const struct vinsn *in, u64 bytes, u64 tmp[LANES])
{
	if (x->b->shared_bytes < bytes)
		return SHAPE_BAD;
	if (in->flags & VI_ADDR32) {
		const u32 *a = ALIGN(VX_PTR(x, in->a));
		u32 imm = (u32)in->imm;

		EACH tmp[i] = (u32)(a[i] + imm);
	} else {
		const u64 *a = ALIGN(VX_PTR(x, in->a));

		EACH tmp[i] = a[i] + in->imm;
	}
	return look(tmp, 0, 0, x->b->shared_bytes - bytes, bytes, MIN(bytes, 16) - 1);
}

#define HOST(at) ((char *)(uintptr_t)(at))

/* ---- moving data between registers and memory ---- */

/* Loads one element at p into lane i of the register at offset off. */
INLINE void put(struct vx *x, const struct vinsn *in, u32 off, unsigned i, const char *p)
{
	u64 v = 0;

	switch (in->size) {
	case 1:
		v = in->flags & VI_SIGNED ? (u64)(s64) * (const s8 *)p : *(const u8 *)p;
		break;
	case 2:
		v = in->flags & VI_SIGNED ? (u64)(s64) * (const s16 *)p : *(const u16 *)p;
		break;
	case 4:
		v = in->flags & VI_SIGNED ? (u64)(s64) * (const s32 *)p : *(const u32 *)p;
		break;
	default:
		v = *(const u64 *)p;
		break;
	}
	if (in->flags & VI_WIDE)
		VX_U64(x, off)[i] = v;
	else
		VX_U32(x, off)[i] = (u32)v;
}

INLINE void get(struct vx *x, const struct vinsn *in, u32 off, unsigned i, char *p)
{
	u64 v = in->flags & VI_WIDE ? VX_U64(x, off)[i] : VX_U32(x, off)[i];

	switch (in->size) {
	case 1:
		*(u8 *)p = (u8)v;
		break;
	case 2:
		*(u16 *)p = (u16)v;
		break;
	case 4:
		*(u32 *)p = (u32)v;
		break;
	default:
		*(u64 *)p = v;
		break;
	}
}

/* Returns the register of element k. A single register is in->d; several are listed in func->ext
 * from index in->c. */
INLINE u32 reg_of(struct vx *x, const struct vinsn *in, unsigned k)
{
	return in->vec == 1 ? in->d : x->f->frame->fn->ext[in->c + k];
}

RACY static const struct vinsn *load_lanes(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];
	u32 bytes = (u32)in->size * in->vec;

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, bytes, false, p))
		return NULL;
	for (unsigned k = 0; k < in->vec; k++) {
		u32 off = reg_of(x, in, k);

		if (off == VX_NONE)
			continue;
		for (u32 m = x->mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);

			put(x, in, off, i, (const char *)p[i] + k * in->size);
		}
	}
	return in + 1;
}

RACY static const struct vinsn *store_lanes(struct vx *x, const struct vinsn *in)
{
	void *p[LANES];
	u32 bytes = (u32)in->size * in->vec;

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, bytes, true, p))
		return NULL;
	x->w->progress = true;
	for (unsigned k = 0; k < in->vec; k++) {
		u32 off = reg_of(x, in, k);

		for (u32 m = x->mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);

			get(x, in, off, i, (char *)p[i] + k * in->size);
		}
	}
	return in + 1;
}

/* Load or store 4 (or 8) bytes per lane, for all lanes, in registers of that width. `base` is the
 * start of the state space. */
#define LOAD(T)                                                                         \
	INLINE void load_##T(                                                           \
		struct vx *x, u32 off, enum shape s, u64 base, const u64 *a, u64 shift) \
	{                                                                               \
		T *d = ALIGN(VX_PTR(x, off));                                           \
		const char *p = HOST(base + a[0] + shift);                              \
                                                                                        \
		if (s == SHAPE_LINE) {                                                  \
			memcpy(d, p, LANES * sizeof(T));                                \
		} else if (s == SHAPE_SAME) {                                           \
			T v = *(const T *)p;                                            \
			EACH d[i] = v;                                                  \
		} else {                                                                \
			T v[LANES];                                                     \
			for (int i = 0; i < LANES; i++)                                 \
				v[i] = *(const T *)HOST(base + a[i] + shift);           \
			memcpy(d, v, sizeof(v));                                        \
		}                                                                       \
	}                                                                               \
	INLINE void store_##T(                                                          \
		struct vx *x, u32 off, enum shape s, u64 base, const u64 *a, u64 shift) \
	{                                                                               \
		const T *d = ALIGN(VX_PTR(x, off));                                     \
                                                                                        \
		if (s == SHAPE_LINE)                                                    \
			memcpy(HOST(base + a[0] + shift), d, LANES * sizeof(T));        \
		else                                                                    \
			for (int i = 0; i < LANES; i++)                                 \
				*(T *)HOST(base + a[i] + shift) = d[i];                 \
	}
LOAD(u32)
LOAD(u64)

#define ACCESS(T, SPACE, SHAPE)                                                                   \
	RACY static const struct vinsn *op_ld_##SPACE##_##T(struct vx *x, const struct vinsn *in) \
	{                                                                                         \
		u64 tmp[LANES] __attribute__((aligned(64))), shift = 0;                           \
		const u64 *a = tmp;                                                               \
		u64 base = 0;                                                                     \
		enum shape s;                                                                     \
                                                                                                  \
		if (x->mask != ~0u)                                                               \
			return load_lanes(x, in);                                                 \
		s = SHAPE(sizeof(T));                                                             \
		if (s == SHAPE_BAD)                                                               \
			return load_lanes(x, in);                                                 \
		load_##T(x, in->d, s, base, a, shift);                                            \
		return in + 1;                                                                    \
	}                                                                                         \
	RACY static const struct vinsn *op_st_##SPACE##_##T(struct vx *x, const struct vinsn *in) \
	{                                                                                         \
		u64 tmp[LANES] __attribute__((aligned(64))), shift = 0;                           \
		const u64 *a = tmp;                                                               \
		u64 base = 0;                                                                     \
		enum shape s;                                                                     \
                                                                                                  \
		if (x->mask != ~0u)                                                               \
			return store_lanes(x, in);                                                \
		s = SHAPE(sizeof(T));                                                             \
		if (s == SHAPE_BAD)                                                               \
			return store_lanes(x, in);                                                \
		x->w->progress = true;                                                            \
		store_##T(x, in->d, s, base, a, shift);                                           \
		return in + 1;                                                                    \
	}
#define IN_RANGE(bytes)  (a = VX_PTR(x, in->a), look_range(x, in, bytes, &shift))
#define IN_SHARED(bytes) (base = (u64)(uintptr_t)x->b->shared, look_shared(x, in, bytes, tmp))
ACCESS(u32, global, IN_RANGE)
ACCESS(u64, global, IN_RANGE)
ACCESS(u32, shared, IN_SHARED)
ACCESS(u64, shared, IN_SHARED)

/* Accesses of vectors, bytes and half-words: one check for all lanes, then element by element. */
#define ANY(SPACE, SHAPE)                                                                         \
	RACY static const struct vinsn *op_ld_##SPACE##_any(struct vx *x, const struct vinsn *in) \
	{                                                                                         \
		u64 tmp[LANES] __attribute__((aligned(64))), shift = 0;                           \
		const u64 *a = tmp;                                                               \
		u64 base = 0;                                                                     \
		const char *p[LANES];                                                             \
                                                                                                  \
		if (x->mask != ~0u || SHAPE((u64)in->size * in->vec) == SHAPE_BAD)                \
			return load_lanes(x, in);                                                 \
		EACH p[i] = HOST(base + a[i] + shift);                                            \
		load_any(x, in, p);                                                               \
		return in + 1;                                                                    \
	}                                                                                         \
	RACY static const struct vinsn *op_st_##SPACE##_any(struct vx *x, const struct vinsn *in) \
	{                                                                                         \
		u64 tmp[LANES] __attribute__((aligned(64))), shift = 0;                           \
		const u64 *a = tmp;                                                               \
		u64 base = 0;                                                                     \
                                                                                                  \
		if (x->mask != ~0u || SHAPE((u64)in->size * in->vec) == SHAPE_BAD)                \
			return store_lanes(x, in);                                                \
		x->w->progress = true;                                                            \
		for (unsigned k = 0; k < in->vec; k++) {                                          \
			u32 off = reg_of(x, in, k);                                               \
                                                                                                  \
			for (unsigned i = 0; i < LANES; i++)                                      \
				get(x, in, off, i, HOST(base + a[i] + shift + k * in->size));     \
		}                                                                                 \
		return in + 1;                                                                    \
	}

#define LOAD_ALL(T, D)                  \
	for (int i = 0; i < LANES; i++) \
	((D *)VX_PTR(x, off))[i] = (D)(*(const T *)(p[i] + k * sizeof(T)))

INLINE void load_any(struct vx *x, const struct vinsn *in, const char *const p[LANES])
{
	for (unsigned k = 0; k < in->vec; k++) {
		u32 off = reg_of(x, in, k);

		if (off == VX_NONE)
			continue;
		switch (in->size | (in->flags & VI_SIGNED) << 6 | (in->flags & VI_WIDE) << 8) {
		case 1:
			LOAD_ALL(u8, u32);
			break;
		case 2:
			LOAD_ALL(u16, u32);
			break;
		case 4:
			LOAD_ALL(u32, u32);
			break;
		case 8 | VI_WIDE << 8:
			LOAD_ALL(u64, u64);
			break;
		default:
			for (unsigned i = 0; i < LANES; i++)
				put(x, in, off, i, p[i] + k * in->size);
			break;
		}
	}
}
ANY(global, IN_RANGE)
ANY(shared, IN_SHARED)

/* Loads a kernel parameter, which is the same for all lanes. The decoder checked its offset. */
static const struct vinsn *op_ld_param(struct vx *x, const struct vinsn *in)
{
	const char *from = (const char *)x->b->launch->params + in->imm;
	u32 m = x->mask;

	for (unsigned k = 0; k < in->vec; k++, from += in->size) {
		u32 off = reg_of(x, in, k);
		char copy[8] __attribute__((aligned(8)));
		u64 v;

		if (off == VX_NONE)
			continue;
		memcpy(copy, from, in->size);
		v = in->size == 8 ? *(u64 *)copy
		    : in->size == 4
			    ? (in->flags & VI_SIGNED ? (u64)(s64) * (s32 *)copy : *(u32 *)copy)
		    : in->size == 2
			    ? (in->flags & VI_SIGNED ? (u64)(s64) * (s16 *)copy : *(u16 *)copy)
			    : (in->flags & VI_SIGNED ? (u64)(s64) * (s8 *)copy : *(u8 *)copy);
		if (in->flags & VI_WIDE) {
			u64 *d = ALIGN(VX_PTR(x, off));

			EACH d[i] = BIT(m) ? v : d[i];
		} else {
			u32 *d = ALIGN(VX_PTR(x, off));

			EACH d[i] = BIT(m) ? (u32)v : d[i];
		}
	}
	return in + 1;
}

/* Accesses that other threads can observe: one atomic access per element, in the order of the
 * lanes. */
INLINE u64 load_atomic(const void *p, unsigned size)
{
	switch (size) {
	case 1:
		return __atomic_load_n((const u8 *)p, VGPU_WATCHED_LOAD);
	case 2:
		return __atomic_load_n((const u16 *)p, VGPU_WATCHED_LOAD);
	case 4:
		return __atomic_load_n((const u32 *)p, VGPU_WATCHED_LOAD);
	default:
		return __atomic_load_n((const u64 *)p, VGPU_WATCHED_LOAD);
	}
}

/* A vector of 16 bytes that is read or written as a whole. A GPU reads and writes aligned vectors
 * of 8 or 16 bytes as a whole, and programs rely on this: they put a value and its flag in one
 * vector. On hosts with 16-byte registers, this type gives the same. */
typedef u32 whole_vec __attribute__((vector_size(16), may_alias));

static bool is_whole(const struct vinsn *in)
{
	return in->vec > 1 && (in->size * in->vec == 8 || in->size * in->vec == 16);
}

__attribute__((no_sanitize("thread"))) static void load_whole(
	const void *p, unsigned bytes, char ret[16])
{
	if (bytes == 8) {
		u64 v = __atomic_load_n((const u64 *)p, __ATOMIC_RELAXED);

		memcpy(ret, &v, 8);
	} else {
		whole_vec v = *(const volatile whole_vec *)p;

		memcpy(ret, &v, 16);
	}
}

__attribute__((no_sanitize("thread"))) static void store_whole(
	void *p, unsigned bytes, const char from[16])
{
	if (bytes == 8) {
		u64 v;

		memcpy(&v, from, 8);
		__atomic_store_n((u64 *)p, v, VGPU_WATCHED_STORE);
	} else {
		whole_vec v;

		memcpy(&v, from, 16);
		*(volatile whole_vec *)p = v;
	}
}

static const struct vinsn *op_ld_strong(struct vx *x, const struct vinsn *in)
{
	bool whole = is_whole(in);
	void *p[LANES];
	u64 hash = (u64)(uintptr_t)in;

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, (u32)in->size * in->vec, false, p))
		return NULL;
	for (u32 m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		_Alignas(16) char all[16] = {0};

		if (whole)
			load_whole(p[i], (unsigned)in->size * in->vec, all);
		for (unsigned k = 0; k < in->vec; k++) {
			u32 off = reg_of(x, in, k);
			u64 v = load_atomic(
				whole ? all + k * in->size : (const char *)p[i] + k * in->size,
				in->size);

			hash = (hash ^ v ^ (u64)(uintptr_t)p[i]) * 0x9e3779b97f4a7c15ull;
			if (off != VX_NONE)
				put(x, in, off, i, (const char *)&v);
		}
	}
	if (in->flags & VI_ACQUIRE)
		vgpu_fence(__ATOMIC_ACQUIRE);
	vx_poll(x, hash);
	return in + 1;
}

static void store_element(char *to, u64 v, unsigned size)
{
	if (size == 1)
		__atomic_store_n((u8 *)to, (u8)v, VGPU_WATCHED_STORE);
	else if (size == 2)
		__atomic_store_n((u16 *)to, (u16)v, VGPU_WATCHED_STORE);
	else if (size == 4)
		__atomic_store_n((u32 *)to, (u32)v, VGPU_WATCHED_STORE);
	else
		__atomic_store_n((u64 *)to, v, VGPU_WATCHED_STORE);
}

static const struct vinsn *op_st_strong(struct vx *x, const struct vinsn *in)
{
	bool whole = is_whole(in);
	void *p[LANES];

	if (!x->mask)
		return in + 1;
	if (!vx_addresses(x, in, (u32)in->size * in->vec, true, p))
		return NULL;
	if (in->flags & VI_RELEASE)
		vgpu_fence(__ATOMIC_RELEASE);
	x->w->progress = true;
	for (u32 m = x->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		_Alignas(16) char all[16];

		for (unsigned k = 0; k < in->vec; k++) {
			u32 off = reg_of(x, in, k);
			u64 v = in->flags & VI_WIDE ? VX_U64(x, off)[i] : VX_U32(x, off)[i];

			if (whole)
				memcpy(all + k * in->size, &v, in->size);
			else
				store_element((char *)p[i] + k * in->size, v, in->size);
		}
		if (whole)
			store_whole(p[i], (unsigned)in->size * in->vec, all);
	}
	return in + 1;
}

static const struct vinsn *op_ld(struct vx *x, const struct vinsn *in)
{
	return load_lanes(x, in);
}

static const struct vinsn *op_st(struct vx *x, const struct vinsn *in)
{
	return store_lanes(x, in);
}

VEC_TABLE(vgpu_vec_mem) = {VOP_ENTRY(ld_global_u32) VOP_ENTRY(ld_global_u64) VOP_ENTRY(
	ld_shared_u32) VOP_ENTRY(ld_shared_u64) VOP_ENTRY(st_global_u32) VOP_ENTRY(st_global_u64)
		VOP_ENTRY(st_shared_u32) VOP_ENTRY(st_shared_u64) VOP_ENTRY(ld) VOP_ENTRY(st)
			VOP_ENTRY(ld_global_any) VOP_ENTRY(st_global_any) VOP_ENTRY(ld_shared_any)
				VOP_ENTRY(st_shared_any) VOP_ENTRY(ld_param) VOP_ENTRY(ld_strong)
					VOP_ENTRY(st_strong){NULL, NULL}};
