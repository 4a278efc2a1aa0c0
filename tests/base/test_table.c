/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the exact text of tables and of elements of pictures. */
#include "base/svg.h"
#include "base/table.h"

#include "unit.h"

#include <math.h>

static void expect(struct table *t, const char *want)
{
	struct strbuf out = {0};

	table_print(t, &out);
	assert_false(out.failed);
	assert_string_equal(out.at ? out.at : "", want);
	strbuf_finish(&out);
	table_finish(t);
}

static void columns_fit_their_cells(void **state)
{
	struct table t = {0};

	(void)state;
	table_column(&t, -1, "name");
	table_column(&t, 0, "ms");
	table_column(&t, 7, "ratio");
	table_column(&t, -1, "");
	table_row(&t);
	table_cell(&t, "a long name");
	table_cell(&t, "%.2f", 1234.5);
	table_cell(&t, "%.1fx", 2.0);
	table_cell(&t, "noise");
	table_row(&t);
	table_cell(&t, "b");
	table_cell(&t, "1.00");
	table_row(&t);
	table_cell(&t, "c");
	table_number(&t, 1, NAN, " ms");
	table_number(&t, 1, 2.25, " ms");
	table_note(&t, "a note of any length");
	expect(&t, "name             ms   ratio\n"
		   "a long name 1234.50    2.0x noise\n"
		   "b              1.00\n"
		   "c                 -  2.2 ms a note of any length\n");
}

static void rows_may_be_short_cut_or_lines(void **state)
{
	struct table t = {.margin = 2, .limit = 12};

	(void)state;
	table_cell(&t, "no row yet");
	table_column(&t, -6, "");
	table_column(&t, 0, "");
	table_row(&t);
	table_line(&t, "a line of text across");
	table_row(&t);
	table_cell(&t, "%s", "cell");
	table_cell(&t, "12345678");
	table_cell(&t, "beyond the last column");
	expect(&t, "\n"
		   "a line of te\n"
		   "  cell   123\n");
}

static void empty_table(void **state)
{
	struct table t = {0};

	(void)state;
	expect(&t, "");
	table_column(&t, 0, "head");
	expect(&t, "head\n");
}

static void pictures_escape_texts(void **state)
{
	struct strbuf out = {0};

	(void)state;
	svg_begin(&out, 10, 20, "#000", "a<b>&\x01");
	svg_text(&out, 1, 2, "end", "", "x & y");
	svg_rect(&out, 0, 0, 1.5, 2, "#fff", "stroke='#000'");
	svg_line(&out, 1, 2, 3, 0);
	svg_end(&out);
	assert_string_equal(out.at,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 10 20' "
		"font-family='sans-serif' "
		"font-size='12' fill='#000'>\n<title>a&#60;b&#62;&#38;</title>\n"
		"<text x='1.0' y='2.0' text-anchor='end'>x &#38; y</text>\n"
		"<rect x='0.00' y='0.0' width='1.50' height='2.0' fill='#fff' stroke='#000'/>\n"
		"<path d='M1.0 2.0l3.0 0.0' stroke='#868e96'/>\n</svg>\n");
	strbuf_finish(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_fit_their_cells),
		cmocka_unit_test(rows_may_be_short_cut_or_lines),
		cmocka_unit_test(empty_table),
		cmocka_unit_test(pictures_escape_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
