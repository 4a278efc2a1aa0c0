/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: exact [plain] [few|list]. Expands exact.def, makes a kernel of each form that the
 * virtual GPU knows, and compares its results with the reference. An operation of two operands
 * gets all pairs of 16 special and 64 random values; a third operand is sampled. few: all pairs
 * of special values, and every sixth other pair. No operation may be missing: the virtual GPU must
 * not know any operation that has neither a form nor an INEXACT row in exact.def, and some form
 * must reach every handler of the interpreter's arithmetic. */
#include "bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 32 /* kernels in one module */

static exact_ref *const references[] = {
#define EXACT(forms, operands, ref)         ref,
#define NEWER(target, forms, operands, ref) ref,
#define INEXACT(op, why)
#include "exact.def"
#undef EXACT
#undef NEWER
#undef INEXACT
};

static const char *const inexact[] = {
#define EXACT(forms, operands, ref)
#define NEWER(target, forms, operands, ref)
#define INEXACT(op, why) #op,
#include "exact.def"
#undef EXACT
#undef NEWER
#undef INEXACT
};

static form_vec forms;

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* ---- running forms ---- */

struct bench {
	struct bare bare;
	unsigned known, wrong;
	bool lists;    /* prints unknown forms */
	unsigned step; /* compares every `step`-th pair of operands */
	VEC(vop_fn *) reached;
};

static void compare(struct bench *b, const struct form *f)
{
	const u64 *in = (const u64 *)(uintptr_t)b->bare.in,
		  *out = (const u64 *)(uintptr_t)b->bare.out;
	unsigned wrong = 0;

	for (unsigned k = 0; k < FORM_N; k++) {
		u64 want[2] = {0, 0};
		const u64 *v = &in[FORM_SOURCES * k], *got = &out[2 * k];
		bool closed;
		if (k % b->step && !form_is_special(k))
			continue;
		closed = references[f->row](&f->insn, v, want);
		if (!form_has_second(f))
			want[1] = 0;
		if (!closed || (got[0] == want[0] && got[1] == want[1]))
			continue;
		if (wrong++ == 0)
			printf("%s: %llx %llx %llx %llx gives %llx %llx, not %llx %llx\n",
				f->insn.text, (unsigned long long)v[0], (unsigned long long)v[1],
				(unsigned long long)v[2], (unsigned long long)v[3],
				(unsigned long long)got[0], (unsigned long long)got[1],
				(unsigned long long)want[0], (unsigned long long)want[1]);
	}
	b->wrong += wrong != 0;
}

static void run(struct bench *b, const struct form *f, const struct vgpu_kernel *k)
{
	struct vprogram *p;
	struct grid_result g;

	if (!bare_knows(k, &p)) {
		if (b->lists)
			printf("not known: %s\n", f->insn.text);
		return;
	}
	b->known++;
	for (uint32_t i = 0; i < p->funcs[0].n_code; i++)
		(void)VEC_PUSH(&b->reached, p->funcs[0].code[i].fn);
	if (bare_run(&b->bare, f, k, &g) != 0) {
		printf("%s: %s\n", f->insn.text, g.fault.message);
		b->wrong++;
		return;
	}
	compare(b, f);
}

#define HEAD ".version 9.0\n.target sm_100\n.address_size 64\n"

static void run_batch(struct bench *b, size_t first, size_t n)
{
	struct strbuf s = {0};
	char name[24];

	strbuf_puts(&s, HEAD);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		form_kernel(&s, &forms.at[first + i], name);
	}
	struct vgpu_module *m = bare_load(&b->bare, &s);
	if (!m)
		die(s.at);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		run(b, &forms.at[first + i], vgpu_module_kernel(m, name));
	}
	vgpu_module_free(m);
	strbuf_finish(&s);
}

/* ---- completeness ---- */

extern const struct vop_entry vgpu_vec_int_base[], vgpu_vec_float_base[], vgpu_vec_cmp_base[],
	vgpu_vec_cvt_base[], vgpu_vec_half_base[];

static bool is_reached(const struct bench *b, vop_fn *fn)
{
	for (size_t i = 0; i < b->reached.len; i++)
		if (b->reached.at[i] == fn)
			return true;
	return false;
}

/* edges.txt tests these approximate handlers. */
static bool is_approximate(const char *handler)
{
	return !strncmp(handler, "rsqrt_", 6) || strstr(handler, "_approx_");
}

