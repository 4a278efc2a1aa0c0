/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Splits mnemonics into parts. This runs once per distinct mnemonic of a module, so it compares
 * strings and is not optimized. ops.def describes each operation; the parts after the operation's
 * name (".volatile", ".sync", the "red" of "bar.red") refine this description here. */
#include "ptx/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Abbreviations used in ops.def. */
enum {
	RD = PTX_F_READS_MEM,
	WR = PTX_F_WRITES_MEM,
	ATOMIC = PTX_F_ATOMIC | PTX_F_VOLATILE | PTX_F_SIDE_EFFECT,
	VOLAT = PTX_F_VOLATILE,
	FENCE = PTX_F_FENCE,
	ASYNC = PTX_F_ASYNC,
	GRID = PTX_F_GRID,
	SIDE = PTX_F_SIDE_EFFECT,
	CONV = PTX_F_CONVERGENT,
	WSYNC = PTX_F_WARP_SYNC,
	BARRIER = PTX_F_BARRIER,
	BRANCH = PTX_F_BRANCH,
	EXIT = PTX_F_EXIT,
	CALL = PTX_F_CALL,
	ALU = PTX_UNIT_ALU,
	FMA = PTX_UNIT_FMA,
	SFU = PTX_UNIT_SFU,
	DIV = PTX_UNIT_DIV,
	CVT = PTX_UNIT_CVT,
	VIDEO = PTX_UNIT_VIDEO,
	LSU = PTX_UNIT_LSU,
	TEX = PTX_UNIT_TEX,
	TENSOR = PTX_UNIT_TENSOR,
	WARP = PTX_UNIT_WARP,
	CTL = PTX_UNIT_CTL,
};

const struct ptx_op_info ptx_ops[PTX_OP_COUNT] = {
	{"", "", PTX_UNIT_NONE, PTX_F_UNKNOWN | PTX_F_SIDE_EFFECT},
#define OP(name, shape, unit, flags) {#name, shape, unit, flags},
#include "ptx/ops.def"
#undef OP
};

/* Type names, indexed by enum ptx_base_type. They are padded with zeros so that one comparison
 * covers all eight bytes. */
static const char type_names[PTX_OTHER_TYPE][8] = {[PTX_U8] = "u8",
	[PTX_U16] = "u16",
	[PTX_U32] = "u32",
	[PTX_U64] = "u64",
	[PTX_S8] = "s8",
	[PTX_S16] = "s16",
	[PTX_S32] = "s32",
	[PTX_S64] = "s64",
	[PTX_B8] = "b8",
	[PTX_B16] = "b16",
	[PTX_B32] = "b32",
	[PTX_B64] = "b64",
	[PTX_B128] = "b128",
	[PTX_F16] = "f16",
	[PTX_F16X2] = "f16x2",
	[PTX_BF16] = "bf16",
	[PTX_BF16X2] = "bf16x2",
	[PTX_TF32] = "tf32",
	[PTX_F32] = "f32",
	[PTX_F64] = "f64",
	[PTX_PRED] = "pred"};

const char *ptx_type_name(unsigned base)
{
	return base < ARRAY_LEN(type_names) ? type_names[base] : "";
}

/* These names are separate, because they are longer than eight characters. */
static const char *const handle_types[] = {"samplerref", "texref", "surfref"};
static const char other_types[][8] = {"e4m3", "e5m2", "e4m3x2", "e5m2x2", "e4m3x4", "e5m2x4",
	"e2m1", "e2m3", "e3m2", "e2m1x2", "e2m3x2", "e3m2x2", "e2m1x4", "e2m3x4", "e3m2x4", "ue4m3",
	"ue8m0", "ue8m0x2", "u16x2", "s16x2", "u8x4", "s8x4", "f32x2", "b1", "b4", "s4", "u4", "b6",
	"u2", "s2", "f8x4", "u24", "s24"};

