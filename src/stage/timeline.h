/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Draws when each program of a pair used the device: without heddle in the upper panel, under
 * heddle in the lower one. The SVG picture contains no scripts or fonts, and is readable on light
 * and dark pages. */
#ifndef HEDDLE_TIMELINE_H
#define HEDDLE_TIMELINE_H

#include "stage/stage.h"

struct timeline {
	const char *low, *high, *device;
	const struct stage_result *unmanaged, *managed;
	/* the high-priority program's time alone; the rest of its bar is waiting time */
	double high_alone_ns;
	/* Each panel has a scale of its own, and no milliseconds: the virtual GPU's times depend on
	 * other load of the machine, so those of the panels cannot be compared. */
	bool is_virtual;
	const char *noise; /* why the times are not a valid result; NULL: they are valid */
};
void timeline_svg(const struct timeline *t, struct strbuf *out);

#endif
