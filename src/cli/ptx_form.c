/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes rewritten kernels that are separate modules from kernel specifications (cmd_ptx_pass.c). */
#include "cli/ptx_form.h"
#include "job/job_kernel.h"
#include "job/kernelspec.h"
#include "job/woven.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AFTER_PTX 4 /* length of "ptx " in a verb's name, such as "ptx merge" */

const struct pass_row *ptx_form_row(const struct cli *c)
{
	return pass_find(c->verb->name + AFTER_PTX);
}

/* ---- the option --dump ---- */
int ptx_dump_open(struct ptx_dump *d)
{
	static const char hint[] = "name another folder: --dump DIR";

	d->dir = cli_value(d->c, "dump");
	if (d->dir && mkdir(d->dir, 0777) < 0 && errno != EEXIST)
		return cli_error(d->c, hint, "%s: %s", d->dir, strerror(errno));
	return d->dir ? cli_will_write_in(d->c, d->dir, hint) : CLI_OK;
}

static void dump_module(void *user, const char *pass, const char *kernel, const char *when,
	const struct ptx_module *m)
{
	struct ptx_dump *d = user;
	struct strbuf text = {0}, path = {0};

	d->number += !strcmp(when, "in");
	strbuf_printf(&path, "%s/%u-%s-%.100s-%s.ptx", d->dir, d->number, pass, kernel, when);
	ptx_print(m, &text);
	d->failed |= path.failed || cli_write_file(d->c, path.at, NULL, &text) != CLI_OK;
	strbuf_finish(&text);
	strbuf_finish(&path);
}

void ptx_dump_to(struct ptx_dump *d, struct pass_request *rq)
{
	rq->dump = d->dir ? dump_module : NULL;
	rq->user = d;
}

/* ---- reading the kernels ---- */
struct forming {
	struct cli *c;
	struct arena arena;
	struct spec specs[CTL_MAX_MERGED];
	struct cli_kernel of[CTL_MAX_MERGED];
	struct pass_kernel kernels[CTL_MAX_MERGED];
	unsigned n;
	struct pass_request rq;
	struct diag_list *diags;
	struct pass_form form;
	struct ptx_dump dump;
};

static int read_kernel(struct forming *x, unsigned k)
{
	const struct spec *s = &x->specs[k];
	struct cli_kernel *in = &x->of[k];
	struct pass_kernel *g = &x->kernels[k];
	int r = job_ptx_read(x->c, &x->arena, s, in);

	if (r != CLI_OK)
		return r;
	*g = (struct pass_kernel){.m = in->module,
		.name = in->f->sym->name,
		.file = s->file,
		.dynamic_bytes = s->shape.shared_bytes};
	memcpy(g->block, s->shape.block, sizeof(g->block));
	memcpy(g->grid, s->shape.grid, sizeof(g->grid));
	return CLI_OK;
}

/* ---- the option --fields ---- */
static int read_fields(struct forming *x)
{
	const char *at = cli_value(x->c, "fields");

	x->rq.fields = at ? 0 : PASS_ALL_FIELDS;
	while (at && *at) {
		size_t len = strcspn(at, ",");
		unsigned i = 0;

		while (i < PASS_N_FIELDS && (strlen(pass_field_names[i]) != len ||
						    strncmp(at, pass_field_names[i], len) != 0))
			i++;
		if (i < PASS_N_FIELDS)
			x->rq.fields |= 1u << i;
		else if (len == 3 && !strncmp(at, "all", 3))
			x->rq.fields = PASS_ALL_FIELDS;
		else if (len != 4 || strncmp(at, "none", 4) != 0)
			return cli_usage(x->c, "--fields: no field '%.*s'", (int)len, at);
		at += len + (at[len] == ',');
	}
	return CLI_OK;
}

/* ---- reporting the result ---- */
static int report_refusal(struct forming *x, int err)
{
	const struct pass_verdict *v = &x->form.verdict;
	struct cli_kernel *in = &x->of[x->form.which];
	const char *name = x->specs[x->form.which].kernel;

	if (err == -ENOMEM)
		return cli_error(x->c, NULL, "out of memory");
	if (err == -ENOTSUP && v->reason) {
		diag_add(in->diags, DIAG_ERROR, v->line, v->col, 1, "kernel '%s' cannot be %s: %s",
			name, ptx_form_row(x->c)->done, v->reason);
		cli_show_diags(in->diags);
		return CLI_FAILED;
	}
	cli_show_diags(x->diags);
	return cli_error(x->c, "this is a bug in heddle: please report it with the files",
		"kernel %u, '%s': %s", x->form.which + 1, name, strerror(-err));
}

static void json_dims(struct json *j, const char *key, const uint32_t d[3])
{
	json_begin_array(j, key);
	for (unsigned i = 0; i < 3; i++)
		json_uint(j, NULL, d[i]);
	json_end(j, ']');
}

