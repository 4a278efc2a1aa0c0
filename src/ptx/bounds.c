/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads and writes a function's launch bounds: .maxntid, .reqntid, .minnctapersm, .maxnreg and the
 * cluster directives. The module stores these directives as text; only this file parses them. */
#include "base/number.h"
#include "ptx/graft.h"
#include "ptx/lex.h"

#include <errno.h>
#include <string.h>

/* Reads numbers such as "256, 1, 1" after a directive's name. Numbers that are missing keep their
 * values in `at`. */
static void read_numbers(const char *s, uint32_t *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct number v;

		s += strspn(s, ", \t\r\n");
		v = number_literal(s, SIZE_MAX);
		if (!v.len)
			break;
		at[i] = (uint32_t)MIN(v.value, UINT32_MAX);
		s += v.len;
	}
}

enum { MAXNTID, REQNTID, MINNCTAPERSM, MAXNCTAPERSM, MAXNREG, N_BOUNDS };
static const char *const names[N_BOUNDS] = {".maxntid", ".reqntid", ".minnctapersm",
	".maxnctapersm" /* deprecated name of .minnctapersm */, ".maxnreg"};

/* Returns which launch bound a directive sets, or N_BOUNDS if it sets none. */
static unsigned find_name(const char *directive)
{
	unsigned i = 0;

	while (i < N_BOUNDS && !ptx_word_is(directive, names[i]))
		i++;
	return i;
}

void ptx_bounds_get(const struct ptx_func *f, struct ptx_bounds *ret)
{
	*ret = (struct ptx_bounds){0};
	for (size_t i = 0; i < f->directives.len; i++) {
		unsigned which = find_name(f->directives.at[i]);
		uint32_t v[3] = {0, 1, 1};

		if (which == N_BOUNDS)
			continue;
		read_numbers(f->directives.at[i] + strlen(names[which]), v, 3);
		if (which == MAXNTID)
			memcpy(ret->maxntid, v, sizeof(v));
		else if (which == REQNTID)
			memcpy(ret->reqntid, v, sizeof(v));
		else if (which == MAXNREG)
			ret->maxnreg = v[0];
		else
			ret->minnctapersm = v[0];
	}
}

uint32_t ptx_bounds_threads(const struct ptx_bounds *b)
{
	const uint32_t *d = b->reqntid[0] ? b->reqntid : b->maxntid;
	uint64_t n = 1;

	for (unsigned i = 0; i < 3; i++)
		n = MIN(n * d[i], UINT32_MAX);
	return (uint32_t)n;
}

static int add_dims(struct ptx_module *m, struct ptx_func *f, const char *name, const uint32_t d[3])
{
	const char *text;

	if (!d[0])
		return 0;
	text = arena_printf(&m->arena, "%s %u, %u, %u", name, d[0], MAX(d[1], 1u), MAX(d[2], 1u));
	return text && VEC_PUSH(&f->directives, text) ? 0 : -ENOMEM;
}

static int add_number(struct ptx_module *m, struct ptx_func *f, const char *name, uint32_t v)
{
	const char *text;

	if (!v)
		return 0;
	text = arena_printf(&m->arena, "%s %u", name, v);
	return text && VEC_PUSH(&f->directives, text) ? 0 : -ENOMEM;
}

int ptx_bounds_set(struct ptx_module *m, struct ptx_func *f, const struct ptx_bounds *b)
{
	size_t before = f->directives.len, kept = 0;
	int r;

	if (b->maxntid[0] && b->reqntid[0])
		return -EINVAL;
	r = add_dims(m, f, names[MAXNTID], b->maxntid);
	if (r == 0)
		r = add_dims(m, f, names[REQNTID], b->reqntid);
	if (r == 0)
		r = add_number(m, f, names[MINNCTAPERSM], b->minnctapersm);
	if (r == 0)
		r = add_number(m, f, names[MAXNREG], b->maxnreg);
	if (r < 0) {
		f->directives.len = before;
		return r;
	}
	for (size_t i = 0; i < f->directives.len; i++)
		if (i >= before || find_name(f->directives.at[i]) == N_BOUNDS)
			f->directives.at[kept++] = f->directives.at[i];
	f->directives.len = kept;
	return 0;
}

int ptx_bounds_lower_maxnreg(struct ptx_module *m, struct ptx_func *f, uint32_t max)
{
	const char *text;

	for (size_t i = 0; i < f->directives.len; i++) {
		uint32_t old = 0;

		if (find_name(f->directives.at[i]) != MAXNREG)
			continue;
		read_numbers(f->directives.at[i] + strlen(names[MAXNREG]), &old, 1);
		if (old && old <= max)
			return 0;
		text = arena_printf(&m->arena, "%s %u", names[MAXNREG], max);
		f->directives.at[i] = text ? text : f->directives.at[i];
		return text ? 0 : -ENOMEM;
	}
	return add_number(m, f, names[MAXNREG], max);
}

/* Returns the greatest number of registers per thread with which the GPU can launch a block of this
 * many threads. threads is 0 if the block size is unknown. */
static uint32_t most_registers(uint32_t threads)
{
	/* Register limits of sm_50 to sm_120: per block, per thread, and the step in which the GPU
	 * allocates registers to each thread. */
	const uint32_t block = 65536, thread = 255, step = 8;
	uint32_t each = block / (uint32_t)round_up(MAX(threads, 1u), 32);

	return MIN(MAX(each / step * step, step), thread);
}

int ptx_bounds_state_registers(struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_bounds b;
	uint32_t threads;

	ptx_bounds_get(f, &b);
	threads = ptx_bounds_threads(&b);
	/* .minnctapersm limits registers only together with a bound on the block's size. */
	if (b.maxnreg || (b.minnctapersm && threads))
		return 0;
	return add_number(m, f, names[MAXNREG], most_registers(threads));
}

const char *ptx_bounds_cluster(const struct ptx_func *f)
{
	static const char *const clusters[] = {
		".reqnctapercluster", ".explicitcluster", ".maxclusterrank"};

	for (size_t i = 0; i < f->directives.len; i++)
		for (size_t k = 0; k < ARRAY_LEN(clusters); k++)
			if (ptx_word_is(f->directives.at[i], clusters[k]))
				return f->directives.at[i];
	return NULL;
}

bool ptx_bounds_cluster_size(const struct ptx_func *f, uint32_t ret_size[3])
{
	static const char required[] = ".reqnctapercluster";
	bool is_explicit = false;

	memset(ret_size, 0, 3 * sizeof(*ret_size));
	for (size_t i = 0; i < f->directives.len; i++) {
		const char *d = f->directives.at[i];

		is_explicit |= ptx_word_is(d, ".explicitcluster");
		if (!ptx_word_is(d, required))
			continue;
		ret_size[1] = ret_size[2] = 1;
		read_numbers(d + strlen(required), ret_size, 3);
	}
	return is_explicit;
}
