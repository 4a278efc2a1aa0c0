/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests wmma: compares D = A * B + C of each shape and type with whole matrices. Operands are
 * loaded and stored in either order, with any stride. The ISA leaves open which lane holds which
 * element, so that is not tested. But D must be usable as C, and each lane must be able to
 * change all its elements in the same way. usage: test_wmma [--write DIR] (writes the kernels,
 * for an assembler). */
#include "grid.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "dev/cpu/exec/half.h"

enum type { F16, BF16, TF32, F64, S8, U8, F32, S32 };
static const struct {
	const char *name, *word; /* names of the type and of its registers */
	unsigned bytes;
} types[] = {{"f16", "b32", 2}, {"bf16", "b32", 2}, {"tf32", "b32", 4}, {"f64", "f64", 8},
	{"s8", "b32", 1}, {"u8", "b32", 1}, {"f32", "f32", 4}, {"s32", "b32", 4}};

struct form {
	const char *shape, *mma;      /* mma: the product's types as the instruction writes them */
	unsigned m, n, k, a, b, c, d; /* matrix sizes; registers of each fragment */
	enum type factor, sum, from;  /* types of A and B, of D, of C */
};
static const struct form forms[] = {
	{"m16n16k16", "f32.f32", 16, 16, 16, 8, 8, 8, 8, F16, F32, F32},
	{"m16n16k16", "f16.f16", 16, 16, 16, 8, 8, 4, 4, F16, F16, F16},
	{"m16n16k16", "f16.f32", 16, 16, 16, 8, 8, 8, 4, F16, F16, F32},
	{"m16n16k16", "f32.f16", 16, 16, 16, 8, 8, 4, 8, F16, F32, F16},
	{"m32n8k16", "f32.f32", 32, 8, 16, 8, 8, 8, 8, F16, F32, F32},
	{"m8n32k16", "f16.f16", 8, 32, 16, 8, 8, 4, 4, F16, F16, F16},
	{"m16n16k16", "f32.bf16.bf16.f32", 16, 16, 16, 4, 4, 8, 8, BF16, F32, F32},
	{"m32n8k16", "f32.bf16.bf16.f32", 32, 8, 16, 8, 2, 8, 8, BF16, F32, F32},
	{"m8n32k16", "f32.bf16.bf16.f32", 8, 32, 16, 2, 8, 8, 8, BF16, F32, F32},
	{"m16n16k16", "s32.s8.s8.s32", 16, 16, 16, 2, 2, 8, 8, S8, S32, S32},
	{"m32n8k16", "s32.u8.u8.s32", 32, 8, 16, 4, 1, 8, 8, U8, S32, S32},
	{"m8n32k16", "s32.s8.s8.s32.satfinite", 8, 32, 16, 1, 4, 8, 8, S8, S32, S32},
	{"m16n16k8", "f32.tf32.tf32.f32", 16, 16, 8, 4, 4, 8, 8, TF32, F32, F32},
	{"m8n8k4", "f64.f64.f64.f64.rn", 8, 8, 4, 1, 1, 2, 2, F64, F64, F64},
};

/* ---- the kernel ---- */

#define PLACE 16384u /* bytes for one matrix */

