/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests matrix products (mma) on a warp's registers: compares each with the product of whole
 * matrices. The PTX ISA's layout of each shape maps the elements to lanes. */
#include "grid.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dev/cpu/exec/half.h"

/* A shape of mma. place_a, row_of_b and place_c map element i of a lane's fragment to its place in
 * the matrix; the column in B is the lane's number divided by 4. */
struct shape {
	const char *text;       /* shape and types d.a.b.c */
	unsigned m, k, a, b, c; /* sizes; elements in each lane */
	unsigned per_word;
	enum { F16, BF16, TF32, F64, S8, U8 } type;
	bool half_sums;
};

static const struct shape shapes[] = {
	{"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 4, 2, 4, 2, F16, false},
	{"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 8, 4, 4, 2, F16, false},
	{"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 8, 4, 4, 2, F16, true},
	{"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 8, 4, 4, 2, BF16, false},
	{"m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 4, 2, 4, 2, BF16, false},
	{"m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 2, 1, 4, 1, TF32, false},
	{"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 4, 2, 4, 1, TF32, false},
	{"m8n8k4.row.col.f64.f64.f64.f64", 8, 4, 1, 1, 2, 1, F64, false},
	{"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 4, 4, 2, 4, S8, false},
	{"m16n8k16.row.col.s32.s8.s8.s32", 16, 16, 8, 4, 4, 4, S8, false},
	{"m16n8k32.row.col.s32.u8.u8.s32", 16, 32, 16, 8, 4, 4, U8, false},
};

static void place_a(const struct shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *col)
{
	unsigned g = lane >> 2, t = lane % 4;

	*row = g;
	if (s->m == 8 && s->type == F64) {
		*col = t;
	} else if (s->m == 8) {
		*col = t * 4 + i;
	} else if (s->type == TF32) {
		*row = i == 0 || i == 2 ? g : g + 8;
		*col = i < 2 ? t : t + 4;
	} else if (s->type == S8 || s->type == U8) {
		*row = i < 4 || (i >= 8 && i < 12) ? g : g + 8;
		*col = i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
	} else {
		*row = i < 2 || (i >= 4 && i < 6) ? g : g + 8;
		*col = i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
	}
}

static unsigned row_of_b(const struct shape *s, unsigned lane, unsigned i)
{
	unsigned t = lane % 4;

	switch (s->type) {
	case F64:
		return t;
	case TF32:
		return i == 0 ? t : t + 4;
	case S8:
	case U8:
		return i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16;
	default:
		return i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8;
	}
}

static uint64_t seed = 88172645463325252u;

/* Small integers, halves and quarters: sums of their products are exact in all formats. */
static double number(const struct shape *s)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	if (s->type == U8)
		return (double)(seed >> 40 & 255);
	if (s->type == S8)
		return (double)(int8_t)(seed >> 40);
	return s->half_sums ? (double)(seed >> 40 & 3) - 1 : ((double)(seed >> 40 & 15) - 8) / 4;
}

static uint64_t bits_of(const struct shape *s, double v)
{
	float f = (float)v;
	uint32_t u;
	uint64_t w;

	switch (s->type) {
	case F16:
		return half_from_f64(v, HALF_F16, VR_RN);
	case BF16:
		return half_from_f64(v, HALF_BF16, VR_RN);
	case F64:
		memcpy(&w, &v, 8);
		return w;
	case S8:
	case U8:
		return (uint8_t)(int)v;
	default:
		memcpy(&u, &f, 4);
		return u | 0x1fff; /* sets the bits below those of tf32, which must be ignored */
	}
}

static uint64_t sum_bits(const struct shape *s, double v)
{
	float f = (float)v;
	uint32_t u;
	uint64_t w;

	if (s->half_sums)
		return half_from_f64(v, HALF_F16, VR_RN);
	if (s->type == F64) {
		memcpy(&w, &v, 8);
		return w;
	}
	if (s->type == S8 || s->type == U8)
		return (uint32_t)(int)v;
	memcpy(&u, &f, 4);
	return u;
}

/* The kernel loads each register from 8 bytes, in order, and stores D in the same way. */
static void write_kernel(
	const struct shape *s, unsigned na, unsigned nb, unsigned nc, char *to, size_t size)
{
	const char *word = s->type == F64 ? "f64" : "b32",
		   *sum = s->type == F64                                   ? "f64"
			  : s->half_sums || s->type == S8 || s->type == U8 ? "b32"
									   : "f32";
	const char name[] = "abc";
	unsigned n[] = {na, nb, nc}, at = 0;
	FILE *f = fmemopen(to, size, "w");

	fprintf(f,
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b64 %%p<4>;\n.reg .b32 %%i;\n.reg .%s %%a<17>, %%b<9>;\n.reg .%s %%c<9>, "
		"%%d<9>;\n"
		"ld.param.u64 %%p0, [in];\nld.param.u64 %%p1, [out];\nmov.u32 %%i, %%tid.x;\n"
		"mad.wide.u32 %%p0, %%i, 8, %%p0;\nmad.wide.u32 %%p1, %%i, 8, %%p1;\n",
		word, sum);
	for (unsigned k = 0; k < 3; k++)
		for (unsigned r = 0; r < n[k]; r++, at++)
			fprintf(f, "ld.global.%s %%%c%u, [%%p0+%u];\n", k < 2 ? word : sum, name[k],
				r, at * 256);
	fprintf(f, "mma.sync.aligned.%s {", s->text);
	for (unsigned r = 0; r < nc; r++)
		fprintf(f, "%s%%d%u", r ? ", " : "", r);
	for (unsigned k = 0; k < 3; k++) {
		fputs("}, {", f);
		for (unsigned r = 0; r < n[k]; r++)
			fprintf(f, "%s%%%c%u", r ? ", " : "", name[k], r);
	}
	fputs("};\n", f);
	for (unsigned r = 0; r < nc; r++)
		fprintf(f, "st.global.%s [%%p1+%u], %%d%u;\n", sum, r * 256, r);
	fputs("ret;\n}\n", f);
	fclose(f);
}

static void run_kernel(const char *ptx, uint64_t *in, size_t n_in, uint64_t *out, size_t n_out)
{
	struct diag_list diags = {0};
	struct vgpu_mem *m;
	struct vgpu_module *mod;
	struct grid_result res;
	uint64_t params[2];

	assert_int_equal(vgpu_mem_create(1 << 24, &m), 0);
	assert_int_equal(vgpu_module_load(m, ptx, strlen(ptx), &diags, &mod), 0);
	assert_int_equal(vgpu_mem_alloc(m, n_in * 8, &params[0]), 0);
	assert_int_equal(vgpu_mem_alloc(m, n_out * 8, &params[1]), 0);
	memcpy((void *)(uintptr_t)params[0], in, n_in * 8);
	memset((void *)(uintptr_t)params[1], 0, n_out * 8);
	struct vgpu_launch l = {.kernel = vgpu_module_kernel(mod, "k"),
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.params = params,
		.n_sms = 1};
	if (vgpu_run_grid(&l, 1000, 0, &res) != 0)
		fail_msg("%s", res.fault.message);
	memcpy(out, (void *)(uintptr_t)params[1], n_out * 8);
	vgpu_module_free(mod);
	vgpu_mem_destroy(m);
}

static void product(const struct shape *s)
{
	unsigned p = s->per_word, na = s->a / p, nb = s->b / p, nc = s->half_sums ? s->c / 2 : s->c;
	static double a[16][32], b[32][8], c[16][8];
	uint64_t in[(16 + 8 + 8) * 32] = {0}, out[8 * 32];
	char ptx[8192];

	for (unsigned i = 0; i < 16; i++)
		for (unsigned k = 0; k < 32; k++)
			a[i][k] = number(s);
	for (unsigned k = 0; k < 32; k++)
		for (unsigned j = 0; j < 8; j++)
			b[k][j] = number(s);
	for (unsigned i = 0; i < 16; i++)
		for (unsigned j = 0; j < 8; j++)
			c[i][j] = number(s);
	for (unsigned lane = 0; lane < 32; lane++) {
		unsigned row, col, g = lane >> 2, t = lane % 4, bits = 32 / p;

		for (unsigned i = 0; i < s->a; i++) {
			place_a(s, lane, i, &row, &col);
			in[i / p * 32 + lane] |= bits_of(s, a[row][col]) << bits * (i % p);
		}
		for (unsigned i = 0; i < s->b; i++)
			in[(na + i / p) * 32 + lane] |= bits_of(s, b[row_of_b(s, lane, i)][g])
							<< bits * (i % p);
		for (unsigned i = 0; i < s->c; i++) {
			unsigned at = s->half_sums ? i / 2 : i,
				 up = s->half_sums ? 16 * (i % 2) : 0;

			in[(na + nb + at) * 32 + lane] |=
				sum_bits(s, c[g + (i < 2 ? 0 : 8)][t * 2 + (i & 1)]) << up;
		}
	}
	write_kernel(s, na, nb, nc, ptx, sizeof(ptx));
	run_kernel(ptx, in, (na + nb + nc) * 32, out, nc * 32);
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < s->c; i++) {
			unsigned row = (lane >> 2) + (i < 2 ? 0 : 8), col = lane % 4 * 2 + (i & 1);
			uint64_t got = out[(s->half_sums ? i / 2 : i) * 32 + lane];
			double v = c[row][col];

			for (unsigned k = 0; k < s->k; k++)
				v += a[row][k] * b[k][col];
			if (s->half_sums)
				got = got >> 16 * (i % 2) & 0xffff;
			if (got != sum_bits(s, v))
				fail_msg("%s: row %u, column %u: 0x%llx, not 0x%llx", s->text, row,
					col, (unsigned long long)got,
					(unsigned long long)sum_bits(s, v));
		}
}

static void products(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
		for (unsigned round = 0; round < 4; round++)
			product(&shapes[i]);
}

/* Loads four matrices from shared memory into registers, one of them transposed, and stores them
 * back. */
static void rows(void **state)
{
	static const char ptx[] =
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".shared .align 16 .b8 m[1024];\n.reg .b64 %p<4>;\n.reg .b32 %r<20>;\n"
		"ld.param.u64 %p0, [in];\nld.param.u64 %p1, [out];\nmov.u32 %r0, %tid.x;\n"
		"mad.wide.u32 %p0, %r0, 8, %p0;\nmad.wide.u32 %p1, %r0, 8, %p1;\n"
		"mov.u32 %r1, m;\nmad.lo.u32 %r2, %r0, 16, %r1;\n"
		"ld.global.u64 %p2, [%p0];\nst.shared.u64 [%r2], %p2;\n"
		"ld.global.u64 %p2, [%p0+256];\nst.shared.u64 [%r2+8], %p2;\nbar.sync 0;\n"
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\n"
		"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r8}, [%r2];\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r8;\n"
		"st.global.u32 [%p1], %r4;\nst.global.u32 [%p1+256], %r5;\n"
		"st.global.u32 [%p1+512], %r6;\nst.global.u32 [%p1+768], %r7;\n"
		"st.global.u32 [%p1+1024], %r8;\nst.global.u32 [%p1+1280], %r9;\n"
		"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r2+256], {%r4, %r5};\nbar.sync "
		"0;\n"
		"ld.shared.u64 %p2, [%r2];\nst.global.u64 [%p1+1536], %p2;\n"
		"ld.shared.u64 %p2, [%r2+8];\nst.global.u64 [%p1+1792], %p2;\nret;\n}\n";
	uint64_t in[64], out[256];
	uint16_t m[4][8][8], back[4][8][8];

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		m[i / 64][i / 8 % 8][i % 8] = (uint16_t)(i * 257 + 3);
	for (unsigned lane = 0; lane < 32; lane++) {
		memcpy(&in[lane], &m[lane / 8][lane % 8][0], 8);
		memcpy(&in[32 + lane], &m[lane / 8][lane % 8][4], 8);
	}
	/* The last two words of each lane come from stmatrix. */
	run_kernel(ptx, in, 64, out, 256);
	for (unsigned lane = 0; lane < 32; lane++) {
		unsigned g = lane / 4, t = lane % 4;

		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(out[32 * k + lane],
				m[k][g][2 * t] | (uint32_t)m[k][g][2 * t + 1] << 16);
		assert_int_equal(
			out[128 + lane], m[0][2 * t][g] | (uint32_t)m[0][2 * t + 1][g] << 16);
		assert_int_equal(out[160 + lane], out[lane]);
		memcpy(&back[lane / 8][lane % 8][0], &out[192 + lane], 8);
		memcpy(&back[lane / 8][lane % 8][4], &out[224 + lane], 8);
	}
	for (unsigned i = 0; i < 8; i++)
		for (unsigned j = 0; j < 8; j++)
			for (unsigned k = 0; k < 2; k++) {
				assert_int_equal(back[k][i][j], m[k][i][j]);
				assert_int_equal(back[2 + k][i][j], m[k][j][i]);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
