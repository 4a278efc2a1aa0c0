/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests containers of every packing, bare PTX, cubins and host executables; which entry is
 * picked; and broken containers. */
#include "unit.h"

#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct image_bytes bytes(const struct strbuf *b)
{
	return (struct image_bytes){(const uint8_t *)b->at, b->len};
}

/* Returns the number that the picked PTX stores; -1: none was picked. */
static long picked_mark(struct image_bytes b, uint32_t cc)
{
	struct image_pick p;
	const char *at;
	long mark = -1;

	assert_int_equal(image_pick(b, cc, 0, &p), 0);
	if (p.ptx) {
		assert_int_equal(p.ptx_len, strlen(p.ptx));
		at = strstr(p.ptx, "mov.u32 %r1, ");
		assert_non_null(at);
		mark = atol(at + 13);
	}
	image_pick_finish(&p);
	return mark;
}

static void each_packing(void **state)
{
	for (int how = IMAGE_PLAIN; how <= IMAGE_ZSTD; how++) {
		for (unsigned options = 0; options <= 48; options += 16) {
			struct strbuf b = {0};
			struct fixture_entry e[2] = {{IMAGE_ELF, 90, 0, how, NULL, "k", options},
				{IMAGE_PTX, 90, 0, how, fixture_ptx(90, 0, 7), NULL, options}};
			struct image_pick p;

			fixture_container(&b, e, 2);
			assert_int_equal(image_pick(bytes(&b), 90, 0, &p), 0);
			assert_true(p.has_sass);
			assert_false(p.sass_newer);
			assert_int_equal(p.ptx_arch, 90);
			assert_string_equal(p.ptx, fixture_ptx(90, 0, 7));
			image_pick_finish(&p);
			strbuf_finish(&b);
		}
	}
}

static void add_ptx(struct strbuf *b, uint32_t arch, char variant, unsigned mark)
{
	char *text = strdup(fixture_ptx(arch, variant, mark));
	struct fixture_entry e = {IMAGE_PTX, arch, variant, IMAGE_ZSTD, text, NULL, 16};

	fixture_container(b, &e, 1);
	free(text);
}

static void picks_what_the_driver_would(void **state)
{
	struct strbuf b = {0};

	/* Several consecutive containers count as one list, as in an executable. */
	add_ptx(&b, 90, 'a', 1);
	add_ptx(&b, 75, 0, 2);
	add_ptx(&b, 80, 0, 3);
	add_ptx(&b, 80, 0, 4);
	add_ptx(&b, 52, 0, 5);
	add_ptx(&b, 100, 'f', 6);
	assert_int_equal(picked_mark(bytes(&b), 90), 1);
	assert_int_equal(picked_mark(bytes(&b), 89), 4); /* of equal entries, the later one */
	assert_int_equal(picked_mark(bytes(&b), 75), 2);
	assert_int_equal(picked_mark(bytes(&b), 70), 5);
	assert_int_equal(picked_mark(bytes(&b), 50), -1);
	assert_int_equal(picked_mark(bytes(&b), 103), 6); /* the family's entry */
	assert_int_equal(picked_mark(bytes(&b), 120), 4); /* neither 90a nor 100f fits */
	strbuf_finish(&b);
}

static void sass_for_the_device(void **state)
{
	static const struct {
		uint32_t arch;
		char variant;
		uint32_t cc;
		bool fits;
	} rows[] = {{90, 0, 90, true}, {80, 0, 86, true}, {86, 0, 80, false}, {80, 0, 90, false},
		{90, 'a', 90, true}, {100, 'a', 103, false}, {100, 'f', 103, true}};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = {0};
		struct fixture_entry e = {
			IMAGE_ELF, rows[i].arch, rows[i].variant, 0, NULL, "k", 0};
		struct image_pick p;

		fixture_container(&b, &e, 1);
		assert_int_equal(image_pick(bytes(&b), rows[i].cc, 0, &p), 0);
		assert_int_equal(p.has_sass, rows[i].fits);
		assert_null(p.ptx);
		assert_int_equal(p.n_elf, 1);
		strbuf_finish(&b);
	}
}

