/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares hooks.def with the known signatures, with the shim's exports, and with what a program
 * gets from cuGetProcAddress through the shim. --print writes lines for hooks.sh to compare with
 * NVIDIA's headers: "symbol stream", a line for each form. */
#include "unit.h"

#include "base/base.h"
#include "shim/core/hooks.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PER_THREAD 2

enum {
	ORDERS = 1,
	SYNCS = 2,
	LAUNCHES = 4,
	CAPTURES = 8,
	ALLOCS = 16,
	FREES = 32,
	LOADS = 64,
	SETS = 128,
	ASKS = 256
};
enum {
	NONE = HOOK_STREAM_NONE,
	INSIDE = HOOK_STREAM_INSIDE,
	MADE = HOOK_STREAM_MADE,
	DEFAULT = HOOK_STREAM_DEFAULT,
	ALL = HOOK_STREAM_ALL
};

static const struct hook {
	const char *symbol;
	enum hook_own own;
	enum hook_how how;
	int stream, does;
} hooks[] = {
#define HOOK(symbol, own, how, stream, does) {#symbol, HOOK_OWN_##own, HOOK_##how, stream, does},
#include "shim/core/hooks.def"
#undef HOOK
};

static const struct known {
	const char *symbol, *flags, *params;
	int since;
} known[] = {
#define CU_FN(name, symbol, since, flags, params, args) {#symbol, #flags, #params, since},
#include "dev/cu_api.def"
#undef CU_FN
};

static const char *const endings[] = {"", "_ptsz", "_ptds"}; /* indexed by enum hook_own */

static const struct hook *find(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_LEN(hooks); i++)
		if (!strcmp(hooks[i].symbol, symbol))
			return &hooks[i];
	return NULL;
}

/* Returns the position of the stream among the parameters, from 1; MADE if the function returns a
 * stream; NONE if it has none. params includes its parentheses. */
static int stream_of(const char *params)
{
	int n = 1;

	for (const char *s = params; *s; s++) {
		n += *s == ',';
		if (strncmp(s, "CUstream", 8) || isalnum((unsigned char)s[8]) || s[8] == '_' ||
			isalnum((unsigned char)s[-1]))
			continue;
		s += 8;
		return s[strspn(s, " ")] == '*' ? MADE : n;
	}
	return NONE;
}

static void rows(void **state)
{
	assert_true(ARRAY_LEN(hooks) > 590);
	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		const struct hook *h = &hooks[i];

		if (find(h->symbol) != h)
			fail_msg("%s has two rows", h->symbol);
		if (h->stream != NONE && !h->does)
			fail_msg("%s has a stream, but nothing is said of what it does", h->symbol);
		if (h->does & (ORDERS | LAUNCHES) && h->stream == NONE)
			fail_msg("%s puts work into a stream, but into which?", h->symbol);
		if ((h->how == HOOK_FENCE || h->how == HOOK_FENCE_LOAD) &&
			!(h->does & (SYNCS | LOADS)))
			fail_msg("%s is fenced, but waits for nothing", h->symbol);
	}
}

/* True if the function has a newer version, which programs call instead. */
static bool is_old(const char *symbol)
{
	char newer[128];

	if (!strcmp(symbol, "cuGraphInstantiate") || !strcmp(symbol, "cuCtxDetach"))
		return true; /* their newer versions have other names */
	snprintf(newer, sizeof(newer), "%s_v2", symbol);
	return find(newer) != NULL;
}

/* In functions that free or load, the driver may hold a lock while it waits for work in flight
 * (fence.c). The shim must not just pass these on. */
static void waiting(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		const struct hook *h = &hooks[i];
		bool frees = h->does & FREES && h->does & SYNCS;
		bool loads = h->does & LOADS && h->does & ALLOCS;

		if (h->how == HOOK_PASS && (frees || loads) && !is_old(h->symbol))
			fail_msg("%s waits for launches, and is passed on", h->symbol);
	}
}

