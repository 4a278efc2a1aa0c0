/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: exact [plain]. Expands exact.def, makes a kernel of each form that the virtual GPU knows,
 * and compares what it makes of all pairs of 16 special and 64 random values (triples are sampled)
 * with the reference. Nothing that the virtual GPU knows may be left out: every operation of the
 * table of operations has a form here or a reason why not, and every handler of the interpreter's
 * arithmetic has to be reached by a form. */
#include "exact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../grid.h"
#include "dev/cpu/code.h"
#include "dev/cpu/exec_ctl.h"

#define SPECIAL 16
#define RANDOM  64
#define SIDE    (SPECIAL + RANDOM)
#define N       (SIDE * SIDE) /* a multiple of THREADS */
#define THREADS 256
#define BATCH   32 /* kernels a module */
#define SOURCES 4

/* ---- types ---- */

const struct exact_type exact_types[] = {{"u8", KIND_UINT, 8, 1, 0, 0},
	{"u16", KIND_UINT, 16, 1, 0, 0}, {"u32", KIND_UINT, 32, 1, 0, 0},
	{"u64", KIND_UINT, 64, 1, 0, 0}, {"s8", KIND_INT, 8, 1, 0, 0},
	{"s16", KIND_INT, 16, 1, 0, 0}, {"s32", KIND_INT, 32, 1, 0, 0},
	{"s64", KIND_INT, 64, 1, 0, 0}, {"b16", KIND_BITS, 16, 1, 0, 0},
	{"b32", KIND_BITS, 32, 1, 0, 0}, {"b64", KIND_BITS, 64, 1, 0, 0},
	{"u16x2", KIND_UINT, 16, 2, 0, 0}, {"s16x2", KIND_INT, 16, 2, 0, 0},
	{"f16", KIND_FLOAT, 16, 1, 10, 15}, {"bf16", KIND_FLOAT, 16, 1, 7, 127},
	{"f16x2", KIND_FLOAT, 16, 2, 10, 15}, {"bf16x2", KIND_FLOAT, 16, 2, 7, 127},
	{"tf32", KIND_FLOAT, 19, 1, 10, 127}, {"f32", KIND_FLOAT, 32, 1, 23, 127},
	{"f64", KIND_FLOAT, 64, 1, 52, 1023}, {"pred", KIND_PRED, 1, 1, 0, 0},
	{NULL, KIND_BITS, 0, 0, 0, 0}};

