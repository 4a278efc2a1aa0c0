/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints help texts, usage lines and the man page's list of verbs, all from the table of verbs. The
 * text is plain ASCII, and is wrapped to the terminal's width where possible. */
#include "front/cli.h"
#include "front/progress.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* Returns the offset in "a|b|WAY" of the last string, if that string is in capitals. In a synopsis,
 * that string alone then stands for the whole value. Returns 0 if the last string is not in
 * capitals. */
static size_t any_text(const char *value)
{
	const char *last = strrchr(value, '|');

	return last && last[1] >= 'A' && last[1] <= 'Z' ? (size_t)(last + 1 - value) : 0;
}

void cli_synopsis(const struct cli_verb *v, struct strbuf *out)
{
	const struct cli_option *o;

	strbuf_printf(out, "%s%s", cli_prefix(v), v->name);
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		if (strcmp(o->name, "help") == 0)
			continue;
		if (o->letter)
			strbuf_printf(out, " [-%c", o->letter);
		else
			strbuf_printf(out, " [--%s", o->name);
		if (o->value)
			strbuf_printf(out, " %s", o->value + any_text(o->value));
		strbuf_puts(out, "]");
	}
	if (v->operands[0])
		strbuf_printf(out, " %s", v->operands);
}

static void option_head(const struct cli_option *o, struct strbuf *out)
{
	if (o->letter)
		strbuf_printf(out, "-%c, ", o->letter);
	strbuf_printf(out, "--%s", o->name);
	if (o->value)
		strbuf_printf(out, " %s", o->value);
}

/* Returns the terminal's width, limited to 40 to 80 columns, or 80 if there is no terminal. */
static unsigned page_width(void)
{
	unsigned columns = terminal_columns(STDOUT_FILENO);

	return columns ? MAX(40u, MIN(columns, 80u)) : 80;
}

/* Wraps text, and indents every output line except the first. Lines that fit are printed unchanged,
 * so aligned columns in the text stay aligned. */
static void put_wrapped(const char *text, unsigned indent, unsigned width, struct strbuf *out)
{
	size_t room = width - indent;

	for (bool first = true; *text; first = false) {
		size_t len = strcspn(text, "\n"), cut = len;

		if (len > room) {
			for (cut = room; cut && text[cut] != ' '; cut--)
				;
			cut = cut ? cut : len;
		}
		strbuf_printf(out, "%*s%.*s\n", first ? 0 : (int)indent, "", (int)cut, text);
		text += cut + (text[cut] != 0);
	}
}

/* Prints the usage line, broken only between options and never inside "[-k NAME]". */
void cli_usage_line(const struct cli_verb *v, struct strbuf *out)
{
	unsigned width = page_width(), at = 7;
	struct strbuf synopsis = {0};

	cli_synopsis(v, &synopsis);
	strbuf_puts(out, "usage: ");
	for (const char *p = synopsis.at ? synopsis.at : ""; *p;) {
		const char *end = *p == '[' ? strchr(p, ']') : NULL;
		size_t n = (end ? (size_t)(end - p) : 0) + strcspn(end ? end : p, " ");

		if (at > 7 && at + n > width) {
			strbuf_printf(out, "\n%7s", "");
			at = 7;
		}
		strbuf_printf(out, "%s%.*s", at > 7 ? " " : "", (int)n, p);
		at += (unsigned)n + 1;
		p += n + (p[n] == ' ');
	}
	strbuf_puts(out, "\n");
	strbuf_finish(&synopsis);
}

