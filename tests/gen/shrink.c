/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shrinks a failing program. Every edit is tried on a copy, in a process of its own, and kept if
 * the program still fails in the same way. An edit only removes a node, or moves it to where
 * more threads run together, so that the program stays valid. */
#include "shrink.h"

#include <stdio.h>
#include <string.h>

struct shrinking {
	const struct farm_options *o;
	struct gen_program *best;
	enum run_verdict verdict;
	unsigned tries, used;
};

/* ---- lists of a tree, in an order that is the same for a copy ---- */
typedef VEC(gen_list *) lists;

static void find_lists(gen_list *l, lists *ret)
{
	if (l->len == 0)
		return;
	(void)VEC_PUSH(ret, l);
	for (size_t i = 0; i < l->len; i++) {
		find_lists(&l->at[i].kids, ret);
		find_lists(&l->at[i].other, ret);
	}
}

static void all_lists(struct gen_program *p, lists *ret)
{
	ret->len = 0;
	find_lists(&p->body, ret);
	for (int i = 0; i < GEN_FUNCS; i++)
		find_lists(&p->func[i], ret);
}

static void free_node(struct gen_node *n)
{
	struct gen_program holder = {.body = n->kids};

	gen_free(&holder);
	holder.body = n->other;
	gen_free(&holder);
}

static void cut(gen_list *l, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++)
		free_node(&l->at[i]);
	memmove(&l->at[from], &l->at[from + n], (l->len - from - n) * sizeof(*l->at));
	l->len -= n;
}

/* Replaces a node by its kids. */
static void unwrap(gen_list *l, size_t at)
{
	struct gen_node old = l->at[at];
	gen_list new = {0};

	for (size_t i = 0; i < l->len; i++) {
		if (i != at) {
			(void)VEC_PUSH(&new, l->at[i]);
			continue;
		}
		for (size_t k = 0; k < old.kids.len; k++)
			(void)VEC_PUSH(&new, old.kids.at[k]);
		for (size_t k = 0; k < old.other.len; k++)
			(void)VEC_PUSH(&new, old.other.at[k]);
	}
	VEC_FREE(&old.kids);
	VEC_FREE(&old.other);
	VEC_FREE(l);
	*l = new;
}

/* ---- edits ---- */
struct edit {
	enum { CUT, UNWRAP, ONCE, WHOLE } kind;
	size_t list, at, n;
	void (*whole)(struct gen_program *p, unsigned arg);
	unsigned arg;
};

/* Returns false if the edit changes nothing. */
static bool apply(struct gen_program *p, const struct edit *e)
{
	lists l = {0};
	bool ok = true;

	all_lists(p, &l);
	if (e->kind == WHOLE)
		e->whole(p, e->arg);
	else if (e->kind == CUT)
		cut(l.at[e->list], e->at, e->n);
	else if (e->kind == ONCE && l.at[e->list]->at[e->at].trips > 1)
		l.at[e->list]->at[e->at].trips = 1;
	else if (e->kind == UNWRAP &&
		 (l.at[e->list]->at[e->at].kids.len || l.at[e->list]->at[e->at].other.len))
		unwrap(l.at[e->list], e->at);
	else
		ok = false;
	VEC_FREE(&l);
	gen_lay_out(p);
	return ok;
}

static bool try(struct shrinking *s, const struct edit *e)
{
	struct gen_program copy;

	if (s->used >= s->tries || gen_copy(s->best, &copy))
		return false;
	if (!apply(&copy, e) || (s->used++, farm_try(s->o, &copy) != s->verdict)) {
		gen_free(&copy);
		return false;
	}
	gen_free(s->best);
	*s->best = copy;
	return true;
}

static size_t n_lists(struct shrinking *s, size_t list, size_t *ret_len)
{
	lists l = {0};
	size_t n;

	all_lists(s->best, &l);
	n = l.len;
	*ret_len = list < n ? l.at[list]->len : 0;
	VEC_FREE(&l);
	return n;
}

static bool shorten(struct shrinking *s)
{
	bool any = false;
	size_t len;

	for (size_t i = 0; i < n_lists(s, i, &len); i++)
		for (size_t n = len; n; n /= 2)
			for (size_t at = 0; at + n <= len;) {
				struct edit e = {.kind = CUT, .list = i, .at = at, .n = n};
				bool done = try(s, &e);

				any |= done;
				if (done && i >= n_lists(s, i, &len))
					return any; /* the edit removed the list itself */
				at += done ? 0 : n;
			}
	return any;
}

static bool flatten(struct shrinking *s)
{
	bool any = false;
	size_t len;

	for (size_t i = 0; i < n_lists(s, i, &len); i++)
		for (size_t at = 0; at < len; at++) {
			struct edit e = {.kind = UNWRAP, .list = i, .at = at};
			bool done = try(s, &e);

			any |= done;
			e.kind = ONCE;
			any |= !done && try(s, &e);
			n_lists(s, i, &len);
		}
	return any;
}

/* ---- edits of the whole program ---- */
static void halve(struct gen_program *p, unsigned arg)
{
	uint32_t *d = arg & 4 ? &p->block[arg & 3] : &p->grid[arg & 3];

	*d = MAX(*d / 2, 1u);
}

