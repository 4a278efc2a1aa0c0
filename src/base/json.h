/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A streaming JSON writer (RFC 8259). It writes commas and indentation itself and escapes strings.
 * It writes invalid UTF-8 as U+FFFD, and numbers that are not finite as null. */
#ifndef HEDDLE_JSON_H
#define HEDDLE_JSON_H

#include "base.h"

struct json {
	struct strbuf *out;
	unsigned depth;
	uint64_t has_items; /* one bit for each level */
};

void json_init(struct json *j, struct strbuf *out);
/* In arrays and at the top level, key is NULL. */
void json_begin_object(struct json *j, const char *key);
void json_begin_array(struct json *j, const char *key);
void json_end(struct json *j, char close /* '}' or ']' */);
/* A value of NULL is written as null. */
void json_str(struct json *j, const char *key, const char *value);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_num(struct json *j, const char *key, double value);
/* Writes a value that is JSON already, on one line. */
void json_raw(struct json *j, const char *key, const char *text);
void json_bool(struct json *j, const char *key, bool value);

#endif