const struct exact_type *exact_type_of(const char *name)
{
	for (const struct exact_type *t = exact_types; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

bool exact_has(const struct exact_insn *i, const char *part)
{
	for (unsigned k = 1; k < i->n_parts; k++)
		if (!strcmp(i->parts[k], part))
			return true;
	return false;
}

bool exact_is(const struct exact_insn *i, const char *op)
{
	return !strcmp(i->parts[0], op);
}

/* ---- forms ---- */

struct row {
	const char *forms, *operands;
	exact_ref *ref;
};
static const struct row rows[] = {
#define EXACT(forms, operands, ref) {forms, operands, ref},
#define INEXACT(op, why)
#include "exact.def"
#undef EXACT
#undef INEXACT
};

static const char *const inexact[] = {
#define EXACT(forms, operands, ref)
#define INEXACT(op, why) #op,
#include "exact.def"
#undef EXACT
#undef INEXACT
};

struct form {
	const struct row *row;
	struct exact_insn insn;
	bool known;
};
static VEC(struct form) forms;

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void add_form(const struct row *row, const char *text)
{
	struct form f = {.row = row, .known = false};
	struct exact_insn *i = &f.insn;
	char copy[sizeof(i->text)], *save = NULL;

	snprintf(i->text, sizeof(i->text), "%s", text);
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = strtok_r(copy, ".", &save); p; p = strtok_r(NULL, ".", &save)) {
		const struct exact_type *t = exact_type_of(p);
		if (i->n_parts == ARRAY_LEN(i->parts) || strlen(p) >= sizeof(i->parts[0]))
			die(text);
		snprintf(i->parts[i->n_parts++], sizeof(i->parts[0]), "%s", p);
		if (t && i->n_types < ARRAY_LEN(i->type))
			i->type[i->n_types++] = t;
	}
	i->n_src = (unsigned)strlen(row->operands) - 1;
	if (!VEC_PUSH(&forms, f))
		die("out of memory");
}

/* The first braces' alternatives one after the other, those behind them by calling itself. */
static void expand(const struct row *row, const char *done, const char *rest)
{
	char text[200], more[300];
	const char *open = strchr(rest, '{'), *close = open ? strchr(open, '}') : NULL;

	if (!open) {
		snprintf(text, sizeof(text), "%s%s", done, rest);
		add_form(row, text);
		return;
	}
	for (const char *at = open + 1; at <= close;) {
		size_t len = strcspn(at, "|}");
		snprintf(more, sizeof(more), "%s%.*s%.*s", done, (int)(open - rest), rest, (int)len,
			at);
		expand(row, more, close + 1);
		at += len + 1;
	}
}

static void expand_all(void)
{
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		char copy[300], *save = NULL;
		snprintf(copy, sizeof(copy), "%s", rows[k].forms);
		char *numbers = strchr(copy, '#');
		if (!numbers) {
			expand(&rows[k], "", copy);
			continue;
		}
		*numbers++ = 0;
		for (char *p = strtok_r(numbers, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
			expand(&rows[k], "", copy);
			forms.at[forms.len - 1].insn.has_imm = true;
			forms.at[forms.len - 1].insn.imm = (unsigned)strtoul(p, NULL, 10);
		}
	}
}

/* Of operand k, 0 the destination; bits in a register. */
static const struct exact_type *operand_type(const struct form *f, unsigned k, unsigned *ret_bits)
{
	const struct exact_type *t;

	switch (f->row->operands[k]) {
	case 'i':
		t = exact_type_of("b32");
		break;
	case 'p':
	case 'P':
		t = exact_type_of("pred");
		break;
	case 'U':
		t = f->insn.type[1];
		break;
	default:
		t = f->insn.type[0];
		break;
	}
	unsigned bits = t->bits * t->n * (f->row->operands[k] == 'W' ? 2 : 1);
	*ret_bits = bits == 1 ? 1 : bits == 16 ? 16 : bits <= 32 ? 32 : 64;
	return t;
}

/* ---- kernels ---- */

static bool sets_carry(const struct form *f)
{
	return f->row->ref == ref_carry;
}

static void load(struct strbuf *s, unsigned bits, unsigned k)
{
	strbuf_printf(s, "ld.global.b64 %%w, [%%at+%u];\n", 8 * k);
	if (bits == 1)
		strbuf_printf(s, ".reg .pred %%a%u;\nsetp.ne.u64 %%a%u, %%w, 0;\n", k, k);
	else if (bits == 64)
		strbuf_printf(s, ".reg .b64 %%a%u;\nmov.b64 %%a%u, %%w;\n", k, k);
	else
		strbuf_printf(s, ".reg .b%u %%a%u;\ncvt.u%u.u64 %%a%u, %%w;\n", bits, k, bits, k);
}

static void store(struct strbuf *s, unsigned bits, const char *reg, unsigned at)
{
	if (bits == 1)
		strbuf_printf(s, "selp.b64 %%w, 1, 0, %s;\n", reg);
	else if (bits == 64)
		strbuf_printf(s, "mov.b64 %%w, %s;\n", reg);
	else
		strbuf_printf(s, "cvt.u64.u%u %%w, %s;\n", bits, reg);
	strbuf_printf(s, "st.global.b64 [%%to+%u], %%w;\n", at);
}

static void add_kernel(struct strbuf *s, const struct form *f, size_t number)
{
	const struct exact_insn *i = &f->insn;
	bool pair = f->row->operands[0] == 'P', carry = sets_carry(f);
	unsigned bits;

	strbuf_printf(s, ".visible .entry k%zu(.param .u64 in, .param .u64 out)\n{\n", number);
	strbuf_puts(s, ".reg .b64 %w, %at, %to;\n.reg .b32 %i, %j, %n, %c;\n.reg .pred %d2;\n"
		       "ld.param.u64 %at, [in];\nld.param.u64 %to, [out];\nmov.u32 %i, %tid.x;\n"
		       "mov.u32 %j, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %j, %n, %i;\n"
		       "mad.wide.u32 %at, %i, 32, %at;\nmad.wide.u32 %to, %i, 16, %to;\n");
	for (unsigned k = 0; k < i->n_src; k++) {
		operand_type(f, k + 1, &bits);
		load(s, bits, k);
	}
	if (carry)
		strbuf_printf(s,
			"ld.global.b64 %%w, [%%at+%u];\ncvt.u32.u64 %%c, %%w;\n"
			"and.b32 %%c, %%c, 1;\nadd.cc.u32 %%c, %%c, 0xffffffff;\n",
			8 * i->n_src);
	operand_type(f, 0, &bits);
	if (bits == 1)
		strbuf_puts(s, ".reg .pred %d;\n");
	else
		strbuf_printf(s, ".reg .b%u %%d;\n", bits);
	strbuf_printf(s, "%s %%d%s", i->text, pair ? "|%d2" : "");
	for (unsigned k = 0; k < i->n_src; k++)
		strbuf_printf(s, ", %%a%u", k);
	if (i->has_imm)
		strbuf_printf(s, ", %u", i->imm);
	strbuf_puts(s, ";\n");
	if (carry)
		strbuf_puts(s, "addc.u32 %c, 0, 0;\n");
	store(s, bits, "%d", 0);
	if (pair)
		store(s, 1, "%d2", 8);
	else if (carry)
		store(s, 32, "%c", 8);
	strbuf_puts(s, "ret;\n}\n");
}

/* ---- operands ---- */

static u64 rng(void)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static u64 special_float(const struct exact_type *t, unsigned k)
{
	u64 one = (u64)t->f_bias << t->fbits, unit = 1ull << t->fbits;
	u64 inf = (u64)(2 * t->f_bias + 1) << t->fbits, sign = 1ull << (t->bits - 1);
	const u64 all[SPECIAL] = {0, sign, one, sign | one, inf, sign | inf, inf | unit / 2,
		sign | inf | 1, 1, sign | (unit - 1), unit, sign | unit, inf - 1, sign | (inf - 1),
		one + unit / 2, one - 1};

	return all[k];
}

static u64 special_bits(unsigned bits, unsigned k)
{
	u64 top = 1ull << (bits - 1), all_set = exact_mask(bits);
	const u64 all[SPECIAL] = {0, 1, 2, 3, bits - 1, bits, bits + 1, 31 % bits, top, top - 1,
		top + 1, all_set, all_set - 1, 0x5555555555555555, all_set >> bits / 2,
		~(all_set >> bits / 2)};

	return all[k] & all_set;
}

/* Random ones in many magnitudes: floats near one, so that sums round, whole numbers of few bits,
 * and halfway between two; shift counts. */
static u64 random_float(const struct exact_type *t)
{
	u64 v = rng() & exact_mask(t->bits), kept;

	switch (rng() % 4) {
	case 0:
		return v;
	case 1:
		kept = v & ~(exact_mask(t->bits - 1) & ~exact_mask(t->fbits));
		return kept + ((u64)(t->f_bias - 6 + rng() % MIN(70u, t->f_bias)) << t->fbits);
	case 2:
		v &= ~exact_mask(t->fbits / 2 + (unsigned)(rng() % (t->fbits / 2)));
		return v;
	default:
		/* About as small as it gets. */
		return v & ~(exact_mask(t->bits - 1) & ~exact_mask(t->fbits + 2));
	}
}

static u64 random_bits_of(unsigned bits)
{
	u64 v = rng() & exact_mask(bits);

	return rng() & 1 ? v : v >> rng() % bits;
}

static u64 element(const struct exact_type *t, unsigned bits, unsigned k)
{
	if (t->kind == KIND_FLOAT)
		return k < SPECIAL ? special_float(t, k) : random_float(t);
	return k < SPECIAL ? special_bits(bits, k) : random_bits_of(bits);
}

static u64 operand(const struct form *f, unsigned source, unsigned k)
{
	unsigned bits;
	const struct exact_type *t = operand_type(f, source + 1, &bits);
	u64 v = 0;

	if (bits == 1)
		return rng() & 1;
	if (t->n == 1)
		return element(t, f->row->operands[source + 1] == 'W' ? bits : t->bits, k) |
		       /* What a wider register holds above counts for nothing. */
		       (t->bits == 8 ? rng() & 0xffffff00 : 0);
	for (unsigned j = 0; j < t->n; j++)
		v |= element(t, t->bits, j ? (unsigned)(rng() % SIDE) : k) << (t->bits * j);
	return v;
}

static void fill(const struct form *f, u64 *in)
{
	u64 value[SOURCES][SIDE];

	for (unsigned s = 0; s < SOURCES; s++)
		for (unsigned k = 0; k < SIDE; k++)
			value[s][k] = s < f->insn.n_src ? operand(f, s, k) : rng();
	for (unsigned k = 0; k < N; k++) {
		in[SOURCES * k] = value[0][k % SIDE];
		in[SOURCES * k + 1] = value[1][k / SIDE];
		for (unsigned s = 2; s < SOURCES; s++)
			in[SOURCES * k + s] = value[s][rng() % SIDE];
	}
	/* One operand: as many different ones. */
	for (unsigned k = SIDE; f->insn.n_src == 1 && k < N; k++)
		in[SOURCES * k] = operand(f, 0, SPECIAL);
}

/* ---- running ---- */

struct bench {
	struct vgpu_mem *mem;
	u64 in, out;
	unsigned known, wrong;
	VEC(vop_fn *) reached;
};

static bool knows(const struct vgpu_kernel *k, struct vprogram **ret)
{
	if (vgpu_program_of(k, ret) != 0)
		die("a kernel cannot be decoded");
	const struct vfunc *fn = &(*ret)->funcs[0];
	for (uint32_t i = 0; i < fn->n_code; i++)
		if (fn->code[i].fn == vop_unknown)
			return false;
	return true;
}

static void compare(struct bench *b, const struct form *f)
{
	const u64 *in = (const u64 *)(uintptr_t)b->in, *out = (const u64 *)(uintptr_t)b->out;
	unsigned wrong = 0;

	for (unsigned k = 0; k < N; k++) {
		u64 want[2] = {0, 0};
		const u64 *v = &in[SOURCES * k], *got = &out[2 * k];
		if (!f->row->ref(&f->insn, v, want) || (got[0] == want[0] && (got[1] == want[1])))
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

static void run(struct bench *b, struct form *f, const struct vgpu_kernel *k)
{
	u64 params[2] = {b->in, b->out};
	struct vgpu_launch l = {.kernel = k,
		.grid = {N / THREADS, 1, 1},
		.block = {THREADS, 1, 1},
		.params = params,
		.n_sms = 1};
	struct vprogram *p;
	struct grid_result g;

	f->known = knows(k, &p);
	if (!f->known)
		return;
	b->known++;
	for (uint32_t i = 0; i < p->funcs[0].n_code; i++)
		(void)VEC_PUSH(&b->reached, p->funcs[0].code[i].fn);
	fill(f, (u64 *)(uintptr_t)b->in);
	memset((void *)(uintptr_t)b->out, 0, N * 16);
	if (vgpu_run_grid(&l, 100000, 0, &g) != 0) {
		printf("%s: %s\n", f->insn.text, g.fault.message);
		b->wrong++;
		return;
	}
	compare(b, f);
}

#define HEAD ".version 9.0\n.target sm_100\n.address_size 64\n"

/* NULL: the parser does not take it. */
static struct vgpu_module *load_module(struct bench *b, const struct strbuf *s)
{
	static struct diag_list diags;
	struct vgpu_module *m = NULL;
	struct arena a;

	arena_init(&a, 0);
	diag_init(&diags, &a, "forms", s->at, s->len);
	if (vgpu_module_load(b->mem, s->at, s->len, &diags, &m) != 0)
		m = NULL;
	arena_finish(&a);
	return m;
}

static void run_batch(struct bench *b, size_t first, size_t n)
{
	struct strbuf s = {0};
	char name[24];

	strbuf_puts(&s, HEAD);
	for (size_t i = 0; i < n; i++)
		add_kernel(&s, &forms.at[first + i], i);
	struct vgpu_module *m = load_module(b, &s);
	if (!m)
		die(s.at);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "k%zu", i);
		run(b, &forms.at[first + i], vgpu_module_kernel(m, name));
	}
	vgpu_module_free(m);
	strbuf_finish(&s);
}

/* ---- nothing is left out ---- */

extern const struct vop_entry vgpu_vec_int_base[], vgpu_vec_float_base[], vgpu_vec_cmp_base[],
	vgpu_vec_cvt_base[], vgpu_vec_half_base[];

static bool is_reached(const struct bench *b, vop_fn *fn)
{
	for (size_t i = 0; i < b->reached.len; i++)
		if (b->reached.at[i] == fn)
			return true;
	return false;
}

static unsigned missing_handlers(const struct bench *b)
{
	static const struct vop_entry *const tables[] = {vgpu_vec_int_base, vgpu_vec_float_base,
		vgpu_vec_cmp_base, vgpu_vec_cvt_base, vgpu_vec_half_base};
	unsigned missing = 0;

	for (size_t k = 0; k < ARRAY_LEN(tables); k++)
		for (const struct vop_entry *e = tables[k]; e->key; e++) {
			if (!strncmp(e->key, "rsqrt_", 6) || is_reached(b, vgpu_vec_find(e->key)))
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

/* An operation without a form may not be known in any: with each type, once and twice, and one to
 * four operands. */
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
			struct vgpu_module *m = load_module(b, &s);
			if (m)
				found += knows(vgpu_module_kernel(m, "k"), &p);
			vgpu_module_free(m);
			strbuf_finish(&s);
		}
	if (found)
		printf("%s is known, and no form of it is here\n", op);
	return found;
}

/* Those that have nothing but operands: ops.def. */
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

int main(int argc, char **argv)
{
	struct bench b = {0};

	if (argc > 1 && !strcmp(argv[1], "plain"))
		vgpu_vec_plain();
	expand_all();
	exact_float_init();
	if (vgpu_mem_create(1 << 28, &b.mem) != 0 ||
		vgpu_mem_alloc(b.mem, N * SOURCES * 8, &b.in) != 0 ||
		vgpu_mem_alloc(b.mem, N * 16, &b.out) != 0)
		die("out of memory");
	for (size_t i = 0; i < forms.len; i += BATCH)
		run_batch(&b, i, MIN(BATCH, forms.len - i));
	unsigned missing = missing_handlers(&b) + missing_operations(&b);
	if (argc > 1 && !strcmp(argv[1], "list"))
		for (size_t i = 0; i < forms.len; i++)
			if (!forms.at[i].known)
				printf("not known: %s\n", forms.at[i].insn.text);
	printf("%zu forms, %u known, %u of them wrong, %u without a form\n", forms.len, b.known,
		b.wrong, missing);
	VEC_FREE(&forms);
	VEC_FREE(&b.reached);
	vgpu_mem_destroy(b.mem);
	exact_float_finish();
	return b.wrong || missing;
}
