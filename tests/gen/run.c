/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One module holds plain kernels, another their preemptible forms. Both are compiled before
 * anything runs. Then each program runs on the same memory, once in its plain form and once in
 * each variant. */
#include "run.h"
#include "rng.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const run_verdict_names[] = {"not run", "same", "told", "held", "wrong natively",
	"DIFFERS", "FAILS", "HANGS", "invalid", "refused", "lost"};

#define OUT_WORDS   (GEN_THREADS * GEN_MAX_SCALE * GEN_OWN_WORDS)
#define COUNT_WORDS 4 /* words of the module variable that programs write */
#define PACK_BYTES  32
#define PARAM_BYTES 256

/* All memory that a program may write. */
struct memory {
	uint32_t out[OUT_WORDS], sum[GEN_SUM_WORDS], count[COUNT_WORDS];
};

struct batch {
	struct run_device *d;
	const struct gen_program *p;
	unsigned n, first;
	struct pass_verdict *verdict;
	struct pass_kernel_info *info;
	struct strbuf plain_text, form_text;
	CUmodule plain, form;
	struct strbuf *why;
};

static void beat(struct batch *b, unsigned i, enum run_phase phase)
{
	volatile struct run_progress *at = b->d->progress;

	if (!at)
		return;
	at->at = b->first + i;
	at->phase = phase;
	at->beat++;
}

static bool tell(struct batch *b, unsigned i, const char *what, CUresult r)
{
	const char *name = cu_result_name(r);

	strbuf_printf(b->why, "seed %llu: %s: %s\n", (unsigned long long)b->p[i].seed, what,
		name ? name : "?");
	return false;
}

static bool open_context(struct run_device *d)
{
	CUdevice device;
	CUcontext ctx;
	CUmodule closer;

	d->gen = 0;
	return !d->cu.cuDeviceGet(&device, 0) && !d->cu.cuDevicePrimaryCtxRetain(&ctx, device) &&
	       !d->cu.cuCtxSetCurrent(ctx) && !d->cu.cuMemAlloc(&d->in, 4 * GEN_IN_WORDS + 1024) &&
	       !d->cu.cuMemAlloc(&d->out, 4 * OUT_WORDS) &&
	       !d->cu.cuMemAlloc(&d->sum, 4 * GEN_SUM_WORDS) &&
	       !host_control_create(&d->cu, &d->control) &&
	       !d->cu.cuModuleLoadData(&closer, pass_closer_ptx()) &&
	       !d->cu.cuModuleGetFunction(&d->closer, closer, CTL_CLOSER);
}

int run_open(enum dev_kind kind, struct run_device *ret)
{
	struct run_device d = {0};

	if (dev_open(kind, NULL, &d.cu) || d.cu.cuInit(0) || !open_context(&d))
		return -ENODEV;
	*ret = d;
	return 0;
}

/* ---- one run of a kernel ---- */
static bool fill(struct batch *b, unsigned i, CUmodule m)
{
	struct cu_api *cu = &b->d->cu;
	const struct gen_program *p = &b->p[i];
	struct rng r = {p->seed};
	uint32_t in[GEN_IN_WORDS + 256], sum[GEN_SUM_WORDS];
	char name[GEN_NAME_BYTES];
	CUdeviceptr count;
	size_t bytes;

	for (unsigned k = 0; k < ARRAY_LEN(in); k++)
		in[k] = (uint32_t)rng_next(&r);
	for (unsigned k = 0; k < GEN_SUM_WORDS; k++)
		sum[k] = k;
	if (cu->cuMemcpyHtoD(b->d->in, in, sizeof(in)) ||
		cu->cuMemcpyHtoD(b->d->sum, sum, sizeof(sum)) ||
		cu->cuMemsetD32(
			b->d->out, 7, (size_t)gen_threads(p) * gen_blocks(p) * GEN_OWN_WORDS))
		return false;
	snprintf(name, sizeof(name), "cnt_%llu", (unsigned long long)p->seed);
	return !(p->features & GEN_MODULE) || (!cu->cuModuleGetGlobal(&count, &bytes, m, name) &&
						      !cu->cuMemsetD32(count, 0, COUNT_WORDS));
}