static unsigned missing_handlers(const struct bench *b)
{
	static const struct vop_entry *const tables[] = {vgpu_vec_int_base, vgpu_vec_float_base,
		vgpu_vec_cmp_base, vgpu_vec_cvt_base, vgpu_vec_half_base};
	unsigned missing = 0;

	for (size_t k = 0; k < ARRAY_LEN(tables); k++)
		for (const struct vop_entry *e = tables[k]; e->key; e++) {
			if (is_approximate(e->key) || is_reached(b, vgpu_vec_find(e->key)))
				continue;
			printf("no form reaches the handler %s\n", e->key);
			missing++;
		}
	return missing;
}

static bool has_form(const char *op)
{
	size_t len = strlen(op);

	for (size_t i = 0; i < ARRAY_LEN(inexact); i++)
		if (!strcmp(inexact[i], op))
			return true;
	for (size_t i = 0; i < forms.len; i++)
		if (!strncmp(forms.at[i].insn.text, op, len) &&
			strchr(".", forms.at[i].insn.text[len]))
			return true;
	return false;
}

/* If exact.def has no form of an operation, the virtual GPU must not know the operation at all.
 * Tries each type, written once or twice after the name, with one to four operands. */
static unsigned known_anyhow(struct bench *b, const char *op)
{
	unsigned found = 0;

	for (const struct exact_type *t = exact_types; t->name; t++)
		for (unsigned n = 1; n <= 4; n++) {
			struct strbuf s = {0};
			struct vprogram *p;
			strbuf_puts(&s, HEAD ".visible .entry k()\n{\n.reg .b32 %a<5>;\n");
			strbuf_printf(&s, "%s.%s%s%s %%a0", op, t->name, n > 1 ? "." : "",
				n > 1 ? t->name : "");
			for (unsigned k = 1; k <= n; k++)
				strbuf_printf(&s, ", %%a%u", k);
			strbuf_puts(&s, ";\nret;\n}\n");
			struct vgpu_module *m = bare_load(&b->bare, &s);
			if (m)
				found += bare_knows(vgpu_module_kernel(m, "k"), &p);
			vgpu_module_free(m);
			strbuf_finish(&s);
		}
	if (found)
		printf("%s is known, and no form of it is here\n", op);
	return found;
}

/* Counts the operations that the virtual GPU knows and exact.def lacks. Checks only operations of
 * src/ptx/ops.def whose operands are plain values. */
static unsigned missing_operations(struct bench *b)
{
	unsigned missing = 0;

	for (unsigned op = 1; op < PTX_OP_COUNT; op++) {
		const struct ptx_op_info *info = &ptx_ops[op];
		if (info->flags || strchr(info->shape, 'a') || has_form(info->name))
			continue;
		missing += known_anyhow(b, info->name);
	}
	return missing;
}

/* ---- values measured on hardware ---- */

static const struct {
	const char *rule, *form;
	u64 result, v[FORM_SOURCES];
} measured[] = {
#define MEASURED(rule, form, result, ...) {rule, form, result, {__VA_ARGS__}},
#include "h200.def"
#undef MEASURED
};

static const struct form *form_named(const char *text)
{
	for (size_t i = 0; i < forms.len; i++)
		if (!strcmp(forms.at[i].insn.text, text))
			return &forms.at[i];
	return NULL;
}

/* Checks the references only: the virtual GPU has been compared with them. */
static unsigned wrong_measured(void)
{
	unsigned wrong = 0;

	for (size_t k = 0; k < ARRAY_LEN(measured); k++) {
		const struct form *f = form_named(measured[k].form);
		u64 r[2] = {0, 0};
		bool closed = f && references[f->row](&f->insn, measured[k].v, r);
		if (closed && r[0] == measured[k].result)
			continue;
		printf("%s: %s: the reference gives %llx, an H200 %llx\n", measured[k].rule,
			measured[k].form, (unsigned long long)r[0],
			(unsigned long long)measured[k].result);
		wrong++;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct bench b = {.step = 1};

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "plain"))
			vgpu_vec_plain();
		b.lists |= !strcmp(argv[i], "list");
		b.step = strcmp(argv[i], "few") ? b.step : 6;
	}
	forms_expand(&forms);
	exact_float_init();
	if (bare_open(&b.bare) != 0)
		die("out of memory");
	for (size_t i = 0; i < forms.len; i += BATCH)
		run_batch(&b, i, MIN(BATCH, forms.len - i));
	b.wrong += wrong_measured();
	unsigned missing = missing_handlers(&b) + missing_operations(&b);
	printf("%zu forms, %u known, %u of them wrong, %u without a form\n", forms.len, b.known,
		b.wrong, missing);
	VEC_FREE(&forms);
	VEC_FREE(&b.reached);
	bare_close(&b.bare);
	exact_float_finish();
	return b.wrong || missing;
}
