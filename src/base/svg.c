/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes elements of SVG pictures. */
#include "base/svg.h"

#define GREY "#868e96"

/* Characters that end a text or its tag become references; control characters, which XML does not
 * allow, are left out. */
static void add_escaped(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&')
			strbuf_printf(out, "&#%u;", (unsigned)(unsigned char)*text);
		else if ((unsigned char)*text >= ' ')
			strbuf_add(out, text, 1);
	}
}

void svg_begin(
	struct strbuf *out, double width, double height, const char *colour, const char *title)
{
	strbuf_printf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' "
		"font-family='sans-serif' font-size='12' fill='%s'>\n<title>",
		width, height, colour);
	add_escaped(out, title);
	strbuf_puts(out, "</title>\n");
}

void svg_end(struct strbuf *out)
{
	strbuf_puts(out, "</svg>\n");
}

void svg_text(struct strbuf *out, double x, double y, const char *anchor, const char *style,
	const char *text)
{
	strbuf_printf(out, "<text x='%.1f' y='%.1f' text-anchor='%s'%s%s>", x, y, anchor,
		*style ? " " : "", style);
	add_escaped(out, text);
	strbuf_puts(out, "</text>\n");
}

void svg_rect(struct strbuf *out, double x, double y, double width, double height, const char *fill,
	const char *style)
{
	strbuf_printf(out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='%s'%s%s/>\n",
		x, y, width, height, fill, *style ? " " : "", style);
}

void svg_line(struct strbuf *out, double x, double y, double dx, double dy)
{
	strbuf_printf(out, "<path d='M%.1f %.1fl%.1f %.1f' stroke='" GREY "'/>\n", x, y, dx, dy);
}