static void bare_text_and_host_file(void **state)
{
	const char *text = fixture_ptx(80, 0, 9);
	struct image_bytes b = {(const uint8_t *)text, strlen(text)};
	struct strbuf c = {0}, host = {0}, bare = {0};

	assert_int_equal(picked_mark(b, 90), 9);
	assert_int_equal(picked_mark(b, 75), -1);
	add_ptx(&c, 75, 0, 11);
	while (c.len < 1500)
		strbuf_add(&c, "\0\0\0\0\0\0\0\0", 8);
	add_ptx(&c, 86, 0, 12);
	fixture_elf(&host, 62, 0, "main", ".nv_fatbin", c.at, c.len);
	assert_int_equal(picked_mark(bytes(&host), 90), 12);
	fixture_elf(&bare, 62, 0, "main", ".text", "x", 1);
	assert_int_equal(image_pick(bytes(&bare), 90, 0, &(struct image_pick){0}), -ENOENT);
	strbuf_finish(&c);
	strbuf_finish(&host);
	strbuf_finish(&bare);
}

static int collect(void *user, const char *name, size_t len)
{
	strbuf_printf(user, "%.*s;", (int)len, name);
	return 0;
}

static void cubin_kernels(void **state)
{
	struct strbuf b = {0}, names = {0};
	uint32_t arch;
	char variant;

	fixture_elf(&b, 190, 86, "_Z4kernPi", ".text._Z4kernPi", "code", 4);
	assert_int_equal(image_elf_kernels(bytes(&b), collect, &names), 0);
	assert_string_equal(names.at, "_Z4kernPi;");
	assert_int_equal(image_elf_arch(bytes(&b), &arch, &variant), 0);
	assert_int_equal(arch, 86);
	assert_int_equal(picked_mark(bytes(&b), 86), -1);
	strbuf_finish(&b);
	strbuf_finish(&names);
}

/* The PTX text that -lineinfo and -G leave in a cubin: lines that end in NULs. */
static void cubin_debug_text(void **state)
{
	static const char section[] =
		"\0\0.version 8.0\0.target sm_86\0\0.visible .entry k()\0{\0}";
	struct strbuf b = {0};
	char *text = NULL;
	size_t len;

	fixture_elf(&b, 190, 86, "k", ".nv_debug_ptx_txt", section, sizeof(section));
	assert_int_equal(image_elf_ptx(bytes(&b), &text, &len), 0);
	assert_string_equal(text, "\n\n.version 8.0\n.target sm_86\n\n.visible .entry k()\n{\n}\n");
	assert_int_equal(len, strlen(text));
	free(text);
	strbuf_finish(&b);
	fixture_elf(&b, 190, 86, "k", ".nv_debug_ptx_txt", "\0\0\0", 3);
	assert_int_equal(image_elf_ptx(bytes(&b), &text, &len), -ENOENT);
	strbuf_finish(&b);
	fixture_elf(&b, 190, 86, "k", ".nv_debug_ptx_txt", "\x28\xb5\x2f\xfd", 4);
	assert_int_equal(image_elf_ptx(bytes(&b), &text, &len), -ENOTSUP);
	strbuf_finish(&b);
	fixture_elf(&b, 190, 86, "k", ".text.k", "code", 4);
	assert_int_equal(image_elf_ptx(bytes(&b), &text, &len), -ENOENT);
	assert_int_equal(
		image_elf_ptx((struct image_bytes){(uint8_t *)b.at, 70}, &text, &len), -EBADMSG);
	strbuf_finish(&b);
}