static bool read_back(struct batch *b, unsigned i, CUmodule m, struct memory *ret)
{
	struct cu_api *cu = &b->d->cu;
	const struct gen_program *p = &b->p[i];
	char name[GEN_NAME_BYTES];
	CUdeviceptr count;
	size_t bytes;

	memset(ret->count, 0, sizeof(ret->count));
	snprintf(name, sizeof(name), "cnt_%llu", (unsigned long long)p->seed);
	return !cu->cuMemcpyDtoH(ret->out, b->d->out,
		       (size_t)gen_threads(p) * gen_blocks(p) * GEN_OWN_WORDS * 4) &&
	       !cu->cuMemcpyDtoH(ret->sum, b->d->sum, sizeof(ret->sum)) &&
	       (!(p->features & GEN_MODULE) ||
		       (!cu->cuModuleGetGlobal(&count, &bytes, m, name) &&
			       !cu->cuMemcpyDtoH(ret->count, count, sizeof(ret->count))));
}

static uint32_t set_params(struct batch *b, const struct gen_program *p, uint8_t *params)
{
	struct rng r = {~p->seed};
	uint32_t n = (uint32_t)rng_next(&r);

	memcpy(params, &b->d->in, 8);
	memcpy(params + 8, &b->d->out, 8);
	memcpy(params + 16, &b->d->sum, 8);
	memcpy(params + 24, &n, 4);
	for (unsigned k = 0; k < PACK_BYTES; k++)
		params[28 + k] = (uint8_t)rng_next(&r);
	return 28 + PACK_BYTES;
}

static CUresult run_plain(struct batch *b, unsigned i, CUfunction fn)
{
	const struct gen_program *p = &b->p[i];
	uint8_t params[PARAM_BYTES];
	size_t bytes = set_params(b, p, params);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};
	CUresult r = b->d->cu.cuLaunchKernel(fn, p->grid[0], p->grid[1], p->grid[2], p->block[0],
		p->block[1], p->block[2], gen_dynamic_bytes(p), NULL, NULL, extra);

	return r != CUDA_SUCCESS ? r : b->d->cu.cuCtxSynchronize();
}

static CUresult run_form(struct batch *b, unsigned i, CUfunction fn, const struct gen_steering *s,
	struct host_managed_stats *ret)
{
	const struct gen_program *p = &b->p[i];
	struct host_shape shape = {.shared_bytes = gen_dynamic_bytes(p)};
	struct host_steering steering = {s->chunk, s->pull_ahead, s->yield_every, s->workers};
	uint8_t params[PARAM_BYTES];

	if (s->quota && b->d->cu.cuMemsetD32(b->d->control + offsetof(struct ctl_block, quota),
				s->quota, CTL_MAX_SMS))
		return CUDA_ERROR_UNKNOWN;
	set_params(b, p, params);
	memcpy(shape.grid, p->grid, sizeof(shape.grid));
	memcpy(shape.block, p->block, sizeof(shape.block));
	return host_managed_run(&b->d->cu, fn, b->info[i].tier == PASS_GUARD ? b->d->closer : NULL,
		&b->info[i], &shape, params, &steering, b->d->control, &b->d->gen, ret);
}

