/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A recursive descent parser for the grammar of mangled names. Some mangled names expand to very
 * long texts. So all results are in an arena with a limit, and the recursion depth is bounded;
 * beyond that, demangling fails. A type consists of two texts, before and after the declared name,
 * because array and function types surround the name. */
#include "base/demangle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (1u << 20)
#define DEPTH       64
#define MANY        256 /* limit of substitutions, and of template arguments */

struct text {
	const char *l, *r; /* l NULL: the parser failed */
};

struct text_list {
	struct text *at;
	unsigned n, room;
};

struct reader {
	const char *at; /* position in the symbol, which ends with a NUL */
	struct arena arena;
	unsigned depth;
	struct text subst[MANY];
	unsigned n_subst;
	struct text_list args; /* the last template argument list of a function's name */
	bool is_template;      /* the last name ends with template arguments, */
	bool is_const;         /* and belongs to a const member function */
};

static const struct text none;
static struct text read_type(struct reader *x);
static const char *read_name(struct reader *x);
static const char *read_encoding(struct reader *x);

static bool skip_word(struct reader *x, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(x->at, word, n) != 0)
		return false;
	x->at += n;
	return true;
}

static const char *join_texts(struct reader *x, const char *a, const char *b)
{
	return a && b ? arena_printf(&x->arena, "%s%s", a, b) : NULL;
}

static struct text plain_text(const char *l)
{
	return (struct text){l, ""};
}

static const char *join_declaration(struct reader *x, struct text t)
{
	if (!t.l)
		return NULL;
	return join_texts(x, t.l, *t.r == '(' ? join_texts(x, " ", t.r) : t.r);
}

static struct text remember_subst(struct reader *x, struct text t)
{
	if (!t.l || x->n_subst == MANY)
		return none;
	x->subst[x->n_subst++] = t;
	return t;
}

/* Reads decimal digits. Returns false if there are none or the number is too large. */
static bool read_number(struct reader *x, size_t *ret)
{
	size_t n = 0;

	if (!isdigit((unsigned char)*x->at))
		return false;
	for (; isdigit((unsigned char)*x->at); x->at++) {
		if (n > LIMIT_BYTES)
			return false;
		n = n * 10 + (size_t)(*x->at - '0');
	}
	*ret = n;
	return true;
}

/* Reads the sequence number of a T (base 10) or S (base 36): "_" is 0, "0_" is 1, "Z_" is 36. */
static bool read_sequence(struct reader *x, unsigned base, size_t *ret)
{
	size_t n = 0;
	bool any = false;

	for (; *x->at != '_'; x->at++, any = true) {
		unsigned d = isdigit((unsigned char)*x->at)   ? (unsigned)(*x->at - '0')
			     : isupper((unsigned char)*x->at) ? (unsigned)(*x->at - 'A') + 10
							      : base;

		if (d >= base || n > MANY)
			return false;
		n = n * base + d;
	}
	x->at++;
	*ret = any ? n + 1 : 0;
	return true;
}

/* ---- names ---- */

static const char *read_source_name(struct reader *x)
{
	const char *name;
	size_t n;

	if (!read_number(x, &n) || !n || strnlen(x->at, n) < n)
		return NULL;
	name = arena_strndup(&x->arena, x->at, n);
	x->at += n;
	return name && !strncmp(name, "_GLOBAL__N", 10) ? "(anonymous namespace)" : name;
}

/* "[abi:cxx11]" */
static const char *read_tags(struct reader *x, const char *name)
{
	while (name && skip_word(x, "B")) {
		const char *tag = read_source_name(x);

		name = tag ? arena_printf(&x->arena, "%s[abi:%s]", name, tag) : NULL;
	}
	return name;
}

/* Reads types up to E or the end of the symbol, and returns them separated by commas. */
static const char *read_types(struct reader *x)
{
	const char *all = "";

	if (*x->at == 'v' && (!x->at[1] || x->at[1] == 'E')) {
		x->at++;
		return all;
	}
	while (all && *x->at && *x->at != 'E') {
		const char *t = join_declaration(x, read_type(x));

		if (t && *t)
			all = *all ? arena_printf(&x->arena, "%s, %s", all, t) : t;
		else if (!t)
			all = NULL;
	}
	return all;
}

