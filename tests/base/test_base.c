/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests src/base: arenas, vectors, string buffers, hashes. */
#include "base/text.h"
#include "unit.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void arena_limits(void **state)
{
	struct arena a;
	char *p, *q;

	arena_init(&a, 1 << 20);
	p = arena_alloc(&a, 3);
	q = arena_zalloc(&a, 70000); /* larger than a chunk */
	assert_non_null(p);
	assert_non_null(q);
	assert_int_equal((uintptr_t)p % 16, 0);
	assert_int_equal((uintptr_t)q % 16, 0);
	for (int i = 0; i < 70000; i++)
		assert_int_equal(q[i], 0);
	assert_null(arena_alloc(&a, 1 << 20));
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_strndup(&a, "x", SIZE_MAX));
	assert_string_equal(arena_strndup(&a, "heddle", 3), "hed");
	assert_string_equal(arena_printf(&a, "%d/%s", 7, "x"), "7/x");
	arena_finish(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_non_null(arena_alloc(&a, 1000));
	arena_finish(&a);
}

static void vectors(void **state)
{
	VEC(int) v = {0};
	void *at = NULL;
	size_t cap = 0;

	for (int i = 0; i < 1000; i++)
		assert_true(VEC_PUSH(&v, i * 3));
	assert_int_equal(v.len, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.at[i], i * 3);
	VEC_FREE(&v);
	assert_null(v.at);
	assert_int_equal(v.len + v.cap, 0);
	/* A size that cannot be allocated leaves the vector as it was. */
	assert_false(vec_grow(&at, &cap, 0, SIZE_MAX / 4));
	assert_null(at);
	assert_int_equal(cap, 0);
}

static void string_buffers(void **state)
{
	struct strbuf b = {0};
	char big[5000];

	strbuf_add(&b, NULL, 0);
	assert_string_equal(b.at, "");
	for (int i = 0; i < 500; i++)
		strbuf_printf(&b, "%d,", i);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 400 * 4);
	assert_int_equal(strlen(b.at), b.len);
	assert_memory_equal(b.at + b.len - 8, "498,499,", 8);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	strbuf_printf(&b, "%s", big); /* larger than the free space */
	assert_int_equal(b.len, 1890 + 4999);
	strbuf_puts(&b, "end");
	assert_string_equal(b.at + b.len - 4, "xend");
	strbuf_add(&b, "a\0b", 3);
	assert_int_equal(b.len, 1890 + 4999 + 6);
	strbuf_add(&b, "", SIZE_MAX / 2); /* refused before any byte is read */
	assert_true(b.failed);
	strbuf_puts(&b, "ignored");
	assert_int_equal(b.len, 1890 + 4999 + 6);
	strbuf_finish(&b);
	assert_null(b.at);
	assert_false(b.failed);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Every byte and the length affect the hash: no two of these inputs may have the same hash. A
 * good hash collides here with a probability of 2^-40. */
static void hash_differs(void **state)
{
	static uint64_t h[64 * 64 * 2 + 64];
	uint8_t buf[64] = {0};
	size_t n = 0, bits = 0;

	for (unsigned len = 0; len < 64; len++) {
		h[n++] = hash_bytes(buf, len, 0);
		for (unsigned i = 0; i < len; i++)
			for (unsigned bit = 1; bit <= 128; bit *= 128) {
				buf[i] ^= bit;
				h[n] = hash_bytes(buf, len, 0);
				bits += (size_t)__builtin_popcountll(h[n] ^ h[n - 1]);
				n++;
				buf[i] ^= bit;
			}
	}
	/* If the input changes, about half of the hash's bits must change on average. */
	assert_in_range(bits / n, 30, 34);
	qsort(h, n, sizeof(*h), by_value);
	for (size_t i = 1; i < n; i++)
		assert_true(h[i] != h[i - 1]);
	assert_true(hash_bytes("abc", 3, 1) != hash_bytes("abc", 3, 2));
	assert_true(hash_bytes("xabc" + 1, 3, 1) == hash_bytes("abc", 3, 1));
}

