/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* make_corpus DIR: writes the inputs in tests/fuzz/corpus/fatbin, which are committed. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static void write_file(const char *dir, const char *name, const struct strbuf *b, size_t len)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(b->at, 1, len, f) != len || fclose(f))
		perror(path);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"plain", "lz4", "zstd", "old"};
	struct strbuf all = {0}, host = {0}, elf = {0}, text = {0};

	if (argc != 2)
		return 2;
	for (int how = IMAGE_PLAIN; how <= IMAGE_PACKED_OLD; how++) {
		struct fixture_entry e[2] = {{IMAGE_ELF, 90, 0, how, NULL, "k", 16},
			{IMAGE_PTX, 75, 0, how, fixture_ptx(75, 0, 7), NULL, 48}};
		struct strbuf b = {0};

		fixture_container(&b, e, 2);
		fixture_container(&all, e, 2);
		write_file(argv[1], names[how], &b, b.len);
		if (how == IMAGE_ZSTD)
			write_file(argv[1], "cut", &b, b.len / 2);
		strbuf_finish(&b);
	}
	fixture_elf(&host, 62, 0, "main", "__nv_relfatbin", all.at, all.len);
	fixture_elf(&elf, 190, 80, "k", ".text.k", "code", 4);
	strbuf_puts(&text, fixture_ptx(90, 'a', 1));
	write_file(argv[1], "host", &host, host.len);
	write_file(argv[1], "cubin", &elf, elf.len);
	write_file(argv[1], "text", &text, text.len);
	strbuf_finish(&all);
	strbuf_finish(&host);
	strbuf_finish(&elf);
	strbuf_finish(&text);
	return 0;
}
