/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The events of a simulation, by time and order of creation. Events created before the run are in
 * an array, which is sorted when the run starts. Those created during the run are in a heap. */
#include "inside.h"

#include <errno.h>
#include <stdlib.h>

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->t != b->t ? a->t < b->t : a->order < b->order;
}

static void swap_events(struct sim_event *a, struct sim_event *b)
{
	struct sim_event x = *a;

	*a = *b;
	*b = x;
}

void sim_at(struct sim *s, uint64_t t, struct sim_event e)
{
	struct sim_event *h;
	size_t i;

	e.t = t;
	e.order = s->order++;
	if (s->running ? !VEC_PUSH(&s->events, e) : !VEC_PUSH(&s->planned, e)) {
		free(e.quota);
		sim_fail(s, -ENOMEM);
		return;
	}
	if (!s->running)
		return;
	h = s->events.at;
	for (i = s->events.len - 1; i && is_before(&h[i], &h[(i - 1) / 2]); i = (i - 1) / 2)
		swap_events(&h[i], &h[(i - 1) / 2]);
}

static int event_by_time(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

const struct sim_event *sim_next(const struct sim *s)
{
	const struct sim_event *made = s->events.len ? &s->events.at[0] : NULL;
	const struct sim_event *planned =
		s->next_planned < s->planned.len ? &s->planned.at[s->next_planned] : NULL;

	return made && planned ? is_before(made, planned) ? made : planned : made ? made : planned;
}

static struct sim_event pop_made(struct sim *s)
{
	struct sim_event *h = s->events.at, e = h[0];
	size_t n = --s->events.len, i = 0;

	h[0] = h[n];
	for (;;) {
		size_t c = 2 * i + 1;

		if (c + 1 < n && is_before(&h[c + 1], &h[c]))
			c++;
		if (c >= n || !is_before(&h[c], &h[i]))
			return e;
		swap_events(&h[c], &h[i]);
		i = c;
	}
}

struct sim_event sim_pop(struct sim *s)
{
	const struct sim_event *next = sim_next(s);

	if (s->events.len && next == &s->events.at[0])
		return pop_made(s);
	s->next_planned++;
	return *next;
}

void sim_sort_planned(struct sim *s)
{
	if (s->planned.len)
		qsort(s->planned.at, s->planned.len, sizeof(s->planned.at[0]), event_by_time);
}
