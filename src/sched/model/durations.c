/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts durations of launches. For a known shape, the prediction is the moving mean of its
 * launches. For another shape, the prediction comes from the kernel's ridge regression.
 *
 * The regression uses logarithms of the time and of the features, because times are products of
 * powers of sizes, and the relative error matters. One feature is not in FLEP: the number of blocks
 * that the busiest SM runs (the grid's blocks divided by the number of SMs, rounded up), because
 * times rise in steps with this number. The mean error over eight kernels:
 * - as implemented: 4.5 %
 * - without that feature: 8.6 %
 * - with products of features: 9 %
 * - if the relative error is minimized: 16 %
 * - with raw features and times: 31 %
 *
 * The regression fits the time divided by the number of blocks of the busiest SM. So its penalty
 * pulls towards times that are proportional to this number, and one launch is enough for a first
 * guess. After five launches the error was 17 %; it was 25 % with a penalty that pulls towards
 * times proportional to all blocks. */
#include "durations.h"
#include "base/map.h"
#include "pair.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOVING       8u /* approximate number of launches that a moving mean covers */
#define CURVE_MOVING 32u
#define SLACK_NS     1000u /* minimum margin that learned_duration adds to its limit */
/* eleven days: a longer duration comes from a wrong clock */
#define LONGEST_NS     1000000000000000ull
#define GREATEST_INPUT 1e18f
#define MOST           (UINT64_MAX / 4) /* limit of all counters */

struct entry {
	struct entry *prev, *next; /* prev was used more recently */
	uint64_t number;
	bool changed;
	bool numbered; /* this number was passed to `record` */
	struct duration_kernel k;
};

struct durations {
	struct hash_map entries; /* key: number */
	struct entry *newest, *oldest;
	unsigned n_changed;
	uint64_t clock; /* counts the launches learned so far */
	/* Set by durations_watch; NULL: no watcher. */
	void (*record)(void *user, uint64_t number, const struct duration_kernel *k);
	void (*forgot)(void *user, uint64_t number);
	void *watch_user;
	bool learns_any;          /* learning from an unknown kernel creates its record */
	struct pair_ratios pairs; /* not saved to disk: each heddled learns them again */
};

#define ROUNDS 1 /* index of the feature: number of blocks that the busiest SM runs */

_Static_assert(RIDGE_FEATURES == 4 + SCHED_INPUTS, "features_of fills all of them");

/* ---- table entries ---- */

int durations_create(struct durations **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void durations_destroy(struct durations *d)
{
	for (struct entry *e = d ? d->newest : NULL, *next; e; e = next) {
		next = e->next;
		free(e);
	}
	if (d)
		hash_map_free(&d->entries);
	free(d);
}

static void entry_unlink(struct durations *d, struct entry *e)
{
	*(e->prev ? &e->prev->next : &d->newest) = e->next;
	*(e->next ? &e->next->prev : &d->oldest) = e->prev;
}

static void entry_link_first(struct durations *d, struct entry *e)
{
	e->prev = NULL;
	e->next = d->newest;
	*(d->newest ? &d->newest->prev : &d->oldest) = e;
	d->newest = e;
}

static void entry_link_last(struct durations *d, struct entry *e)
{
	e->next = NULL;
	e->prev = d->oldest;
	*(d->oldest ? &d->oldest->next : &d->newest) = e;
	d->oldest = e;
}

static struct entry *entry_of(const struct durations *d, uint64_t number)
{
	return hash_map_get(&d->entries, number);
}

static void entry_free(struct durations *d, struct entry *e)
{
	hash_map_put(&d->entries, e->number, NULL);
	entry_unlink(d, e);
	d->n_changed -= e->changed;
	free(e);
}

/* Returns the entry that a new entry of this user replaces. If the user has a quarter of the table
 * or more, it is the user's own oldest entry, else the oldest of all. */
static struct entry *entry_to_leave(const struct durations *d, uint32_t uid)
{
	struct entry *own = NULL;
	unsigned n = 0;

	for (struct entry *e = d->oldest; e; e = e->prev) {
		if (e->k.owner.uid != uid)
			continue;
		own = own ? own : e;
		n++;
	}
	return n >= DURATION_KERNELS / 4 ? own : d->oldest;
}

/* Makes an entry and adds it to the hash table. The caller puts it into the list that orders
 * entries by their last use. Returns NULL if memory is exhausted. */
static struct entry *entry_make(struct durations *d, uint64_t number, uint32_t uid)
{
	struct entry *e;

	if (d->entries.len >= DURATION_KERNELS) {
		e = entry_to_leave(d, uid);
		if (e->numbered && d->forgot)
			d->forgot(d->watch_user, e->number);
		entry_free(d, e);
	}
	e = calloc(1, sizeof(*e));
	if (!e || !hash_map_put(&d->entries, number, e)) {
		free(e);
		return NULL;
	}
	e->number = number;
	return e;
}

/* Returns the record that learns from this launch, or NULL if there is none. */
static struct entry *entry_to_teach(struct durations *d, uint64_t number)
{
	struct entry *e = entry_of(d, number);

	if (e || !d->learns_any)
		return e;
	e = entry_make(d, number, 0);
	if (e)
		entry_link_first(d, e);
	return e;
}

static void entry_changes(struct durations *d, struct entry *e)
{
	d->n_changed += !e->changed;
	e->changed = true;
}

static uint64_t number_of(const struct duration_owner *o, uint64_t code)
{
	uint64_t parts[3] = {o->uid, o->n_sms, code}, h;

	h = hash_bytes(parts, sizeof(parts), 0x64757261);
	h = hash_bytes(o->device, strnlen(o->device, sizeof(o->device)), h);
	h = hash_bytes(o->driver, strnlen(o->driver, sizeof(o->driver)), h);
	return h ? h : 1;
}

static void entry_tell(const struct durations *d, const struct entry *e)
{
	if (d->record)
		d->record(d->watch_user, e->number, &e->k);
}

uint64_t durations_number(
	struct durations *d, const struct duration_owner *owner, uint64_t code, const char *name)
{
	uint64_t number = number_of(owner, code);
	struct entry *e = entry_of(d, number);

	if (e) {
		entry_unlink(d, e);
	} else {
		e = entry_make(d, number, owner->uid);
		if (!e)
			return number;
		e->k.owner = *owner;
		e->k.code = code;
	}
	entry_link_first(d, e);
	if (!e->k.name[0])
		strncpy(e->k.name, name, sizeof(e->k.name) - 1);
	if (!e->numbered)
		entry_tell(d, e);
	e->numbered = true;
	return number;
}

const struct duration_kernel *durations_find(const struct durations *d, uint64_t number)
{
	const struct entry *e = entry_of(d, number);

	return e ? &e->k : NULL;
}

void durations_claim(struct durations *d, uint64_t number, uint32_t blocks)
{
	struct entry *e = entry_of(d, number);

	if (!e || e->k.claim == blocks)
		return;
	e->k.claim = blocks;
	entry_changes(d, e);
}

/* ---- predicting ---- */

static double log_of(double v)
{
	return log2(1 + v);
}

static void features_of(const struct sched_shape *s, double ret[RIDGE_FEATURES])
{
	uint64_t n_sms = MAX(s->n_sms, 1u), rounds = s->total / n_sms + (s->total % n_sms != 0);

	ret[0] = log2((double)s->total);
	ret[ROUNDS] = log2((double)rounds);
	ret[2] = log2((double)MAX(s->threads, 1u));
	ret[3] = log_of(s->shared_bytes);
	for (unsigned i = 0; i < SCHED_INPUTS; i++)
		ret[4 + i] = log_of(s->input[i]);
}

static uint64_t predict_by_ridge(struct ridge *r, const struct sched_shape *s)
{
	double feature[RIDGE_FEATURES], ns;

	if (!r->n || !s->total)
		return SCHED_UNKNOWN;
	features_of(s, feature);
	ns = exp2(ridge_predict(r, feature) + feature[ROUNDS]);
	return ns < 1 ? 1 : ns < (double)LONGEST_NS ? (uint64_t)ns : LONGEST_NS;
}

static struct duration_shape *shape_of(struct duration_kernel *k, const struct sched_shape *s)
{
	for (unsigned i = 0; i < k->n_shapes; i++) {
		struct duration_shape *at = &k->shape[i];

		if (at->total == s->total && at->threads == s->threads &&
			at->shared_bytes == s->shared_bytes &&
			memcmp(at->input, s->input, sizeof(at->input)) == 0)
			return at;
	}
	return NULL;
}

static uint64_t duration_predict(void *state, const struct sched_shape *s)
{
	struct entry *e = entry_of(state, s->kernel);
	const struct duration_shape *known = e ? shape_of(&e->k, s) : NULL;

	if (known)
		return known->moving_ns;
	return e ? predict_by_ridge(&e->k.ridge, s) : SCHED_UNKNOWN;
}

/* ---- learning ---- */

static struct duration_shape *shape_make(struct duration_kernel *k, const struct sched_shape *s)
{
	struct duration_shape *at = &k->shape[0];

	if (k->n_shapes < DURATION_SHAPES) {
		at = &k->shape[k->n_shapes++];
	} else {
		for (unsigned i = 1; i < k->n_shapes; i++)
			at = k->shape[i].used < at->used ? &k->shape[i] : at;
	}
	*at = (struct duration_shape){
		.total = s->total, .threads = s->threads, .shared_bytes = s->shared_bytes};
	memcpy(at->input, s->input, sizeof(at->input));
	return at;
}

static uint64_t move_mean(uint64_t mean, uint64_t sample, uint64_t n)
{
	return (uint64_t)((int64_t)mean + ((int64_t)sample - (int64_t)mean) / (int64_t)n);
}

static void note_error(struct duration_errors *e, uint64_t predicted_ns, uint64_t ran_ns)
{
	double away = fabs((double)predicted_ns - (double)ran_ns) / (double)ran_ns;

	e->relative[e->next] = (float)fmin(away, 1e6);
	e->next = (e->next + 1) % DURATION_ERRORS;
	e->n += e->n < DURATION_ERRORS;
}

/* Returns true if the regression should learn from this launch of the shape. After the first MOVING
 * launches of a shape, it learns only from those whose number is a power of two, because otherwise
 * it would forget other shapes. */
static bool teaches_regression(const struct duration_shape *at)
{
	return at->n <= MOVING || (at->n & (at->n - 1)) == 0;
}

/* Returns the duration to learn from a launch, or 0 if the launch must not be learned. Two kinds of
 * launches are outliers:
 * - A preempted launch takes longer than alone. Once MOVING launches are known, a preempted launch
 *   counts only if it was faster than the known duration, or over twice as slow: in the second case
 *   the kernel does other work than before.
 * - An undisturbed launch sometimes takes twice its usual time, for example the first launch of a
 *   process. So any duration is limited to 1.5 times the known one. */
static uint64_t learned_duration(const struct duration_shape *at, uint64_t ran_ns, bool disturbed)
{
	uint64_t known = at->moving_ns, most = known + MAX(known / 2, SLACK_NS);

	if (!at->n)
		return ran_ns;
	if (disturbed && at->n >= MOVING && ran_ns >= known && ran_ns / 2 <= known)
		return 0;
	return MIN(ran_ns, most);
}

/* Returns true if the shape's first launch took unusually long. */
static bool was_first_outlier(const struct duration_shape *at, uint64_t ran_ns)
{
	return at->n == 1 && ran_ns + ran_ns / 2 < at->moving_ns;
}

static void duration_learn(
	void *state, const struct sched_shape *s, uint64_t ran_ns, bool disturbed)
{
	struct durations *d = state;
	struct entry *e = entry_to_teach(d, s->kernel);
	double feature[RIDGE_FEATURES];
	struct duration_shape *at;
	uint64_t taught;

	if (!e || !s->total || !ran_ns || ran_ns > LONGEST_NS)
		return;
	at = shape_of(&e->k, s);
	if (!at) {
		uint64_t predicted = predict_by_ridge(&e->k.ridge, s);

		if (predicted != SCHED_UNKNOWN)
			note_error(&e->k.errors, predicted, ran_ns);
		at = shape_make(&e->k, s);
		at->predicted_ns = predicted;
		at->first_ns = ran_ns;
	}
	taught = learned_duration(at, ran_ns, disturbed);
	if (was_first_outlier(at, ran_ns))
		at->moving_ns = ran_ns;
	at->n++;
	at->mean_ns = move_mean(at->mean_ns, ran_ns, at->n);
	if (taught)
		at->moving_ns = move_mean(at->moving_ns, taught, MIN(at->n, MOVING));
	at->used = ++d->clock;
	if (taught && teaches_regression(at)) {
		features_of(s, feature);
		ridge_learn(&e->k.ridge, feature, log2((double)taught) - feature[ROUNDS]);
	}
	e->k.launches++;
	entry_changes(d, e);
}

static uint64_t duration_cost_or(void *state, uint64_t kernel, uint64_t otherwise)
{
	const struct entry *e = entry_of(state, kernel);
	uint64_t cost = e ? duration_cost(&e->k) : 0;

	return cost ? cost : otherwise;
}

static void duration_learn_cost(void *state, uint64_t kernel, uint64_t cost_ns)
{
	struct entry *e = entry_to_teach(state, kernel);
	struct duration_costs *c = e ? &e->k.costs : NULL;

	if (!c)
		return;
	c->ns[c->next] = (uint32_t)MIN(cost_ns, UINT32_MAX);
	c->next = (c->next + 1) % DURATION_COSTS;
	c->n += c->n < DURATION_COSTS;
	entry_changes(state, e);
}

static void duration_learn_curve(
	void *state, const struct sched_shape *s, uint32_t per_sm, uint64_t blocks, uint64_t sm_ns)
{
	struct entry *e = entry_to_teach(state, s->kernel);
	double block_ns = blocks ? (double)sm_ns / (double)blocks : 0;
	uint32_t *n;
	float *at;

	if (!e || per_sm < 1 || per_sm > SCHED_PER_SM || !(block_ns > 0) ||
		block_ns > (double)LONGEST_NS)
		return;
	n = &e->k.curve_n[per_sm - 1];
	at = &e->k.curve_ns[per_sm - 1];
	*n += *n < UINT32_MAX;
	*at += ((float)block_ns - *at) / (float)MIN(*n, CURVE_MOVING);
	entry_changes(state, e);
}

static void duration_curve(void *state, uint64_t kernel, float ret_ns[SCHED_PER_SM])
{
	const struct entry *e = entry_of(state, kernel);

	memset(ret_ns, 0, SCHED_PER_SM * sizeof(*ret_ns));
	if (e)
		memcpy(ret_ns, e->k.curve_ns, sizeof(e->k.curve_ns));
}

static int duration_pair(void *state, const struct sched_pair *p, float ret_ns[2])
{
	const struct durations *d = state;
	float curve[2][SCHED_PER_SM];

	for (unsigned i = 0; i < 2; i++)
		duration_curve(state, p->kernel[i], curve[i]);
	return pair_ask(&d->pairs, p, curve, ret_ns);
}

static bool duration_learn_pair(
	void *state, const struct sched_pair *p, uint64_t blocks, uint64_t sm_ns)
{
	struct durations *d = state;
	float curve[2][SCHED_PER_SM];

	for (unsigned i = 0; i < 2; i++)
		duration_curve(state, p->kernel[i], curve[i]);
	return pair_teach(&d->pairs, p, curve, blocks, sm_ns);
}

static void *durations_of_engine(void)
{
	struct durations *d;

	if (durations_create(&d) < 0)
		return NULL;
	d->learns_any = true;
	return d;
}

static void engine_destroys(void *state)
{
	durations_destroy(state);
}

const struct sched_model model_durations = {
	.name = "ridge",
	.create = durations_of_engine,
	.destroy = engine_destroys,
	.predict = duration_predict,
	.learn = duration_learn,
	.cost = duration_cost_or,
	.learn_cost = duration_learn_cost,
	.learn_curve = duration_learn_curve,
	.curve = duration_curve,
	.pair = duration_pair,
	.learn_pair = duration_learn_pair,
};

/* ---- queries and loading of records ---- */

bool duration_error(const struct duration_kernel *k, double *ret_mean, double *ret_worst)
{
	double sum = 0, worst = 0;

	for (unsigned i = 0; i < k->errors.n; i++) {
		sum += k->errors.relative[i];
		worst = fmax(worst, k->errors.relative[i]);
	}
	if (!k->errors.n)
		return false;
	*ret_mean = sum / k->errors.n;
	*ret_worst = worst;
	return true;
}

uint64_t duration_cost(const struct duration_kernel *k)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < k->costs.n; i++)
		sum += k->costs.ns[i];
	return k->costs.n ? sum / k->costs.n : 0;
}