static void list(FILE *f, char name, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s%%%c%u", i ? ", " : "{", name, i);
	fputs("}", f);
}

struct layout {
	bool a_col, b_col, c_col, shared, strided; /* strided: the stride is longer than a line */
};

static unsigned stride(unsigned line, const struct layout *y)
{
	return line + (y->strided ? 16 : 0);
}

/* The lanes together copy A to shared memory. If the types allow, D is then the addend of a
 * second product. Last, D is doubled: 2 (A B + (A B + C)).
 */
static void write_kernel(const struct form *f, const struct layout *y, char *to, size_t size)
{
	const char *row[] = {"row", "col"}, *fact = types[f->factor].name;
	unsigned ld[] = {stride(y->a_col ? f->m : f->k, y), stride(y->b_col ? f->k : f->n, y),
		stride(y->c_col ? f->m : f->n, y)};
	FILE *s = fmemopen(to, size, "w");
	char tail[3][32] = {"", "", ""};

	for (unsigned i = 0; i < 3 && y->strided; i++)
		snprintf(tail[i], sizeof(tail[i]), ", %%s%u", i);
	fprintf(s,
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".shared .align 32 .b8 m[%u];\n.reg .b64 %%p<6>, %%w;\n.reg .b32 %%i, %%j, "
		"%%s<3>;\n"
		".reg .pred %%q;\n.reg .%s %%a<8>, %%b<8>;\n.reg .%s %%c<8>;\n.reg .%s %%d<8>;\n"
		"ld.param.u64 %%p0, [in];\nld.param.u64 %%p1, [out];\n"
		"mov.u32 %%s0, %u;\nmov.u32 %%s1, %u;\nmov.u32 %%s2, %u;\n"
		"mov.u32 %%i, %%tid.x;\nmad.wide.u32 %%p2, %%i, 8, %%p0;\nmov.u32 %%j, m;\n"
		"mad.lo.u32 %%j, %%i, 8, %%j;\nadd.u32 %%i, %%j, %u;\n"
		"LOOP:\nld.global.u64 %%w, [%%p2];\nst.shared.u64 [%%j], %%w;\n"
		"add.u64 %%p2, %%p2, 256;\nadd.u32 %%j, %%j, 256;\nsetp.lt.u32 %%q, %%j, %%i;\n"
		"@%%q bra LOOP;\nbar.sync 0;\nmov.u32 %%j, m;\n",
		PLACE, types[f->factor].word, types[f->from].word, types[f->sum].word, ld[0], ld[1],
		ld[2], PLACE);
	fprintf(s, "wmma.load.a.sync.aligned.%s.%s%s.%s ", row[y->a_col], f->shape,
		y->shared ? ".shared" : ".global", fact);
	list(s, 'a', f->a);
	fprintf(s, ", [%s]%s;\nwmma.load.b.sync.aligned.%s.%s.%s ", y->shared ? "%j" : "%p0",
		tail[0], row[y->b_col], f->shape, fact);
	list(s, 'b', f->b);
	fprintf(s, ", [%%p0+%u]%s;\nwmma.load.c.sync.aligned.%s.%s.global.%s ", PLACE, tail[1],
		row[y->c_col], f->shape, types[f->from].name);
	list(s, 'c', f->c);
	fprintf(s, ", [%%p0+%u]%s;\n", 2 * PLACE, tail[2]);
	for (unsigned again = 0; again < (f->from == f->sum ? 2u : 1u); again++) {
		fprintf(s, "wmma.mma.sync.aligned.%s.%s.%s.%s ", row[y->a_col], row[y->b_col],
			f->shape, f->mma);
		list(s, 'd', f->d);
		for (unsigned i = 0; i < 3; i++) {
			fputs(", ", s);
			list(s,
				i < 2   ? "ab"[i]
				: again ? 'd'
					: 'c',
				i == 0   ? f->a
				: i == 1 ? f->b
					 : f->c);
		}
		fputs(";\n", s);
	}
	for (unsigned i = 0; i < f->d; i++)
		fprintf(s, "%s %%d%u, %%d%u, %%d%u;\n",
			f->sum == F16   ? "add.f16x2"
			: f->sum == S32 ? "add.s32"
			: f->sum == F64 ? "add.f64"
					: "add.f32",
			i, i, i);
	fprintf(s, "wmma.store.d.sync.aligned.%s.%s.global.%s [%%p1], ", row[y->c_col], f->shape,
		types[f->sum].name);
	list(s, 'd', f->d);
	fprintf(s, "%s;\nret;\n}\n", tail[2]);
	fclose(s);
}

/* ---- matrices ---- */

static uint64_t seed = 88172645463325252u;

/* Returns a small integer, half or quarter: sums of these are exact in all formats. */
static double number(enum type t)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	if (t == U8)
		return (double)(seed >> 40 & 255);
	if (t == S8)
		return (double)(int8_t)(seed >> 40);
	return ((double)(seed >> 40 & 7) - 4) / (t == S32 ? 1 : 2);
}

static void put(void *p, enum type t, double v)
{
	float f = (float)v;
	uint64_t u = 0;

	switch (t) {
	case F16:
		u = half_from_f64(v, HALF_F16, VR_RN);
		break;
	case BF16:
		u = half_from_f64(v, HALF_BF16, VR_RN);
		break;
	case F64:
		memcpy(&u, &v, 8);
		break;
	case TF32:
	case F32:
		memcpy(&u, &f, 4);
		break;
	default:
		u = (uint64_t)(int64_t)v;
		break;
	}
	memcpy(p, &u, types[t].bytes);
}

static void lay(char *at, enum type t, const double *v, unsigned rows, unsigned cols, bool col,
	const struct layout *y)
{
	unsigned ld = stride(col ? rows : cols, y);

	for (unsigned i = 0; i < rows; i++)
		for (unsigned j = 0; j < cols; j++)
			put(at + types[t].bytes * (col ? j * ld + i : i * ld + j), t,
				v[i * cols + j]);
}

static void run(const char *ptx, const char *in, char *out)
{
	struct diag_list diags = {0};
	struct vgpu_mem *m;
	struct vgpu_module *mod;
	struct grid_result res;
	uint64_t params[2];

	assert_int_equal(vgpu_mem_create(1 << 24, &m), 0);
	assert_int_equal(vgpu_module_load(m, ptx, strlen(ptx), &diags, &mod), 0);
	assert_int_equal(vgpu_mem_alloc(m, 3 * PLACE, &params[0]), 0);
	assert_int_equal(vgpu_mem_alloc(m, PLACE, &params[1]), 0);
	memcpy((void *)(uintptr_t)params[0], in, 3 * PLACE);
	memset((void *)(uintptr_t)params[1], 0, PLACE);
	struct vgpu_launch l = {.kernel = vgpu_module_kernel(mod, "k"),
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.params = params,
		.n_sms = 1};
	if (vgpu_run_grid(&l, 100000, 0, &res) != 0)
		fail_msg("%s", res.fault.message);
	memcpy(out, (void *)(uintptr_t)params[1], PLACE);
	vgpu_module_free(mod);
	vgpu_mem_destroy(m);
}

