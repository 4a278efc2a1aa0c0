/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The printer. It writes into a window on the stack, so that most characters cost one store. When
 * the window is full, it is appended to the caller's buffer.
 *
 * A module that nobody changed is printed with every statement on its original source line, because
 * ptxas puts line numbers into the names of shared variables and into debug sections. A statement
 * that a pass added has no line. In a function with such statements, each statement simply goes on
 * the next line. */
#include "ptx/graft.h"

#include <stdio.h>
#include <string.h>

#define EMIT_BYTES   (1u << 18)
#define WINDOW_BYTES 8192
#define SHORT_BYTES  32 /* a faster function copies names up to this length */
/* spare bytes at the window's end: characters, numbers and short names are written without a
 * check */
#define SLACK_BYTES 128

struct out {
	char *p, *end; /* `end` is SLACK_BYTES before the window's real end */
	struct strbuf *buf;
	uint32_t line; /* number of the next output line, from 1 */
	/* each statement keeps its line; set for each function and for the module level */
	bool keep_lines;
	bool at_start;   /* no separator is needed before the next item */
	ptx_lines *from; /* source line of each output line; NULL: not recorded */
	char window[WINDOW_BYTES];
};

static void out_init(struct out *o, struct strbuf *buf)
{
	o->p = o->window;
	o->end = o->window + WINDOW_BYTES - SLACK_BYTES;
	o->buf = buf;
	o->line = 1;
	o->keep_lines = false;
	o->at_start = true;
	o->from = NULL;
}

static void flush(struct out *o)
{
	strbuf_add(o->buf, o->window, (size_t)(o->p - o->window));
	o->p = o->window;
}

static inline void room(struct out *o)
{
	if (o->p >= o->end)
		flush(o);
}

static inline void put_char(struct out *o, char c)
{
	*o->p++ = c;
}

/* Copies len characters, at most SHORT_BYTES, by two copies of fixed size that can overlap. */
static inline void copy_short(char *to, const char *s, size_t len)
{
	if (len >= 16) {
		memcpy(to, s, 16);
		memcpy(to + len - 16, s + len - 16, 16);
	} else if (len >= 8) {
		memcpy(to, s, 8);
		memcpy(to + len - 8, s + len - 8, 8);
	} else if (len >= 4) {
		memcpy(to, s, 4);
		memcpy(to + len - 4, s + len - 4, 4);
	} else if (len) {
		to[0] = s[0];
		to[len / 2] = s[len / 2];
		to[len - 1] = s[len - 1];
	}
}

static void put_long(struct out *o, const char *s, size_t len)
{
	if (len >= (size_t)(o->end - o->p) || o->p >= o->end) {
		flush(o);
		if (len >= WINDOW_BYTES - SLACK_BYTES) {
			strbuf_add(o->buf, s, len);
			return;
		}
	}
	memcpy(o->p, s, len);
	o->p += len;
}

/* Prints an interned name. Reading up to the next multiple of eight characters past its end is safe
 * (names.h). */
static inline void put_name(struct out *o, const char *s, size_t len)
{
	char *p;

	if (len > SHORT_BYTES) {
		put_long(o, s, len);
		return;
	}
	room(o);
	p = o->p;
	o->p += len;
	do {
		memcpy(p, s, 8);
		p += 8;
		s += 8;
	} while (p < o->p);
}

static inline void put(struct out *o, const char *s, size_t len)
{
	if (len > SHORT_BYTES) {
		put_long(o, s, len);
		return;
	}
	room(o);
	copy_short(o->p, s, len);
	o->p += len;
}

static void put_str(struct out *o, const char *s)
{
	put(o, s, strlen(s));
}

/* Writes text that may contain line breaks. */
static void put_lines(struct out *o, const char *s, size_t len)
{
	for (const char *nl = s; (nl = memchr(nl, '\n', len - (size_t)(nl - s))); nl++)
		o->line++;
	put(o, s, len);
}

