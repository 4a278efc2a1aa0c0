/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shell completions from the table: verbs, options, the words an option may take, files. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

enum shell { BASH, ZSH, FISH };

/* Words of "a|b|c" separated by blanks. */
static void words(const char *value, struct strbuf *out)
{
	for (const char *p = value; *p; p++)
		strbuf_add(out, *p == '|' ? " " : p, 1);
}

static bool completes_files(const char *what)
{
	return strstr(what, "FILE") || strstr(what, "DIR");
}

/* The help text without what the shell's quoting gives a meaning to. */
static void quoted_help(const char *text, struct strbuf *out)
{
	for (const char *p = text; *p; p++)
		if (!strchr("'\\[]:", *p))
			strbuf_add(out, p, 1);
}

/* The second words of a group ("check print preempt" for "ptx"), or all first words for NULL. */
static void list_words(const char *group, struct strbuf *out)
{
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name, *blank = strchr(name, ' ');
		size_t first = blank ? (size_t)(blank - name) : strlen(name);

		if (group) {
			if (blank && strlen(group) == first && memcmp(group, name, first) == 0)
				strbuf_printf(out, "%s ", blank + 1);
			continue;
		}
		/* A group is named once: with its first verb. */
		if (i > 0 && strncmp(cli_verbs[i - 1]->name, name, first) == 0 &&
			cli_verbs[i - 1]->name[first] == ' ')
			continue;
		strbuf_printf(out, "%.*s ", (int)first, name);
	}
}

static void bash_case(const struct cli_verb *v, struct strbuf *out)
{
	const struct cli_option *o;

	strbuf_printf(out, "\t'%s')\n\t\tcase $prev in\n", v->name);
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		if (!o->value)
			continue;
		strbuf_printf(out, "\t\t--%s", o->name);
		if (o->letter)
			strbuf_printf(out, " | -%c", o->letter);
		strbuf_puts(out, ") ");
		if (strchr(o->value, '|')) {
			strbuf_puts(out, "COMPREPLY=($(compgen -W '");
			words(o->value, out);
			strbuf_puts(out, "' -- \"$cur\")); ");
		} else if (completes_files(o->value)) {
			strbuf_puts(out, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
		}
		strbuf_puts(out, "return ;;\n");
	}
	strbuf_puts(out, "\t\tesac\n\t\toptions='");
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
		strbuf_printf(out, "--%s ", o->name);
	strbuf_printf(out, "' kind=%s ;;\n",
		strstr(v->operands, "PROG")   ? "command"
		: strstr(v->operands, "FILE") ? "file"
					      : "none");
}

static void bash(struct strbuf *out)
{
	strbuf_puts(out,
		"# bash completion for heddle; written by: heddle --print-completion bash\n"
		"_heddle() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal verb=${COMP_WORDS[1]} options= kind=none words=\n"
		"\tCOMPREPLY=()\n"
		"\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='");
	list_words(NULL, out);
	strbuf_puts(out, "'\n\telif [ \"$COMP_CWORD\" = 2 ]; then\n\t\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name, *blank = strchr(name, ' ');
		char group[32];

		if (!blank || (size_t)(blank - name) >= sizeof(group))
			continue;
		memcpy(group, name, (size_t)(blank - name));
		group[blank - name] = 0;
		if (i > 0 && strncmp(cli_verbs[i - 1]->name, name, strlen(group) + 1) == 0)
			continue;
		strbuf_printf(out, "\t\t%s) words='", group);
		list_words(group, out);
		strbuf_puts(out, "' ;;\n");
	}
	strbuf_puts(out, "\t\tesac\n\tfi\n"
			 "\tif [ -n \"$words\" ]; then\n"
			 "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
			 "\tcase $verb in\n\t");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name, *blank = strchr(name, ' ');

		if (blank && (i == 0 || strncmp(cli_verbs[i - 1]->name, name,
						(size_t)(blank - name) + 1) != 0))
			strbuf_printf(out, "%.*s | ", (int)(blank - name), name);
	}
	strbuf_puts(out, "'') verb=\"$verb ${COMP_WORDS[2]}\" ;;\n\tesac\n\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++)
		bash_case(cli_verbs[i], out);
	strbuf_puts(out, "\tesac\n"
			 "\tcase $kind:$cur in\n"
			 "\t*:-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
			 "\tfile:*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
			 "\tcommand:*) COMPREPLY=($(compgen -c -f -- \"$cur\")) ;;\n"
			 "\tesac\n}\ncomplete -o filenames -F _heddle heddle\n");
}