/* A lambda, or a type without a name. */
static const char *read_unnamed(struct reader *x)
{
	const char *types = NULL;
	size_t n;
	bool lambda = skip_word(x, "Ul");

	if (!lambda && !skip_word(x, "Ut"))
		return NULL;
	if (lambda) {
		types = read_types(x);
		if (!types || !skip_word(x, "E"))
			return NULL;
	}
	if (!read_sequence(x, 10, &n))
		return NULL;
	return lambda ? arena_printf(&x->arena, "{lambda(%s)#%zu}", types, n + 1)
		      : arena_printf(&x->arena, "{unnamed type#%zu}", n + 1);
}

static const char *read_component(struct reader *x)
{
	if (*x->at == 'U')
		return read_unnamed(x);
	if (skip_word(x, "cl"))
		return "operator()";
	skip_word(x, "L"); /* marks internal linkage */
	return read_tags(x, read_source_name(x));
}

/* ---- template arguments ---- */

static const char *read_literal(struct reader *x)
{
	static const char *const suffixes[] = {"i", "j", "l", "m", "x", "y"};
	static const char *const written[] = {"", "u", "l", "ul", "ll", "ull"};
	char kind = *x->at;
	const char *type, *from, *value;

	if (skip_word(x, "_Z"))
		return read_encoding(x);
	type = join_declaration(x, read_type(x));
	from = x->at;
	while (*x->at && *x->at != 'E')
		x->at++;
	value = type ? arena_strndup(&x->arena, from, (size_t)(x->at - from)) : NULL;
	if (!value)
		return NULL;
	if (*value == 'n')
		value = join_texts(x, "-", value + 1);
	if (kind == 'b' && value && !strcmp(value, "0"))
		return "false";
	if (kind == 'b' && value && !strcmp(value, "1"))
		return "true";
	for (unsigned i = 0; i < ARRAY_LEN(suffixes); i++)
		if (kind == *suffixes[i])
			return join_texts(x, value, written[i]);
	return value ? arena_printf(&x->arena, "(%s)%s", type, value) : NULL;
}

static const char *read_arg(struct reader *x);

static bool list_add(struct reader *x, struct text_list *l, struct text t)
{
	unsigned room = l->room ? 2 * l->room : 8;
	struct text *more;

	if (l->n == l->room) {
		more = room <= MANY ? ARENA_ARRAY(&x->arena, struct text, room) : NULL;
		if (!more)
			return false;
		if (l->n)
			memcpy(more, l->at, l->n * sizeof(*more));
		l->at = more;
		l->room = room;
	}
	l->at[l->n++] = t;
	return true;
}

/* Reads template arguments up to E, and returns them separated by commas. */
static const char *read_arg_list(struct reader *x, struct text_list *ret)
{
	const char *all = "";

	while (all && !skip_word(x, "E")) {
		const char *arg = read_arg(x);

		if (!arg || !list_add(x, ret, plain_text(arg)))
			return NULL;
		if (*arg)
			all = *all ? arena_printf(&x->arena, "%s, %s", all, arg) : arg;
	}
	return all;
}

static const char *read_arg(struct reader *x)
{
	struct text_list pack = {0};
	const char *all = NULL;

	if (skip_word(x, "L")) {
		all = read_literal(x);
		return all && skip_word(x, "E") ? all : NULL;
	}
	if (!skip_word(x, "J"))
		return join_declaration(x, read_type(x));
	if (++x->depth < DEPTH)
		all = read_arg_list(x, &pack);
	x->depth--;
	return all;
}

/* After the I. */
static const char *read_args(struct reader *x, const char *name)
{
	struct text_list args = {0};
	const char *all = read_arg_list(x, &args);

	if (!all || !name)
		return NULL;
	x->args = args;
	x->is_template = true;
	return arena_printf(
		&x->arena, "%s<%s%s>", name, all, *all && all[strlen(all) - 1] == '>' ? " " : "");
}

/* ---- substitutions ---- */

/* Reads a substitution after its S. *ret_is_std is set if it is the namespace std. */
static struct text read_substitution(struct reader *x, bool *ret_is_std)
{
	static const struct {
		const char *code, *text;
	} known[] = {
		{"a", "std::allocator"},
		{"b", "std::basic_string"},
		{"s", "std::string"},
		{"i", "std::istream"},
		{"o", "std::ostream"},
		{"d", "std::iostream"},
	};
	size_t n;

	*ret_is_std = skip_word(x, "t");
	if (*ret_is_std)
		return plain_text("std");
	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (skip_word(x, known[i].code))
			return plain_text(known[i].text);
	return read_sequence(x, 36, &n) && n < x->n_subst ? x->subst[n] : none;
}

