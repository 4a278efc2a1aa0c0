/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The top level of the parser: the items of a module, directives stored as text, and error
 * recovery. The parser makes one pass over the text. If memory runs out, it leaves by a longjmp
 * (ptx_give_up). After any other error it reports the error and continues. */
#include "base/number.h"
#include "ptx/lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ptx_give_up(struct ptx_parser *p, int error)
{
	struct arena *a = &p->m->arena;

	/* Without an error code, the arena failed: its limit is reached, or memory ran out. */
	if (error == 0)
		error = a->limit_bytes && a->used_bytes + (1u << 16) > a->limit_bytes ? -E2BIG
										      : -ENOMEM;
	p->error = error;
	longjmp(p->escape, 1);
}

void ptx_error(struct ptx_parser *p, const char *at, size_t span, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	if (!p->diags || p->is_unknown)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	diag_add(p->diags, DIAG_ERROR, p->line,
		at >= p->line_start ? (uint32_t)(at - p->line_start) + 1 : 1,
		(uint32_t)MAX(span, 1), "%s", message);
}

void ptx_check_memory(struct ptx_parser *p, size_t more)
{
	if (p->m->arena.used_bytes + more > p->limit_bytes)
		ptx_give_up(p, -E2BIG);
}

struct ptx_name *ptx_name_at(struct ptx_parser *p, const char *s, size_t len)
{
	struct ptx_name *n = ptx_name_get(p->m, s, len);

	if (!n)
		ptx_give_up(p, 0);
	return n;
}

/* Skips a statement that contains an error. Stops after its ';', or at a brace that does not belong
 * to the statement. That is the '}' that closes the scope, or a '{' that opens a new scope. A '{'
 * opens a scope if a ';' comes before its '}'. */
void ptx_skip_statement(struct ptx_parser *p)
{
	struct {
		const char *s, *line_start;
		uint32_t line;
	} first = {0};
	unsigned depth = 0;

	while (p->s < p->end) {
		if (*p->s == ';') {
			if (depth) {
				p->s = first.s;
				p->line = first.line;
				p->line_start = first.line_start;
			} else {
				p->s++;
			}
			return;
		}
		if (*p->s == '}' && depth-- == 0)
			return;
		if (*p->s == '{' && depth++ == 0) {
			first.s = p->s;
			first.line = p->line;
			first.line_start = p->line_start;
		}
		ptx_step(p);
	}
}

unsigned ptx_parse_linkage(struct ptx_parser *p)
{
	static const struct {
		const char *name;
		unsigned bit;
	} words[] = {{".extern", PTX_EXTERN}, {".visible", PTX_VISIBLE}, {".weak", PTX_WEAK},
		{".common", PTX_COMMON}};
	unsigned linkage = 0;

	for (size_t i = 0; i < ARRAY_LEN(words);) {
		if (!ptx_word_is(p->s, words[i].name)) {
			i++;
			continue;
		}
		linkage |= words[i].bit;
		p->s += strlen(words[i].name);
		ptx_skip(p);
		i = 0;
	}
	return linkage;
}

/* ---- directives that are stored as text ---- */
static void past_word(struct ptx_parser *p)
{
	while (ch_is(*p->s, CH_MNEM) || *p->s == '%')
		p->s++;
}

/* Skips a list of identifiers, numbers and strings separated by commas, as in .file, .version and
 * .target. Returns the end of the list. */
static const char *past_list(struct ptx_parser *p)
{
	const char *end = p->s;

	for (;;) {
		ptx_skip(p);
		if (*p->s == '"')
			ptx_step(p);
		else if (ch_is(*p->s, CH_ID))
			past_word(p);
		else
			return end;
		end = p->s;
		ptx_skip(p);
		if (*p->s == ',')
			end = ++p->s;
		else if (*p->s != '"')
			return end;
	}
}

/* Skips ".loc 1 2 3, function_name $L + 4, inlined_at 1 2 3" and returns its end. The next
 * statement starts at the first word that is neither a number nor follows a comma or a plus
 * sign. */