static bool compare(struct batch *b, unsigned i, unsigned variant, const struct memory *plain,
	const struct memory *form)
{
	const struct gen_program *p = &b->p[i];
	const struct gen_steering *s = &p->steering[variant];
	size_t words = (size_t)gen_threads(p) * gen_blocks(p) * GEN_OWN_WORDS, at;
	const uint32_t *a = plain->out, *z = form->out;
	const char *what = "a thread's word";

	for (at = 0; at < words && a[at] == z[at]; at++)
		;
	if (at == words) {
		if (!memcmp(plain->sum, form->sum, sizeof(plain->sum)) &&
			!memcmp(plain->count, form->count, sizeof(plain->count)))
			return true;
		what = "a total";
		a = plain->sum;
		z = form->sum;
		for (at = 0; at < GEN_SUM_WORDS - 1 && a[at] == z[at]; at++)
			;
	}
	strbuf_printf(b->why,
		"seed %llu: differs (%s, yield %u, chunk %u%s, workers %u, quota %u): %s, number "
		"%zu (block %zu, "
		"thread %zu, word %zu): plain %08x, form %08x\n",
		(unsigned long long)p->seed, pass_tier_name(b->info[i].tier), s->yield_every,
		s->chunk, s->pull_ahead ? ", pull ahead" : "", s->workers, s->quota, what, at,
		at / GEN_OWN_WORDS / gen_threads(p), at / GEN_OWN_WORDS % gen_threads(p),
		at % GEN_OWN_WORDS, a[at], z[at]);
	return false;
}

static void tell_fails(struct batch *b, unsigned i, unsigned variant, CUresult r)
{
	const struct gen_steering *s = &b->p[i].steering[variant];
	char what[160];

	snprintf(what, sizeof(what),
		"the preemptible form fails (%s, yield %u, chunk %u%s, workers %u, quota %u)",
		pass_tier_name(b->info[i].tier), s->yield_every, s->chunk,
		s->pull_ahead ? ", pull ahead" : "", s->workers, s->quota);
	tell(b, i, what, r);
}

/* Pretends a failure, to test the reporting. */
static bool pretends(const struct run_device *d, const struct gen_program *p, const char *what)
{
	struct strbuf text = {0};
	size_t len = strlen(what);
	bool so;

	if (!d->pretend || strncmp(d->pretend, what, len) || d->pretend[len] != ':')
		return false;
	gen_text(p, &text);
	so = strstr(text.at, d->pretend + len + 1) != NULL;
	strbuf_finish(&text);
	return so;
}

/* ---- all runs of a program ---- */
static enum run_verdict run_variants(struct batch *b, unsigned i, CUfunction form,
	const struct memory *plain, struct memory *mem, struct run_result *ret)
{
	const struct gen_program *p = &b->p[i];

	for (unsigned v = 0; v < GEN_VARIANTS; v++) {
		struct host_managed_stats stats;
		CUresult r;

		beat(b, i, RUN_FORM);
		if (!fill(b, i, b->form))
			return RUN_LOST;
		while (pretends(b->d, p, "hangs"))
			pause();
		r = run_form(b, i, form, &p->steering[v], &stats);
		if (r != CUDA_SUCCESS && ret->fails)
			return RUN_TOLD;
		if (r != CUDA_SUCCESS) {
			tell_fails(b, i, v, r);
			return RUN_FAILS;
		}
		ret->again += (uint16_t)(stats.launches - 1);
		if (!read_back(b, i, b->form, mem))
			return RUN_LOST;
		if (pretends(b->d, p, "differs"))
			mem->out[0] ^= 1;
		if ((!b->d->astray || ret->fails || gen_stray_defined(p)) &&
			!compare(b, i, v, plain, mem))
			return RUN_DIFFERS;
	}
	return RUN_SAME;
}

static bool load_again(struct batch *b, unsigned i);

/* Runs a program's plain form. If its stray store faults, runs it again without the store. In that
 * case the store hit no memory of the kernel, so the preemptible form must either end in an error
 * as well, or leave the same memory as the second run. */
