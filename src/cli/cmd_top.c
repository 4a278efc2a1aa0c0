/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle top shows the output of heddle ps on the whole screen and refreshes it. The lines come
 * from the code of ps (listing.h); this file handles the screen. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HEDDLE_CURSES
#include <curses.h>
#include <locale.h>
#endif

#include "cli/listing.h"
#include "front/ask.h"
#include "front/cli.h"
#include "front/progress.h"

/* Requests heddled's status and the list of tenants once. Returns 0 or a negative errno. */
static int query_daemon(const char *socket, struct wire_status *ret, struct listing *ret_list)
{
	int r = ask_status(socket, ret);

	return r < 0 ? r : listing_ask(socket, ret_list);
}

/* Adds a part of the first line if all of it fits; columns 0: no limit. After a part that does not
 * fit, no other is added. */
static void HD_PRINTF(3, 4) add_part(struct strbuf *io, unsigned *io_columns, const char *fmt, ...)
{
	char part[160];
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	len = io->len + strlen(part);
	if (*io_columns && len > *io_columns)
		*io_columns = (unsigned)io->len;
	else
		strbuf_puts(io, part);
}

static void print_head(const struct wire_status *s, unsigned columns, struct strbuf *out)
{
	add_part(out, &columns, "heddled %s", s->version);
	add_part(out, &columns, ", policy %s", s->policy);
	add_part(out, &columns, ", MPS %s", s->mps);
	add_part(out, &columns, ": %u tenant%s", s->tenants, PLURAL(s->tenants, "s"));
	add_part(out, &columns, ", %u launch%s", s->launches, PLURAL(s->launches, "es"));
	add_part(out, &columns, ", %llu preemption%s", (unsigned long long)s->preemptions,
		PLURAL(s->preemptions, "s"));
	if (s->handover_p50_ns)
		add_part(out, &columns, ", hand-over %.0f us", (double)s->handover_p50_ns / 1e3);
	strbuf_puts(out, "\n");
}

static int show_once(struct cli *c, const char *socket)
{
	unsigned columns = terminal_columns(STDOUT_FILENO);
	struct strbuf line = {0};
	struct listing l = {0};
	struct wire_status s;
	struct json j;
	int r = query_daemon(socket, &s, &l);

	if (r == 0 && c->json) {
		cli_json_open(c, &j, 1);
		json_uint(&j, "launches", s.launches);
		json_uint(&j, "preemptions", s.preemptions);
		listing_json(&l, &j);
		json_end(&j, '}');
	} else if (r == 0) {
		print_head(&s, columns, &line);
		strbuf_printf(&c->out, "%s", line.at ? line.at : "\n");
		listing_text(&l, columns, &c->out);
		strbuf_finish(&line);
	}
	listing_finish(&l);
	return r < 0 ? ask_failed(c, socket, r) : CLI_OK;
}

#ifdef HEDDLE_CURSES
static const char help[] = "q            end\n"
			   "space        update at once\n"
			   "up, down     one line up or down; k, j, too\n"
			   "page up, page down, home, end\n"
			   "h, ?         this help; any key leaves it\n"
			   "\n"
			   "TENANT is the number that heddle set takes.\n";

#define HEAD_LINES 2 /* the summary and the columns' heads, which do not scroll */

static const char *next_line(const char *p)
{
	p += strcspn(p, "\n");
	return p + (*p == '\n');
}

static void draw_line(int y, const char *p)
{
	mvaddnstr(y, 0, p, (int)MIN(strcspn(p, "\n"), (size_t)COLS));
}

/* Draws the head, and the other lines from index *io_first on. If *io_first is too large to fill
 * the screen, the function lowers it. If lines are left out, the last line of the screen says which
 * ones are shown. */