static void json_harness(struct json *j, const struct pass_harness *h)
{
	json_dims(j, "grid", h->grid);
	json_dims(j, "block", h->block);
	json_uint(j, "shared_bytes", h->shared_bytes);
	json_begin_array(j, "fields");
	for (unsigned i = 0; i < PASS_N_FIELDS; i++)
		if (h->fields & 1u << i)
			json_str(j, NULL, pass_field_names[i]);
	json_end(j, ']');
}

static void json_merged(struct json *j, const struct forming *x)
{
	const struct pass_merged *m = &x->form.merged;

	json_dims(j, "block", m->block);
	json_uint(j, "shared_bytes", m->shared_bytes);
	json_uint(j, "parameter_bytes", m->param_bytes);
	json_begin_array(j, "kernels");
	for (unsigned k = 0; k < x->n; k++) {
		json_begin_object(j, NULL);
		json_str(j, "file", x->specs[k].file);
		json_str(j, "name", x->specs[k].kernel);
		json_uint(j, "parameters_offset", m->of[k].param_offset);
		json_uint(j, "own_bytes", m->of[k].own_bytes);
		json_uint(j, "arguments_offset", m->of[k].arg_offset);
		json_bool(j, "rising_order", m->of[k].rising_order);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_uint(j, "merge_offset", m->merge_offset);
	if (!strcmp(ptx_form_row(x->c)->name, "weave"))
		woven_json(j, x->specs, &m->woven);
}

static void print_head(const struct forming *x, struct strbuf *out)
{
	const struct pass_harness *h = &x->form.harness;
	const struct pass_merged *m = &x->form.merged;
	bool grid = ptx_form_row(x->c)->wants & PASS_WANTS_GRID;
	const uint32_t *b = grid ? h->block : m->block;

	strbuf_printf(out, "// %s:", x->form.entry);
	if (grid)
		strbuf_printf(out, " --grid %" PRIu32 ",%" PRIu32 ",%" PRIu32, h->grid[0],
			h->grid[1], h->grid[2]);
	strbuf_printf(out, " --block %" PRIu32 ",%" PRIu32 ",%" PRIu32 " --shared %" PRIu32 "\n",
		b[0], b[1], b[2], grid ? h->shared_bytes : m->shared_bytes);
	for (unsigned k = 0; !grid && k < x->n; k++)
		strbuf_printf(out,
			"// %s: its parameters at %" PRIu32 ", struct ctl_args at %" PRIu32 "\n",
			x->specs[k].kernel, m->of[k].param_offset, m->of[k].arg_offset);
	if (!strcmp(ptx_form_row(x->c)->name, "weave"))
		woven_print(x->specs, &m->woven, "// ", out);
}

static void show_form(struct forming *x)
{
	struct strbuf text = {0};
	struct cli *c = x->c;
	struct json j;

	if (!c->json) {
		print_head(x, &c->out);
		cli_ptx_print(c, x->form.m, &c->out);
		return;
	}
	ptx_print(x->form.m, &text);
	cli_json_open(c, &j, 1);
	json_str(&j, "entry", x->form.entry);
	if (ptx_form_row(c)->wants & PASS_WANTS_GRID)
		json_harness(&j, &x->form.harness);
	else
		json_merged(&j, x);
	json_str(&j, "text", text.at);
	json_end(&j, '}');
	c->out.failed |= text.failed;
	strbuf_finish(&text);
}

static int make_form(struct forming *x)
{
	const struct pass_row *row = ptx_form_row(x->c);
	int r = kernelspec_read_all(x->c, &x->arena, row->max_kernels, true, x->specs, &x->n);

	if (r == CLI_OK && row->wants & PASS_WANTS_GRID)
		r = read_fields(x);
	if (r == CLI_OK)
		r = ptx_dump_open(&x->dump);
	for (unsigned k = 0; r == CLI_OK && k < x->n; k++)
		r = read_kernel(x, k);
	if (r != CLI_OK)
		return r;
	x->diags = ARENA_NEW(&x->arena, struct diag_list);
	if (!x->diags)
		return cli_error(x->c, NULL, "out of memory");
	diag_init(x->diags, &x->arena, row->name, NULL, 0);
	x->rq.kernels = x->kernels;
	x->rq.n = x->n;
	ptx_dump_to(&x->dump, &x->rq);
	r = pass_run(row, &x->rq, x->diags, &x->form);
	if (r < 0)
		return report_refusal(x, r);
	show_form(x);
	return x->dump.failed ? CLI_FAILED : CLI_OK;
}

int ptx_form_run(struct cli *c)
{
	struct forming *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return cli_error(c, NULL, "out of memory");
	x->c = x->dump.c = c;
	arena_init(&x->arena, 0);
	r = make_form(x);
	ptx_module_free(x->form.m);
	for (unsigned k = 0; k < x->n; k++)
		cli_kernel_finish(&x->of[k]);
	arena_finish(&x->arena);
	free(x);
	return r;
}
