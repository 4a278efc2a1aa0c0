/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A module as it was decoded from a cubin (cubin.c) and from nvdisasm's listing of it (listing.c,
 * decode.c), by way of ptxas (compile.c). It is only read once it is there, by as many threads as
 * run blocks of it. Addresses of code are indices of instructions. */
#ifndef HEDDLE_TEST_SASS_CODE_H
#define HEDDLE_TEST_SASS_CODE_H

#include "insn.h"

struct sass_x;
struct sass_insn;
/* What follows an instruction. */
enum sass_next {
	N_NEXT, /* the next instruction, by all lanes */
	N_SET,  /* x->part (if any is left of it) is placed already, and goes on */
	N_WAIT, /* the part waits, or is gone, or gives its turn away: another one is chosen */
};
typedef enum sass_next sass_fn(struct sass_x *x, const struct sass_insn *in);

struct sass_insn {
	sass_fn *fn; /* NULL: not known */
	uint64_t mods[3];
	uint8_t guard, n; /* guard: a predicate's number */
	bool guard_uniform, guard_not;
	uint8_t n_pred_out; /* leading predicates of the results behind the first one */
	uint8_t op;         /* the row's own number */
	uint32_t at;        /* offset in its section */
	uint32_t section;
	struct sass_opd o[MAX_OPD];
	const char *text;
};

static inline bool has(const struct sass_insn *in, enum sass_mod m)
{
	return in->mods[m / 64] >> m % 64 & 1;
}

struct sass_symbol {
	const char *name;
	uint64_t value, size;
	uint16_t section;
	uint8_t type;
};

struct sass_section {
	const char *name;
	uint32_t first, n; /* instructions */
};

struct sass_reloc {
	uint32_t section; /* that is changed */
	uint64_t offset;
	const char *symbol;
	int64_t addend;
};

struct sass_elf_section {
	const char *name;
	const uint8_t *at; /* NULL: NOBITS */
	uint64_t size;
	uint32_t info;
};

struct sass_code {
	char *listing;  /* its text, cut into words */
	uint8_t *cubin; /* the file */
	size_t cubin_len;
	struct sass_insn *insns;
	uint32_t n_insns, cap_insns;
	struct sass_section *sections;
	uint32_t n_sections, cap_sections;
	struct sass_symbol *labels; /* of the listing: value: address of code */
	uint32_t n_labels, cap_labels;
	struct sass_elf_section *elf;
	uint32_t n_elf;
	struct sass_symbol *symbols;
	uint32_t n_symbols;
	struct sass_reloc *relocs;
	uint32_t n_relocs, cap_relocs;
};

/* listing.c: 0, -EINVAL with *ret_why, -ENOMEM. Takes the text over. */
int sass_listing_parse(struct sass_code *c, char *text, const char **ret_why);
int64_t sass_label(const struct sass_code *c, const char *name); /* -1: none */
/* decode.c: one instruction's text, without its address and semicolon; may write to it. in->fn
 * stays NULL for what is not known. */
void sass_decode(struct sass_code *c, struct sass_insn *in, char *text);
/* cubin.c */
int sass_cubin_parse(struct sass_code *c, const uint8_t *at, size_t len);
uint32_t sass_cubin_stack(const struct sass_code *c);
const struct sass_elf_section *sass_elf_section(const struct sass_code *c, const char *name);
/* compile.c: PTX to code, by ptxas and nvdisasm; *ret_why is what they said (static storage). */
int sass_compile(const char *ptx, size_t len, struct sass_code **ret, const char **ret_why);
void sass_code_free(struct sass_code *c);

#endif
