/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* libstdc++ demangles. It is found at run time, not linked, because this code enters other programs
 * and runs on machines without libstdc++: if the process has not loaded it, the first call loads it.
 * Only the beginning of a name, for symbols that were cut, is read here. */
#include "base/demangle.h"
#include "base/number.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* limit for can_expand: enough for the names in CUB, and some 60 MB at most */
#define MOST_COPIES (1u << 27)

typedef char *cxa_demangle_fn(const char *symbol, char *buf, size_t *size, int *ret_status);

static struct {
	pthread_once_t once;
	cxa_demangle_fn *fn; /* NULL if no libstdc++ was found */
} libstdcxx = {.once = PTHREAD_ONCE_INIT};

static void find_libstdcxx(void)
{
	void *fn = dlsym(RTLD_DEFAULT, "__cxa_demangle"), *handle = NULL;

	if (!fn)
		handle = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	libstdcxx.fn = (cxa_demangle_fn *)(handle ? dlsym(handle, "__cxa_demangle") : fn);
}

/* Returns true if the name of the symbol can be very long. A reference (S_, S0_, T_ ...) stands for a
 * part that was complete before it, so references nest with falling indices only, and a character
 * of the symbol appears in the name at most as often as there are such chains: the product over all
 * indices of one more than the number of references with this index. Each reference with an index
 * of several digits counts as an index of its own. A character that only looks like a reference
 * makes the product larger. */
static bool can_expand(const char *symbol)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned n[2][ARRAY_LEN(digits)] = {{0}};
	uint64_t copies = 1;

	for (const char *at = symbol; *at && copies <= MOST_COPIES; at++) {
		size_t len = strspn(at + 1, digits);

		if ((*at != 'S' && *at != 'T') || at[1 + len] != '_')
			continue;
		if (len > 1)
			copies *= 2;
		else
			n[*at == 'S'][len ? strchr(digits, at[1]) - digits + 1 : 0]++;
	}
	for (unsigned i = 0; i < ARRAY_LEN(digits) && copies <= MOST_COPIES; i++)
		copies *= (uint64_t)(n[0][i] + 1) * (n[1][i] + 1);
	return copies > MOST_COPIES;
}

bool demangle(const char *symbol, struct strbuf *out)
{
	char *name;
	int status = 0;

	if (strncmp(symbol, "_Z", 2) != 0 || can_expand(symbol))
		return false;
	pthread_once(&libstdcxx.once, find_libstdcxx);
	name = libstdcxx.fn ? libstdcxx.fn(symbol, NULL, NULL, &status) : NULL;
	if (!name)
		return false;
	/* A template's symbol has the type that it returns. A kernel returns void. */
	strbuf_puts(out, strncmp(name, "void ", 5) == 0 ? name + 5 : name);
	free(name);
	return true;
}

/* Appends the namespaces and the name at the beginning of a mangled symbol, whatever comes after
 * them. Returns false if there is no whole name. */
static bool demangle_beginning(const char *symbol, struct strbuf *out)
{
	bool is = strncmp(symbol, "_Z", 2) == 0, nested = is && symbol[2] == 'N', any = false;
	const char *at = is ? symbol + 2 + nested : "";

	at += strspn(at, "rVK"); /* qualifiers of a member function */
	if (strncmp(at, "St", 2) == 0) {
		strbuf_puts(out, "std");
		at += 2;
		any = nested = true;
	}
	while (*at >= '0' && *at <= '9') {
		struct number digits = number_digits(at, SIZE_MAX, 10);
		const char *name = at + digits.len;
		uint64_t n = digits.value;

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
	bool is = demangle(symbol, &text) || demangle_beginning(symbol, &text);

	snprintf(buf, size, "%s", is && !text.failed ? text.at : symbol);
	strbuf_finish(&text);
	return buf;
}

/* ---- matching a demangled name with the user's text ---- */

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

/* Returns true if the texts are equal apart from spaces. */
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

/* Compares a demangled C++ name with the user's text, which is modified. */
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

	if (is || (!demangle(symbol, &text) && !demangle_beginning(symbol, &text)))
		return is;
	copy = strdup(wanted);
	is = copy && !text.failed && text_matches(text.at, copy);
	free(copy);
	strbuf_finish(&text);
	return is;
}
