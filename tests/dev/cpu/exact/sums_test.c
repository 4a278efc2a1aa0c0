/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: sums [few]. Compares each form of sums.def on the virtual GPU with exact sums, within
 * the bound of sums.h for sm_90, which is the tightest; f64 and integers bit for bit. Tests the
 * bound itself, too: the published model of tensor cores must stay within it, and sums with
 * fewer bits or products must not. No form that the virtual GPU knows may be missing. few: one
 * tile of each kind, and the bound of each form for only one generation: sm_80 or sm_90 in turn. */
#include "bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cpu/exec/matrix.h"
#include "sums.h"

_Static_assert(SUM_IN <= FORM_IN * 8 && SUM_OUT <= FORM_OUT * 8, "they fit where forms do");

#define BATCH 256 /* kernels in one module */
#define HEAD  ".version 8.1\n.target sm_90\n.address_size 64\n"

static struct bare bare;
static unsigned wrong, tiles = SUM_TILES;

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void report(const struct sum_form *f, unsigned tile, unsigned at, const char *what, u64 got,
	const struct sum_distance *d)
{
	if (wrong++ < 20)
		printf("%s: tile %u, row %u, column %u: %s: 0x%llx, %.3Lg of the bound\n", f->text,
			tile, at / f->n, at % f->n, what, (unsigned long long)got, d->bounds);
}

/* ---- the virtual GPU ---- */

struct worst {
	struct sum_distance at;
	unsigned values;
};

static void compare(const struct sum_form *f, unsigned tile, const struct sum_tile *t,
	const u64 *got, struct worst *io)
{
	struct sum_way way = sum_way_of(90);
	bool to_the_bit = f->d->bits == 64;

	for (unsigned i = 0; i < f->m * f->n; i++) {
		const u64 *a = &t->a[i / f->n * f->k], *b = &t->b[i % f->n * f->k];
		struct sum_exact e;

		sum_reference(f, way, a, b, t->c[i], &e);
		struct sum_distance d = sum_compare(f, &e, got[i]);
		if (d.beyond)
			report(f, tile, i, "beyond the bound", got[i], &d);
		else if (to_the_bit && !sum_same(f, got[i], sum_model(f, way, a, b, t->c[i])))
			report(f, tile, i, "no chain of fused steps", got[i], &d);
		io->at.bounds = MAX(io->at.bounds, d.bounds);
		io->at.ulps = MAX(io->at.ulps, d.ulps);
		io->values++;
	}
}

static void run(const struct sum_form *f, const struct vgpu_kernel *k)
{
	static u64 d[SUM_SIDE * SUM_SIDE];
	static struct sum_tile t;
	struct grid_result g;
	struct worst w = {0};

	for (unsigned i = 0; i < SUM_TILES; i++) {
		sum_fill(f, i, &t);
		sum_pack(f, i, &t, (char *)(uintptr_t)bare.in);
	}
	if (bare_launch(&bare, k, SUM_TILES, 32, &g) != 0) {
		printf("%s: %s\n", f->text, g.fault.message);
		wrong++;
		return;
	}
	for (unsigned i = 0; i < tiles; i++) {
		sum_fill(f, i, &t);
		sum_unpack(f, i, (const char *)(uintptr_t)bare.out, d);
		compare(f, i, &t, d, &w);
	}
	printf("%s: %u values, at most %.3Lf of the bound\n", f->text, w.values, w.at.bounds);
}

static void run_all(const sum_vec *forms)
{
	struct strbuf s = {0};
	char name[24];

	strbuf_puts(&s, HEAD);
	for (size_t i = 0; i < forms->len; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		sum_kernel(&s, &forms->at[i], name);
	}
	struct vgpu_module *m = bare_load(&bare, &s);
	if (!m)
		die("the forms are no module");
	for (size_t i = 0; i < forms->len; i++) {
		struct vprogram *p;

		snprintf(name, sizeof(name), "k%zu", i);
		const struct vgpu_kernel *k = vgpu_module_kernel(m, name);
		if (bare_knows(k, &p) == forms->at[i].unknown) {
			printf("%s: %s\n", forms->at[i].text,
				forms->at[i].unknown ? "known, and not compared" : "not known");
			wrong++;
		} else if (!forms->at[i].unknown) {
			run(&forms->at[i], k);
		}
	}
	vgpu_module_free(m);
	strbuf_finish(&s);
}

/* ---- the bound ---- */

/* The published model stays within the bound of its own generation, and comes near it somewhere.
 * With eight bits fewer it does not stay within, nor does a sum without its last product. */
