/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: mutate ROUNDS FILE.ptx…
 * Runs the fuzz target on damaged copies of real files: bytes changed, pieces removed, moved and
 * duplicated. The damage is the same on every run. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static uint64_t state = 0x853c49e6748fea9bu;

static size_t below(size_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return n ? (size_t)(state >> 33) % n : 0;
}

/* Damages the text in place; returns the new length, at most len. */
static size_t damage(char *s, size_t len)
{
	static const char bytes[] = "{}[]();:,.@|!<>+-/*\"%_0xL\n";
	size_t at = below(len), n = 1 + below(MIN(len - at, 40)), to = below(len - n + 1);

	switch (below(5)) {
	case 0:
		s[at] = bytes[below(sizeof(bytes))];
		return len;
	case 1:
		s[at] = (char)below(256);
		return len;
	case 2:
		memmove(s + at, s + at + n, len - at - n);
		return len - n;
	case 3:
		memmove(s + to, s + at, n);
		return len;
	default:
		return below(8) ? len : at;
	}
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned inputs = 0;

	for (int i = 2; i < argc; i++) {
		static char text[1 << 16], copy[1 << 16];
		FILE *f = fopen(argv[i], "rb");
		size_t len = f ? fread(text, 1, sizeof(text), f) : 0;

		if (f)
			fclose(f);
		for (size_t r = 0; r < rounds && len; r++) {
			size_t n = len, times = 1 + below(3);

			memcpy(copy, text, len);
			while (times-- && n)
				n = damage(copy, n);
			LLVMFuzzerTestOneInput((const uint8_t *)copy, n);
			inputs++;
		}
	}
	printf("%u damaged texts\n", inputs);
	return inputs ? 0 : 1;
}
