/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds a program's tree from a seed. All decisions that keep the program defined are here:
 *  - The threads that reach a point together (struct place) determine what may be there.
 *    Barriers need all remaining threads of the block; warp operations need a known set of lanes.
 *  - Once threads may have exited, the program has no operation that counts them.
 *  - A loop that contains a return counts as if threads may have exited before and after it.
 *  - Registers %u are written only where the whole block does so alike, %w where the warp does. */
#include "gen.h"
#include "rng.h"
#include "text.h"

#include <errno.h>
#include <string.h>

#define BUDGET     110 /* approximate number of leaves that a thread runs */
#define MAX_DEPTH  3
#define STATIC_MAX 49152

struct build {
	struct rng r;
	struct gen_program *p;
	bool left;
	bool failed;
	uint32_t budget;
	unsigned func; /* the current function; GEN_FUNCS: the kernel */
	bool func_of_lanes[GEN_FUNCS];
};

struct place {
	enum gen_level level;
	bool masked;  /* the set of lanes that reach this point is known */
	bool returns; /* threads may return here one by one */
	unsigned depth;
	uint32_t weight; /* how often it runs */
};

static bool percent(struct build *b, uint32_t n)
{
	return rng_percent(&b->r, n);
}

static uint32_t between(struct build *b, uint32_t min, uint32_t max)
{
	return min + rng_below(&b->r, max - min + 1);
}

static bool has(const struct build *b, uint32_t features)
{
	return (b->p->features & features) == features;
}

static bool in_func(const struct build *b)
{
	return b->func != GEN_FUNCS;
}

/* ---- nodes of the tree ---- */
static bool fits(const struct build *b, const struct place *at, const struct gen_leaf *l)
{
	return at->level >= l->level && has(b, l->features) &&
	       !((l->needs & LEAF_ENTRY) && in_func(b)) && !((l->needs & LEAF_FULL) && b->left) &&
	       !((l->needs & LEAF_MASK) && !at->masked);
}

static void leaf(struct build *b, const struct place *at, struct gen_node *n)
{
	uint32_t sum = 0, pick;

	/* Leaves with many requirements seldom fit, so they are more likely where they do. */
	for (unsigned i = 0; i < gen_n_leaves; i++)
		if (fits(b, at, &gen_leaves[i]))
			sum += gen_leaves[i].weight * (gen_leaves[i].features ? 3 : 1);
	pick = rng_below(&b->r, sum);
	for (unsigned i = 0; i < gen_n_leaves; i++) {
		uint32_t w = gen_leaves[i].weight * (gen_leaves[i].features ? 3 : 1);

		if (!fits(b, at, &gen_leaves[i]))
			continue;
		if (pick < w) {
			n->index = (uint16_t)i;
			return;
		}
		pick -= w;
	}
}

static void list(struct build *b, struct place at, unsigned most, gen_list *ret);

static enum gen_level some_level(struct build *b, const struct place *at)
{
	uint32_t k = rng_below(&b->r, 10);
	enum gen_level level = k < 6 ? GEN_LANE : k < 8 ? GEN_WARP : GEN_BLOCK;

	return MIN(level, at->level);
}

static struct place within(const struct place *at, enum gen_level level, uint32_t times)
{
	struct place in = *at;

	in.level = MIN(at->level, level);
	in.depth++;
	in.weight *= times;
	return in;
}

static void branch(struct build *b, const struct place *at, struct gen_node *n)
{
	struct place in;

	n->level = some_level(b, at);
	in = within(at, n->level, 1);
	if (n->kind == GEN_SWITCH && n->level == GEN_LANE)
		in.masked = false;
	list(b, in, 3, &n->kids);
	if (n->kind == GEN_SWITCH || percent(b, 45))
		list(b, in, 3, &n->other);
}

static void loop(struct build *b, const struct place *at, struct gen_node *n)
{
	struct place in;

	n->level = some_level(b, at);
	n->trips = (uint8_t)between(b, 1, 5);
	in = within(at, n->level, 1 + n->trips / 2);
	in.returns = at->returns && percent(b, 40);
	b->left |= in.returns && has(b, GEN_RETURNS);
	list(b, in, 4, &n->kids);
}

