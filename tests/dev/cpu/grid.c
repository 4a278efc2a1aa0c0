/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of grid.h. */
#include "grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESIDENT 8

static void fill_slots(const struct vgpu_launch *l, struct vgpu_block *slot[RESIDENT],
	bool busy[RESIDENT], uint64_t *next, uint64_t total, int *error)
{
	for (unsigned k = 0; k < RESIDENT && *next < total && !*error; k++) {
		if (busy[k])
			continue;
		if (slot[k])
			vgpu_block_reset(slot[k], *next);
		else
			*error = vgpu_block_create(l, *next, k % 4, k / 4, &slot[k]);
		busy[k] = !*error;
		*next += busy[k];
	}
}

int vgpu_run_grid(
	const struct vgpu_launch *l, uint64_t budget, uint64_t max_steps, struct grid_result *ret)
{
	uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], next = 0, done = 0;
	struct vgpu_block *slot[RESIDENT] = {0};
	bool busy[RESIDENT] = {0};
	int error = 0;

	memset(ret, 0, sizeof(*ret));
	while (done < total && !error) {
		fill_slots(l, slot, busy, &next, total, &error);
		for (unsigned k = 0; k < RESIDENT && !error; k++) {
			enum vgpu_state s;

			if (!busy[k])
				continue;
			s = vgpu_block_step(slot[k], budget, &ret->thread_insns, &ret->cycles);
			ret->steps++;
			ret->idle_steps += s == VGPU_IDLE;
			if (s == VGPU_FAULT) {
				ret->fault = *vgpu_block_fault(slot[k]);
				ret->faulted = true;
				error = -EFAULT;
			} else if (s == VGPU_DONE) {
				busy[k] = false;
				done++;
			}
			if (max_steps && ret->steps > max_steps)
				error = -ETIMEDOUT;
		}
	}
	for (unsigned k = 0; k < RESIDENT; k++)
		vgpu_block_destroy(slot[k]);
	return error;
}

static uint64_t mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t encode(const struct grid_arg *a, double d, int64_t i, bool is_int)
{
	float f = is_int ? (float)i : (float)d;
	double v = is_int ? (double)i : d;
	uint64_t bits = 0;

	if (a->type != 'f')
		return is_int ? (uint64_t)i : (uint64_t)(int64_t)d;
	if (a->bits == 32)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &v, 8);
	return bits;
}

static uint64_t parse_value(const struct grid_arg *a, const char *s)
{
	if (s[0] == '0' && s[1] == 'x')
		return strtoull(s, NULL, 16);
	if (a->type == 'f')
		return encode(a, strtod(s, NULL), 0, false);
	return (uint64_t)strtoll(s, NULL, 0);
}

static int fill(struct grid_arg *a, const char *init)
{
	uint8_t *p = (uint8_t *)(uintptr_t)a->addr;
	unsigned bytes = a->bits / 8;
	uint64_t state = 0, c = 0;
	bool iota = !strcmp(init, "iota"), is_rand = !strncmp(init, "rand(", 5);

	if (is_rand)
		state = strtoull(init + 5, NULL, 0);
	else if (!strncmp(init, "const(", 6))
		c = parse_value(a, init + 6);
	else if (!strncmp(init, "ones", 4))
		c = ~0ull;
	else if (!iota && strcmp(init, "zero"))
		return -EINVAL;
	for (uint64_t i = 0; i < a->n; i++) {
		uint64_t v = iota ? encode(a, 0, (int64_t)i, true) : c;

		if (is_rand) {
			v = mix(&state);
			if (a->type == 'f')
				v = encode(a, (double)(v >> 11) * 0x1p-53, 0, false);
		}
		memcpy(p + i * bytes, &v, bytes);
	}
	return 0;
}

int grid_parse_arg(struct vgpu_mem *m, const char *text, struct grid_arg *ret)
{
	struct grid_arg a = {0};
	char *e;
	int r;

	a.type = text[0];
	if (!strchr("iufb", a.type))
		return -EINVAL;
	a.bits = (unsigned)strtoul(text + 1, &e, 10);
	if (a.bits != 8 && a.bits != 16 && a.bits != 32 && a.bits != 64)
		return -EINVAL;
	if (*e == '[') {
		a.n = strtoull(e + 1, &e, 10);
		if (*e++ != ']' || !a.n)
			return -EINVAL;
	}
	if (*e++ != ':')
		return -EINVAL;
	if (!a.n) {
		a.value = parse_value(&a, e);
	} else {
		r = vgpu_mem_alloc(m, a.n * a.bits / 8, &a.addr);
		if (r)
			return r;
		r = fill(&a, e);
		if (r) {
			vgpu_mem_free(m, a.addr);
			return r;
		}
	}
	*ret = a;
	return 0;
}

int grid_pack(const struct vgpu_kernel *k, const struct grid_arg *args, unsigned n, void *params,
	size_t size)
{
	struct vgpu_kernel_info info;

	vgpu_kernel_info(k, &info);
	if (info.n_params != n || info.param_bytes > size)
		return -EINVAL;
	memset(params, 0, size);
	for (unsigned i = 0; i < n; i++) {
		uint64_t v = args[i].n ? args[i].addr : args[i].value;
		uint32_t bytes = args[i].n ? 8 : args[i].bits / 8;

		memcpy((char *)params + info.param_offset[i], &v,
			MIN(MIN(bytes, 8u), info.param_size[i]));
	}
	return 0;
}

static void parse_dim(const char *s, uint32_t ret[3])
{
	char *e;

	for (unsigned k = 0; k < 3; k++) {
		ret[k] = 1;
		if (!*s)
			continue;
		ret[k] = (uint32_t)strtoul(s, &e, 10);
		s = *e == ',' ? e + 1 : "";
	}
}

void grid_free_spec(struct vgpu_mem *m, struct grid_spec *s)
{
	for (unsigned i = 0; i < s->n_args; i++)
		if (s->args[i].n)
			vgpu_mem_free(m, s->args[i].addr);
	s->n_args = 0;
}

int grid_parse_spec(struct vgpu_mem *m, const char *text, struct grid_spec *ret)
{
	char *copy = strdup(text), *save = NULL, *word;
	int r = copy ? 0 : -ENOMEM;

	memset(ret, 0, sizeof(*ret));
	parse_dim("", ret->grid);
	parse_dim("", ret->block);
	for (word = copy ? strtok_r(copy, " \t\n", &save) : NULL; word && !r;
		word = strtok_r(NULL, " \t\n", &save)) {
		if (!strncmp(word, "--", 2)) {
			char *v = strtok_r(NULL, " \t\n", &save);

			if (!v)
				r = -EINVAL;
			else if (!strcmp(word, "--grid"))
				parse_dim(v, ret->grid);
			else if (!strcmp(word, "--block"))
				parse_dim(v, ret->block);
			else if (!strcmp(word, "--shared"))
				ret->shared = (uint32_t)strtoul(v, NULL, 10);
			else
				r = -EINVAL;
		} else if (ret->n_args < GRID_MAX_ARGS) {
			r = grid_parse_arg(m, word, &ret->args[ret->n_args]);
			ret->n_args += !r;
		} else {
			r = -E2BIG;
		}
	}
	free(copy);
	if (r)
		grid_free_spec(m, ret);
	return r;
}
