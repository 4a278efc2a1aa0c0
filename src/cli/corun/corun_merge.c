/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels as one launch, from specifications. What cannot be merged is said where the kernel's
 * source is; what a schedule cannot do, in terms of the options. */
#include "cli/corun/corun_merge.h"

#include "pass/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* An error, or why this way is none. */
static int HD_PRINTF(3, 4) no(struct corun_merge *m, const char *hint, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!m->why)
		return cli_error(m->c, hint, "%s", text);
	if (!m->why->len)
		strbuf_puts(m->why, text);
	return CLI_FAILED;
}

static int refused(struct corun_merge *m, int err, unsigned which, const struct pass_verdict *v,
	const struct diag_list *diags)
{
	struct job_kernel *k = m->of[which];

	if (err == -ENOMEM)
		return job_out_of_memory(m->c);
	if (err == -ENOTSUP && v->reason && m->why)
		return no(m, NULL, "kernel '%s' cannot be merged: %s", k->spec->kernel, v->reason);
	if (err == -ENOTSUP && v->reason) {
		diag_add(&k->diags, DIAG_ERROR, v->line, v->col, 1,
			"kernel '%s' cannot be merged: %s", k->spec->kernel, v->reason);
		cli_show_diags(&k->diags);
		return CLI_FAILED;
	}
	cli_show_diags(diags);
	return cli_error(m->c, "this is a bug in heddle: please report it with the files",
		"kernel %u, '%s', could not be merged: %s", which + 1, k->spec->kernel,
		strerror(-err));
}

/* The merged module's text; tight: for as many threads on an SM as the kernels have alone. */
static int make(struct corun_merge *m, bool tight, struct strbuf *ret_text, ptx_lines *ret_lines)
{
	struct pass_guest guests[CORUN_MAX] = {0};
	struct pass_request rq = {.kernels = guests, .n = m->n};
	struct pass_form form;
	struct diag_list *diags = ARENA_ARRAY(m->arena, struct diag_list, 1);
	int r;

	if (!diags)
		return job_out_of_memory(m->c);
	diag_init(diags, m->arena, "merged form", NULL, 0);
	for (unsigned k = 0; k < m->n; k++) {
		guests[k].m = m->of[k]->module;
		guests[k].name = m->of[k]->spec->kernel;
		guests[k].file = m->of[k]->spec->file;
		memcpy(guests[k].block, m->of[k]->spec->block, sizeof(guests[k].block));
		guests[k].dynamic_bytes = m->of[k]->spec->shared_bytes;
		guests[k].fits = tight ? m->fit[k] : 0;
	}
	if (m->how) {
		rq.weave.max_registers = m->how->registers;
		rq.weave.unsliced = m->how->unsliced;
		rq.weave.branches = m->how->branches;
	}
	r = pass_run(pass_find(dev_how_passes[m->way]), &rq, diags, &form);
	if (r < 0)
		return refused(m, r, form.which, &form.verdict, diags);
	m->form = form.merged;
	ptx_print_lines(form.m, ret_text, ret_lines);
	ptx_module_free(form.m);
	return ret_text->failed ? job_out_of_memory(m->c) : CLI_OK;
}

static int explain(struct corun_merge *m, enum dev_merge_status status, unsigned which,
	uint64_t blocks, const struct dev_merge_plan *p)
{
	const char *name = m->of[which]->spec->kernel;

	switch (status) {
	case DEV_MERGE_OK:
		break;
	case DEV_MERGE_NO_WORKER:
		return no(m, "other shares, more workers, or --help-others",
			"kernel %u, '%s', would have no worker: there are %" PRIu32
			" in all, and at most %" PRIu32 " on an SM",
			which + 1, name, p->workers, p->per_sm);
	case DEV_MERGE_ORDER:
		return no(m, "--schedule steal, and no launch of its own",
			"the blocks of kernel %u, '%s', may wait for each other: with workers of "
			"its own they may never all be there at once",
			which + 1, name);
	case DEV_MERGE_TOO_FEW:
		return no(m, "more workers, or fewer blocks",
			"the blocks of kernel %u, '%s', may wait for each other, and alone all of "
			"them are there at once: merged, with all such kernels' blocks, that takes "
			"%" PRIu64 " workers, and there are %" PRIu32,
			which + 1, name, blocks, p->workers);
	case DEV_MERGE_NO_HELP:
		return no(m, "without --help-others, or --schedule mixed",
			"kernel %u, '%s', has SMs for workers of its own alone, and those cannot "
			"help others",
			which + 1, name);
	}
	return CLI_OK;
}