static void bound_of(const struct sum_form *f, unsigned sm)
{
	static struct sum_tile t;
	struct sum_way way = sum_way_of(sm), coarse = {way.bits - 8, way.bytes};
	unsigned beyond = 0, forgotten = 0;
	long double most = 0;

	for (unsigned tile = 0; tile < tiles; tile++) {
		sum_fill(f, tile, &t);
		for (unsigned i = 0; i < f->m * f->n; i++) {
			u64 a[64], c = t.c[i];
			const u64 *b = &t.b[i % f->n * f->k];
			struct sum_exact e;

			memcpy(a, &t.a[i / f->n * f->k], f->k * sizeof(*a));
			sum_reference(f, way, a, b, c, &e);
			u64 model = sum_model(f, way, a, b, c);
			struct sum_distance d = sum_compare(f, &e, model);
			if (d.beyond)
				report(f, tile, i, "published, and beyond the bound", model, &d);
			most = MAX(most, d.bounds);
			beyond += sum_compare(f, &e, sum_model(f, coarse, a, b, c)).beyond;
			a[f->k - 1] = 0;
			forgotten += sum_compare(f, &e, sum_model(f, way, a, b, c)).beyond;
		}
	}
	if (f->d->kind == KIND_FLOAT && most < 0.125L) {
		printf("%s: at most %.3Lg of the bound is ever used: too wide\n", f->text, most);
		wrong++;
	}
	if (!forgotten || (f->d->bits == 32 && f->d->kind == KIND_FLOAT && !beyond)) {
		printf("%s: sm_%u: a wrong sum is within the bound\n", f->text, sm);
		wrong++;
	}
}

/* ---- completeness ---- */

static const char *const factors[] = {
	"f16", "bf16", "tf32", "f64", "s8", "u8", "e4m3", "e5m2", "s4", "u4", "b1"};
static const char *const sums[] = {"f16", "f32", "f64", "s32"};

static bool is_there(const sum_vec *forms, const struct sum_form *f)
{
	for (size_t i = 0; i < forms->len; i++) {
		const struct sum_form *o = &forms->at[i];
		if (!o->unknown && o->wmma == f->wmma && !strcmp(o->shape, f->shape) &&
			o->saturates == f->saturates && o->d == f->d && o->a == f->a &&
			o->b == f->b && o->c == f->c)
			return true;
	}
	return false;
}

static void look_for(const sum_vec *forms, const struct sum_form *tried, unsigned n)
{
	struct strbuf s = {0};
	char name[24];

	strbuf_puts(&s, HEAD);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%u", i);
		sum_kernel(&s, &tried[i], name);
	}
	struct vgpu_module *m = bare_load(&bare, &s);
	if (!m)
		die("what can be written is no module");
	for (unsigned i = 0; i < n; i++) {
		struct vprogram *p;

		snprintf(name, sizeof(name), "k%u", i);
		if (bare_knows(vgpu_module_kernel(m, name), &p) && !is_there(forms, &tried[i])) {
			printf("%s is known, and no row of sums.def\n", tried[i].text);
			wrong++;
		}
	}
	vgpu_module_free(m);
	strbuf_finish(&s);
}

static void each_type(const sum_vec *forms, const char *op, const char *shape)
{
	static struct sum_form tried[BATCH];
	unsigned n = 0, end = ARRAY_LEN(factors) * ARRAY_LEN(factors) * ARRAY_LEN(sums) *
			      ARRAY_LEN(sums) * 2;

	for (unsigned i = 0; i < end; i++) {
		unsigned left = i / 2, sat = i % 2;
		char text[64];
		const char *d = sums[left % ARRAY_LEN(sums)];
		left /= ARRAY_LEN(sums);
		const char *c = sums[left % ARRAY_LEN(sums)];
		left /= ARRAY_LEN(sums);
		const char *a = factors[left % ARRAY_LEN(factors)],
			   *b = factors[left / ARRAY_LEN(factors)];

		/* wmma names one type for both factors; sum types differ only between f16 and
		 * f32. */
		if ((strcmp(a, b) && !strcmp(op, "wmma")) ||
			(strcmp(c, d) && (c[0] != 'f' || d[0] != 'f')))
			continue;
		snprintf(text, sizeof(text), "%s.%s%s.%s.%s.%s.%s", op, shape,
			sat ? ".satfinite" : "", d, a, b, c);
		if (!sum_parse(text, &tried[n++]))
			die(text);
		if (n == BATCH) {
			look_for(forms, tried, n);
			n = 0;
		}
	}
	look_for(forms, tried, n);
}

static void nothing_left_out(const sum_vec *forms)
{
	for (const struct mma_shape *s = mma_shapes; s->name; s++)
		each_type(forms, "mma", s->name);
	for (const struct wmma_shape *s = wmma_shapes; s->name; s++)
		each_type(forms, "wmma", s->name);
}

int main(int argc, char **argv)
{
	bool few = argc > 1 && !strcmp(argv[1], "few");
	sum_vec forms = {0};

	sums_expand(&forms);
	if (bare_open(&bare) != 0)
		die("out of memory");
	if (few)
		tiles = SUM_KINDS;
	run_all(&forms);
	nothing_left_out(&forms);
	for (size_t i = 0; i < forms.len; i++)
		for (unsigned sm = 80; !forms.at[i].unknown && sm <= 90; sm += 10)
			if (!few || (i + sm / 10) % 2)
				bound_of(&forms.at[i], sm);
	printf("%zu forms, %u wrong\n", forms.len, wrong);
	bare_close(&bare);
	VEC_FREE(&forms);
	return wrong != 0;
}