static void put_text(struct out *o, const char *s)
{
	put_lines(o, s, strlen(s));
}

static void newline(struct out *o)
{
	room(o);
	put_char(o, '\n');
	o->line++;
}

/* Records the source line of the current output line. If memory runs out, the last entries are
 * missing. */
static void note_line(struct out *o, uint32_t line)
{
	while (o->from->len < o->line)
		if (!VEC_PUSH(o->from, 0))
			return;
	o->from->at[o->line - 1] = line;
}

/* Starts printing something that was on this line of the source; 0 means that it was on no line. */
static inline void begin_line(struct out *o, uint32_t line, bool indent)
{
	if (line == o->line && o->keep_lines) {
		room(o);
		if (!o->at_start)
			put_char(o, ' ');
	} else {
		if (!o->at_start)
			newline(o);
		while (o->keep_lines && o->line < line)
			newline(o);
		if (indent)
			put_char(o, '\t');
	}
	o->at_start = false;
	if (o->from && line)
		note_line(o, line);
}

/* The digits of the numbers "000" to "999". */
#define TENS(t) t "0" t "1" t "2" t "3" t "4" t "5" t "6" t "7" t "8" t "9"
#define HUNDREDS(t) \
	TENS(t "0") \
	TENS(t "1") \
	TENS(t "2") \
	TENS(t "3") TENS(t "4") TENS(t "5") TENS(t "6") TENS(t "7") TENS(t "8") TENS(t "9")
static const char three_digits[] = HUNDREDS("0") HUNDREDS("1") HUNDREDS("2") HUNDREDS("3")
	HUNDREDS("4") HUNDREDS("5") HUNDREDS("6") HUNDREDS("7") HUNDREDS("8") HUNDREDS("9");

/* Prints v (below 1,000) at p and returns the end of the digits. The caller makes sure that four
 * bytes can be written. */
static inline char *small_at(char *p, uint32_t v)
{
	unsigned skip = (v < 10) + (v < 100);

	memcpy(p, three_digits + 3 * v + skip, 4);
	return p + 3 - skip;
}

static void put_uint(struct out *o, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	room(o);
	if (v < 1000) {
		o->p = small_at(o->p, (uint32_t)v);
		return;
	}
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*o->p++ = digits[--n];
}

static inline void put_reg(struct out *o, const struct ptx_func *f, uint32_t reg)
{
	const struct ptx_reg *r;

	if (reg >= f->regs.len) {
		put_str(o, "%bad");
		return;
	}
	r = &f->regs.at[reg];
	put_name(o, r->sym->name, r->sym->name_len);
	if (r->sym->count)
		put_uint(o, r->number);
}

/* Prints a plain register operand, the most frequent kind, at p and returns its end. Returns NULL
 * for any other operand and for a long name or number. The caller provides space for a short name
 * and a number. */
static inline char *plain_reg_at(char *p, const struct ptx_func *f, const struct ptx_opd *opd)
{
	const struct ptx_sym *sym;
	const struct ptx_reg *r;

	if (opd->kind != PTX_OPD_REG || opd->negated || opd->selector || opd->reg >= f->regs.len)
		return NULL;
	r = &f->regs.at[opd->reg];
	sym = r->sym;
	if (sym->name_len > 8 || r->number > 999)
		return NULL;
	memcpy(p, sym->name, 8);
	p += sym->name_len;
	return sym->count ? small_at(p, r->number) : p;
}

static void put_selector(struct out *o, const struct ptx_opd *opd)
{
	static const char *const parts[] = {[PTX_SEL_B0] = "b0",
		[PTX_SEL_B1] = "b1",
		[PTX_SEL_B2] = "b2",
		[PTX_SEL_B3] = "b3",
		[PTX_SEL_H0] = "h0",
		[PTX_SEL_H1] = "h1"};

	room(o);
	put_char(o, '.');
	if (opd->selector == PTX_SEL_TEXT)
		put_str(o, opd->name);
	else if (opd->selector < PTX_SEL_TEXT)
		put_str(o, parts[opd->selector]);
	else
		put_char(o, (char)opd->selector);
}