static const char *past_loc(struct ptx_parser *p)
{
	const char *end = p->s;

	for (;;) {
		ptx_skip(p);
		if (*p->s == ',' || *p->s == '+') {
			p->s++;
			ptx_skip(p);
			if (ptx_word_is(p->s, "function_name")) {
				p->s += strlen("function_name");
				ptx_skip(p);
				past_word(p);
			} else {
				past_word(p);
			}
		} else if (ch_is(*p->s, CH_DIGIT)) {
			past_word(p);
		} else {
			return end;
		}
		end = p->s;
	}
}

static void past_plain(struct ptx_parser *p, bool lines)
{
	const char *s = p->s;

	for (;;) {
		while (ch_is(*s, CH_PLAIN) || *s == ' ')
			s++;
		if (!lines || *s != '\n')
			break;
		p->line++;
		p->line_start = ++s;
	}
	p->s = s;
}

/* Skips an unknown directive: up to the end of its block in braces, or up to its ';'. A directive
 * without braces or ';' ends with its line. */
static const char *past_unknown(struct ptx_parser *p, bool section)
{
	const char *end = p->s;
	unsigned depth = 0;

	while (p->s < p->end) {
		if (*p->s == '}' && depth == 0)
			return end;
		if (*p->s == ';' && depth == 0) {
			if (section)
				return end;
			return ++p->s;
		}
		depth += *p->s == '{';
		if (*p->s == '}' && --depth == 0)
			return ++p->s;
		if (depth == 0 && !section && (*p->s == '\n' || *p->s == '/')) {
			const char *before = p->s;
			uint32_t line = p->line;

			ptx_skip(p);
			if (p->s >= p->end || (p->line != line && (*p->s == '.' || *p->s == '@')))
				return end;
			if (p->s != before)
				continue;
		}
		if (ch_is(*p->s, CH_PLAIN))
			past_plain(p, depth > 0);
		else
			ptx_step(p);
		if (depth || !ch_is(p->s[-1], CH_GAP))
			end = p->s;
	}
	return end;
}

const char *ptx_directive(struct ptx_parser *p)
{
	const char *from = p->s, *word = from + 1, *end, *text;
	size_t n;

	p->s++;
	past_word(p);
	if (p->s == word) {
		ptx_error(p, from, 1, "a directive's name should follow the dot");
		ptx_skip_statement(p);
		return NULL;
	}
	if (ptx_word_is(word, "loc"))
		end = past_loc(p);
	else if (ptx_word_is(word, "file") || ptx_word_is(word, "version") ||
		 ptx_word_is(word, "target") || ptx_word_is(word, "address_size"))
		end = past_list(p);
	else
		end = past_unknown(p, ptx_word_is(word, "section"));
	text = ptx_clean_text(p, from, end);
	n = strlen(text);
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\n'))
		n--;
	((char *)text)[n] = 0;
	return text;
}

/* ---- the module ---- */
static void note_directive(struct ptx_module *m, const char *text)
{
	unsigned major, minor;
	const char *arch;

	if (ptx_word_is(text, ".version")) {
		if (sscanf(text, ".version %u . %u", &major, &minor) == 2)
			m->version = major * 10 + minor;
	} else if (ptx_word_is(text, ".target")) {
		for (text += 7; *text == ' ' || *text == '\n'; text++)
			;
		m->target = text;
		arch = strstr(text, "sm_");
		m->sm = arch ? (unsigned)number_digits(arch + 3, SIZE_MAX, 10).value : 0;
	} else if (ptx_word_is(text, ".address_size")) {
		text += strcspn(text, "0123456789");
		m->address_bits = (unsigned)number_digits(text, SIZE_MAX, 10).value;
	}
}

/* Skips a block in braces, up to and including the closing brace. */
static void skip_block(struct ptx_parser *p)
{
	unsigned depth = 0;

	do {
		depth += *p->s == '{';
		depth -= *p->s == '}';
		ptx_step(p);
	} while (depth && p->s < p->end);
}

static void text_item(struct ptx_parser *p)
{
	uint32_t line = p->line;
	const char *text = ptx_directive(p);

	if (!text)
		return;
	note_directive(p->m, text);
	if (!VEC_PUSH(&p->m->items, (struct ptx_item){PTX_ITEM_TEXT, line, {.text = text}}))
		ptx_give_up(p, -ENOMEM);
}