static CUresult run_plain_for(struct batch *b, unsigned i, const char *name, bool *ret_fails)
{
	CUresult r = CUDA_ERROR_UNKNOWN;
	CUfunction fn;

	*ret_fails = false;
	for (int once_more = 0; once_more < 2; once_more++) {
		r = b->d->cu.cuModuleGetFunction(&fn, b->plain, name);
		if (r == CUDA_SUCCESS)
			r = fill(b, i, b->plain) ? run_plain(b, i, fn) : CUDA_ERROR_UNKNOWN;
		if (r == CUDA_SUCCESS || !b->d->astray || once_more)
			break;
		*ret_fails = true;
		if (!load_again(b, i))
			break;
	}
	return r;
}

static uint64_t hash_memory(const struct gen_program *p, const struct memory *mem)
{
	size_t words = (size_t)gen_threads(p) * gen_blocks(p) * GEN_OWN_WORDS;
	uint64_t h = hash_bytes(mem->out, words * sizeof(mem->out[0]), 1);

	h = hash_bytes(mem->sum, sizeof(mem->sum), h);
	return hash_bytes(mem->count, sizeof(mem->count), h) | 1;
}

static enum run_verdict run_program(struct batch *b, unsigned i, struct run_result *ret)
{
	static struct memory plain, form;
	const struct gen_program *p = &b->p[i];
	char name[GEN_NAME_BYTES];
	CUfunction fn;
	CUresult r;

	gen_kernel_name(p, name);
	beat(b, i, RUN_PLAIN);
	ret->tier = (uint8_t)b->verdict[i].tier;
	r = run_plain_for(b, i, name, &ret->fails);
	if (r != CUDA_SUCCESS) {
		tell(b, i, "the plain form fails", r);
		return RUN_INVALID;
	}
	if (!read_back(b, i, b->plain, &plain))
		return RUN_LOST;
	if (pretends(b->d, p, "native"))
		plain.out[0] ^= 1;
	ret->plain = hash_memory(p, &plain);
	if (b->verdict[i].tier == PASS_HELD ||
		(b->info[i].one_dimensional && (p->block[1] > 1 || p->block[2] > 1)))
		return RUN_HELD;
	beat(b, i, RUN_FORM);
	r = b->d->cu.cuModuleGetFunction(&fn, b->form, name);
	if (r != CUDA_SUCCESS) {
		tell(b, i, "the preemptible form is not there", r);
		return RUN_REFUSED;
	}
	return run_variants(b, i, fn, &plain, &form, ret);
}

/* ---- modules ---- */
static int make_forms(const struct gen_program *p, unsigned n, const struct strbuf *plain,
	struct pass_verdict *verdict, struct pass_kernel_info *info, struct strbuf *ret,
	struct strbuf *why)
{
	struct diag_list diags;
	struct ptx_module *m = NULL;
	struct arena arena;
	int r;

	arena_init(&arena, 0);
	diag_init(&diags, &arena, "generated", plain->at, plain->len);
	r = ptx_parse(plain->at, plain->len, 0, &diags, &m);
	if (r == 0 && diags.errors)
		r = -EINVAL;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		char name[GEN_NAME_BYTES];

		gen_kernel_name(&p[i], name);
		r = pass_preempt(m, name, &(struct pass_options){0}, &diags, &verdict[i], &info[i]);
		verdict[i].reason = NULL;
		r = r == -ENOTSUP ? 0 : r;
	}
	if (r == 0)
		ptx_print(m, ret);
	else if (why)
		diag_render(&diags, why);
	ptx_module_free(m);
	arena_finish(&arena);
	return r;
}

int run_form_text(const struct gen_program *p, unsigned n, struct strbuf *out)
{
	struct pass_verdict *verdict = calloc(n, sizeof(*verdict));
	struct pass_kernel_info *info = calloc(n, sizeof(*info));
	struct strbuf plain = {0};
	int r = -ENOMEM;

	strbuf_puts(&plain, gen_head);
	for (unsigned i = 0; i < n; i++)
		gen_text(&p[i], &plain);
	if (verdict && info && !plain.failed)
		r = make_forms(p, n, &plain, verdict, info, out, NULL);
	strbuf_finish(&plain);
	free(verdict);
	free(info);
	return r;
}