/* After the T. */
static struct text read_param(struct reader *x)
{
	size_t n;

	return read_sequence(x, 10, &n) && n < x->args.n ? x->args.at[n] : none;
}

/* Reads a nested name after its N, up to and including its E. */
static const char *read_nested(struct reader *x)
{
	const char *name = NULL;
	bool is_std, is_const;

	while (skip_word(x, "r") || skip_word(x, "V"))
		;
	is_const = skip_word(x, "K");
	if (!skip_word(x, "R"))
		skip_word(x, "O");
	x->is_template = false;
	while (!skip_word(x, "E")) {
		bool is_subst = *x->at == 'S';
		const char *part = NULL;

		if (name && skip_word(x, "I")) {
			name = read_args(x, name);
		} else if (!name && skip_word(x, "S")) {
			name = join_declaration(x, read_substitution(x, &is_std));
		} else if (!name && skip_word(x, "T")) {
			name = join_declaration(x, read_param(x));
		} else {
			part = read_component(x);
			if (!part)
				return NULL;
			name = name ? arena_printf(&x->arena, "%s::%s", name, part) : part;
			x->is_template = false;
		}
		if (!name || (!is_subst && *x->at != 'E' && !remember_subst(x, plain_text(name)).l))
			return NULL;
	}
	x->is_const = is_const;
	return name;
}

/* Reads a local name after its Z: an entity that is declared in a function. */
static const char *read_local(struct reader *x)
{
	const char *function = read_encoding(x), *name;
	size_t n;

	if (!function || !skip_word(x, "E"))
		return NULL;
	if (skip_word(x, "d") && !read_sequence(x, 10, &n))
		return NULL;
	name = skip_word(x, "s") ? "string literal" : read_name(x);
	if (skip_word(x, "__")) {
		if (!read_number(x, &n) || !skip_word(x, "_"))
			return NULL;
	} else if (*x->at == '_' && isdigit((unsigned char)x->at[1])) {
		x->at += 2;
	}
	return name ? arena_printf(&x->arena, "%s::%s", function, name) : NULL;
}

static const char *read_unscoped(struct reader *x)
{
	const char *name;
	bool is_std = false, is_subst = skip_word(x, "S");

	x->is_template = x->is_const = false;
	if (is_subst)
		name = join_declaration(x, read_substitution(x, &is_std));
	else
		name = read_component(x);
	if (name && is_std) {
		const char *part = read_component(x);

		name = part ? join_texts(x, "std::", part) : NULL;
		is_subst = false;
	}
	if (!name || *x->at != 'I')
		return name;
	if (!is_subst && !remember_subst(x, plain_text(name)).l)
		return NULL;
	x->at++;
	return read_args(x, name);
}

static const char *read_name(struct reader *x)
{
	const char *name = NULL;

	if (++x->depth < DEPTH)
		name = skip_word(x, "N")   ? read_nested(x)
		       : skip_word(x, "Z") ? read_local(x)
					   : read_unscoped(x);
	x->depth--;
	return name;
}

/* ---- types ---- */

static const char *read_builtin(struct reader *x)
{
	static const char *const letters[26] = {"signed char", "bool", "char", "double",
		"long double", "float", "__float128", "unsigned char", "int", "unsigned int", NULL,
		"long", "unsigned long", "__int128", "unsigned __int128", NULL, NULL, NULL, "short",
		"unsigned short", NULL, "void", "wchar_t", "long long", "unsigned long long",
		"..."};
	static const struct {
		const char *code, *text;
	} longer[] = {
		{"DF16_", "_Float16"},
		{"DF16b", "__bf16"},
		{"Dh", "half"},
		{"Di", "char32_t"},
		{"Ds", "char16_t"},
		{"Du", "char8_t"},
		{"Da", "auto"},
		{"Dn", "decltype(nullptr)"},
	};

	if (*x->at >= 'a' && *x->at <= 'z' && letters[*x->at - 'a'])
		return letters[*x->at++ - 'a'];
	for (unsigned i = 0; i < ARRAY_LEN(longer); i++)
		if (skip_word(x, longer[i].code))
			return longer[i].text;
	return NULL;
}

static struct text read_pointer(struct reader *x, const char *sign)
{
	struct text t = read_type(x);