static void put_opd(struct out *o, const struct ptx_func *f, const struct ptx_opd *opd);

static void put_list(
	struct out *o, const struct ptx_func *f, const struct ptx_opd *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		char *p, *next;

		room(o);
		p = o->p;
		if (i) {
			memcpy(p, ", ", 2);
			p += 2;
		}
		next = plain_reg_at(p, f, &list[i]);
		o->p = next ? next : p;
		if (!next)
			put_opd(o, f, &list[i]);
	}
}

static void put_address(struct out *o, const struct ptx_func *f, const struct ptx_opd *opd)
{
	char *next;

	put_char(o, '[');
	next = opd->n ? plain_reg_at(o->p, f, opd->list) : NULL;
	if (next)
		o->p = next;
	else if (opd->n)
		put_opd(o, f, opd->list);
	if (opd->name || opd->has_value) {
		room(o);
		put_char(o, '+');
		if (opd->name)
			put_str(o, opd->name);
		else
			put_uint(o, opd->value);
	}
	if (opd->n > 1) {
		room(o);
		put_char(o, ',');
		put_char(o, ' ');
		put_list(o, f, opd->list + 1, opd->n - 1);
	}
	room(o);
	put_char(o, ']');
}

static void put_symbol(struct out *o, const struct ptx_opd *opd)
{
	if (opd->sym)
		put_name(o, opd->sym->name, opd->sym->name_len);
	else
		put_str(o, opd->name);
	if (!opd->has_value)
		return;
	room(o);
	put_char(o, '+');
	if ((int64_t)opd->value < 0) {
		put_char(o, '-');
		put_uint(o, -opd->value);
	} else {
		put_uint(o, opd->value);
	}
}

static void put_opd(struct out *o, const struct ptx_func *f, const struct ptx_opd *opd)
{
	room(o);
	switch (opd->kind) {
	case PTX_OPD_REG:
		if (opd->negated)
			put_char(o, (char)opd->negated);
		put_reg(o, f, opd->reg);
		if (opd->selector)
			put_selector(o, opd);
		break;
	case PTX_OPD_SYM:
		put_symbol(o, opd);
		break;
	case PTX_OPD_ADDR:
		put_address(o, f, opd);
		break;
	case PTX_OPD_VECTOR:
	case PTX_OPD_TUPLE:
		put_char(o, opd->kind == PTX_OPD_VECTOR ? '{' : '(');
		put_list(o, f, opd->list, opd->n);
		room(o);
		put_char(o, opd->kind == PTX_OPD_VECTOR ? '}' : ')');
		break;
	case PTX_OPD_PAIR:
		put_opd(o, f, &opd->list[0]);
		room(o);
		put_char(o, '|');
		put_opd(o, f, &opd->list[1]);
		break;
	case PTX_OPD_SINK:
		put_char(o, '_');
		break;
	default:
		if (opd->negated)
			put_char(o, (char)opd->negated);
		if (opd->name)
			put_str(o, opd->name);
		else
			put_uint(o, opd->value);
		break;
	}
}

static void put_insn(struct out *o, const struct ptx_func *f, const struct ptx_stmt *s)
{
	if (s->guard != PTX_NO_REG) {
		put_char(o, '@');
		if (s->guard_negated)
			put_char(o, '!');
		put_reg(o, f, s->guard);
		room(o);
		put_char(o, ' ');
	}
	put_name(o, s->mn->text, s->mn->text_len);
	room(o);
	if (s->n) {
		put_char(o, ' ');
		put_list(o, f, s->opd, s->n);
	} else if (s->text) {
		put_char(o, ' ');
		put_text(o, s->text);
	}
	room(o);
	put_char(o, ';');
}