static bool shape_is_sane(const struct duration_shape *s)
{
	bool ok = s->total && s->n && s->n <= MOST && s->used <= MOST && s->mean_ns &&
		  s->mean_ns <= LONGEST_NS && s->moving_ns && s->moving_ns <= LONGEST_NS &&
		  s->first_ns && s->first_ns <= LONGEST_NS &&
		  (s->predicted_ns == SCHED_UNKNOWN || s->predicted_ns <= LONGEST_NS);

	for (unsigned i = 0; i < SCHED_INPUTS; i++)
		ok = ok && s->input[i] >= 0 && s->input[i] <= GREATEST_INPUT;
	return ok;
}

static bool figures_are_sane(const struct duration_kernel *k)
{
	const struct duration_errors *e = &k->errors;
	bool ok = k->costs.n <= DURATION_COSTS && k->costs.next < DURATION_COSTS &&
		  e->n <= DURATION_ERRORS && e->next < DURATION_ERRORS;

	for (unsigned i = 0; ok && i < DURATION_ERRORS; i++)
		ok = e->relative[i] >= 0 && e->relative[i] <= 1e6f;
	for (unsigned i = 0; ok && i < SCHED_PER_SM; i++)
		ok = k->curve_ns[i] >= 0 && k->curve_ns[i] <= (float)LONGEST_NS;
	return ok;
}

