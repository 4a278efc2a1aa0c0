/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Elements of a picture (SVG 1.1), appended to a text: for the timeline of heddle demo and the picture
 * of heddle sim. Coordinates are in the picture's units, from its upper left corner. Texts are
 * escaped. */
#ifndef HEDDLE_SVG_H
#define HEDDLE_SVG_H

#include "base/base.h"

/* The beginning and the end of a picture without a background. title: what a reader sees when the
 * mouse rests on it. colour: of texts. */
void svg_begin(
	struct strbuf *out, double width, double height, const char *colour, const char *title);
void svg_end(struct strbuf *out);
/* A text whose start, middle or end (the anchor) is at x. style: further attributes, or "". */
void svg_text(struct strbuf *out, double x, double y, const char *anchor, const char *style,
	const char *text);
void svg_rect(struct strbuf *out, double x, double y, double width, double height, const char *fill,
	const char *style);
/* Draws a gray line from (x, y) to (x + dx, y + dy). */
void svg_line(struct strbuf *out, double x, double y, double dx, double dy);

#endif
