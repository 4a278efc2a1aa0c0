/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads any text as kernels' shapes and arguments, one specification a line. An accepted one is
 * within its limits and can be filled and printed; a refused one gives a message. The test opens
 * no file. */
#include "job/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (1u << 20)
#define FILL_BYTES  4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void fill(const struct spec_arg *arg)
{
	uint8_t *at = malloc(arg->bytes ? arg->bytes : 1);
	struct strbuf err = {0}, out = {0};

	if (at && spec_fill(arg, at, &err) == 0)
		spec_print(arg, at, &out);
	else if (at)
		abort();
	free(at);
	strbuf_finish(&err);
	strbuf_finish(&out);
}

static void one(struct arena *a, const char *text)
{
	uint32_t dims[3] = {7, 7, 7};
	struct spec_arg arg;
	struct strbuf err = {0};
	int r = spec_parse_dims(text, dims);

	for (int i = 0; i < 3; i++)
		if (r == 0 ? dims[i] == 0 : dims[i] != 7)
			abort();
	r = spec_parse_arg(a, text, &arg, &err);
	if (r == -EINVAL && err.len == 0)
		abort();
	if (r == 0 && (arg.is_buffer ? arg.bytes > SPEC_MAX_BYTES : !arg.value))
		abort();
	if (r == 0 && arg.is_buffer && arg.init != SPEC_FILE && arg.bytes <= FILL_BYTES)
		fill(&arg);
	strbuf_finish(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), *rest = text, *line;
	struct arena a;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = 0;
	arena_init(&a, LIMIT_BYTES);
	while ((line = strsep(&rest, "\n")))
		one(&a, line);
	arena_finish(&a);
	free(text);
	return 0;
}