static void leave(struct build *b, const struct place *at, struct gen_node *n)
{
	struct place in;

	n->kind = GEN_RETURN;
	n->level = at->returns ? some_level(b, at) : GEN_BLOCK;
	n->index = (uint16_t)rng_below(&b->r, 3);
	if (in_func(b) && n->index != 1)
		n->index = 3; /* a single instruction */
	in = within(at, n->level, 0);
	in.returns = false;
	in.level = MIN(in.level, GEN_WARP);
	in.weight = 1;
	if (n->index == 1)
		list(b, in, 2, &n->kids);
	b->left |= n->level != GEN_BLOCK;
}

static void call(struct build *b, const struct place *at, struct gen_node *n)
{
	unsigned most = in_func(b) ? b->func : GEN_FUNCS;
	unsigned f = most ? rng_below(&b->r, most) : 0;
	bool exits = b->p->func_exits >> f & 1;

	if (most == 0 || !at->masked || (!b->func_of_lanes[f] && at->level != GEN_BLOCK) ||
		(exits && (!at->returns || in_func(b)))) {
		leaf(b, at, n);
		return;
	}
	n->kind = GEN_CALL;
	n->level = at->level;
	n->index = (uint16_t)f;
	b->left |= exits;
}

/* Builds a node that only a whole block can run. */
static void of_block(struct build *b, const struct place *at, struct gen_node *n)
{
	struct place in = within(at, GEN_LANE, 1);
	uint32_t k = rng_below(&b->r, 4);

	if (k == 0) {
		n->kind = GEN_SPLIT;
		list(b, in, 2, &n->kids);
		list(b, in, 2, &n->other);
		return;
	}
	in.level = GEN_WARP;
	in.returns = false;
	if (k == 1 && has(b, GEN_SHARED) && !in_func(b)) {
		n->kind = GEN_GATHER;
		list(b, in, 3, &n->kids);
	} else if (k == 2 && has(b, GEN_SHARED | GEN_NAMED) && !in_func(b) && !b->left &&
		   gen_threads(b->p) >= 32) {
		n->kind = GEN_SUBSET;
		n->index = (uint16_t)between(b, 1, gen_threads(b->p) / 32);
		list(b, in, 2, &n->kids);
	} else {
		leaf(b, at, n);
	}
}

static void part(struct build *b, const struct place *at, struct gen_node *n)
{
	struct place in = within(at, GEN_LANE, 2);

	in.masked = false;
	n->kind = GEN_PARTED;
	n->trips = (uint8_t)between(b, 1, 4);
	b->left = true;
	list(b, in, 3, &n->kids);
	b->budget = 0; /* no thread would run code after it */
}

/* Some lanes return to the caller. From then on the set of remaining lanes is unknown. */
static void go_back(struct place *at, struct gen_node *n)
{
	n->kind = GEN_RETURN;
	n->level = GEN_LANE;
	n->index = 0;
	at->level = GEN_LANE;
	at->masked = false;
}

static void node(struct build *b, struct place *at, struct gen_node *n)
{
	uint32_t k = rng_below(&b->r, 100);
	bool deep = at->depth >= MAX_DEPTH;

	n->seed = rng_next(&b->r);
	n->kind = GEN_LEAF;
	if (k < 14 && !deep) {
		n->kind = GEN_IF;
		branch(b, at, n);
	} else if (k < 26 && !deep) {
		n->kind = GEN_LOOP;
		loop(b, at, n);
	} else if (k < 29 && !deep) {
		n->kind = GEN_SWITCH;
		branch(b, at, n);
	} else if (k < 37 && has(b, GEN_RETURNS) &&
		   (at->returns || (at->level == GEN_BLOCK && !in_func(b)))) {
		leave(b, at, n);
	} else if (k < 40 && in_func(b) && at->depth == 0) {
		go_back(at, n);
	} else if (k < 45 && has(b, GEN_CALLS)) {
		call(b, at, n);
	} else if (k < 53 && has(b, GEN_BARRIERS) && at->level == GEN_BLOCK && !deep) {
		of_block(b, at, n);
	} else if (k < 55 && has(b, GEN_BARRIERS | GEN_RETURNS) && at->level == GEN_BLOCK &&
		   at->depth == 0 && !in_func(b)) {
		part(b, at, n);
	} else {
		leaf(b, at, n);
	}
}