/* Fused: block i of each in block i of the launch. */
static int plan_fused(struct corun_merge *m, struct dev_merge_plan *ret)
{
	uint64_t blocks = dev_fused_blocks(m->n, m->shapes);
	uint64_t fit = (uint64_t)m->per_sm * m->n_sms;

	if (blocks > INT32_MAX)
		return no(m, "--how merge", "a grid of %" PRIu64 " blocks is not fused", blocks);
	for (unsigned k = 0; k < m->n; k++)
		if (m->form.of[k].rising_order && m->shapes[k].fits && blocks > fit)
			return no(m, "--how merge, or fewer blocks",
				"the blocks of kernel %u, '%s', may wait for each other, and fused "
				"they would not all be there at once: %" PRIu64 " blocks, of which "
				"%" PRIu64 " fit",
				k + 1, m->of[k]->spec->kernel, blocks, fit);
	*ret = (struct dev_merge_plan){.per_sm = m->per_sm, .workers = (uint32_t)blocks};
	return CLI_OK;
}

/* The forms, for planning and running. */
static struct dev_merge_part part_of(struct corun_merge *m)
{
	return (struct dev_merge_part){m->fn, &m->form, m->params, m->per_sm};
}

static void own_parts(struct corun_merge *m, struct dev_merge_part ret[CORUN_MAX])
{
	for (unsigned k = 0; k < m->n; k++)
		ret[k] = m->own[k] ? part_of(m->own[k]) : (struct dev_merge_part){0};
}

int corun_merge_plan(
	struct corun_merge *m, const struct dev_merging *how, struct dev_merge_plan *ret)
{
	struct dev_merge_part all = part_of(m), own[CORUN_MAX];
	enum dev_merge_status status;
	unsigned which = 0;
	uint64_t blocks = 0;

	if (m->way != DEV_MERGE)
		return plan_fused(m, ret);
	*ret = (struct dev_merge_plan){0};
	own_parts(m, own);
	status = dev_merge_plan(how, &all, own, m->n, m->shapes, m->n_sms, ret, &which, &blocks);
	return explain(m, status, which, blocks, ret);
}

static int see_what_fits(struct corun_merge *m)
{
	const uint32_t *b = m->form.block;
	uint32_t threads = b[0] * b[1] * b[2];
	int per_sm = 0, registers;

	JOB_TRY(m->c, m->cu->cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, m->fn),
		"merged form");
	if (threads <= 1024)
		JOB_TRY(m->c,
			m->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
				&per_sm, m->fn, (int)threads, m->form.shared_bytes),
			"merged form");
	if (per_sm < 1)
		return no(m, NULL,
			"together no block of them fits an SM: %" PRIu32
			" threads of %d registers, %" PRIu32 " bytes of shared memory",
			threads, registers, m->form.shared_bytes);
	m->per_sm = (uint32_t)per_sm;
	m->registers = (uint32_t)registers;
	for (unsigned k = 0; k < m->n; k++) {
		job_kernel_shape(m->of[k]->spec, &m->shapes[k].shape);
		m->shapes[k].fits =
			dev_total_blocks(&m->shapes[k].shape) <= (uint64_t)m->fit[k] * m->n_sms;
	}
	return CLI_OK;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void tell_lines(const struct corun_merge *m, const struct strbuf *text, ptx_lines *lines)
{
	for (size_t i = 0; i < lines->len; i++)
		if (lines->at[i])
			lines->at[i] |= m->number << PTX_LINE_BITS;
	dev_tell_lines(m->cu, text->at, text->len, lines->at, lines->len);
}

