/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The name table with its scopes, shared by the parser, by passes that add code, and by the
 * checker.
 *
 * One hash lookup an identifier: every distinct text of a module (names, numbers, register
 * prefixes) has one struct ptx_name, which holds what the text means right now. Opening a scope
 * marks the undo log, closing it restores what the scope's declarations hid. */
#ifndef HEDDLE_PTX_NAMES_H
#define HEDDLE_PTX_NAMES_H

#include "ptx/ptx.h"

enum ptx_number_kind { PTX_NUM_UNREAD, PTX_NUM_NONE, PTX_NUM_INT, PTX_NUM_FLOAT };

struct ptx_name {
	const char *text; /* interned in the module's table */
	uint32_t len, hash;
	struct ptx_sym *local;  /* innermost meaning inside the function being read */
	struct ptx_sym *global; /* meaning at module level */
	struct ptx_sym *family; /* innermost register family with this prefix */
	bool has_singles;       /* a single register was named so plus digits: look twice */
	uint8_t number;         /* enum ptx_number_kind; value is read once per distinct text */
	uint8_t special;        /* enum ptx_special + 1; 0: not looked up yet */
	uint64_t value;
};

struct ptx_undo {
	struct ptx_name *name;
	struct ptx_sym *hidden;
	bool family;
};

/* Prefixes of register families are few and short: found by their bytes. */
struct ptx_prefix_slot {
	uint64_t key;
	struct ptx_name *name;
};

struct ptx_scope {
	struct ptx_name **slots;
	size_t len, cap;
	VEC(struct ptx_undo) undo;
	VEC(size_t) marks; /* undo.len at each open scope */
	VEC(uint32_t) ids; /* number of each open scope */
	uint32_t last_id;
	VEC(struct ptx_opd *) fixups; /* operands that name labels not placed yet */
	struct ptx_func *bound;       /* whose outermost scope is open */
	struct ptx_prefix_slot prefixes[64];
	bool plain_families; /* a family without '%' exists: try every identifier */
	bool digit_families; /* a family whose prefix ends in a digit exists: try all splits */
};

int ptx_names_init(struct ptx_module *m);
void ptx_names_free(struct ptx_module *m);
uint32_t ptx_hash(const char *s, size_t len); /* eight bytes behind s + len must be readable */
/* NULL: out of memory. */
struct ptx_name *ptx_name_get(struct ptx_module *m, const char *s, size_t len);
struct ptx_name *ptx_name_from(struct ptx_module *m, const char *name); /* needs no padding */
struct ptx_sym *ptx_sym_new(struct ptx_module *m, enum ptx_sym_kind kind, const struct ptx_name *n);
int ptx_scope_open(struct ptx_scope *sc);
/* Labels of the closed scope that have no place go to the one outside, and to f's symbols when that
 * is its outermost. */
int ptx_scope_close(struct ptx_scope *sc, struct ptx_func *f);
uint32_t ptx_scope_id(const struct ptx_scope *sc);
/* -EEXIST: the innermost scope has it already; -ENOMEM. */
int ptx_bind(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_family(struct ptx_scope *sc, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_reg(struct ptx_module *m, struct ptx_name *n, struct ptx_sym *sym);
int ptx_bind_again(struct ptx_module *m, struct ptx_sym *sym);
int ptx_bind_outermost(struct ptx_module *m, struct ptx_sym *sym);
int ptx_bind_func(struct ptx_module *m, struct ptx_func *f); /* opens f's outermost scope */
void ptx_unbind_func(struct ptx_module *m);
bool ptx_find_reg(struct ptx_module *m, const char *s, size_t len, uint32_t *ret_reg);
int ptx_declare_regs(struct ptx_module *m, struct ptx_func *f, struct ptx_sym *sym);

#endif