static void put_linkage(struct out *o, unsigned linkage)
{
	if (linkage & PTX_EXTERN)
		put_str(o, ".extern ");
	if (linkage & PTX_VISIBLE)
		put_str(o, ".visible ");
	if (linkage & PTX_WEAK)
		put_str(o, ".weak ");
	if (linkage & PTX_COMMON)
		put_str(o, ".common ");
}

/* Prints the declaration's text, with the symbol's current name in place of the original one. */
static void put_decl(struct out *o, const struct ptx_sym *sym)
{
	const char *s = sym->decl;

	if (!sym->name_at) {
		put_text(o, s);
		return;
	}
	put_lines(o, s, sym->name_at);
	put(o, sym->name, sym->name_len);
	put_text(o, s + sym->name_at + sym->decl_name_len);
}

static void put_reg_decl(struct out *o, const struct ptx_sym *sym)
{
	put_str(o, ".reg .");
	if (sym->type.vec > 1) {
		put_char(o, 'v');
		put_uint(o, sym->type.vec);
		put_str(o, " .");
	}
	/* Registers of other types never get here: they keep their declaration as text. */
	put_str(o, ptx_type_name(sym->type.base));
	put_char(o, ' ');
	put(o, sym->name, sym->name_len);
	if (sym->count) {
		room(o);
		put_char(o, '<');
		put_uint(o, sym->count);
		put_char(o, '>');
	}
}

static void put_var(struct out *o, const struct ptx_sym *sym)
{
	if (sym->decl && !*sym->decl)
		return;
	put_linkage(o, sym->linkage);
	if (sym->decl)
		put_decl(o, sym);
	else
		put_reg_decl(o, sym);
	if (sym->init) {
		put_str(o, " = ");
		put_text(o, sym->init);
	}
	room(o);
	put_char(o, ';');
}

static void put_directive(struct out *o, const struct ptx_func *f, const struct ptx_stmt *s)
{
	if (!s->sym) {
		put_text(o, s->text);
		return;
	}
	put(o, s->sym->name, s->sym->name_len);
	put_str(o, ": ");
	put_text(o, s->text);
	if (!s->sym->targets)
		return;
	room(o);
	put_char(o, ' ');
	put_list(o, f, s->sym->targets, s->sym->n_targets);
	room(o);
	put_char(o, ';');
}

static void put_stmt(struct out *o, const struct ptx_func *f, const struct ptx_stmt *s)
{
	room(o);
	switch (s->kind) {
	case PTX_INSN:
		put_insn(o, f, s);
		break;
	case PTX_LABEL:
		put_name(o, s->sym->name, s->sym->name_len);
		room(o);
		put_char(o, ':');
		break;
	case PTX_DECL:
		put_var(o, s->sym);
		break;
	case PTX_OPEN:
	case PTX_CLOSE:
		put_char(o, s->kind == PTX_OPEN ? '{' : '}');
		break;
	case PTX_DIRECTIVE:
		put_directive(o, f, s);
		break;
	}
}

static void put_params(struct out *o, struct ptx_sym *const *at, size_t n)
{
	put_char(o, '(');
	for (size_t i = 0; i < n; i++) {
		room(o);
		if (i)
			put_char(o, ',');
		o->at_start = i == 0 && o->keep_lines && at[i]->line == o->line;
		begin_line(o, at[i]->line, true);
		put_decl(o, at[i]);
	}
	room(o);
	put_char(o, ')');
}

static size_t count_breaks(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '\n')); s++)
		n++;
	return n;
}

/* Prints the directives of a function's head and the opening brace. Each directive gets its own
 * line, if enough lines remain before the brace's original line. */