/* "kernels 1, 'va', and 2, 'mm', --how merge". */
static void name_way(const struct corun_merge *m, struct strbuf *ret)
{
	strbuf_puts(ret, m->n > 1 ? "kernels" : "kernel");
	for (unsigned k = 0; k < m->n; k++)
		strbuf_printf(ret, "%s %u, '%s',", k && k + 1 == m->n ? " and" : "",
			m->number ? m->number : k + 1, m->of[k]->spec->kernel);
	strbuf_printf(ret, " --how %s", dev_hows[m->way]);
	if (m->number)
		strbuf_puts(ret, " with a launch of its own");
}

/* By another process, into the driver's cache: the compiler has crashed of such texts, and would
 * take this one along. It has crashed of texts that it took another time, too. */
static int compile_apart(
	struct corun_merge *m, const struct strbuf *text, double *ret_ms, bool *ret_is)
{
	enum assembled r = ASSEMBLED_DIED;
	struct strbuf name = {0};
	int err = CLI_OK;

	for (unsigned tries = 0; tries < 2 && r == ASSEMBLED_DIED; tries++)
		r = assemble(&m->on->assembler, m->on->device, text->at, text->len, NULL, ret_ms);
	*ret_is = r == ASSEMBLED;
	if (r != ASSEMBLED_DIED && r != ASSEMBLED_LATE)
		return CLI_OK;
	name_way(m, &name);
	if (name.failed)
		err = job_out_of_memory(m->c);
	else if (r == ASSEMBLED_DIED)
		err = no(m, "another --how: sequential and streams run any kernels",
			"%s: the driver's compiler crashes of it (in a process of its own)",
			name.at);
	else
		err = no(m,
			"another --how (sequential and streams run any kernels), or more time: "
			"--compile-s",
			"%s: the driver's compiler has not compiled it in %u s", name.at,
			m->on->assembler.limit_s);
	strbuf_finish(&name);
	return err;
}

/* As the assembler has loaded it: then the driver finds it in its cache, and compiles nothing here.
 */
static int load_library(struct corun_merge *m, const char *text)
{
	static const char what[] = "merged form";
	CUkernel kernel;

	JOB_TRY(m->c, m->cu->cuLibraryLoadData(&m->library, text, NULL, NULL, 0, NULL, NULL, 0),
		what);
	JOB_TRY(m->c, m->cu->cuLibraryGetKernel(&kernel, m->library, CTL_MERGE_ENTRY), what);
	JOB_TRY(m->c, m->cu->cuKernelGetFunction(&m->fn, kernel), what);
	return job_room(m->c, m->cu, m->fn, m->form.shared_bytes);
}

static bool has_libraries(const struct cu_api *cu)
{
	return cu->cuLibraryLoadData && cu->cuLibraryUnload && cu->cuLibraryGetKernel &&
	       cu->cuKernelGetFunction;
}

static CUresult unload(struct corun_merge *m)
{
	CUresult r = m->library  ? m->cu->cuLibraryUnload(m->library)
		     : m->module ? m->cu->cuModuleUnload(m->module)
				 : CUDA_SUCCESS;

	m->library = NULL;
	m->module = NULL;
	return r;
}

static int load(struct corun_merge *m, bool tight)
{
	struct strbuf text = {0};
	ptx_lines lines = {0};
	double from = now_ms(), made, apart = 0;
	bool is_compiled = false;
	int r = make(m, tight, &text, &lines);

	made = now_ms();
	if (r == CLI_OK)
		r = compile_apart(m, &text, &apart, &is_compiled);
	m->make_ms = made - from;
	made = now_ms();
	if (r == CLI_OK)
		sha256(text.at, text.len, m->digest);
	if (r == CLI_OK)
		tell_lines(m, &text, &lines);
	if (r == CLI_OK && is_compiled && has_libraries(m->cu))
		r = load_library(m, text.at);
	else if (r == CLI_OK)
		r = job_load(m->c, m->cu, "merged form", text.at, CTL_MERGE_ENTRY,
			m->form.shared_bytes, &m->module, &m->fn);
	m->compile_ms = apart + now_ms() - made;
	strbuf_finish(&text);
	VEC_FREE(&lines);
	return r;
}

#define SPILLS 16 /* bytes a thread that are worth more workers */

/* Whether registers were spilled for the sake of more workers. */
static int spills(struct corun_merge *m, bool *ret)
{
	int local = 0;

	JOB_TRY(m->c, m->cu->cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, m->fn),
		"merged form");
	*ret = local > m->local_bytes + SPILLS;
	return CLI_OK;
}