static CUresult load(struct batch *b, const char *text, CUmodule *ret)
{
	char log[2048] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUresult r = b->d->cu.cuModuleLoadDataEx(ret, text, ARRAY_LEN(options), options, values);

	if (r != CUDA_SUCCESS)
		strbuf_printf(b->why, "%.*s\n", (int)sizeof(log), log);
	return r;
}

static CUresult load_form(struct batch *b)
{
	if (b->d->form)
		return b->d->cu.cuModuleLoad(&b->form, b->d->form);
	return load(b, b->form_text.at, &b->form);
}

static enum run_verdict load_both(struct batch *b)
{
	CUresult r;

	strbuf_puts(&b->plain_text, gen_head);
	for (unsigned i = 0; i < b->n; i++)
		gen_text(&b->p[i], &b->plain_text);
	r = load(b, b->plain_text.at, &b->plain);
	if (r != CUDA_SUCCESS) {
		tell(b, 0, "the plain module is refused", r);
		return RUN_INVALID;
	}
	if (make_forms(b->p, b->n, &b->plain_text, b->verdict, b->info, &b->form_text, b->why)) {
		tell(b, 0, "the pass fails", CUDA_ERROR_UNKNOWN);
		return RUN_REFUSED;
	}
	r = load_form(b);
	if (r != CUDA_SUCCESS) {
		tell(b, 0, "the preemptible module is refused", r);
		return RUN_REFUSED;
	}
	return RUN_SAME;
}

/* After a fault, loads both modules again in a new context, with program i lacking its stray
 * store. */
static bool load_again(struct batch *b, unsigned i)
{
	struct gen_program p;
	CUdevice device;
	bool ok;

	if (gen_copy(&b->p[i], &p))
		return false;
	gen_keep_stray_back(&p);
	b->plain_text.len = 0;
	strbuf_puts(&b->plain_text, gen_head);
	for (unsigned k = 0; k < b->n; k++)
		gen_text(k == i ? &p : &b->p[k], &b->plain_text);
	gen_free(&p);
	ok = !b->d->cu.cuDeviceGet(&device, 0) && !b->d->cu.cuDevicePrimaryCtxReset(device);
	return ok && open_context(b->d) && !load(b, b->plain_text.at, &b->plain) && !load_form(b);
}

bool run_programs(struct run_device *d, const struct gen_program *p, unsigned n, unsigned first,
	struct run_result *ret, struct strbuf *why)
{
	struct batch b = {.d = d, .p = p, .n = n, .first = first, .why = why};
	size_t told = why->len;
	enum run_verdict v;
	bool usable = true;

	b.verdict = calloc(n, sizeof(*b.verdict));
	b.info = calloc(n, sizeof(*b.info));
	beat(&b, 0, RUN_COMPILES);
	v = load_both(&b);
	if (v != RUN_SAME && n > 1) { /* tries each program alone, to find the one at fault */
		why->len = told;
		for (unsigned i = 0; i < n && usable; i++)
			usable = run_programs(d, p + i, 1, first + i, ret + i, why);
	} else if (v != RUN_SAME) {
		ret->verdict = (uint8_t)v;
	}
	for (unsigned i = 0; i < n && v == RUN_SAME && usable; i++) {
		ret[i].verdict = (uint8_t)run_program(&b, i, &ret[i]);
		usable = ret[i].verdict <= RUN_DIFFERS && ret[i].verdict != RUN_TOLD;
	}
	if (b.plain)
		d->cu.cuModuleUnload(b.plain);
	if (b.form)
		d->cu.cuModuleUnload(b.form);
	strbuf_finish(&b.plain_text);
	strbuf_finish(&b.form_text);
	free(b.verdict);
	free(b.info);
	return usable;
}
