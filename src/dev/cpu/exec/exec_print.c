/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that the driver provides to kernels: vprintf, __assertfail, malloc, free. */
#include "exec_ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT 1024

/* Returns this lane's value of argument k of the call. */
static uint64_t get_argument(const struct vx *x, const struct vcall *c, uint32_t k, unsigned lane)
{
	const struct vframe *f = x->f->frame;
	const struct vcopy *a;
	const char *p;
	uint64_t v = 0;

	if (k >= c->n_args)
		return 0;
	a = &c->args[k];
	if (a->from_reg)
		p = (a->from & 1 ? (const char *)f->fn->consts - 1 : f->regs) + a->from +
		    lane * (a->bytes > 4 ? 8 : 4);
	else
		p = f->local + (size_t)lane * f->fn->local_bytes + a->from;
	memcpy(&v, p, MIN(a->bytes, 8u));
	return v;
}

static void set_result(struct vx *x, const struct vcall *c, unsigned lane, uint64_t v)
{
	struct vframe *f = x->f->frame;
	const struct vcopy *r = c->rets;
	char *p;

	if (!c->n_rets)
		return;
	if (r->to_reg)
		p = f->regs + r->to + lane * (r->bytes > 4 ? 8 : 4);
	else
		p = f->local + (size_t)lane * f->fn->local_bytes + r->to;
	memcpy(p, &v, MIN(r->bytes, 8u));
}

/* Reads generic memory at any alignment. Returns false after a fault. */
static bool read_generic(struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr,
	uint32_t bytes, void *ret)
{
	struct vinsn any = *in;
	const void *p;

	any.space = PTX_GENERIC;
	any.flags |= VI_UNALIGNED;
	any.x = x->b->program->n_ranges;
	p = vx_resolve(x, &any, lane, addr, bytes, false);
	if (!p)
		return false;
	memcpy(ret, p, bytes);
	return true;
}

static bool peek_string(
	struct vx *x, const struct vinsn *in, unsigned lane, uint64_t addr, char *ret, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++) {
		if (!read_generic(x, in, lane, addr + i, 1, &ret[i]))
			return false;
		if (!ret[i])
			return true;
	}
	ret[size - 1] = 0;
	return true;
}

struct print {
	struct vx *x;
	const struct vinsn *in;
	unsigned lane;
	uint64_t args; /* address of the next argument */
	struct strbuf out;
	uint32_t n;
};

static bool next_arg(struct print *p, unsigned bytes, void *ret)
{
	p->args = round_up(p->args, bytes);
	if (!read_generic(p->x, p->in, p->lane, p->args, bytes, ret))
		return false;
	p->args += bytes;
	p->n++;
	return true;
}

/* Formats one conversion such as "%-8.3lld". spec is the conversion's text without the length
 * letters. */
static bool format_one(struct print *p, const char *spec, char kind, bool is_long)
{
	char fmt[48], text[MAX_TEXT];
	uint64_t v64 = 0;
	uint32_t v32 = 0;
	double d;

	switch (kind) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		if (is_long ? !next_arg(p, 8, &v64) : !next_arg(p, 4, &v32))
			return false;
		if (!is_long)
			v64 = kind == 'd' || kind == 'i' ? (uint64_t)(int64_t)(int32_t)v32 : v32;
		snprintf(fmt, sizeof(fmt), "%sll%c", spec, kind);
		strbuf_printf(&p->out, fmt, (long long)v64);
		return true;
	case 'c':
		if (!next_arg(p, 4, &v32))
			return false;
		snprintf(fmt, sizeof(fmt), "%sc", spec);
		strbuf_printf(&p->out, fmt, (int)v32);
		return true;
	case 'p':
		if (!next_arg(p, 8, &v64))
			return false;
		strbuf_printf(&p->out, "0x%" PRIx64, v64);
		return true;
	case 's':
		if (!next_arg(p, 8, &v64) ||
			!peek_string(p->x, p->in, p->lane, v64, text, sizeof(text)))
			return false;
		snprintf(fmt, sizeof(fmt), "%ss", spec);
		strbuf_printf(&p->out, fmt, text);
		return true;
	default:
		if (!next_arg(p, 8, &d))
			return false;
		snprintf(fmt, sizeof(fmt), "%s%c", spec, kind);
		strbuf_printf(&p->out, fmt, d);
		return true;
	}
}