static void list(struct build *b, struct place at, unsigned most, gen_list *ret)
{
	unsigned n = between(b, 1, most);

	for (unsigned i = 0; i < n && b->budget; i++) {
		struct gen_node new = {0};

		b->budget -= MIN(b->budget, at.weight);
		node(b, &at, &new);
		if (!VEC_PUSH(ret, new))
			b->failed = true;
	}
}

/* ---- other properties of a program ---- */
static void choose_features(struct build *b)
{
	static const struct {
		uint32_t feature;
		uint8_t percent;
	} chances[] = {
		{GEN_SHARED, 55},
		{GEN_BARRIERS, 65},
		{GEN_WARP_OPS, 45},
		{GEN_RETURNS, 50},
		{GEN_CALLS, 30},
		{GEN_ATOMICS, 45},
		{GEN_LOCAL, 25},
		{GEN_MODULE, 35},
		{GEN_ASYNC, 20},
		{GEN_GUARD, 5},
		{GEN_FLOAT, 35},
		{GEN_NAMED, 25},
		{GEN_FOUND, 40},
	};
	uint32_t f = 0;

	for (size_t i = 0; i < ARRAY_LEN(chances); i++)
		f |= percent(b, chances[i].percent) ? chances[i].feature : 0;
	if (percent(b, 15)) /* each warp runs on its own */
		f &= ~(uint32_t)(GEN_SHARED | GEN_BARRIERS);
	/* With early returns and warp operations, most kernels cannot be managed. */
	if ((f & GEN_RETURNS) && (f & GEN_WARP_OPS) && percent(b, 60))
		f &= ~(uint32_t)(percent(b, 50) ? GEN_RETURNS : GEN_WARP_OPS);
	if (!(f & GEN_SHARED))
		f &= ~(uint32_t)GEN_ASYNC;
	if ((f & GEN_RETURNS) && percent(b, 60))
		f &= ~(uint32_t)GEN_NAMED;
	if (!(f & GEN_BARRIERS))
		f &= ~(uint32_t)GEN_NAMED;
	b->p->features = f;
}

static void split_into(struct build *b, uint32_t n, uint32_t ret[3])
{
	ret[0] = n;
	ret[1] = ret[2] = 1;
	for (int d = 1; d < 3; d++) {
		uint32_t by = between(b, 2, 5);

		if (percent(b, 50) && ret[0] % by == 0) {
			ret[0] /= by;
			ret[d] = by;
		}
	}
	if (percent(b, 15)) {
		uint32_t x = ret[0];

		ret[0] = ret[1];
		ret[1] = x;
	}
}

static void choose_shape(struct build *b)
{
	static const uint16_t sizes[] = {1, 7, 20, 31, 32, 32, 33, 48, 64, 64, 64, 65, 80, 96, 96,
		100, 128, 128, 160, 192, 255, 256, 384, 500, 512};
	uint32_t threads = sizes[rng_below(&b->r, ARRAY_LEN(sizes))];
	uint32_t most = MAX(1u, MIN(60u, 2500 / threads));

	if (threads <= 64 && percent(b, 30)) /* so many blocks that a worker claims several */
		most = 64;
	split_into(b, threads, b->p->block);
	split_into(b, between(b, most > 60 ? 40 : 1, most), b->p->grid);
	b->p->bounds = (uint8_t)(percent(b, 20) ? between(b, 1, 2) : 0);
}