static void item(struct ptx_parser *p)
{
	static const char *const spaces[] = {
		".global", ".const", ".shared", ".local", ".param", ".tex", ".reg"};
	uint32_t line = p->line;
	unsigned linkage = ptx_parse_linkage(p);

	if (ptx_word_is(p->s, ".entry") || ptx_word_is(p->s, ".func")) {
		if (!ptx_parse_func(p, linkage, line)) {
			/* The function's body is skipped too, because the declarations of the head
			 * would be missing in it. */
			ptx_skip_statement(p);
			if (*p->s == '{')
				skip_block(p);
		}
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		if (ptx_word_is(p->s, spaces[i])) {
			if (!ptx_parse_decl(p, linkage))
				ptx_skip_statement(p);
			return;
		}
	}
	if (linkage) {
		ptx_error(p, p->s, 1, "a function or a variable should follow");
		ptx_skip_statement(p);
		return;
	}
	text_item(p);
}

void ptx_parse_items(struct ptx_parser *p)
{
	for (;;) {
		ptx_skip(p);
		if (p->s >= p->end)
			return;
		if (*p->s == '.' || (*p->s == '@' && p->s[1] == '@')) {
			item(p);
			continue;
		}
		ptx_error(p, p->s, 1, "a directive should stand here");
		if (*p->s == '{')
			skip_block(p);
		else if (*p->s == ';' || *p->s == '}')
			p->s++;
		else
			ptx_skip_statement(p);
	}
}

void ptx_parser_init(struct ptx_parser *p, struct ptx_module *m, struct diag_list *diags,
	const char *text, size_t len)
{
	*p = (struct ptx_parser){.m = m, .names = m->globals, .diags = diags, .line = 1};
	p->s = p->line_start = text;
	p->end = text + len;
	p->limit_bytes = m->arena.limit_bytes ? m->arena.limit_bytes : SIZE_MAX;
}

void ptx_parser_finish(struct ptx_parser *p)
{
	VEC_FREE(&p->stack);
	VEC_FREE(&p->before);
}

void ptx_func_finish(struct ptx_func *f)
{
	VEC_FREE(&f->rets);
	VEC_FREE(&f->params);
	VEC_FREE(&f->directives);
	VEC_FREE(&f->regs);
	VEC_FREE(&f->syms);
	VEC_FREE(&f->body);
}

void ptx_module_free(struct ptx_module *m)
{
	struct arena arena;

	if (!m)
		return;
	for (size_t i = 0; i < m->items.len; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC)
			ptx_func_finish(m->items.at[i].func);
	VEC_FREE(&m->items);
	ptx_names_free(m);
	/* The module itself is allocated in its arena, so the arena is copied before it is
	 * freed. */
	arena = m->arena;
	arena_finish(&arena);
}

static int ptx_module_new(size_t limit_bytes, struct ptx_module **ret)
{
	struct arena arena;
	struct ptx_module *m;

	arena_init(&arena, limit_bytes);
	m = ARENA_NEW(&arena, struct ptx_module);
	if (!m) {
		arena_finish(&arena);
		return -ENOMEM;
	}
	m->arena = arena;
	m->address_bits = 32;
	if (ptx_names_init(m) < 0) {
		ptx_module_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

int ptx_parse(const char *text, size_t len, size_t limit_bytes, struct diag_list *diags,
	struct ptx_module **ret)
{
	struct ptx_parser *p;
	struct ptx_module *m;
	struct arena scratch;
	char *copy;
	int r;

	if (len > UINT32_MAX / 2)
		return -E2BIG;
	if (limit_bytes == 0)
		limit_bytes = len * 64 + ((size_t)16 << 20);
	r = ptx_module_new(limit_bytes, &m);
	if (r < 0)
		return r;
	arena_init(&scratch, 0);
	copy = arena_alloc(&scratch, len + PTX_PADDING);
	p = ARENA_NEW(&m->arena, struct ptx_parser);
	if (!copy || !p) {
		arena_finish(&scratch);
		ptx_module_free(m);
		return -ENOMEM;
	}
	memcpy(copy, text, len);
	memset(copy + len, 0, PTX_PADDING);
	ptx_parser_init(p, m, diags, copy, len);
	if (setjmp(p->escape) == 0)
		ptx_parse_items(p);
	ptx_parser_finish(p);
	arena_finish(&scratch);
	r = p->error;
	if (r < 0) {
		ptx_module_free(m);
		return r;
	}
	ptx_resolve_aliases(m, 0);
	*ret = m;
	return r;
}