static const char *write_to;

static void product(const struct form *f, const struct layout *y)
{
	static char in[3 * PLACE], out[PLACE], want[PLACE], ptx[16384];
	static double a[512], b[512], c[256], d[256];
	unsigned bytes = types[f->sum].bytes;

	write_kernel(f, y, ptx, sizeof(ptx));
	if (write_to) {
		static unsigned number_of;
		char path[300];
		snprintf(path, sizeof(path), "%s/%u.ptx", write_to, number_of++);
		FILE *to = fopen(path, "w");
		assert_non_null(to);
		fputs(ptx, to);
		fclose(to);
		return;
	}
	for (unsigned i = 0; i < f->m * f->k; i++)
		a[i] = number(f->factor);
	for (unsigned i = 0; i < f->k * f->n; i++)
		b[i] = number(f->factor);
	for (unsigned i = 0; i < f->m * f->n; i++) {
		c[i] = number(f->from);
		d[i] = c[i];
		for (unsigned k = 0; k < f->k; k++)
			d[i] += (f->from == f->sum ? 2 : 1) * a[i / f->n * f->k + k] *
				b[k * f->n + i % f->n];
		d[i] *= 2;
	}
	memset(in, 0x7f, sizeof(in));
	memset(want, 0, sizeof(want));
	lay(in, f->factor, a, f->m, f->k, y->a_col, y);
	lay(in + PLACE, f->factor, b, f->k, f->n, y->b_col, y);
	lay(in + 2 * PLACE, f->from, c, f->m, f->n, y->c_col, y);
	lay(want, f->sum, d, f->m, f->n, y->c_col, y);
	run(ptx, in, out);
	for (unsigned i = 0; i < PLACE; i += bytes)
		if (memcmp(out + i, want + i, bytes))
			fail_msg("%s %s, columns %d %d %d, shared %d, stride %d: byte %u", f->shape,
				f->mma, y->a_col, y->b_col, y->c_col, y->shared, y->strided, i);
}

static void products(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		for (unsigned way = 0; way < 32; way++)
			product(&forms[i],
				&(struct layout){way & 1, way & 2, way & 4, way & 8, way & 16});
}

/* Runs these instructions in a kernel, and returns the fault's message; "" if there is none. */
static const char *message(const char *text)
{
	static struct grid_result res;
	static char ptx[4096];
	struct diag_list diags = {0};
	struct vgpu_mem *m;
	struct vgpu_module *mod;
	uint64_t params[1];

	snprintf(ptx, sizeof(ptx),
		".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 "
		"in)\n{\n"
		".reg .b64 %%p;\n.reg .b32 %%r<8>, %%i;\n.reg .pred %%q;\nld.param.u64 %%p, [in];\n"
		"mov.u32 %%i, %%tid.x;\nsetp.lt.u32 %%q, %%i, 5;\n%s\nret;\n}\n",
		text);
	assert_int_equal(vgpu_mem_create(1 << 24, &m), 0);
	assert_int_equal(vgpu_module_load(m, ptx, strlen(ptx), &diags, &mod), 0);
	assert_int_equal(vgpu_mem_alloc(m, 512, &params[0]), 0);
	struct vgpu_launch l = {.kernel = vgpu_module_kernel(mod, "k"),
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.params = params,
		.n_sms = 1};
	res.fault.message[0] = 0;
	(void)vgpu_run_grid(&l, 100000, 0, &res);
	vgpu_module_free(mod);
	vgpu_mem_destroy(m);
	return res.fault.message;
}

static void faults(void **state)
{
	static const char load[] =
		"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, "
		"%r6, %r7}, ";
	char text[300];

	(void)state;
	snprintf(text, sizeof(text), "%s[%%p];", load);
	assert_string_equal(message(text), "");
	snprintf(text, sizeof(text), "%s[%%p], 32;", load);
	assert_non_null(strstr(message(text), "512 bytes past the start of an allocation of 512"));
	snprintf(text, sizeof(text), "%s[%%p+2];", load);
	assert_non_null(strstr(message(text), "not a multiple of 16"));
	snprintf(text, sizeof(text), "@%%q bra AWAY;\n%s[%%p];\nAWAY:", load);
	assert_non_null(strstr(message(text), "32 lanes"));
	/* Unsupported forms are reported, not ignored. */
	assert_non_null(
		strstr(message("{.reg .f64 "
			       "%f<4>;\nwmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64.rz "
			       "{%f0, %f1}, {%f2}, {%f3}, {%f0, %f1};\n}"),
			"not known to the virtual GPU"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(faults),
	};
	if (argc == 3 && !strcmp(argv[1], "--write")) {
		write_to = argv[2];
		products(NULL);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