static void choose_arrays(struct build *b)
{
	struct gen_program *p = b->p;

	p->xch_bytes = 1u << rng_below(&b->r, 4);
	for (int i = 0; i < GEN_ROLES; i++) {
		uint32_t k = rng_below(&b->r, 10);

		p->array[i].place = k < 6 ? GEN_STATIC : k < 8 ? GEN_OF_MODULE : GEN_DYNAMIC;
		p->order[i] = (uint8_t)i;
	}
	for (int i = GEN_ROLES - 1; i > 0; i--) {
		uint32_t k = rng_below(&b->r, (uint32_t)i + 1);
		uint8_t other = p->order[k];

		p->order[k] = p->order[i];
		p->order[i] = other;
	}
	p->array[GEN_OWN].align = percent(b, 50) ? 8 : 16;
	p->array[GEN_XCH].align = percent(b, 60) ? p->xch_bytes : 16;
	p->array[GEN_SUM].align = percent(b, 60) ? 4 : 32;
	p->array[GEN_FILL].align = 1u << rng_below(&b->r, 2);
	p->fill = percent(b, 60) ? 0 : percent(b, 75) ? between(b, 1, 300) : GEN_FILL_UP;
	p->spare = between(b, 0, 50);
	if (p->fill == GEN_FILL_UP)
		for (int i = 0; i < GEN_ROLES; i++)
			if (p->array[i].place == GEN_DYNAMIC)
				p->array[i].place = GEN_STATIC;
}

void gen_lay_out(struct gen_program *p)
{
	uint32_t n = gen_threads(p), others, at = 0;

	p->array[GEN_OWN].bytes = 16 * n;
	p->array[GEN_XCH].bytes = p->xch_bytes * n;
	p->array[GEN_SUM].bytes = 16;
	others = 16 * n + p->xch_bytes * n + 16 + 46; /* 46: most bytes that alignment adds */
	p->array[GEN_FILL].bytes = p->fill == GEN_FILL_UP ? STATIC_MAX - others - p->spare
				   : p->fill              ? n + p->fill
							  : 0;
	for (int i = 0; i < GEN_ROLES; i++) {
		struct gen_array *a = &p->array[p->order[i]];

		if (a->place != GEN_DYNAMIC)
			continue;
		at = (uint32_t)round_up(at, a->align);
		a->offset = at;
		at += a->bytes;
	}
}

uint32_t gen_dynamic_bytes(const struct gen_program *p)
{
	uint32_t bytes = 0;

	for (int i = 0; (p->features & GEN_SHARED) && i < GEN_ROLES; i++)
		if (p->array[i].place == GEN_DYNAMIC)
			bytes = MAX(bytes, p->array[i].offset + p->array[i].bytes);
	return bytes;
}

static void choose_steering(struct build *b)
{
	for (int i = 0; i < GEN_VARIANTS; i++)
		b->p->steering[i] = (struct gen_steering){
			.yield_every = percent(b, 75) ? between(b, 1, i ? 30 : 9) : 0,
			.chunk = percent(b, i ? 80 : 30) ? between(b, 2, 8) : 1,
			.workers = percent(b, i ? 80 : 20) ? between(b, 1, 2) : 0,
			.quota = percent(b, 15) ? between(b, 1, 3) : 0,
			.pull_ahead = percent(b, 40),
		};
}

/* Builds functions first, so that a call knows what its function does. */
static void build_functions(struct build *b)
{
	for (b->func = 0; b->func < GEN_FUNCS; b->func++) {
		bool lanes = percent(b, 60);
		struct place at = {
			.level = lanes ? GEN_LANE : GEN_BLOCK, .masked = true, .weight = 2};

		b->func_of_lanes[b->func] = lanes;
		b->left = true;
		if (has(b, GEN_RETURNS) && percent(b, 12))
			b->p->func_exits |= (uint8_t)(1u << b->func);
		at.returns = b->p->func_exits >> b->func & 1;
		list(b, at, 5, &b->p->func[b->func]);
	}
	b->left = false;
}

/* Builds the last node. */
static void build_last(struct build *b, gen_list *body)
{
	struct gen_node n = {.kind = GEN_LAST, .level = GEN_BLOCK, .seed = rng_next(&b->r)};

	for (size_t i = 0; i < body->len; i++)
		if (body->at[i].kind == GEN_PARTED)
			return;
	if (!has(b, GEN_SHARED | GEN_BARRIERS) || !percent(b, 70))
		return;
	n.index = has(b, GEN_NAMED) && !b->left && gen_threads(b->p) >= 32
			  ? (uint16_t)between(b, 0, gen_threads(b->p) / 32)
			  : 0;
	if (!VEC_PUSH(body, n))
		b->failed = true;
}

