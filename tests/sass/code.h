/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A module, decoded from a cubin (cubin.c) and nvdisasm's listing of it (listing.c, decode.c),
 * which ptxas made (compile.c). After decoding it is read-only, and any number of threads may
 * run its blocks. Code addresses are instruction indices. */
#ifndef HEDDLE_TEST_SASS_CODE_H
#define HEDDLE_TEST_SASS_CODE_H

#include "insn.h"

struct sass_x;
struct sass_insn;
/* What happens after an instruction. */
enum sass_next {
	N_NEXT, /* all lanes run the next instruction */
	/* the instruction has already set where x->part continues (if x->part has lanes left), so
	 * nothing advances it to the next instruction */
	N_SET,
	N_WAIT, /* the part waits, is gone, or yields its turn: another one is chosen */
};
typedef enum sass_next sass_fn(struct sass_x *x, const struct sass_insn *in);

struct sass_insn {
	sass_fn *fn; /* NULL if unknown */
	uint64_t mods[3];
	uint8_t guard, n; /* guard: number of the predicate */
	bool guard_uniform, guard_not;
	uint8_t n_pred_out; /* number of leading predicate results after the first result */
	uint8_t op;         /* argument from ops.def's row */
	uint32_t at;        /* offset in the section */
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
	uint32_t first, n; /* range of instructions */
};

struct sass_reloc {
	uint32_t section; /* section to which it applies */
	uint64_t offset;
	const char *symbol;
	int64_t addend;
};

struct sass_elf_section {
	const char *name;
	const uint8_t *at; /* NULL for SHT_NOBITS */
	uint64_t size;
	uint32_t info;
};

struct sass_code {
	char *listing;  /* the text, split into words */
	uint8_t *cubin; /* the whole file */
	size_t cubin_len;
	struct sass_insn *insns;
	uint32_t n_insns, cap_insns;
	struct sass_section *sections;
	uint32_t n_sections, cap_sections;
	struct sass_symbol *labels; /* of the listing; value: a code address */
	uint32_t n_labels, cap_labels;
	struct sass_elf_section *elf;
	uint32_t n_elf;
	struct sass_symbol *symbols;
	uint32_t n_symbols;
	struct sass_reloc *relocs;
	uint32_t n_relocs, cap_relocs;
};

/* listing.c: returns 0, -EINVAL with *ret_why, or -ENOMEM. Takes ownership of the text. */
int sass_listing_parse(struct sass_code *c, char *text, const char **ret_why);
int64_t sass_label(const struct sass_code *c, const char *name); /* -1 if unknown */
/* decode.c: decodes one instruction's text, without its address and semicolon, and may overwrite
 * the text. in->fn stays NULL for an unknown instruction. */
void sass_decode(struct sass_code *c, struct sass_insn *in, char *text);
/* Defined in cubin.c. */
int sass_cubin_parse(struct sass_code *c, const uint8_t *at, size_t len);
uint32_t sass_cubin_stack(const struct sass_code *c);
const struct sass_elf_section *sass_elf_section(const struct sass_code *c, const char *name);
/* compile.c: compiles PTX with ptxas and nvdisasm; *ret_why is their error message (static
 * storage). */
int sass_compile(const char *ptx, size_t len, struct sass_code **ret, const char **ret_why);
void sass_code_free(struct sass_code *c);

#endif
