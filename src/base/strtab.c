/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Interned strings: an open-addressing table of slots over text that lives in the arena.
 * The table is at most half full and never shrinks; text is stored once, with a NUL behind it. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

struct str_slot {
	const char *text; /* NULL: free */
	size_t len;
	uint64_t hash;
};

void strtab_init(struct strtab *t, struct arena *a)
{
	*t = (struct strtab){.arena = a};
}

void strtab_finish(struct strtab *t)
{
	free(t->slots);
	*t = (struct strtab){.arena = t->arena};
}

/* The slot that holds the text, or the free one where it belongs. cap is a power of two. */
static struct str_slot *slot_find(
	struct str_slot *slots, size_t cap, const char *s, size_t len, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (slots[i].text) {
		if (slots[i].hash == hash && slots[i].len == len &&
			memcmp(slots[i].text, s, len) == 0)
			break;
		i = (i + 1) & (cap - 1);
	}
	return &slots[i];
}

static bool strtab_grow(struct strtab *t)
{
	size_t cap = t->cap ? t->cap * 2 : 256;
	struct str_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < t->cap; i++) {
		const struct str_slot *old = &t->slots[i];

		if (old->text)
			*slot_find(slots, cap, old->text, old->len, old->hash) = *old;
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

const char *strtab_intern(struct strtab *t, const char *s, size_t len)
{
	uint64_t hash = hash_bytes(s, len, 0);
	struct str_slot *slot;
	const char *text;

	if (t->len * 2 >= t->cap && !strtab_grow(t))
		return NULL;
	slot = slot_find(t->slots, t->cap, s, len, hash);
	if (slot->text)
		return slot->text;
	text = arena_strndup(t->arena, s, len);
	if (!text)
		return NULL;
	*slot = (struct str_slot){.text = text, .len = len, .hash = hash};
	t->len++;
	return text;
}