int gen_build(uint64_t seed, struct gen_program *ret)
{
	struct gen_program p = {.seed = seed};
	struct build b = {.r = {seed * 0x2545f4914f6cdd1du + 1}, .p = &p, .budget = BUDGET};
	struct place at = {.level = GEN_BLOCK, .masked = true, .returns = true, .weight = 1};

	choose_features(&b);
	choose_shape(&b);
	choose_arrays(&b);
	choose_steering(&b);
	p.finale = (uint8_t)rng_below(&b.r, 4);
	gen_lay_out(&p);
	if (p.features & GEN_CALLS)
		build_functions(&b);
	b.func = GEN_FUNCS;
	b.budget = BUDGET;
	list(&b, at, 26, &p.body);
	build_last(&b, &p.body);
	if (b.failed) {
		gen_free(&p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

static bool no_barrier_follows(const struct gen_node *n)
{
	return n->kind == GEN_LAST || n->kind == GEN_PARTED;
}

int gen_add_stray(struct gen_program *p)
{
	struct rng r = {p->seed ^ 0x57ea};
	struct gen_node n = {.kind = GEN_STRAY, .level = GEN_BLOCK, .seed = rng_next(&r)};
	size_t at = rng_below(&r, (uint32_t)p->body.len + 1);

	n.trips = 1;
	n.index = p->features & GEN_BARRIERS && rng_percent(&r, 60);
	if (n.index && at && at == p->body.len && no_barrier_follows(&p->body.at[at - 1]))
		at--;
	p->features |= GEN_SHARED;
	if (!VEC_PUSH(&p->body, n))
		return -ENOMEM;
	memmove(&p->body.at[at + 1], &p->body.at[at], (p->body.len - 1 - at) * sizeof(n));
	p->body.at[at] = n;
	return 0;
}

bool gen_stray_defined(const struct gen_program *p)
{
	for (size_t i = 0; i < p->body.len; i++)
		if (p->body.at[i].kind == GEN_STRAY)
			return p->body.at[i].index;
	return true; /* shrinking has removed it */
}

void gen_keep_stray_back(struct gen_program *p)
{
	for (size_t i = 0; i < p->body.len; i++)
		if (p->body.at[i].kind == GEN_STRAY)
			p->body.at[i].trips = 0;
}

void gen_scale(struct gen_program *p, unsigned by)
{
	p->grid[0] *= by;
	for (int i = 0; i < GEN_VARIANTS; i++)
		p->steering[i].yield_every *= by;
}

/* ---- trees ---- */
static void free_list(gen_list *l)
{
	for (size_t i = 0; i < l->len; i++) {
		free_list(&l->at[i].kids);
		free_list(&l->at[i].other);
	}
	VEC_FREE(l);
}

void gen_free(struct gen_program *p)
{
	free_list(&p->body);
	for (int i = 0; i < GEN_FUNCS; i++)
		free_list(&p->func[i]);
}

static bool copy_list(const gen_list *from, gen_list *to)
{
	*to = (gen_list){0};
	for (size_t i = 0; i < from->len; i++) {
		struct gen_node n = from->at[i];

		n.kids = n.other = (gen_list){0};
		if (!VEC_PUSH(to, n) || !copy_list(&from->at[i].kids, &to->at[i].kids) ||
			!copy_list(&from->at[i].other, &to->at[i].other))
			return false;
	}
	return true;
}

int gen_copy(const struct gen_program *p, struct gen_program *ret)
{
	bool ok;

	*ret = *p;
	ok = copy_list(&p->body, &ret->body);
	for (int i = 0; i < GEN_FUNCS; i++)
		ok = copy_list(&p->func[i], &ret->func[i]) && ok;
	if (ok)
		return 0;
	gen_free(ret);
	return -ENOMEM;
}