bool duration_is_sane(const struct duration_kernel *k)
{
	const struct duration_owner *o = &k->owner;
	bool ok = o->uid != DURATION_ANY && k->launches <= MOST &&
		  memchr(o->device, 0, sizeof(o->device)) &&
		  memchr(o->driver, 0, sizeof(o->driver)) && memchr(k->name, 0, sizeof(k->name)) &&
		  k->n_shapes <= DURATION_SHAPES && figures_are_sane(k) && ridge_is_sane(&k->ridge);

	for (unsigned i = 0; ok && i < k->n_shapes; i++)
		ok = shape_is_sane(&k->shape[i]);
	return ok;
}

static void entry_fill(struct durations *d, struct entry *e, const struct duration_kernel *k)
{
	e->k = *k;
	for (unsigned i = 0; i < k->n_shapes; i++)
		d->clock = MAX(d->clock, k->shape[i].used);
}

int durations_restore(struct durations *d, const struct duration_kernel *k)
{
	uint64_t number = number_of(&k->owner, k->code);
	struct entry *e;

	if (!duration_is_sane(k))
		return -EINVAL;
	e = entry_of(d, number);
	if (e ? e->k.launches >= k->launches : d->entries.len >= DURATION_KERNELS)
		return 0;
	if (!e) {
		e = entry_make(d, number, k->owner.uid);
		if (!e)
			return -ENOMEM;
		entry_link_last(d, e);
	}
	entry_fill(d, e, k);
	if (e->numbered)
		entry_tell(d, e);
	return 0;
}

