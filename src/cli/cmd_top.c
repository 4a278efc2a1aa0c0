/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle top shows the output of heddle ps on the whole screen and refreshes it. The lines come
 * from the code of ps (listing.h); this file handles the screen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HEDDLE_CURSES
#include <curses.h>
#include <locale.h>
#endif

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/listing.h"
#include "cli/progress.h"

/* Requests heddled's status and the list of tenants once. Returns 0 or a negative errno. */
static int query_daemon(const char *socket, struct wire_status *ret, struct listing *ret_list)
{
	int r = ask_status(socket, ret);

	if (r == 0)
		r = ask_list(socket, listing_add, ret_list);
	return r == 0 && ret_list->failed ? -ENOMEM : r;
}

static void print_head(const struct wire_status *s, struct strbuf *out)
{
	strbuf_printf(out,
		"heddled %s, policy %s, MPS %s: %u tenant%s, %u launch%s, %llu preemption%s",
		s->version, s->policy, s->mps, s->tenants, PLURAL(s->tenants, "s"), s->launches,
		PLURAL(s->launches, "es"), (unsigned long long)s->preemptions,
		PLURAL(s->preemptions, "s"));
	if (s->handover_p50_ns)
		strbuf_printf(out, ", hand-over %.0f us", (double)s->handover_p50_ns / 1e3);
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
		json_begin_array(&j, "tenants");
		listing_json(&l, &j);
		json_end(&j, ']');
		json_end(&j, '}');
	} else if (r == 0) {
		print_head(&s, &line);
		if (columns && line.len > columns + 1)
			line.len = columns;
		strbuf_printf(&c->out, "%.*s%s", (int)line.len, line.at ? line.at : "",
			line.len && line.at[line.len - 1] == '\n' ? "" : "\n");
		listing_text(&l, columns, &c->out);
		strbuf_finish(&line);
	}
	listing_finish(&l);
	return r < 0 ? ask_failed(c, socket, r) : CLI_OK;
}

#ifdef HEDDLE_CURSES
static void draw_screen(const char *text)
{
	int y = 0;

	erase();
	for (const char *p = text; *p && y < LINES; y++) {
		size_t n = strcspn(p, "\n");

		if (y == 1)
			attron(A_REVERSE);
		mvaddnstr(y, 0, p, (int)MIN(n, (size_t)COLS));
		if (y == 1)
			attroff(A_REVERSE);
		p += n + (p[n] == '\n');
	}
	refresh();
}

static int show_repeatedly(struct cli *c, const char *socket, unsigned every_ms)
{
	int r = 0, key = 0;

	setlocale(LC_CTYPE, "");
	if (!initscr())
		return cli_error(c, "--once prints one look", "the terminal cannot be used");
	cbreak();
	noecho();
	curs_set(0);
	timeout((int)every_ms);
	while (r == 0 && key != 'q' && key != 'Q') {
		struct strbuf text = {0};
		struct listing l = {0};
		struct wire_status s;

		r = query_daemon(socket, &s, &l);
		if (r == 0) {
			print_head(&s, &text);
			listing_text(&l, (unsigned)COLS, &text);
			cli_plain(text.at, text.len);
			draw_screen(text.at ? text.at : "");
			key = getch();
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
	.details = "Shows what heddle ps shows, and updates it. q ends it.",
	.json = "launches (now), preemptions (so far), and tenants, an array of tenant, pid, uid, "
		"user, priority (high, normal, low, or a number), "
		"weight, share_wanted and share_had (percent of the device's time; null: no policy "
		"of "
		"shares), class, device, device_name, age_ns, launched (how many launches so far) "
		"and of these managed, guard, gated, plain, opaque, unseen, reasons (an array of "
		"reason, outcome, launches), name, state (idle, "
		"queued, running, preempted, held), preemptions, ran_ns (null: not known), "
		"waited_ns "
		"and launches: an array of launch, blocks, finished, predicted_ns and remaining_ns "
		"(null: not known), name, state, preemptions, ran_ns, waited_ns.",
	.options = options,
	.run = run_top,
};