/* Replaces '*' in a format by the next argument in decimal. */
static bool format_star(struct print *p, char *spec, size_t size)
{
	size_t n = strlen(spec);
	int32_t v;

	if (!next_arg(p, 4, &v))
		return false;
	snprintf(spec + n, size - n, "%d", (int)MIN(MAX(v, -500), 500));
	return true;
}

static bool format_text(struct print *p, const char *s)
{
	while (*s) {
		char spec[32] = "%";
		bool is_long = false;
		size_t n = strcspn(s, "%");

		strbuf_add(&p->out, s, n);
		s += n;
		if (!*s++)
			break;
		if (*s == '%') {
			strbuf_add(&p->out, s++, 1);
			continue;
		}
		for (; *s && strchr("-+ #0123456789.*", *s); s++) {
			n = strlen(spec);
			if (*s == '*' && !format_star(p, spec, sizeof(spec)))
				return false;
			if (*s != '*' && n < 20)
				spec[n] = *s;
		}
		for (; *s && strchr("hlLzjt", *s); s++)
			is_long |= *s != 'h' && *s != 'L';
		if (!*s)
			break;
		if (strchr("diuxXocpsfFeEgGaA", *s)) {
			if (!format_one(p, spec, *s, is_long))
				return false;
		}
		s++;
	}
	return true;
}

const struct vinsn *vop_vprintf(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];
	const struct vgpu_launch *l = x->b->launch;

	vx_weak_sync(x);
	for (uint32_t m = x->mask; m; m &= m - 1) {
		struct print p = {.x = x, .in = in, .lane = (unsigned)__builtin_ctz(m)};
		char text[MAX_TEXT];
		bool ok;

		p.args = get_argument(x, c, 1, p.lane);
		ok = peek_string(
			     x, in, p.lane, get_argument(x, c, 0, p.lane), text, sizeof(text)) &&
		     format_text(&p, text);
		if (ok && l->print && p.out.len)
			l->print(l->user, p.out.at, p.out.len);
		strbuf_finish(&p.out);
		if (!ok)
			return NULL;
		set_result(x, c, p.lane, p.n);
	}
	x->w->progress |= x->mask != 0;
	return in + 1;
}

const struct vinsn *vop_assertfail(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];
	char what[100], file[100], function[80];
	unsigned lane;

	if (!x->mask)
		return in + 1;
	lane = (unsigned)__builtin_ctz(x->mask);
	if (!peek_string(x, in, lane, get_argument(x, c, 0, lane), what, sizeof(what)) ||
		!peek_string(x, in, lane, get_argument(x, c, 1, lane), file, sizeof(file)) ||
		!peek_string(x, in, lane, get_argument(x, c, 3, lane), function, sizeof(function)))
		return NULL;
	return vx_fault(x, in, VGPU_FAULT_ASSERT, lane, 0, "%s:%u: %s: assertion `%s' failed", file,
		(unsigned)get_argument(x, c, 2, lane), function, what);
}

const struct vinsn *vop_malloc(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		uint64_t addr = 0;

		vgpu_mem_alloc(x->b->mem, get_argument(x, c, 0, lane), &addr);
		set_result(x, c, lane, addr);
	}
	return in + 1;
}

const struct vinsn *vop_free(struct vx *x, const struct vinsn *in)
{
	const struct vcall *c = &x->f->frame->fn->calls[in->x];

	for (uint32_t m = x->mask; m; m &= m - 1) {
		unsigned lane = (unsigned)__builtin_ctz(m);
		uint64_t addr = get_argument(x, c, 0, lane);

		vx_weak_sync(x);
		if (addr && vgpu_mem_free(x->b->mem, addr))
			return vx_fault(x, in, VGPU_FAULT_ADDRESS, lane, addr,
				"free of 0x%" PRIx64 ", which was not allocated", addr);
	}
	return in + 1;
}
