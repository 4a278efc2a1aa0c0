/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Describes how far two kernels were woven, as text and as JSON. */
#ifndef HEDDLE_CLI_WOVEN_H
#define HEDDLE_CLI_WOVEN_H

#include "base/json.h"
#include "job/spec.h"
#include "pass/merge.h"

/* Appends the description as lines that begin with prefix. */
void woven_print(const struct spec specs[2], const struct pass_woven *w, const char *prefix,
	struct strbuf *out);
/* Writes the description as the key "woven". */
void woven_json(struct json *j, const struct spec specs[2], const struct pass_woven *w);

#endif