static void put_head_end(struct out *o, const struct ptx_func *f)
{
	size_t n = f->directives.len, lines = n;

	for (size_t i = 0; i < n; i++)
		lines += count_breaks(f->directives.at[i]);
	for (size_t i = 0; i < n; i++) {
		const char *text = f->directives.at[i];

		room(o);
		if (!o->keep_lines || (size_t)f->body_line >= o->line + lines)
			newline(o);
		else
			put_char(o, ' ');
		put_text(o, text);
		lines -= 1 + count_breaks(text);
	}
	if (f->has_body)
		begin_line(o, f->body_line, false);
	room(o);
	put_char(o, f->has_body ? '{' : ';');
}

static bool is_indented(const struct ptx_stmt *s)
{
	return s->kind != PTX_LABEL && !(s->kind == PTX_DIRECTIVE && s->sym);
}

static bool has_lines(const struct ptx_func *f)
{
	if (!f->line)
		return false;
	for (size_t i = 0; i < f->body.len; i++)
		if (!f->body.at[i].line)
			return false;
	return true;
}

static void put_func_name(struct out *o, const struct ptx_func *f)
{
	put_linkage(o, f->linkage);
	put_str(o, f->is_entry ? ".entry " : ".func ");
	if (f->attributes) {
		put_text(o, f->attributes);
		put_char(o, ' ');
	}
	if (f->rets.len) {
		put_params(o, f->rets.at, f->rets.len);
		room(o);
		put_char(o, ' ');
	}
	put(o, f->sym->name, f->sym->name_len);
	room(o);
	if (f->params.len || !f->no_param_list)
		put_params(o, f->params.at, f->params.len);
}

static void put_func(struct out *o, const struct ptx_func *f)
{
	put_func_name(o, f);
	put_head_end(o, f);
	if (!f->has_body)
		return;
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		begin_line(o, s->line, is_indented(s));
		put_stmt(o, f, s);
	}
	begin_line(o, f->end_line, false);
	put_char(o, '}');
}

void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct strbuf *out)
{
	struct out o;

	out_init(&o, out);
	if (is_indented(s))
		put_char(&o, '\t');
	put_stmt(&o, f, s);
	newline(&o);
	flush(&o);
}

void ptx_print_func(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out)
{
	ptx_print_func_lines(m, f, out, NULL);
}

void ptx_print_func_lines(const struct ptx_module *m, const struct ptx_func *f, struct strbuf *out,
	ptx_lines *ret_lines)
{
	struct out o;

	out_init(&o, out);
	o.from = ret_lines;
	put_func(&o, f);
	newline(&o);
	flush(&o);
}

static void put_item(struct out *o, const struct ptx_item *it)
{
	o->keep_lines = it->kind == PTX_ITEM_FUNC ? has_lines(it->func) : true;
	begin_line(o, it->line, false);
	switch (it->kind) {
	case PTX_ITEM_TEXT:
		put_text(o, it->text);
		break;
	case PTX_ITEM_VAR:
		put_var(o, it->sym);
		break;
	case PTX_ITEM_FUNC:
		put_func(o, it->func);
		break;
	}
}

static void print(const struct ptx_module *m, struct strbuf *out, void (*emit)(void *user),
	void *user, ptx_lines *from)
{
	struct out o;

	out_init(&o, out);
	o.from = from;
	for (size_t i = 0; i < m->items.len; i++) {
		put_item(&o, &m->items.at[i]);
		if (emit && out->len >= EMIT_BYTES)
			emit(user);
	}
	newline(&o);
	flush(&o);
}

void ptx_print_by(
	const struct ptx_module *m, struct strbuf *out, void (*emit)(void *user), void *user)
{
	print(m, out, emit, user, NULL);
}

void ptx_print(const struct ptx_module *m, struct strbuf *out)
{
	print(m, out, NULL, NULL, NULL);
}

void ptx_print_lines(const struct ptx_module *m, struct strbuf *out, ptx_lines *ret)
{
	print(m, out, NULL, NULL, ret);
}
