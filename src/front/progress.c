/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shows the progress line, such as "[3/8] what, 1 min left". The time left is estimated as the mean
 * duration of the steps so far, times the number of remaining steps. */
#include "front/progress.h"

#include "base/measure.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool on, shown;
	unsigned step, steps;
	time_t since;
} line;

unsigned terminal_columns(int fd)
{
	const char *said = getenv("COLUMNS");
	struct winsize w;
	uint64_t n = 80;

	if (!isatty(fd))
		return 0;
	if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	if (said)
		number_parse(said, 1, INT32_MAX, &n);
	return (unsigned)n;
}

void progress_begin(unsigned steps)
{
	const char *term = getenv("TERM");

	line.on = isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
	line.step = 0;
	line.steps = steps;
	line.since = (time_t)(clock_ns() / 1000000000u);
}

void progress_more(int steps)
{
	line.steps = (unsigned)MAX((int)line.steps + steps, (int)line.step);
}

static void format_left(char *buf, size_t size)
{
	unsigned done = line.step - 1;
	time_t passed = (time_t)(clock_ns() / 1000000000u) - line.since, s;

	*buf = 0;
	if (!done || line.step > line.steps || passed < 1)
		return;
	s = passed * (line.steps - done) / done;
	if (s < 90)
		snprintf(buf, size, ", about %d s left", (int)s + 1);
	else
		snprintf(buf, size, ", about %d min left", (int)(s + 30) / 60);
}

void progress_step(const char *fmt, ...)
{
	unsigned columns = terminal_columns(STDERR_FILENO);
	char what[128], time_left[48], text[256];
	va_list ap;

	line.step++;
	if (!line.on)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	format_left(time_left, sizeof(time_left));
	if (line.steps)
		snprintf(text, sizeof(text), "[%u/%u] %s%s", MIN(line.step, line.steps), line.steps,
			what, time_left);
	else
		snprintf(text, sizeof(text), "[%u] %s", line.step, what);
	/* The line is one character shorter than the terminal is wide. A full line would move the
	 * cursor to the next line and could then not be cleared. */
	fprintf(stderr, "\r\033[K%.*s", columns > 1 ? (int)columns - 1 : 1, text);
	fflush(stderr);
	line.shown = true;
}

void progress_clear(void)
{
	if (!line.shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	line.shown = false;
}
