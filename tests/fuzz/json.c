/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes any bytes as a JSON string and as a diagnostic. The output is valid UTF-8 without control
 * characters, and its length is bounded. */
#include "base/json.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

static void require(int ok)
{
	if (!ok)
		abort();
}

static void check_string(const char *text, size_t len)
{
	struct strbuf b = {0};
	struct json j;
	size_t i = 1;

	json_init(&j, &b);
	json_str(&j, NULL, text);
	require(!b.failed && b.len >= 3 && b.len <= 6 * len + 3);
	require(b.at[0] == '"' && b.at[b.len - 2] == '"' && b.at[b.len - 1] == '\n');
	while (i < b.len - 2) {
		unsigned char c = (unsigned char)b.at[i];

		require(c >= 32 && c != '"');
		if (c == '\\') {
			require(strchr("\"\\ntu", b.at[i + 1]) != NULL);
			i += b.at[i + 1] == 'u' ? 6 : 2;
			continue;
		}
		i++;
		for (unsigned tail = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0; tail; tail--)
			require(((unsigned char)b.at[i++] & 0xc0) == 0x80);
	}
	require(i == b.len - 2);
	strbuf_finish(&b);
}

static void check_diag(const uint8_t *data, size_t len)
{
	struct diag_list *d = calloc(1, sizeof(*d));
	struct strbuf b = {0};
	struct arena a;

	require(d != NULL);
	arena_init(&a, 1 << 20);
	diag_init(d, &a, "x", (const char *)data, len);
	for (size_t i = 0; i + 4 <= len && i < 4000; i += 4)
		diag_add(d, data[i] % 3, data[i + 1], (uint32_t)data[i + 2] * 7,
			(uint32_t)data[i + 3] * 3, "%u", data[i]);
	diag_render(d, &b);
	require(!b.failed && b.len < 100 * 1000);
	strbuf_finish(&b);
	arena_finish(&a);
	free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return 0;
	if (len)
		memcpy(text, data, len);
	text[len] = 0;
	check_string(text, strlen(text));
	free(text);
	check_diag(data, len);
	return 0;
}
