/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The words for outcomes and reasons of launches. */
#include "base/json.h"
#include "wire/page.h"

const char *const wire_outcome_names[WIRE_OUTCOMES] = {
	"managed", "guard", "gated", "plain", "opaque", "unseen"};

const struct wire_reason_row wire_reason_rows[WIRE_REASONS] = {
#define REASON(id, outcome, name, text) {WIRE_##outcome, name, text},
#include "wire/reasons.def"
#undef REASON
};

uint64_t wire_outcomes(
	const uint64_t launched[WIRE_REASONS], uint64_t ret_by_outcome[WIRE_OUTCOMES])
{
	uint64_t all = 0;

	memset(ret_by_outcome, 0, WIRE_OUTCOMES * sizeof(*ret_by_outcome));
	for (unsigned i = 0; i < WIRE_REASONS; i++) {
		ret_by_outcome[wire_reason_rows[i].outcome] += launched[i];
		all += launched[i];
	}
	return all;
}

void wire_reasons_json(const uint64_t launched[WIRE_REASONS], struct json *j)
{
	json_begin_array(j, "reasons");
	for (unsigned i = 0; i < WIRE_REASONS; i++) {
		if (!launched[i])
			continue;
		json_begin_object(j, NULL);
		json_str(j, "reason", wire_reason_rows[i].name);
		json_str(j, "outcome", wire_outcome_names[wire_reason_rows[i].outcome]);
		json_uint(j, "launches", launched[i]);
		json_end(j, '}');
	}
	json_end(j, ']');
}
