/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs the forms of sums.def on a device:
 *	sums [--device cpu|cuda] [--match TEXT] [--tsv FILE] [--plant FORM]
 * Reports whether every sum is within its bound (sums.h), how close it came to it, and how many
 * values have exactly the bits of the virtual GPU, or of the published model of tensor cores.
 * FILE gets a line for each form. Exit status 0: all sums are within the bound. --plant puts a
 * wrong bit into that form, to test the reporting. --write DIR [--sm N] writes the modules
 * instead, for an assembler. */
#include "sums.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

#define PLANTED 7 /* index of a tile of small whole numbers */

struct outcome {
	enum ops_verdict verdict; /* OPS_SAME means within the bound */
	unsigned values, beyond, open, as_virtual, as_published;
	struct sum_distance most;
	u64 got, want; /* bits of the first value beyond the bound, and those of the virtual GPU */
	unsigned tile, at;
};

struct request {
	enum dev_kind device;
	const char *match, *tsv, *plant, *write;
	unsigned sm; /* with --write: the target */
};

struct run {
	const struct request *r;
	struct ops_device d;
	struct bare bare;
	CUdeviceptr in, out;
	char *host_in, *host_out;
	bool usable; /* the context is usable */
};

static const char *const verdict_names[OPS_N_VERDICTS] = {
	"lost", "within", "open", "unknown", "newer", "refused", "FAILS", "BEYOND"};

static int usage(void)
{
	fprintf(stderr,
		"usage: sums [--device cpu|cuda] [--match TEXT] [--tsv FILE] [--plant FORM] "
		"[--write DIR [--sm N]]\n");
	return 2;
}

static int read_options(int argc, char **argv, struct request *ret)
{
	static const struct option options[] = {{"device", required_argument, NULL, 'd'},
		{"match", required_argument, NULL, 'm'}, {"tsv", required_argument, NULL, 't'},
		{"plant", required_argument, NULL, 'p'}, {"write", required_argument, NULL, 'w'},
		{"sm", required_argument, NULL, 's'}, {0}};
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'd':
			ok = dev_kind_parse(optarg, &ret->device);
			break;
		case 'm':
			ret->match = optarg;
			break;
		case 't':
			ret->tsv = optarg;
			break;
		case 'p':
			ret->plant = optarg;
			break;
		case 'w':
			ret->write = optarg;
			break;
		case 's':
			ret->sm = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			ok = false;
		}
	return ok && optind == argc && ret->sm >= 80 ? 0 : usage();
}

static void module_of(struct strbuf *s, const struct sum_form *f, unsigned sm)
{
	strbuf_printf(
		s, ".version %s\n.target sm_%u\n.address_size 64\n", sm >= 100 ? "8.8" : "8.1", sm);
	sum_kernel(s, f, "k");
}

/* ---- one form on the device, and on the core of the virtual GPU ---- */