	if (!t.l)
		return none;
	if (*t.r)
		return (struct text){
			arena_printf(&x->arena, "%s (%s", t.l, sign), join_texts(x, ")", t.r)};
	return plain_text(join_texts(x, t.l, sign));
}

static struct text read_array(struct reader *x)
{
	size_t n = 0;
	struct text t;

	if ((*x->at != '_' && !read_number(x, &n)) || !skip_word(x, "_"))
		return none;
	t = read_type(x);
	return t.l ? (struct text){t.l, arena_printf(&x->arena, " [%zu]%s", n, t.r)} : none;
}

static struct text read_function(struct reader *x)
{
	struct text result;
	const char *types;

	skip_word(x, "Y");
	result = read_type(x);
	types = result.l ? read_types(x) : NULL;
	if (!types || !skip_word(x, "E"))
		return none;
	return (struct text){join_declaration(x, result), arena_printf(&x->arena, "(%s)", types)};
}

static struct text read_qualified(struct reader *x)
{
	bool restricted = skip_word(x, "r"), is_volatile = skip_word(x, "V"),
	     is_const = skip_word(x, "K");
	struct text t = read_type(x);

	if (!t.l)
		return none;
	return (struct text){arena_printf(&x->arena, "%s%s%s%s", t.l, is_const ? " const" : "",
				     is_volatile ? " volatile" : "", restricted ? " restrict" : ""),
		t.r};
}

/* Reads a type that later substitutions can refer to. */
static struct text read_compound(struct reader *x)
{
	size_t n;

	if (*x->at == 'r' || *x->at == 'V' || *x->at == 'K')
		return read_qualified(x);
	if (skip_word(x, "P"))
		return read_pointer(x, "*");
	if (skip_word(x, "R"))
		return read_pointer(x, "&");
	if (skip_word(x, "O"))
		return read_pointer(x, "&&");
	if (skip_word(x, "A"))
		return read_array(x);
	if (skip_word(x, "F"))
		return read_function(x);
	if (skip_word(x, "Dp"))
		return read_type(x);
	if (skip_word(x, "Dv")) {
		const char *of = read_number(x, &n) && skip_word(x, "_")
					 ? join_declaration(x, read_type(x))
					 : NULL;

		return plain_text(of ? arena_printf(&x->arena, "%s __vector(%zu)", of, n) : NULL);
	}
	if (skip_word(x, "u"))
		return plain_text(read_source_name(x));
	return plain_text(read_name(x));
}

/* Reads a template parameter (T) or a substitution (S). Template arguments can follow here. */
static struct text read_reference(struct reader *x)
{
	bool is_param = skip_word(x, "T"), is_std = false;
	struct text t;

	x->at += !is_param;
	t = is_param ? read_param(x) : read_substitution(x, &is_std);
	if (is_param)
		t = remember_subst(x, t);
	if (t.l && skip_word(x, "I"))
		t = remember_subst(x, plain_text(read_args(x, join_declaration(x, t))));
	return t;
}

static struct text read_type(struct reader *x)
{
	struct text_list args = x->args;
	struct text t = none;
	const char *builtin = read_builtin(x);

	if (builtin)
		return plain_text(builtin);
	if (++x->depth < DEPTH)
		t = *x->at == 'T' || (*x->at == 'S' && x->at[1] != 't')
			    ? read_reference(x)
			    : remember_subst(x, read_compound(x));
	x->depth--;
	x->args = args; /* T does not refer to arguments of a type's own template */
	return t;
}

/* ---- the symbol ---- */

/* Reads a function's name and parameters, up to the end of the symbol or an E. If no parameters
 * follow, returns only the name. */
static const char *read_encoding(struct reader *x)
{
	const char *name = NULL, *types;
	bool is_const;

	if (++x->depth < DEPTH)
		name = read_name(x);
	x->depth--;
	is_const = x->is_const;
	if (!name || !*x->at || *x->at == 'E')
		return name;
	if (x->is_template && !read_type(x).l)
		return NULL;
	types = read_types(x);
	return types ? arena_printf(&x->arena, "%s(%s)%s", name, types, is_const ? " const" : "")
		     : NULL;
}

bool demangle(const char *symbol, struct strbuf *out)
{
	struct reader *x = symbol[0] == '_' && symbol[1] == 'Z' ? calloc(1, sizeof(*x)) : NULL;
	const char *text;
	bool ok;

	if (!x)
		return false;
	arena_init(&x->arena, LIMIT_BYTES);
	x->at = symbol + 2;
	text = read_encoding(x);
	ok = text && !*x->at;
	if (ok)
		strbuf_puts(out, text);
	arena_finish(&x->arena);
	free(x);
	return ok;
}