static void zsh_option(const struct cli_option *o, struct strbuf *out)
{
	/* Both spellings exclude each other. */
	if (o->letter)
		strbuf_printf(out, "\t\t\t'(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter,
			o->name);
	else
		strbuf_printf(out, "\t\t\t'--%s[", o->name);
	quoted_help(o->help, out);
	strbuf_puts(out, "]");
	if (o->value) {
		strbuf_printf(out, ":%s:", o->name);
		if (strchr(o->value, '|')) {
			strbuf_puts(out, "(");
			words(o->value, out);
			strbuf_puts(out, ")");
		} else if (completes_files(o->value)) {
			strbuf_puts(out, "_files");
		}
	}
	strbuf_puts(out, "' \\\n");
}

static void zsh(struct strbuf *out)
{
	strbuf_puts(out, "#compdef heddle\n"
			 "# zsh completion for heddle; written by: heddle --print-completion zsh\n"
			 "_heddle() {\n"
			 "\tlocal -a verbs\n\tverbs=(\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		strbuf_printf(out, "\t\t'%s:", cli_verbs[i]->name);
		quoted_help(cli_verbs[i]->summary, out);
		strbuf_puts(out, "'\n");
	}
	strbuf_puts(out,
		"\t)\n"
		"\tif (( CURRENT == 2 )); then\n"
		"\t\t_describe -t verbs verb verbs\n\t\treturn\n\tfi\n"
		"\tlocal verb=$words[2] n=1\n"
		"\tif (( ${#verbs[(r)$verb *]} )); then\n"
		"\t\tif (( CURRENT == 3 )); then\n"
		"\t\t\tcompadd -- ${${(M)${verbs%%:*}:#$verb *}#* }\n\t\t\treturn\n\t\tfi\n"
		"\t\tverb=\"$verb $words[3]\" n=2\n\tfi\n"
		"\tshift $n words\n\t(( CURRENT -= n ))\n"
		"\tcase $verb in\n");
	for (unsigned n = 0; n < cli_verbs_len; n++) {
		const struct cli_verb *v = cli_verbs[n];
		const struct cli_option *o;

		strbuf_printf(out, "\t'%s')\n\t\t_arguments -s \\\n", v->name);
		for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
			zsh_option(o, out);
		strbuf_printf(out, "\t\t\t%s ;;\n",
			strstr(v->operands, "PROG")   ? "'*::program:_normal'"
			: strstr(v->operands, "FILE") ? "'*:file:_files'"
						      : "'*: :'");
	}
	strbuf_puts(out, "\tesac\n}\n_heddle \"$@\"\n");
}

static void fish_verb(const struct cli_verb *v, struct strbuf *out)
{
	const char *blank = strchr(v->name, ' ');
	const struct cli_option *o;
	char seen[128] = "";

	/* Holds when the words of the verb have been typed. */
	if (blank)
		strbuf_printf(out,
			"complete -c heddle -n '__fish_seen_subcommand_from %.*s; and not "
			"__fish_seen_subcommand_from %s' -a %s -d '",
			(int)(blank - v->name), v->name, blank + 1, blank + 1);
	else
		strbuf_printf(
			out, "complete -c heddle -n __fish_use_subcommand -a %s -d '", v->name);
	quoted_help(v->summary, out);
	strbuf_puts(out, "'\n");
	strncat(seen, blank ? blank + 1 : v->name, sizeof(seen) - 1);
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		strbuf_printf(out, "complete -c heddle -n '__fish_seen_subcommand_from %s'", seen);
		if (o->letter)
			strbuf_printf(out, " -s %c", o->letter);
		strbuf_printf(out, " -l %s", o->name);
		if (o->value && strchr(o->value, '|')) {
			strbuf_puts(out, " -x -a '");
			words(o->value, out);
			strbuf_puts(out, "'");
		} else if (o->value) {
			strbuf_puts(out, completes_files(o->value) ? " -r -F" : " -x");
		}
		strbuf_puts(out, " -d '");
		quoted_help(o->help, out);
		strbuf_puts(out, "'\n");
	}
	if (strstr(v->operands, "FILE") || strstr(v->operands, "PROG"))
		strbuf_printf(
			out, "complete -c heddle -n '__fish_seen_subcommand_from %s' -F\n", seen);
}

static void fish(struct strbuf *out)
{
	strbuf_puts(out,
		"# fish completion for heddle; written by: heddle --print-completion fish\n"
		"complete -c heddle -f\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const char *name = cli_verbs[i]->name, *blank = strchr(name, ' ');

		if (blank && (i == 0 || strncmp(cli_verbs[i - 1]->name, name,
						(size_t)(blank - name) + 1) != 0))
			strbuf_printf(out, "complete -c heddle -n __fish_use_subcommand -a %.*s\n",
				(int)(blank - name), name);
		fish_verb(cli_verbs[i], out);
	}
}

int cli_completion(const char *shell, struct strbuf *out)
{
	if (strcmp(shell, "bash") == 0)
		bash(out);
	else if (strcmp(shell, "zsh") == 0)
		zsh(out);
	else if (strcmp(shell, "fish") == 0)
		fish(out);
	else
		return -EINVAL;
	return 0;
}