static void signatures(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const struct known *k = &known[i];
		const struct hook *h = find(k->symbol);
		int stream = stream_of(k->params);

		if (!h)
			fail_msg("%s has no row in hooks.def", k->symbol);
		if (strcmp(k->flags, h->own == HOOK_OWN_PTSZ   ? "CU_PTSZ"
				     : h->own == HOOK_OWN_PTDS ? "CU_PTDS"
							       : "0"))
			fail_msg("%s: cu_api.def says %s of its other form, hooks.def not so",
				k->symbol, k->flags);
		if (stream != NONE && stream != h->stream)
			fail_msg("%s: its stream is parameter %d, hooks.def says %d", k->symbol,
				stream, h->stream);
		if (stream == NONE && h->stream > 0)
			fail_msg("%s has no stream, hooks.def says %d", k->symbol, h->stream);
	}
}

static void *lib, *driver;

static void exports(void **state)
{
	char name[128];

	for (size_t i = 0; i < ARRAY_LEN(hooks); i++)
		for (int own = 0; own < (hooks[i].own ? 2 : 1); own++) {
			snprintf(name, sizeof(name), "%s%s", hooks[i].symbol,
				own ? endings[hooks[i].own] : "");
			if (!dlsym(lib, name))
				fail_msg("%s is missing", name);
		}
	assert_non_null(dlsym(lib, "heddle_shim_marker"));
}

static int since(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].symbol, symbol))
			return known[i].since;
	return 12000;
}

typedef int lookup(const char *, void **, int, uint64_t, int *);

/* Requests a version of a function from cuGetProcAddress, as a program would that was built when
 * this version was new. own: for per-thread default streams. */
static void one(const struct hook *h, bool own, bool hides)
{
	lookup *get = (lookup *)dlsym(lib, "cuGetProcAddress_v2");
	size_t len = strlen(h->symbol);
	char name[128], form[128];
	void *fn = NULL, *ours;

	strcpy(name, h->symbol);
	if (len > 3 && !strncmp(name + len - 3, "_v", 2))
		name[len - 3] = 0;
	snprintf(form, sizeof(form), "%s%s", h->symbol, own ? endings[h->own] : "");
	ours = dlsym(lib, form);
	if (get(name, &fn, since(h->symbol), own ? PER_THREAD : 0, NULL))
		fail_msg("%s is not found", form);
	if (h->how != HOOK_PASS && fn != ours)
		fail_msg("cuGetProcAddress leads past the shim's %s", form);
	if (h->how == HOOK_PASS && fn == ours)
		fail_msg("cuGetProcAddress gives the jump to %s", form);
	if (h->how == HOOK_PASS && !hides && fn != dlsym(driver, form))
		fail_msg("cuGetProcAddress gives another than %s", form);
}

static bool has_api(const struct hook *h)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].symbol, h->symbol))
			return true;
	return false;
}

static void each(bool hides)
{
	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		/* The shim passes these on, and this test does not know which driver version
		 * introduced them. */
		if (hooks[i].how == HOOK_PASS && !has_api(&hooks[i]))
			continue;
		one(&hooks[i], false, hides);
		if (hooks[i].own)
			one(&hooks[i], true, hides);
	}
}

static void by_address(void **state)
{
	unsetenv("FAKE_HIDES");
	each(false);
}

static void by_name(void **state)
{
	lookup *get = (lookup *)dlsym(lib, "cuGetProcAddress_v2");
	void *fn;

	setenv("FAKE_HIDES", "1", 1);
	each(true);
	assert_int_equal(get("cuGraphInstantiate", &fn, 12000, 0, NULL), 0);
	assert_ptr_equal(fn, dlsym(lib, "cuGraphInstantiateWithFlags"));
}

static int print(void)
{
	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		printf("%s %d\n", hooks[i].symbol, hooks[i].stream);
		if (hooks[i].own)
			printf("%s%s %d\n", hooks[i].symbol, endings[hooks[i].own],
				hooks[i].stream);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(waiting),
		cmocka_unit_test(signatures),
		cmocka_unit_test(exports),
		cmocka_unit_test(by_address),
		cmocka_unit_test(by_name),
	};

	if (argc > 1 && !strcmp(argv[1], "--print"))
		return print();
	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	driver = dlopen(getenv("HEDDLE_DRIVER_LIB"), RTLD_NOW | RTLD_LOCAL);
	if (!lib || !driver) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
