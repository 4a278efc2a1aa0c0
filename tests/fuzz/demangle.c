/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads any lines as symbols. Each has a C++ name that matches it, or none. */
#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void one(const char *symbol)
{
	struct strbuf name = {0};

	if (!demangle_matches(symbol, symbol))
		abort();
	if (demangle(symbol, &name)) {
		if (!name.len || !demangle_matches(symbol, name.at))
			abort();
	} else if (name.len) {
		abort();
	}
	demangle_matches(symbol, "a<b>(c)");
	strbuf_finish(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), *rest = text, *line;

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = 0;
	while ((line = strsep(&rest, "\n")))
		one(line);
	free(text);
	return 0;
}