int corun_merge_prepare(struct corun_merge *m)
{
	bool tight = m->way == DEV_MERGE, again = false;
	int r = load(m, tight);

	if (r == CLI_OK && tight)
		r = spills(m, &again);
	if (r == CLI_OK && again) {
		JOB_TRY(m->c, unload(m), "merged form");
		r = load(m, false);
	}
	if (r == CLI_OK)
		r = see_what_fits(m);
	if (r != CLI_OK)
		return r;
	m->params = arena_zalloc(m->arena, m->form.param_bytes);
	if (!m->params)
		return job_out_of_memory(m->c);
	JOB_TRY(m->c, dev_merged_create(m->cu, m->n, &m->device), "control blocks");
	return CLI_OK;
}

int corun_merge_prepare_own(struct corun_merge *m, uint32_t own)
{
	for (unsigned k = 0; k < m->n; k++) {
		struct corun_merge *one;
		int r;

		if (!(own >> k & 1) || m->own[k])
			continue;
		if (m->never[k])
			return no(m, NULL, "%s", m->never[k]);
		one = ARENA_NEW(m->arena, struct corun_merge);
		if (!one)
			return job_out_of_memory(m->c);
		*one = (struct corun_merge){.c = m->c,
			.arena = m->arena,
			.cu = m->cu,
			.on = m->on,
			.of = {m->of[k]},
			.n = 1,
			.way = DEV_MERGE,
			.fit = &m->fit[k],
			.local_bytes = m->local_bytes,
			.n_sms = m->n_sms,
			.number = k + 1,
			.why = m->why};
		r = corun_merge_prepare(one);
		one->why = NULL;
		if (r != CLI_OK) {
			corun_merge_finish(one);
			if (m->why && m->why->len)
				m->never[k] = arena_strndup(m->arena, m->why->at, m->why->len);
			return r;
		}
		m->own[k] = one;
	}
	return CLI_OK;
}

void corun_merge_finish(struct corun_merge *m)
{
	for (unsigned k = 0; k < m->n; k++)
		if (m->own[k])
			corun_merge_finish(m->own[k]);
	dev_merged_destroy(m->cu, &m->device);
	unload(m);
}

static double ms_of(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void put_params(struct corun_merge *m)
{
	for (unsigned k = 0; k < m->n; k++)
		memcpy(m->params + m->form.of[k].param_offset, m->of[k]->params,
			m->form.of[k].own_bytes);
}

int corun_merge_run(struct corun_merge *m, const struct dev_merging *how,
	const struct dev_merge_plan *plan, struct corun_times *ret)
{
	struct dev_merge_part all = part_of(m), own[CORUN_MAX];
	struct dev_merged_stats stats = {0};
	CUresult r;

	own_parts(m, own);
	put_params(m);
	for (unsigned k = 0; k < m->n; k++)
		if (m->own[k])
			put_params(m->own[k]);
	if (m->way == DEV_MERGE)
		r = dev_merged_run(
			m->cu, &all, own, m->n, m->shapes, how, plan, &m->device, &stats);
	else
		r = dev_fused_run(
			m->cu, m->fn, &m->form, m->n, m->shapes, m->params, &m->device, &stats);
	if (r == CUDA_ERROR_UNKNOWN)
		return no(m,
			"where a kernel has SMs or workers of its own: other shares, or "
			"--help-others",
			"a launch handed out no block: kernel %u, '%s', is not done",
			stats.stalled + 1, m->of[stats.stalled]->spec->kernel);
	JOB_TRY(m->c, r, "merged launch");
	*ret = (struct corun_times){.ms = (double)stats.ms, .launches = stats.launches};
	for (unsigned k = 0; m->way == DEV_MERGE && how->times && k < m->n; k++) {
		ret->of[k].began_ms = ms_of(stats.of[k].began_ns - stats.first_ns);
		ret->of[k].ms = ms_of(stats.of[k].ended_ns - stats.of[k].began_ns);
		ret->of[k].busy_ms = ms_of(stats.of[k].busy_ns);
		ret->of[k].most = stats.of[k].most;
	}
	return CLI_OK;
}
