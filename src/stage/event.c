/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Parses those fields of heddled's event lines (doc/events.md) that demo and bench need. A line
 * that is not an event gives an event with an empty name. An incomplete last line is ignored. */
#include "stage/stage.h"

#include <jansson.h>
#include <string.h>

static uint64_t get_number(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

bool stage_next_event(const char **at, struct stage_event *ret)
{
	const char *end = *at ? strchr(*at, '\n') : NULL, *what;
	json_t *o;

	if (!end)
		return false;
	o = json_loadb(*at, (size_t)(end - *at), 0, NULL);
	what = json_string_value(json_object_get(o, "event"));
	*ret = (struct stage_event){
		.t_ns = get_number(o, "t_ns"),
		.store_ns = get_number(o, "store_ns"),
		.total = get_number(o, "total"),
		.finished = get_number(o, "finished"),
	};
	strncpy(ret->what, what ? what : "", sizeof(ret->what) - 1);
	json_decref(o);
	*at = end + 1;
	return true;
}