static void less_by_one(struct gen_program *p, unsigned arg)
{
	uint32_t *d = arg & 4 ? &p->block[arg & 3] : &p->grid[arg & 3];

	*d = MAX(*d - 1, 1u);
}

static void one_variant(struct gen_program *p, unsigned arg)
{
	for (int i = 0; i < GEN_VARIANTS; i++)
		p->steering[i] = p->steering[arg];
}

static void plain_steering(struct gen_program *p, unsigned arg)
{
	for (int i = 0; i < GEN_VARIANTS; i++) {
		struct gen_steering *v = &p->steering[i];

		v->pull_ahead &= arg != 0;
		v->chunk = arg == 1 ? 1 : v->chunk;
		v->workers = arg == 2 ? 0 : v->workers;
		v->yield_every = arg == 3 ? 0 : v->yield_every;
		v->quota = arg == 4 ? 0 : v->quota;
	}
}

static void without_feature(struct gen_program *p, unsigned arg)
{
	if (!((1u << arg) & (GEN_SHARED | GEN_BARRIERS | GEN_MODULE)))
		p->features &= ~(1u << arg);
}

static void simple_arrays(struct gen_program *p, unsigned arg)
{
	if (arg < GEN_ROLES)
		p->array[arg].place = GEN_STATIC;
	else if (arg == GEN_ROLES)
		p->fill = 0;
	else
		p->bounds = p->finale = 0;
}

/* Returns a measure of a program's size and settings. An edit that leaves it the same counts as no
 * change. */
static uint64_t weight(const struct gen_program *p)
{
	uint64_t w = gen_threads(p) + 4096ull * gen_blocks(p);

	for (int i = 0; i < GEN_VARIANTS; i++)
		w += p->steering[i].pull_ahead + p->steering[i].chunk + p->steering[i].workers +
		     p->steering[i].yield_every + p->steering[i].quota;
	for (int i = 0; i < GEN_ROLES; i++)
		w += p->array[i].place != GEN_STATIC;
	return w + (p->fill != 0) + p->bounds + p->finale + p->features;
}

static bool simplify(struct shrinking *s)
{
	static const struct {
		void (*whole)(struct gen_program *p, unsigned arg);
		unsigned n;
	} edits[] = {
		{halve, 8},
		{less_by_one, 8},
		{one_variant, GEN_VARIANTS},
		{plain_steering, 5},
		{without_feature, 12},
		{simple_arrays, GEN_ROLES + 2},
	};
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(edits); i++)
		for (unsigned arg = 0; arg < edits[i].n; arg++) {
			struct edit e = {.kind = WHOLE, .whole = edits[i].whole, .arg = arg};
			uint64_t before;

			if ((edits[i].whole == halve || edits[i].whole == less_by_one) &&
				(arg & 3) == 3)
				continue;
			do {
				struct gen_program same = *s->best;

				before = weight(s->best);
				e.whole(&same, arg); /* the edit changes no list */
				if (weight(&same) >= before)
					break;
			} while (try(s, &e) && (any = true));
		}
	return any;
}

unsigned shrink(const struct farm_options *o, struct gen_program *p, enum run_verdict verdict,
	unsigned tries)
{
	struct farm_options quiet = *o;
	struct shrinking s = {.o = &quiet, .best = p, .verdict = verdict, .tries = tries};

	quiet.quiet = true;
	quiet.limit_s = MIN(o->limit_s, 15u);
	while (s.used < tries) {
		bool any = simplify(&s);

		any |= shorten(&s);
		any |= flatten(&s);
		if (!any)
			break;
	}
	return s.used;
}

void shrink_command(const struct gen_program *p, struct strbuf *out)
{
	const struct gen_steering *s = &p->steering[0];
	char name[GEN_NAME_BYTES];

	gen_kernel_name(p, name);
	strbuf_printf(out,
		"// heddle exec --grid %u,%u,%u --block %u,%u,%u --shared %u --as preempt "
		"--chunk %u%s",
		p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2],
		gen_dynamic_bytes(p), s->chunk, s->pull_ahead ? " --pull-ahead" : "");
	if (s->yield_every)
		strbuf_printf(out, " --yield-every %u", s->yield_every);
	if (s->workers)
		strbuf_printf(out, " --workers %u", s->workers);
	strbuf_printf(out,
		" FILE %s 'u32[512]:rand(1)' 'u32[%u]:const(7)>out' 'u32[%d]:iota>sum' u32:9 hex:",
		name, gen_threads(p) * gen_blocks(p) * GEN_OWN_WORDS, GEN_SUM_WORDS);
	for (int i = 0; i < 32; i++)
		strbuf_printf(out, "%02x", i * 37 % 251);
	strbuf_puts(out, "\n");
}

void shrink_write(const struct gen_program *p, enum run_verdict verdict, struct strbuf *out)
{
	strbuf_printf(out, "// Made smaller from seed %llu: %s.\n", (unsigned long long)p->seed,
		run_verdict_names[verdict]);
	shrink_command(p, out);
	strbuf_puts(out, gen_head);
	gen_text(p, out);
}