static void sha_vectors(void **state)
{
	static const struct {
		const char *text, *digest;
	} known[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	uint8_t digest[32];
	char text[65];
	char *million;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		sha256(known[i].text, strlen(known[i].text), digest);
		hex_encode(digest, 32, text);
		assert_string_equal(text, known[i].digest);
	}
	million = malloc(1000000);
	assert_non_null(million);
	memset(million, 'a', 1000000);
	sha256(million, 1000000, digest);
	hex_encode(digest, 32, text);
	assert_string_equal(
		text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	/* 55, 56 and 64 bytes: the sizes at which the padding changes. */
	sha256(million, 55, digest);
	hex_encode(digest, 32, text);
	assert_string_equal(
		text, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	sha256(million, 56, digest);
	hex_encode(digest, 32, text);
	assert_string_equal(
		text, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
	sha256(million, 64, digest);
	hex_encode(digest, 32, text);
	assert_string_equal(
		text, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	free(million);
}

/* Each byte of a control character, a bidirectional override or invalid UTF-8 becomes a question
 * mark. Other characters are kept. */
static void plain_text(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"va_kernel<float>(int, T*)", "va_kernel<float>(int, T*)"},
		{"\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2 \xf0\x9f\x98\x80",
			"\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2 \xf0\x9f\x98\x80"},
		{"a\nb\rc\td\ve\ff\bg\ah", "a?b?c?d?e?f?g?h"},
		{"\x1b[2Jx\x7fy\x01z", "?[2Jx?y?z"},
		{"\x9b"
		 "31mx",
			"?31mx"}, /* C1 control as a byte */
		{"\xc2\x9b"
		 "31mx\xc2\x85y",
			"??31mx??y"}, /* C1 controls as UTF-8 */
		{"a\xe2\x80\xae"
		 "b\xe2\x80\xaa"
		 "c\xe2\x81\xa6"
		 "d\xe2\x80\x8f"
		 "e\xd8\x9c"
		 "f",
			"a???b???c???d???e??f"},
		{"a\xe2\x80\xa8"
		 "b\xe2\x80\xa9"
		 "c\xe2\x80\x8b"
		 "d\xef\xbb\xbf"
		 "e\xc2\xad"
		 "f",
			"a???b???c???d???e??f"},
		{"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80", "???????????"},
		{"end \xe2\x82", "end ??"}, /* a truncated character */
		{"\xf3\xa0\x80\xa0tag", "????tag"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", rows[i].from);
		text_plain(text, strlen(text), "");
		assert_string_equal(text, rows[i].to);
	}
	for (unsigned c = 0; c < 256; c++) { /* each byte on its own */
		char text[3] = {'x', (char)c, 'y'};

		text_plain(text, 3, "\t");
		assert_int_equal(text[1] == (char)c, (c >= 32 && c < 127) || c == '\t' || c == '?');
	}
}

static void counted(void **state)
{
	(void)state;
	assert_string_equal(COUNTED(0, "round"), "0 rounds");
	assert_string_equal(COUNTED(1, "round"), "1 round");
	assert_string_equal(COUNTED(2, "round"), "2 rounds");
	assert_string_equal(COUNTED(1, "launch"), "1 launch");
	assert_string_equal(COUNTED(UINT64_MAX, "launch"), "18446744073709551615 launches");
	assert_string_equal(COUNTED(3, "path"), "3 paths");
	assert_string_equal(COUNTED(3, "bus"), "3 buses");
	assert_string_equal(COUNTED(3, ""), "3 s");
}

static void wrapped(void **state)
{
	static const struct {
		const char *text, *lines;
		unsigned columns, indent;
	} rows[] = {
		{"", "\n", 10, 2},
		{"one two", "one two\n", 0, 2},
		{"one two", "one two\n", 7, 2},
		{"one two", "one\n  two\n", 6, 2},
		{"one two three", "one two\n  three\n", 9, 2},
		{"/a/long/path one", "/a/long/path\n  one\n", 8, 2},
		{"one /a/long/path", "one\n  /a/long/path\n", 8, 2},
		{"ok    what  the text", "ok    what\n    the text\n", 12, 19},
		{"   indented text", "   indented\n text\n", 12, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};

		text_wrap(rows[i].text, rows[i].columns, rows[i].indent, &b);
		assert_string_equal(b.at, rows[i].lines);
		strbuf_finish(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted),
		cmocka_unit_test(wrapped),
		cmocka_unit_test(arena_limits),
		cmocka_unit_test(vectors),
		cmocka_unit_test(string_buffers),
		cmocka_unit_test(hash_differs),
		cmocka_unit_test(sha_vectors),
		cmocka_unit_test(plain_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