uint8_t ptx_type_from_name(const char *s, size_t len)
{
	char key[8] = {0};

	for (size_t i = 0; i < ARRAY_LEN(handle_types); i++)
		if (strlen(handle_types[i]) == len && !memcmp(handle_types[i], s, len))
			return PTX_OTHER_TYPE;
	if (len >= sizeof(key))
		return PTX_NOTYPE;
	memcpy(key, s, len);
	for (size_t i = PTX_NOTYPE + 1; i < ARRAY_LEN(type_names); i++)
		if (!memcmp(type_names[i], key, sizeof(key)))
			return (uint8_t)i;
	for (size_t i = 0; i < ARRAY_LEN(other_types); i++)
		if (!memcmp(other_types[i], key, sizeof(key)))
			return PTX_OTHER_TYPE;
	return PTX_NOTYPE;
}

bool ptx_is_plain_integer(uint8_t base)
{
	switch (base) {
	case PTX_U32:
	case PTX_S32:
	case PTX_B32:
	case PTX_U64:
	case PTX_S64:
	case PTX_B64:
		return true;
	default:
		return false;
	}
}

unsigned ptx_type_bytes(uint8_t base)
{
	static const uint8_t bytes[] = {[PTX_U8] = 1,
		[PTX_U16] = 2,
		[PTX_U32] = 4,
		[PTX_U64] = 8,
		[PTX_S8] = 1,
		[PTX_S16] = 2,
		[PTX_S32] = 4,
		[PTX_S64] = 8,
		[PTX_B8] = 1,
		[PTX_B16] = 2,
		[PTX_B32] = 4,
		[PTX_B64] = 8,
		[PTX_B128] = 16,
		[PTX_F16] = 2,
		[PTX_F16X2] = 4,
		[PTX_BF16] = 2,
		[PTX_BF16X2] = 4,
		[PTX_TF32] = 4,
		[PTX_F32] = 4,
		[PTX_F64] = 8};

	return base < ARRAY_LEN(bytes) ? bytes[base] : 0;
}

/* Returns the length of a mnemonic's part, without "::" and what follows. */
static size_t stem_len(const char *part)
{
	const char *s = part;

	while (*s && !(s[0] == ':' && s[1] == ':'))
		s++;
	return (size_t)(s - part);
}

static bool stem_is(const char *part, const char *word)
{
	size_t n;

	if (part[0] != word[0])
		return false;
	n = strlen(word);
	return !strncmp(part, word, n) && (part[n] == 0 || part[n] == ':');
}

static bool part_is(const char *part, const char *word)
{
	return part[0] == word[0] && !strcmp(part, word);
}

/* Returns how many leading parts of the mnemonic the operation's name matches, or 0 if the mnemonic
 * is another operation. */
static unsigned match_op(const char *name, const char *first, const struct ptx_mnem *mn)
{
	const char *part = first;
	unsigned parts = 0;

	for (;;) {
		size_t n = stem_len(part);

		if (strncmp(name, part, n) != 0)
			return 0;
		name += n;
		parts++;
		if (*name == 0)
			return parts;
		if (*name++ != '_' || parts > mn->n_mods)
			return 0;
		part = mn->mods[parts - 1];
	}
}

static unsigned op_bucket(const char *name)
{
	return (unsigned)(name[0] * 5 + name[1]) % PTX_OP_BUCKETS;
}

void ptx_ops_init(struct ptx_scope *sc)
{
	_Static_assert(PTX_OP_COUNT <= UINT8_MAX, "operations are numbered in bytes");
	for (unsigned i = PTX_OP_COUNT - 1; i > 0; i--) {
		unsigned b = op_bucket(ptx_ops[i].name);

		sc->op_next[i] = sc->op_first[b];
		sc->op_first[b] = (uint8_t)i;
	}
}

static enum ptx_op find_op(const struct ptx_scope *sc, const char *first, const struct ptx_mnem *mn)
{
	unsigned best = 0;
	enum ptx_op op = PTX_OP_RAW;