static void draw_screen(const char *text, int *io_first)
{
	int lines = 0, room = MAX(LINES - HEAD_LINES, 1), y;
	const char *p = text;

	for (const char *q = text; *q; q = next_line(q))
		lines++;
	lines = MAX(lines - HEAD_LINES, 0);
	if (lines > room)
		room = MAX(room - 1, 1);
	*io_first = MAX(MIN(*io_first, lines - room), 0);
	erase();
	for (y = 0; *p && y < HEAD_LINES; y++, p = next_line(p)) {
		if (y == 1)
			attron(A_REVERSE);
		draw_line(y, p);
		if (y == 1)
			attroff(A_REVERSE);
	}
	for (int i = 0; *p && i < *io_first; i++)
		p = next_line(p);
	for (; *p && y < HEAD_LINES + room; y++, p = next_line(p))
		draw_line(y, p);
	if (lines > room) {
		char more[64];

		snprintf(more, sizeof(more), "(%d to %d of %d lines: up, down)", *io_first + 1,
			*io_first + room, lines);
		draw_line(LINES - 1, more);
	}
	refresh();
}

static void draw_help(void)
{
	int y = 0;

	erase();
	for (const char *p = help; *p && y < LINES; p = next_line(p))
		draw_line(y++, p);
	refresh();
	timeout(-1);
	getch();
}

/* Returns the first line to show after the user presses key. */
static int move_first(int first, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		return first - 1;
	case KEY_DOWN:
	case 'j':
		return first + 1;
	case KEY_PPAGE:
		return first - MAX(LINES - HEAD_LINES - 1, 1);
	case KEY_NPAGE:
		return first + MAX(LINES - HEAD_LINES - 1, 1);
	case KEY_HOME:
		return 0;
	case KEY_END:
		return INT_MAX / 2;
	default:
		return first;
	}
}

static int show_repeatedly(struct cli *c, const char *socket, unsigned every_ms)
{
	int r = 0, key = 0, first = 0;

	setlocale(LC_CTYPE, "");
	if (!initscr())
		return cli_error(c, "--once prints one look", "the terminal cannot be used");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	while (r == 0 && key != 'q' && key != 'Q') {
		struct strbuf text = {0};
		struct listing l = {0};
		struct wire_status s;

		r = query_daemon(socket, &s, &l);
		if (r == 0) {
			print_head(&s, (unsigned)COLS, &text);
			listing_text(&l, (unsigned)COLS, &text);
			cli_plain(text.at, text.len);
			draw_screen(text.at ? text.at : "", &first);
			timeout((int)every_ms);
			key = getch();
			first = move_first(first, key);
			if (key == 'h' || key == 'H' || key == '?')
				draw_help();
		}
		listing_finish(&l);
		strbuf_finish(&text);
	}
	endwin();
	return r < 0 ? ask_failed(c, socket, r) : CLI_OK;
}
#else
static int show_repeatedly(struct cli *c, const char *socket, unsigned every_ms)
{
	return cli_error(c, "--once prints one look; watch(1) repeats that",
		"this heddle was built without ncurses");
}
#endif

static int run_top(struct cli *c)
{
	const char *socket = cli_value(c, "socket");
	uint64_t every_ms = 1000;
	int r = cli_number(c, "every-ms", 100, 600000, &every_ms);

	if (r)
		return r;
	if (c->json || cli_has(c, "once"))
		return show_once(c, socket);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return cli_usage(c, "there is no terminal: --once or --json");
	return show_repeatedly(c, socket, (unsigned)every_ms);
}

static const struct cli_option options[] = {
	{0, "once", NULL, "print the list once, and end"},
	{0, "every-ms", "N", "milliseconds between updates (default: 1000)"},
	{0, "socket", "PATH", "the daemon's socket"},
	{0},
};

const struct cli_verb cli_verb_top = {
	.name = "top",
	.operands = "",
	.summary = "watch tenants and their kernels",
	.details =
		"Shows what heddle ps shows, and updates it. Keys: q ends it, space updates it at "
		"once, the arrows, page up and page down, home and end move in a list that is "
		"longer than the screen, h or ? lists the keys.",
	.json = "launches (now), preemptions (so far), and " LISTING_JSON,
	.options = options,
	.run = run_top,
};