static CUresult launch(struct run *run, CUmodule m)
{
	struct cu_api *cu = &run->d.cu;
	void *params[] = {&run->in, &run->out};
	CUfunction fn;
	CUresult r = cu->cuModuleGetFunction(&fn, m, "k");

	if (r == CUDA_SUCCESS)
		r = cu->cuMemcpyHtoD(run->in, run->host_in, SUM_IN);
	if (r == CUDA_SUCCESS)
		r = cu->cuMemsetD32(run->out, 0, SUM_OUT / 4);
	if (r == CUDA_SUCCESS)
		r = cu->cuLaunchKernel(fn, SUM_TILES, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	return r == CUDA_SUCCESS ? cu->cuMemcpyDtoH(run->host_out, run->out, SUM_OUT) : r;
}

static void note(struct outcome *o, const struct sum_distance *d, bool open)
{
	o->values++;
	o->beyond += d->beyond;
	o->open += open;
	o->most.bounds = MAX(o->most.bounds, d->bounds);
	o->most.ulps = MAX(o->most.ulps, d->ulps);
}

static void compare(struct run *run, const struct sum_form *f, struct outcome *o)
{
	static u64 got[SUM_SIDE * SUM_SIDE], core[SUM_SIDE * SUM_SIDE];
	static struct sum_tile t;
	struct sum_way way = sum_way_of(run->d.sm);

	for (unsigned tile = 0; tile < SUM_TILES; tile++) {
		sum_fill(f, tile, &t);
		sum_unpack(f, tile, run->host_out, got);
		sum_unpack(f, tile, (const char *)(uintptr_t)run->bare.out, core);
		for (unsigned i = 0; i < f->m * f->n; i++) {
			const u64 *a = &t.a[i / f->n * f->k], *b = &t.b[i % f->n * f->k];
			struct sum_exact e;

			sum_reference(f, way, a, b, t.c[i], &e);
			struct sum_distance d = sum_compare(f, &e, got[i]);
			if (d.beyond && !o->beyond) {
				o->tile = tile;
				o->at = i;
				o->got = got[i];
				o->want = core[i];
			}
			note(o, &d, e.open);
			o->as_virtual += sum_same(f, got[i], core[i]);
			o->as_published += sum_same(f, got[i], sum_model(f, way, a, b, t.c[i]));
		}
	}
	o->verdict = o->beyond ? OPS_DIFFERS : OPS_SAME;
}

static void run_loaded(struct run *run, const struct sum_form *f, const struct vgpu_kernel *k,
	CUmodule m, struct outcome *o)
{
	struct sum_tile t;
	struct grid_result g;

	memset(run->host_in, 0, SUM_IN);
	for (unsigned i = 0; i < SUM_TILES; i++) {
		sum_fill(f, i, &t);
		sum_pack(f, i, &t, run->host_in);
	}
	memcpy((void *)(uintptr_t)run->bare.in, run->host_in, SUM_IN);
	CUresult r = launch(run, m);
	if (r != CUDA_SUCCESS) {
		const char *name = cu_result_name(r);
		fprintf(stderr, "%s: %s\n", f->text, name ? name : "?");
		run->usable = false;
	}
	if (run->r->plant && !strcmp(run->r->plant, f->text))
		run->host_out[PLANTED * SUM_PLACE + f->d->bits / 8 - 1] ^= 0x40;
	if (r != CUDA_SUCCESS || bare_launch(&run->bare, k, SUM_TILES, 32, &g) != 0)
		o->verdict = OPS_FAILS;
	else
		compare(run, f, o);
}

static void run_form(struct run *run, const struct sum_form *f, struct outcome *o)
{
	struct strbuf text = {0};
	struct vprogram *p;
	CUmodule m;

	module_of(&text, f, MAX(run->d.sm, f->target));
	struct vgpu_module *bare = text.failed ? NULL : bare_load(&run->bare, &text);
	const struct vgpu_kernel *k = bare ? vgpu_module_kernel(bare, "k") : NULL;
	if (f->target > run->d.sm)
		o->verdict = OPS_NEWER;
	else if (!k || !bare_knows(k, &p))
		o->verdict = OPS_UNKNOWN;
	else if (run->d.cu.cuModuleLoadData(&m, text.at) != CUDA_SUCCESS)
		o->verdict = OPS_REFUSED;
	else
		run_loaded(run, f, k, m, o);
	vgpu_module_free(bare);
	strbuf_finish(&text);
}

static bool wanted(const struct request *r, const struct sum_form *f)
{
	return !f->unknown && (!r->match || strstr(f->text, r->match));
}

static int run_all(const struct request *r, const sum_vec *forms, struct outcome *o)
{
	struct run run = {
		.r = r, .host_in = malloc(SUM_IN), .host_out = malloc(SUM_OUT), .usable = true};

	if (!run.host_in || !run.host_out || bare_open(&run.bare) != 0 ||
		ops_open(r->device, &run.d) != 0 || run.d.cu.cuMemAlloc(&run.in, SUM_IN) ||
		run.d.cu.cuMemAlloc(&run.out, SUM_OUT)) {
		fprintf(stderr, "sums: no device, or no memory\n");
		return 1;
	}
	/* After an error the context is unusable, so the remaining forms count as not run. */
	for (size_t i = 0; i < forms->len && run.usable; i++)
		if (wanted(r, &forms->at[i]))
			run_form(&run, &forms->at[i], &o[i]);
	printf("on %s (sm_%u): ", run.d.name, run.d.sm);
	bare_close(&run.bare);
	free(run.host_in);
	free(run.host_out);
	return 0;
}

/* ---- reports ---- */

static int report(const struct request *r, const sum_vec *forms, const struct outcome *o)
{
	unsigned of[OPS_N_VERDICTS] = {0}, asked = 0;
	unsigned long values = 0, open = 0, as_virtual = 0, as_published = 0;
	size_t most = 0;

	for (size_t i = 0; i < forms->len; i++) {
		if (!wanted(r, &forms->at[i]))
			continue;
		asked++;
		of[o[i].verdict]++;
		values += o[i].values;
		open += o[i].open;
		as_virtual += o[i].as_virtual;
		as_published += o[i].as_published;
		if (o[i].most.bounds > o[most].most.bounds)
			most = i;
	}
	unsigned compared = of[OPS_SAME] + of[OPS_DIFFERS];
	printf("%u kinds of matrix products, %u compared: %u within the bound, %u BEYOND; %u fail, "
	       "%u refused, %u for newer devices, %u not known to the virtual GPU, %u not run\n",
		asked, compared, of[OPS_SAME], of[OPS_DIFFERS], of[OPS_FAILS], of[OPS_REFUSED],
		of[OPS_NEWER], of[OPS_UNKNOWN], of[OPS_LOST]);
	printf("%lu sums, %lu of them open: %lu with the bits of the virtual GPU, %lu with those "
	       "that "
	       "are published; at most %.3Lf of the bound (%s)\n",
		values, open, as_virtual, as_published, o[most].most.bounds, forms->at[most].text);
	for (size_t i = 0; i < forms->len; i++)
		if (o[i].beyond)
			printf("%s: BEYOND, %u of %u: tile %u, row %u, column %u: 0x%llx, the "
			       "virtual GPU 0x%llx\n",
				forms->at[i].text, o[i].beyond, o[i].values, o[i].tile,
				o[i].at / forms->at[i].n, o[i].at % forms->at[i].n,
				(unsigned long long)o[i].got, (unsigned long long)o[i].want);
	return !compared || of[OPS_LOST] || of[OPS_REFUSED] || of[OPS_FAILS] || of[OPS_UNKNOWN] ||
	       of[OPS_DIFFERS];
}

static int write_tsv(const struct request *r, const sum_vec *forms, const struct outcome *o)
{
	FILE *file = fopen(r->tsv, "w");

	if (!file)
		return -1;
	fprintf(file,
		"form\tverdict\tvalues\tbeyond\topen\tas_virtual\tas_published\tbounds\tulps\n");
	for (size_t i = 0; i < forms->len; i++)
		if (wanted(r, &forms->at[i]))
			fprintf(file, "%s\t%s\t%u\t%u\t%u\t%u\t%u\t%.4Lf\t%.4Lg\n",
				forms->at[i].text, verdict_names[o[i].verdict], o[i].values,
				o[i].beyond, o[i].open, o[i].as_virtual, o[i].as_published,
				o[i].most.bounds, o[i].most.ulps);
	return fclose(file);
}

static int write_modules(const struct request *r, const sum_vec *forms)
{
	unsigned n = 0;

	for (size_t i = 0; i < forms->len; i++) {
		const struct sum_form *f = &forms->at[i];
		struct strbuf s = {0};
		char path[512];

		if (!wanted(r, f) || f->target > r->sm)
			continue;
		snprintf(path, sizeof(path), "%s/sum%u.ptx", r->write, n++);
		FILE *file = fopen(path, "w");
		module_of(&s, f, r->sm);
		if (!file || s.failed || fputs(s.at, file) < 0 || fclose(file)) {
			perror(path);
			return 1;
		}
		strbuf_finish(&s);
	}
	printf("%u modules\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	struct request r = {.device = DEV_AUTO, .sm = 90};
	sum_vec forms = {0};

	int status = read_options(argc, argv, &r);
	if (status)
		return status;
	sums_expand(&forms);
	if (r.write)
		return write_modules(&r, &forms);
	struct outcome *o = calloc(forms.len, sizeof(*o));
	if (!o || run_all(&r, &forms, o) != 0)
		return 1;
	status = report(&r, &forms, o);
	if (r.tsv && write_tsv(&r, &forms, o) != 0) {
		perror(r.tsv);
		status = 1;
	}
	free(o);
	VEC_FREE(&forms);
	return status;
}