static void spans_of_pointers(void **state)
{
	struct strbuf c = {0}, elf = {0};
	struct image_bytes b;
	unsigned n;

	add_ptx(&c, 75, 0, 21);
	fixture_elf(&elf, 190, 90, "k", ".text.k", "code", 4);
	{
		const void *more[] = {c.at, elf.at, NULL};
		struct {
			uint32_t magic, version;
			const void *container, *more;
		} w = {0x466243b1, 1, c.at, "file.o"};

		assert_int_equal(image_span(&w, &b, &n), 0);
		assert_ptr_equal(b.at, c.at);
		assert_int_equal(b.len, c.len);
		assert_int_equal(n, 0);
		w.version = 2;
		w.more = more;
		assert_int_equal(image_span(&w, &b, &n), 0);
		assert_int_equal(n, 2);
		assert_int_equal(image_prelinked(&w, 1, &b), 0);
		assert_int_equal(b.len, elf.len);
	}
	assert_int_equal(image_span(c.at, &b, &n), 0);
	assert_int_equal(b.len, c.len);
	assert_int_equal(image_span(elf.at, &b, &n), 0);
	assert_int_equal(b.len, elf.len);
	assert_int_equal(image_span(fixture_ptx(90, 0, 1), &b, &n), 0);
	assert_int_equal(b.len, strlen(fixture_ptx(90, 0, 1)));
	assert_int_equal(image_span("", &b, &n), -ENOENT);
	assert_int_equal(image_span("x", &b, &n), -ENOENT);
	assert_int_equal(image_span(NULL, &b, &n), -ENOENT);
	strbuf_finish(&c);
	strbuf_finish(&elf);
}

static int touch(void *user, const struct image_entry *e)
{
	char *text;
	size_t len;

	if (image_unpack(e, 1 << 20, &text, &len) == 0)
		free(text);
	return 0;
}

/* Truncates the container at every length: no entry may be found. Changes each bit: the walk must
 * not crash or find an entry beyond the data (`touch` reads the entries, and sanitizers check). */
static void broken(void **state)
{
	struct strbuf b = {0};
	struct image_pick p;

	add_ptx(&b, 90, 0, 1);
	for (size_t n = 0; n < b.len; n++) {
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, b.at, n);
		assert_true(image_pick((struct image_bytes){cut, n}, 90, 0, &p) < 0);
		free(cut);
	}
	for (size_t i = 0; i < b.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			b.at[i] ^= (char)(1 << bit);
			image_walk(bytes(&b), touch, NULL);
			b.at[i] ^= (char)(1 << bit);
		}
	}
	strbuf_finish(&b);
}

static void claims_are_bounded(void **state)
{
	struct strbuf b = {0};
	uint64_t huge = (uint64_t)1 << 50;
	struct image_pick p;

	add_ptx(&b, 90, 0, 1);
	memcpy(b.at + 16 + 56, &huge, 8);
	assert_int_equal(image_pick(bytes(&b), 90, 0, &p), -E2BIG);
	huge = 5;
	memcpy(b.at + 16 + 56, &huge, 8);
	assert_int_equal(image_pick(bytes(&b), 90, 0, &p), -EBADMSG);
	strbuf_finish(&b);
}

static void old_packing(void **state)
{
	struct strbuf b = {0};
	struct fixture_entry e = {
		IMAGE_PTX, 35, 0, IMAGE_PACKED_OLD, fixture_ptx(35, 0, 3), NULL, 0};
	struct image_pick p;

	fixture_container(&b, &e, 1);
	assert_int_equal(image_pick(bytes(&b), 90, 0, &p), 0);
	assert_null(p.ptx);
	assert_int_equal(p.n_unusable, 1);
	strbuf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_packing),
		cmocka_unit_test(picks_what_the_driver_would),
		cmocka_unit_test(sass_for_the_device),
		cmocka_unit_test(bare_text_and_host_file),
		cmocka_unit_test(cubin_kernels),
		cmocka_unit_test(cubin_debug_text),
		cmocka_unit_test(spans_of_pointers),
		cmocka_unit_test(broken),
		cmocka_unit_test(claims_are_bounded),
		cmocka_unit_test(old_packing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