void cli_help_verb(const struct cli_verb *v, struct strbuf *out)
{
	unsigned width = page_width(), indent = width >= 72 ? 32 : 8;
	struct strbuf text = {0};
	const struct cli_option *o;

	cli_usage_line(v, out);
	strbuf_printf(&text, "%c%s.", toupper(v->summary[0]), v->summary + 1);
	strbuf_puts(out, "\n");
	put_wrapped(text.at ? text.at : "", 0, width, out);
	strbuf_finish(&text);
	if (v->details) {
		strbuf_puts(out, "\n");
		put_wrapped(v->details, 0, width, out);
	}
	strbuf_puts(out, "\n");
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		size_t start = out->len, used;

		strbuf_puts(out, o->letter ? "  " : "      ");
		option_head(o, out);
		used = out->len - start;
		if (used + 2 > indent)
			strbuf_printf(out, "\n%*s", (int)indent, "");
		else
			strbuf_printf(out, "%*s", (int)(indent - used), "");
		put_wrapped(o->help, indent, width, out);
	}
	if (v->json) {
		strbuf_printf(&text, "JSON: %s", v->json);
		strbuf_puts(out, "\n");
		put_wrapped(text.at ? text.at : "", 0, width, out);
		strbuf_finish(&text);
	}
}

void cli_help_all(const char *group, struct strbuf *out)
{
	size_t len = group ? strlen(group) : 0;
	unsigned width = page_width();

	strbuf_printf(out, "usage: heddle %s%sVERB ...\n", group ? group : "", group ? " " : "");
	if (!group)
		strbuf_puts(out, "\nMany CUDA kernels and programs share one GPU well.\n");
	strbuf_puts(out, "\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const struct cli_verb *v = cli_verbs[i];

		if (group && !(strncmp(v->name, group, len) == 0 && v->name[len] == ' '))
			continue;
		strbuf_printf(out, "  heddle %-16s ", v->name);
		if (26 + strlen(v->summary) > width)
			strbuf_printf(out, "\n%6s", "");
		put_wrapped(v->summary, 6, width, out);
	}
	strbuf_puts(out, "\nheddle VERB -h says more about one.\n");
}

/* Writes text for scdoc, with its markup characters escaped. */
static void man_text(const char *text, struct strbuf *out)
{
	for (const char *p = text; *p; p++) {
		if (strchr("*_\\#[]<", *p) || (*p == '-' && p == text))
			strbuf_puts(out, "\\");
		strbuf_add(out, p, 1);
	}
}

/* Writes an option for the man page: its letter and name in bold, and then its value as the
 * synopsis shows it. */
static void man_option(const struct cli_option *o, struct strbuf *out)
{
	if (o->letter)
		strbuf_printf(out, "*-%c*, ", o->letter);
	strbuf_printf(out, "*--%s*", o->name);
	if (o->value) {
		strbuf_puts(out, " ");
		man_text(o->value, out);
	}
}

void cli_man_options(const struct cli_verb *v, struct strbuf *out)
{
	const struct cli_option *o;

	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		if (strcmp(o->name, "help") == 0 || strcmp(o->name, "json") == 0)
			continue;
		man_option(o, out);
		strbuf_puts(out, "\n\t");
		man_text(o->help, out);
		strbuf_puts(out, "\n\n");
	}
	if (v->json) {
		strbuf_puts(out, "*--json*\n\t");
		man_text(v->json, out);
		strbuf_puts(out, "\n\n");
	}
}

void cli_man(struct strbuf *out)
{
	for (unsigned n = 0; n < cli_verbs_len; n++) {
		const struct cli_verb *v = cli_verbs[n];
		struct strbuf synopsis = {0};

		cli_synopsis(v, &synopsis);
		strbuf_printf(out, "## heddle %s\n\n", v->name);
		man_text(synopsis.at ? synopsis.at : "", out);
		strbuf_puts(out, "\n\n");
		strbuf_printf(out, "%c", toupper(v->summary[0]));
		man_text(v->summary + 1, out);
		strbuf_puts(out, ".\n\n");
		if (v->details) {
			/* The text is unchanged, as in -h, because its line breaks and columns
			 * matter. */
			strbuf_puts(out, "```\n");
			put_wrapped(v->details, 0, 72, out);
			strbuf_puts(out, "```\n\n");
		}
		cli_man_options(v, out);
		strbuf_finish(&synopsis);
	}
}