	for (unsigned i = *first ? sc->op_first[op_bucket(first)] : 0; i; i = sc->op_next[i]) {
		unsigned n = match_op(ptx_ops[i].name, first, mn);

		if (n > best) {
			best = n;
			op = (enum ptx_op)i;
		}
	}
	return op;
}

static uint8_t space_from_part(const char *part)
{
	static const struct {
		const char *name;
		uint8_t space;
	} spaces[] = {{"global", PTX_GLOBAL}, {"shared", PTX_SHARED}, {"local", PTX_LOCAL},
		{"const", PTX_CONST}, {"param", PTX_PARAM}};

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
		if (stem_is(part, spaces[i].name))
			return spaces[i].space;
	return PTX_GENERIC;
}

static uint8_t cmp_from_part(const char *part)
{
	static const char *const names[] = {"", "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls",
		"hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

	for (unsigned i = 1; i < ARRAY_LEN(names); i++)
		if (part_is(part, names[i]))
			return (uint8_t)i;
	return PTX_CMP_NONE;
}

static bool op_compares(unsigned op)
{
	return op == PTX_OP_set || op == PTX_OP_setp || op == PTX_OP_vset || op == PTX_OP_vset2 ||
	       op == PTX_OP_vset4;
}

/* Returns the type that a part of a mnemonic names, such as "u32". `part` has to be the text of a
 * struct ptx_name of the module (split() guarantees this). That struct caches the type. */
static uint8_t type_from_part(const char *part)
{
	struct ptx_name *n = CONTAINER_OF(part, struct ptx_name, text);

	if (!n->type)
		n->type = (uint8_t)(1 + ptx_type_from_name(part, n->len));
	return n->type - 1;
}

static void note_part(struct ptx_mnem *mn, const char *part)
{
	uint8_t type = type_from_part(part);
	uint8_t space = space_from_part(part);

	if (type != PTX_NOTYPE && mn->n_types < ARRAY_LEN(mn->type))
		mn->type[mn->n_types++] = type;
	else if (space != PTX_GENERIC && mn->space == PTX_GENERIC)
		mn->space = space;
	else if (part[0] == 'v' && part[1] >= '2' && part[1] <= '8' && part[2] == 0)
		mn->vec = (uint8_t)(part[1] - '0');
	else if (op_compares(mn->op) && mn->cmp == PTX_CMP_NONE)
		mn->cmp = cmp_from_part(part);
}

/* Returns the flags that one part of a mnemonic adds to those of its op. */
static uint32_t part_flags(unsigned op, const char *part)
{
	static const char *const ordered[] = {
		"volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"};
	bool block_barrier = op == PTX_OP_bar || op == PTX_OP_barrier;
	uint32_t memory = ptx_ops[op].flags & (RD | WR);

	if (stem_is(part, "sync") && !block_barrier && op != PTX_OP_fence)
		return CONV | WSYNC;
	if (part_is(part, "aligned"))
		return CONV;
	if (part_is(part, "cc"))
		return PTX_F_WRITES_CC;
	if (stem_is(part, "multicast"))
		return GRID;
	for (size_t i = 0; memory && i < ARRAY_LEN(ordered); i++)
		if (part_is(part, ordered[i]))
			return VOLAT | SIDE;
	return 0;
}

/* Returns the unit that executes the instruction. The type decides for floating-point arithmetic,
 * but not for mov and selp. */
static uint8_t unit_of(const struct ptx_mnem *mn)
{
	uint8_t unit = ptx_ops[mn->op].unit;

	if ((unit != PTX_UNIT_ALU && unit != PTX_UNIT_FMA) || !mn->n_types ||
		mn->op == PTX_OP_mov || mn->op == PTX_OP_selp)
		return unit;
	switch (mn->type[mn->n_types - 1]) {
	case PTX_F16:
	case PTX_F16X2:
	case PTX_BF16:
	case PTX_BF16X2:
		return PTX_UNIT_HALF;
	case PTX_F64:
		return PTX_UNIT_DOUBLE;
	case PTX_F32:
		return mn->op == PTX_OP_add || mn->op == PTX_OP_sub ? PTX_UNIT_FMA : unit;
	default:
		return unit;
	}
}

static void refine(struct ptx_mnem *mn)
{
	mn->shape = ptx_ops[mn->op].shape;
	mn->flags = ptx_ops[mn->op].flags;
	for (unsigned i = 0; i < mn->n_mods; i++) {
		note_part(mn, mn->mods[i]);
		mn->flags |= part_flags(mn->op, mn->mods[i]);
	}
	mn->unit = unit_of(mn);
	switch (mn->op) {
	case PTX_OP_bar:
	case PTX_OP_barrier:
		if (ptx_has_mod(mn, "red"))
			mn->shape = "dss?s";
		break;
	case PTX_OP_addc:
	case PTX_OP_subc:
	case PTX_OP_madc:
		mn->flags |= PTX_F_READS_CC;
		break;
	case PTX_OP_tex:
	case PTX_OP_tld4:
	case PTX_OP_txq:
	case PTX_OP_suld:
	case PTX_OP_sust:
	case PTX_OP_sured:
	case PTX_OP_suq:
		mn->space = PTX_TEX;
		break;
	case PTX_OP_ld:
		/* A volatile load must not be moved or removed, because other threads can change
		 * the data. */
		if (mn->flags & PTX_F_VOLATILE)
			mn->flags |= SIDE;
		break;
	default:
		break;
	}
	for (const char *p = mn->shape; *p; p++)
		mn->n_needed += *p != '?' && p[1] != '?';
	if (mn->op != PTX_OP_RAW && mn->shape[0] != 'd' && mn->shape[0] != 'b')
		mn->flags |= PTX_F_NO_DEST;
}

bool ptx_has_mod(const struct ptx_mnem *mn, const char *mod)
{
	for (unsigned i = 0; i < mn->n_mods; i++)
		if (!strcmp(mn->mods[i], mod))
			return true;
	return false;
}

/* Splits a mnemonic at single dots (not at "::"). Each part becomes an interned name of the
 * module. */
static int split(struct ptx_module *m, struct ptx_mnem *mn, const char *s, const char **ret_first)
{
	const char *end = s + mn->text_len;

	*ret_first = "";
	while (s < end) {
		const char *dot = memchr(s, '.', (size_t)(end - s));
		const char *stop = dot ? dot : end;
		const struct ptx_name *part = ptx_name_get(m, s, (size_t)(stop - s));

		if (!part)
			return -ENOMEM;
		if (!**ret_first)
			*ret_first = part->text;
		else if (mn->n_mods < ARRAY_LEN(mn->mods))
			mn->mods[mn->n_mods++] = part->text;
		s = stop + 1;
	}
	return 0;
}

static const struct ptx_mnem *make_mnem(
	struct ptx_module *m, const struct ptx_name *n, const char *s)
{
	struct ptx_mnem *mn = ARENA_NEW(&m->arena, struct ptx_mnem);
	const char *first;

	if (!mn)
		return NULL;
	mn->text = n->text;
	mn->text_len = n->len;
	mn->vec = 1;
	if (split(m, mn, s, &first) < 0)
		return NULL;
	mn->op = find_op(m->globals, first, mn);
	refine(mn);
	return mn;
}

const struct ptx_mnem *ptx_mnem_for(struct ptx_module *m, const char *s, size_t len)
{
	struct ptx_name *n = ptx_name_get(m, s, len);

	if (n && !n->mnem)
		n->mnem = make_mnem(m, n, s);
	return n ? n->mnem : NULL;
}

const struct ptx_mnem *ptx_get_mnem(struct ptx_module *m, const char *text)
{
	size_t len = strlen(text);
	char *padded = arena_alloc(&m->arena, len + 16);

	if (!padded)
		return NULL;
	memcpy(padded, text, len + 1);
	return ptx_mnem_for(m, padded, len);
}
