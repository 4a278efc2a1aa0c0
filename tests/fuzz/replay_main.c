/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Replays a fuzz corpus through the target without a fuzzer, as an ordinary test: every named
 * file, and every file of a named folder. After --random N, also N inputs of random bytes, the
 * same ones each time. Prints the number of inputs; fails if a named path cannot be read. The
 * target fails by crashing, by abort(), or by exceeding the test's time limit. */
#include "base/base.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long len = -1;

	if (f && fseek(f, 0, SEEK_END) == 0)
		len = ftell(f);
	if (len >= 0)
		data = malloc((size_t)len + !len);
	if (data) {
		rewind(f);
		if (fread(data, 1, (size_t)len, f) != (size_t)len)
			len = -1;
	}
	if (data && len >= 0)
		LLVMFuzzerTestOneInput(data, (size_t)len);
	else
		perror(path);
	free(data);
	if (f)
		fclose(f);
	return data && len >= 0 ? 1 : -1;
}

static int replay(const char *path)
{
	struct dirent *e;
	struct stat st;
	int n = 0, r;
	DIR *d;

	if (stat(path, &st) < 0) {
		perror(path);
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char name[4096];

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		r = replay_file(name);
		if (r < 0) {
			closedir(d);
			return r;
		}
		n += r;
	}
	if (d)
		closedir(d);
	return n;
}

static void feed_random(uint64_t n)
{
	static uint8_t data[4096];

	for (uint64_t i = 0; i < n; i++) {
		size_t len = 64 + random_bits(i, 0) % (sizeof(data) - 64);

		for (size_t at = 0; at < len; at++)
			data[at] = (uint8_t)random_bits(i, at + 1);
		LLVMFuzzerTestOneInput(data, len);
	}
}

int main(int argc, char **argv)
{
	int total = 0;

	/* The empty input, which a fuzzer always tries first and a corpus seldom contains. */
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		int n;

		if (!strcmp(argv[i], "--random") && i + 1 < argc) {
			uint64_t more = strtoull(argv[++i], NULL, 10);

			feed_random(more);
			total += (int)more;
			continue;
		}
		n = replay(argv[i]);

		if (n < 0)
			return 1;
		total += n;
	}
	printf("%d inputs replayed\n", total);
	return total ? 0 : 1;
}
