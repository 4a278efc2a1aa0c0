/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Describes how far two kernels were woven: which share of each kernel's instructions is
 * interleaved, and which parts run alone. */
#include "job/woven.h"
#include "base/text.h"

#include <inttypes.h>

#include "host/corun_fault.h"

void woven_print(const struct spec specs[2], const struct pass_woven *w, const char *prefix,
	struct strbuf *out)
{
	if (w->why.reason) {
		strbuf_puts(out, prefix);
		host_explain_woven(w, specs[w->which].kernel, 0, out);
		strbuf_puts(out, "\n");
		return;
	}
	for (unsigned k = 0; k < 2; k++)
		strbuf_printf(out, "%s%" PRIu32 " of %s of '%s' %s woven\n", prefix, w->of[k].woven,
			COUNTED(w->of[k].instructions, "instruction"), specs[k].kernel,
			w->of[k].instructions == 1 ? "is" : "are");
	for (unsigned i = 0; i < w->n_unwoven; i++)
		strbuf_printf(out, "%skernel '%s', line %" PRIu32 ": %s\n", prefix,
			specs[w->unwoven[i].kernel].kernel, w->unwoven[i].line, w->unwoven[i].why);
}

void woven_json(struct json *j, const struct spec specs[2], const struct pass_woven *w)
{
	json_begin_object(j, "woven");
	json_str(j, "why_not", w->why.reason);
	json_begin_array(j, "kernels");
	for (unsigned k = 0; k < 2; k++) {
		json_begin_object(j, NULL);
		json_str(j, "kernel", specs[k].kernel);
		json_uint(j, "instructions", w->of[k].instructions);
		json_uint(j, "woven", w->of[k].woven);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_begin_array(j, "apart");
	for (unsigned i = 0; i < w->n_unwoven; i++) {
		json_begin_object(j, NULL);
		json_uint(j, "number", w->unwoven[i].kernel + 1u);
		json_uint(j, "line", w->unwoven[i].line);
		json_str(j, "why", w->unwoven[i].why);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}
