/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The name table and its scopes. The parser, the passes that add code and the checker share it.
 *
 * Every distinct text of a module (names, numbers, mnemonics and their parts) has one struct
 * ptx_name, so an identifier costs one hash lookup. The struct holds the current meaning of the
 * text. An undo log records what each declaration hides, and closing a scope restores it. */
#ifndef HEDDLE_PTX_NAMES_H
#define HEDDLE_PTX_NAMES_H

#include "ptx/eight.h"
#include "ptx/ptx.h"

struct ptx_name {
	uint32_t len, hash;
	/* symbol that the name means in the innermost scope of the current function */
	struct ptx_sym *local;
	struct ptx_sym *global; /* symbol that the name means at module level */
	struct ptx_sym *family; /* innermost register family that has this name as prefix */
	/* true if a single register has a name that consists of this name and digits ("%r7" beside
	 * the family "%r"). Lookups then try single registers too, not only the family. */
	bool has_singles;
	uint8_t number;  /* enum ptx_number_kind, determined once for each distinct text */
	uint8_t special; /* enum ptx_special plus 1; 0: not looked up yet */
	/* for a name that is part of a mnemonic: enum ptx_base_type + 1; 0: not looked up yet */
	uint8_t type;
	uint64_t value;
	const struct ptx_mnem *mnem; /* mnemonic with this text; NULL: not parsed yet */
	char text[];                 /* the text, stored once per module */
};

struct ptx_undo {
	struct ptx_name *name;
	struct ptx_sym *hidden;
	bool family;
};

/* One entry of a small hash table of register prefixes ("%rd") and of single registers without
 * digits ("%SP"). Nearly all such names have at most PTX_PREFIX_MAX characters, so the characters
 * themselves are the 64-bit key of the entry. */
struct ptx_prefix_entry {
	uint64_t key;
	struct ptx_name *name;
};
#define PTX_PREFIX_MAX 7
static inline unsigned ptx_prefix_entry(uint64_t key)
{
	return (unsigned)(key * 0x9e3779b97f4a7c15u >> 58);
}

/* One entry of a small hash table of the mnemonics seen so far, keyed by their characters. It holds
 * only mnemonics of known operations. */
struct ptx_mnem_entry {
	uint64_t key[2];
	const struct ptx_mnem *mnem;
};
static inline unsigned ptx_mnem_entry(const uint64_t key[2])
{
	return (unsigned)((key[0] ^ key[1] * 0xff51afd7ed558ccdu) * 0x9e3779b97f4a7c15u >> 56);
}

#define PTX_OP_BUCKETS 64

struct ptx_scope {
	struct ptx_name **entries;
	size_t len, cap;
	VEC(struct ptx_undo) undo;
	VEC(size_t) marks; /* for each open scope: undo.len when it was opened */
	VEC(uint32_t) ids; /* for each open scope: its number */
	uint32_t last_id;
	/* operands that name labels whose definition has not been read yet */
	VEC(struct ptx_opd *) fixups;
	struct ptx_func *bound; /* function whose outermost scope is open; NULL: none */
	struct ptx_prefix_entry prefixes[64];
	struct ptx_mnem_entry mnems[256];
	/* first operation in each bucket (hash of a name's beginning) */
	uint8_t op_first[PTX_OP_BUCKETS];
	uint8_t op_next[PTX_OP_COUNT]; /* next operation in the same bucket; 0: none */
	struct ptx_opd *opds;          /* free memory for the operands of later statements */
	size_t opds_left;
	/* true if a register family without '%' exists, so every identifier can be a register */
	bool plain_families;
	/* `fresh` of the module is greater than every tag (tag.c) among its names */
	bool knows_tags;
	/* true if a family whose prefix ends in a digit exists, so lookups try every split of the
	 * name */
	bool digit_families;
};

void ptx_func_finish(struct ptx_func *f); /* frees the vectors; the arena owns everything else */
int ptx_names_init(struct ptx_module *m);
void ptx_ops_init(struct ptx_scope *sc); /* in mnem.c */
void ptx_names_free(struct ptx_module *m);
/* The functions below read up to eight bytes past the end of a text. Both the parser's copy of the
 * source and the text in the module's arena have this padding. */
static inline uint64_t ptx_hash_eight(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}
/* Finishes a hash: w contains the last 0 to 7 characters, and the mask `below` selects them. */
static inline uint32_t ptx_hash_end(uint64_t h, uint64_t w, uint64_t below, size_t len)
{
	return (uint32_t)(((h ^ (w & below)) + len) * 0xc4ceb9fe1a85ec53u >> 32);
}
static inline uint32_t ptx_hash(const char *s, size_t len)
{
	uint64_t h = 0;
	size_t left = len;

	for (; left >= 8; left -= 8, s += 8)
		h = ptx_hash_eight(h, ptx_eight(s));
	return ptx_hash_end(h, ptx_eight(s), ((uint64_t)1 << 8 * left) - 1, len);
}
static inline bool ptx_same_text(const char *a, const char *b, size_t len)
{
	for (; len >= 8; len -= 8, a += 8, b += 8)
		if (ptx_eight(a) != ptx_eight(b))
			return false;
	return len == 0 || (ptx_eight(a) ^ ptx_eight(b)) << (64 - 8 * len) == 0;
}
/* Returns NULL if out of memory. */
struct ptx_name *ptx_name_hashed(struct ptx_module *m, const char *s, size_t len, uint32_t hash);
static inline struct ptx_name *ptx_name_get(struct ptx_module *m, const char *s, size_t len)
{
	return ptx_name_hashed(m, s, len, ptx_hash(s, len));
}
struct ptx_name *ptx_name_from(struct ptx_module *m, const char *name); /* name needs no padding */
/* Looks up a name without adding it. Returns NULL if the module does not contain the name. */
struct ptx_name *ptx_name_if_known(const struct ptx_module *m, const char *s, size_t len);
struct ptx_sym *ptx_sym_new(struct ptx_module *m, enum ptx_sym_kind kind, const struct ptx_name *n);
int ptx_scope_open(struct ptx_scope *sc);
/* Closes the innermost scope. Labels that are not placed yet move to the enclosing scope, and into
 * f's symbols if that is f's outermost scope. */
int ptx_scope_close(struct ptx_scope *sc, struct ptx_func *f);
uint32_t ptx_scope_id(const struct ptx_scope *sc);
/* Binds a name in the innermost scope. Returns -EEXIST if that scope has it already, or -ENOMEM. */
int ptx_bind(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_reg(struct ptx_module *m, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_outermost(struct ptx_module *m, struct ptx_sym *sym);
int ptx_bind_func(struct ptx_module *m, struct ptx_func *f); /* opens the outermost scope of f */
void ptx_unbind_func(struct ptx_module *m);
bool ptx_find_reg(struct ptx_module *m, const char *s, size_t len, uint32_t *ret_reg);
int ptx_declare_regs(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);

#endif