/* Appends the namespaces and the name at the beginning of a mangled symbol, whatever comes after
 * them. Returns false if there is no whole name. */
static bool add_beginning(const char *symbol, struct strbuf *out)
{
	bool nested = symbol[2] == 'N', any = false;
	const char *at = symbol + 2 + nested;

	at += strspn(at, "rVK"); /* of a member function */
	if (strncmp(at, "St", 2) == 0) {
		strbuf_puts(out, "std");
		at += 2;
		any = nested = true;
	}
	while (*at >= '0' && *at <= '9') {
		char *name;
		unsigned long n = strtoul(at, &name, 10);

		if (n > strlen(name))
			break;
		strbuf_printf(out, "%s", any ? "::" : "");
		if (n > 10 && strncmp(name, "_GLOBAL__N", 10) == 0)
			strbuf_puts(out, "(anonymous namespace)");
		else
			strbuf_add(out, name, n);
		any = true;
		at = name + n;
		if (!nested)
			break;
	}
	if (any)
		strbuf_puts(out, *at == 'I' ? "<...>" : nested && *at != 'E' ? "::..." : "(...)");
	return any;
}

const char *demangle_name(const char *symbol, char *buf, size_t size)
{
	struct strbuf text = {0};
	bool is = demangle(symbol, &text);

	if (!is && strncmp(symbol, "_Z", 2) == 0)
		is = add_beginning(symbol, &text);
	snprintf(buf, size, "%s", is && !text.failed ? text.at : symbol);
	strbuf_finish(&text);
	return buf;
}

/* ---- matching a user's text ---- */

/* Returns the index of the parameter list: the first "(" outside "<...>" that is not part of a
 * name. Returns the length of s if there is none. */
static size_t find_params(const char *s)
{
	size_t depth = 0, i = 0;

	for (; s[i]; i++) {
		if (s[i] == '<')
			depth++;
		else if (s[i] == '>' && depth)
			depth--;
		else if (s[i] == '(' && !strncmp(s + i, "(anonymous namespace)", 21))
			i += 20;
		else if (s[i] == '(' && !depth)
			break;
	}
	return i;
}

/* Returns true if the texts differ only in spaces. */
static bool same_text(const char *a, size_t a_len, const char *b)
{
	const char *end = a + a_len;

	for (;;) {
		while (a < end && *a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (a == end || !*b)
			return a == end && !*b;
		if (*a++ != *b++)
			return false;
	}
}

/* Returns the length of the name without the template arguments at its end. */
static size_t without_args(const char *name, size_t len)
{
	size_t depth = 0, i = len;

	if (!len || name[len - 1] != '>')
		return len;
	while (i > 0) {
		i--;
		if (name[i] == '>')
			depth++;
		else if (name[i] == '<' && --depth == 0)
			return i;
	}
	return len;
}

/* Returns true if the name, or the part after one of its "::", equals `wanted` apart from
 * spaces. */
static bool tail_matches(const char *name, size_t len, const char *wanted)
{
	size_t depth = 0;
	bool is = same_text(name, len, wanted);

	for (size_t i = 0; i + 2 < len && !is; i++) {
		if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && depth)
			depth--;
		else if (!depth && !strncmp(name + i, "::", 2))
			is = same_text(name + i + 2, len - i - 2, wanted);
	}
	return is;
}

/* Compares a C++ name with a user's text. Modifies that text. */
static bool text_matches(const char *text, char *wanted)
{
	size_t name = find_params(text), wanted_name = find_params(wanted);

	if (same_text(text, strlen(text), wanted))
		return true;
	if (wanted[wanted_name] &&
		!same_text(text + name, strlen(text) - name, wanted + wanted_name))
		return false;
	wanted[wanted_name] = 0;
	return *wanted && (tail_matches(text, name, wanted) ||
				  tail_matches(text, without_args(text, name), wanted));
}

bool demangle_matches(const char *symbol, const char *wanted)
{
	struct strbuf text = {0};
	bool is = !strcmp(symbol, wanted);
	char *copy;

	if (is || !demangle(symbol, &text))
		return is;
	copy = strdup(wanted);
	is = copy && !text.failed && text_matches(text.at, copy);
	free(copy);
	strbuf_finish(&text);
	return is;
}