void durations_watch(struct durations *d,
	void (*record)(void *user, uint64_t number, const struct duration_kernel *k),
	void (*forgot)(void *user, uint64_t number), void *user)
{
	d->record = record;
	d->forgot = forgot;
	d->watch_user = user;
}

int durations_put(struct durations *d, const struct duration_kernel *k)
{
	uint64_t number = number_of(&k->owner, k->code);
	struct entry *e = entry_of(d, number);

	if (!duration_is_sane(k))
		return -EINVAL;
	if (!e) {
		e = entry_make(d, number, k->owner.uid);
		if (!e)
			return -ENOMEM;
		entry_link_first(d, e);
	}
	entry_fill(d, e, k);
	return 0;
}

void durations_forget(struct durations *d, uint64_t number)
{
	struct entry *e = entry_of(d, number);

	if (e)
		entry_free(d, e);
}

unsigned durations_changed(struct durations *d, struct duration_kernel *ret, unsigned max)
{
	unsigned n = 0;

	for (struct entry *e = d->oldest; e && n < max; e = e->prev) {
		if (!e->changed)
			continue;
		e->changed = false;
		d->n_changed--;
		ret[n++] = e->k;
	}
	return n;
}

void durations_change(struct durations *d, const struct duration_kernel *copied)
{
	struct entry *e = entry_of(d, number_of(&copied->owner, copied->code));

	if (e)
		entry_changes(d, e);
}

bool durations_has_changed(const struct durations *d)
{
	return d->n_changed > 0;
}

void durations_each(const struct durations *d, uint32_t uid, durations_fn *fn, void *user)
{
	for (const struct entry *e = d->newest; e; e = e->next) {
		if (uid == DURATION_ANY || e->k.owner.uid == uid)
			fn(user, &e->k);
	}
}
