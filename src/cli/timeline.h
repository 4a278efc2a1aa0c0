/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A picture of a pair: who had the device when, unmanaged above, managed below. SVG, no scripts, no
 * fonts of its own, readable on a light and a dark page. */
#ifndef HEDDLE_TIMELINE_H
#define HEDDLE_TIMELINE_H

#include "cli/stage.h"

struct timeline {
	const char *low, *high, *device;
	const struct stage_result *unmanaged, *managed;
	double high_alone_ns; /* how long the high one takes alone: the rest of its bar is waiting
			       */
};
void timeline_svg(const struct timeline *t, struct strbuf *out);

#endif
