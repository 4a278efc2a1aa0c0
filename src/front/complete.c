/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Generates shell completions from the table of verbs. They complete verbs, options, the values of
 * an option, files, and the command line of a program that a verb runs. They also complete kernels
 * of the files on the command line, for which the shell calls heddle. */
#include "front/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind { NOTHING, FILES, VERBS, PROGRAM };

static enum kind operands_of(const struct cli_verb *v)
{
	return strstr(v->operands, "PROG")   ? PROGRAM
	       : strstr(v->operands, "FILE") ? FILES
	       : strstr(v->operands, "VERB") ? VERBS
					     : NOTHING;
}

static bool is_words(const struct cli_option *o)
{
	return o->value && strchr(o->value, '|');
}

static bool is_file(const struct cli_option *o)
{
	return o->value && !is_words(o) &&
	       (strstr(o->value, "FILE") || strstr(o->value, "DIR") || strstr(o->value, "PATH"));
}

/* Returns whether the option's value is a kernel of the files among the operands. */
static bool is_kernel(const struct cli_option *o)
{
	return o->value && strcmp(o->name, "kernel") == 0;
}

/* Appends the strings of "a|b|c", separated by blanks. Strings in capitals are left out because
 * they stand for any text. */
static void put_words(const char *value, struct strbuf *out)
{
	for (const char *p = value; *p; p++) {
		if (*p == '|' && p[1] >= 'A' && p[1] <= 'Z')
			p += strcspn(p + 1, "|");
		else
			strbuf_add(out, *p == '|' ? " " : p, 1);
	}
}

/* Appends text in single quotes, with a backslash before each character that is in special. fish
 * escapes a single quote with a backslash; for the other shells, the function closes and reopens
 * the quotes around it. */
static void put_quoted(const char *text, const char *special, bool fish, struct strbuf *out)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'') {
			strbuf_puts(out, fish ? "\\'" : "'\\''");
			continue;
		}
		if (strchr(special, *p))
			strbuf_puts(out, "\\");
		strbuf_add(out, p, 1);
	}
}

static size_t first_len(const struct cli_verb *v)
{
	return strcspn(v->name, " ");
}

static bool same_group(const struct cli_verb *a, const struct cli_verb *b)
{
	return first_len(a) == first_len(b) && memcmp(a->name, b->name, first_len(a)) == 0;
}

/* Returns whether verb i is the first one whose name begins with its first word. */
static bool opens_group(unsigned i)
{
	return i == 0 || !same_group(cli_verbs[i - 1], cli_verbs[i]);
}

static bool in_group(const struct cli_verb *v)
{
	return v->name[first_len(v)] == ' ';
}

/* Appends the first words of all verbs, each once, separated by blanks. */
static void first_words(struct strbuf *out)
{
	for (unsigned i = 0; i < cli_verbs_len; i++)
		if (opens_group(i))
			strbuf_printf(
				out, "%.*s ", (int)first_len(cli_verbs[i]), cli_verbs[i]->name);
}

static void second_words(const struct cli_verb *of, struct strbuf *out)
{
	for (unsigned i = 0; i < cli_verbs_len; i++)
		if (same_group(of, cli_verbs[i]))
			strbuf_printf(out, "%s ", cli_verbs[i]->name + first_len(of) + 1);
}

/* ---- bash ---- */

static void bash_verb(const struct cli_verb *v, struct strbuf *out)
{
	static const char *const kinds[] = {"none", "file", "verb", "command"};
	const struct cli_option *o;

	strbuf_printf(out, "\t'%s')\n\t\tkind=%s options='", v->name, kinds[operands_of(v)]);
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
		strbuf_printf(out, "--%s ", o->name);
	strbuf_puts(out, "' takes='");
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		if (o->value && o->letter)
			strbuf_printf(out, "-%c ", o->letter);
		if (o->value)
			strbuf_printf(out, "--%s ", o->name);
	}
	strbuf_puts(out, "'\n\t\tcase $prev in\n");
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++) {
		if (!o->value)
			continue;
		strbuf_printf(out, "\t\t--%s", o->name);
		if (o->letter)
			strbuf_printf(out, " | -%c", o->letter);
		strbuf_puts(out, ") value=");
		if (is_words(o)) {
			strbuf_puts(out, "'words ");
			put_words(o->value, out);
			strbuf_puts(out, "'");
		} else {
			strbuf_puts(out, is_file(o) ? "file" : is_kernel(o) ? "kernel" : "none");
		}
		strbuf_puts(out, " ;;\n");
	}
	strbuf_puts(out, "\t\tesac ;;\n");
}

static const char bash_end[] =
	"\tesac\n"
	"\t# Where operands begin: what is behind them is not ours.\n"
	"\tfor ((i = at; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--) first=$((i + 1)); break ;;\n"
	"\t\t-*)\n"
	"\t\t\tcase \" $takes\" in *\" ${COMP_WORDS[i]} \"*)\n"
	"\t\t\t\t[ \"${COMP_WORDS[i+1]}\" = = ] && ((i++))\n"
	"\t\t\t\t((i++)) ;;\n"
	"\t\t\tesac ;;\n"
	"\t\t*) first=$i; break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tif [ \"$kind\" = command ] && [ $first != 0 ] && [ $first -le \"$COMP_CWORD\" ]; then\n"
	"\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t_command_offset $first\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\t[ $first = \"$COMP_CWORD\" ] || kind=file\n"
	"\t\tvalue=$kind\n"
	"\tfi\n"
	"\tif [ -z \"$value\" ]; then\n"
	"\t\tcase $cur in -*) value=\"words $options\" ;; *) value=$kind ;; esac\n"
	"\tfi\n"
	"\tcase $value:$cur in\n"
	"\twords*) COMPREPLY=($(compgen -W \"${value#words }\" -- \"$cur\")) ;;\n"
	"\tfile:* | command:*/*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\tcommand:*) COMPREPLY=($(compgen -c -- \"$cur\" | sort -u)) ;;\n"
	"\tkernel:*)\n"
	"\t\twhile read -r i; do\n"
	"\t\t\t[[ $i != \"$cur\"* ]] || COMPREPLY+=(\"$i\")\n"
	"\t\tdone < <(heddle --print-kernels \"${COMP_WORDS[@]:at}\" 2>/dev/null) ;;\n"
	"\tesac\n"
	"}\n";

static void print_bash(bool of_daemon, struct strbuf *out)
{
	const char *name = of_daemon ? "heddled" : "heddle";

	strbuf_printf(out,
		"# bash completion for %s; written by: heddle --print-completion bash %s\n"
		"_%s() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
		"\tlocal verb=%s at=1 first=0 kind=none options= takes= value=\n"
		"\tCOMPREPLY=()\n"
		"\t# --option=VALUE comes as three words.\n"
		"\t[ \"$cur\" != = ] || cur=\n"
		"\t[ \"$prev\" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}\n",
		name, name, name, of_daemon ? "heddled" : "${COMP_WORDS[1]}");
	if (of_daemon) {
		strbuf_puts(out, "\tcase $verb in\n");
		bash_verb(cli_verbs[0], out);
		strbuf_puts(out, bash_end);
		strbuf_puts(out, "complete -o filenames -F _heddled heddled\n");
		return;
	}
	strbuf_puts(out, "\tat=2\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
			 "\t\tCOMPREPLY=($(compgen -W '");
	first_words(out);
	strbuf_puts(out, "--version --help' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const struct cli_verb *v = cli_verbs[i];

		if (!opens_group(i) || !in_group(v))
			continue;
		strbuf_printf(out,
			"\t%.*s)\n\t\tif [ \"$COMP_CWORD\" = 2 ]; then\n"
			"\t\t\tCOMPREPLY=($(compgen -W '",
			(int)first_len(v), v->name);
		second_words(v, out);
		strbuf_puts(out, "' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n"
				 "\t\tverb=\"$verb ${COMP_WORDS[2]}\" at=3 ;;\n");
	}
	strbuf_puts(out, "\tesac\n\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++)
		bash_verb(cli_verbs[i], out);
	strbuf_puts(out, "\tesac\n\tif [ $kind = verb ]; then\n\t\tkind='words ");
	first_words(out);
	strbuf_puts(out, "'\n\tfi\n\tcase x in\n");
	strbuf_puts(out, bash_end);
	strbuf_puts(out, "complete -o filenames -F _heddle heddle\n");
}

/* ---- zsh ---- */

static void zsh_option(const struct cli_option *o, struct strbuf *out)
{
	const char *equals = o->value ? "=" : "";

	/* The short and the long form of an option exclude each other, unless the option may be
	 * repeated. */
	if (o->letter)
		strbuf_printf(out, "\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name,
			o->letter, o->value ? "+" : "", o->name, equals);
	else
		strbuf_printf(out, "\t\t'%s--%s%s[",
			o->value && strcmp(o->value, "KEY=VALUE") == 0 ? "*" : "", o->name, equals);
	put_quoted(o->help, "[]:\\", false, out);
	strbuf_puts(out, "]");
	if (o->value) {
		strbuf_printf(out, ":%s:", o->name);
		if (is_words(o)) {
			strbuf_puts(out, "(");
			put_words(o->value, out);
			strbuf_puts(out, ")");
		} else if (is_file(o)) {
			strbuf_puts(out, "_files");
		} else if (is_kernel(o)) {
			strbuf_puts(out, "_heddle_kernels");
		}
	}
	strbuf_puts(out, "' \\\n");
}

static void zsh_verb(const struct cli_verb *v, struct strbuf *out)
{
	const struct cli_option *o;

	strbuf_puts(out, "\t\t_arguments -s -S : \\\n");
	for (unsigned i = 0; (o = cli_option_at(v, i)); i++)
		zsh_option(o, out);
	switch (operands_of(v)) {
	case PROGRAM:
		strbuf_puts(out, "\t\t'(-)*::program:_normal'");
		break;
	case FILES:
		strbuf_puts(out, "\t\t'*:file:_files'");
		break;
	case VERBS:
		strbuf_puts(out, "\t\t'1:verb:(");
		first_words(out);
		strbuf_puts(out, ")'");
		break;
	case NOTHING:
		strbuf_puts(out, "\t\t'*: :'");
	}
}

/* Appends 'word:description' pairs for zsh's _describe. For the first word of a group, such as ptx,
 * these are the group's verbs. */
static void zsh_words(const struct cli_verb *group, struct strbuf *out)
{
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const struct cli_verb *v = cli_verbs[i];

		if (group ? !same_group(v, group) : !opens_group(i))
			continue;
		if (group) {
			strbuf_printf(out, "'%s:", v->name + first_len(v) + 1);
			put_quoted(v->summary, ":\\", false, out);
		} else {
			strbuf_printf(out, "'%.*s:", (int)first_len(v), v->name);
			if (in_group(v))
				second_words(v, out);
			else
				put_quoted(v->summary, ":\\", false, out);
		}
		strbuf_puts(out, "' ");
	}
}

static const char zsh_kernels[] =
	"_heddle_kernels() {\n"
	"\tlocal -a kernels=(${(f)\"$(heddle --print-kernels ${(Q)words} 2>/dev/null)\"})\n"
	"\tcompadd -a kernels\n"
	"}\n";

static void print_zsh(bool of_daemon, struct strbuf *out)
{
	const char *name = of_daemon ? "heddled" : "heddle";

	strbuf_printf(out,
		"#compdef %s\n"
		"# zsh completion for %s; written by: heddle --print-completion zsh %s\n"
		"%s"
		"_%s() {\n",
		name, name, name, of_daemon ? "" : zsh_kernels, name);
	if (of_daemon) {
		zsh_verb(cli_verbs[0], out);
		strbuf_puts(out, "\n}\n_heddled \"$@\"\n");
		return;
	}
	strbuf_puts(out, "\tlocal -a verbs\n\tlocal verb=$words[2] n=1\n"
			 "\tif (( CURRENT == 2 )); then\n\t\tverbs=(");
	zsh_words(NULL, out);
	strbuf_puts(
		out, ")\n\t\t_describe -t verbs verb verbs\n\t\treturn\n\tfi\n\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		const struct cli_verb *v = cli_verbs[i];

		if (!opens_group(i) || !in_group(v))
			continue;
		strbuf_printf(out, "\t%.*s)\n\t\tverbs=(", (int)first_len(v), v->name);
		zsh_words(v, out);
		strbuf_puts(out, ")\n\t\tif (( CURRENT == 3 )); then\n"
				 "\t\t\t_describe -t verbs verb verbs\n\t\t\treturn\n\t\tfi\n"
				 "\t\tverb=\"$verb $words[3]\" n=2 ;;\n");
	}
	strbuf_puts(out, "\tesac\n\tshift $n words\n\t(( CURRENT -= n ))\n\tcase $verb in\n");
	for (unsigned i = 0; i < cli_verbs_len; i++) {
		strbuf_printf(out, "\t'%s')\n", cli_verbs[i]->name);
		zsh_verb(cli_verbs[i], out);
		strbuf_puts(out, " ;;\n");
	}
	strbuf_puts(out, "\tesac\n}\n_heddle \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(
	const char *name, const char *when, const struct cli_option *o, struct strbuf *out)
{
	strbuf_printf(out, "complete -c %s%s", name, when);
	if (o->letter)
		strbuf_printf(out, " -s %c", o->letter);
	strbuf_printf(out, " -l %s", o->name);
	if (is_words(o)) {
		strbuf_puts(out, " -x -a '");
		put_words(o->value, out);
		strbuf_puts(out, "'");
	} else if (is_kernel(o)) {
		strbuf_puts(out, " -x -a '(heddle --print-kernels (commandline -op) 2>/dev/null)'");
	} else if (o->value) {
		strbuf_puts(out, is_file(o) ? " -r -F" : " -x");
	}
	strbuf_puts(out, " -d '");
	put_quoted(o->help, "\\", true, out);
	strbuf_puts(out, "'\n");
}

static void fish_verb(const struct cli_verb *v, unsigned i, struct strbuf *out)
{
	const struct cli_option *o;
	char when[96];

	if (opens_group(i)) {
		strbuf_printf(out, "complete -c heddle -n __heddle_first -a %.*s -d '",
			(int)first_len(v), v->name);
		if (in_group(v))
			second_words(v, out);
		else
			put_quoted(v->summary, "\\", true, out);
		strbuf_puts(out, "'\n");
	}
	if (in_group(v)) {
		strbuf_printf(out, "complete -c heddle -n '__heddle_in %.*s' -a %s -d '",
			(int)first_len(v), v->name, v->name + first_len(v) + 1);
		put_quoted(v->summary, "\\", true, out);
		strbuf_puts(out, "'\n");
	}
	snprintf(when, sizeof(when), " -n '__heddle_behind %s'", v->name);
	for (unsigned k = 0; (o = cli_option_at(v, k)); k++)
		fish_option("heddle", when, o, out);
	switch (operands_of(v)) {
	case PROGRAM:
		strbuf_printf(out,
			"complete -c heddle%s -x -a '(__fish_complete_subcommand "
			"--fcs-skip=2",
			when);
		for (unsigned k = 0; (o = cli_option_at(v, k)); k++) {
			if (o->value && o->letter)
				strbuf_printf(out, " -%c", o->letter);
			if (o->value)
				strbuf_printf(out, " --%s", o->name);
		}
		strbuf_puts(out, ")'\n");
		break;
	case FILES:
		strbuf_printf(out, "complete -c heddle%s -F\n", when);
		break;
	case VERBS:
		strbuf_printf(out, "complete -c heddle%s -a '", when);
		first_words(out);
		strbuf_puts(out, "'\n");
		break;
	case NOTHING:
		break;
	}
}

static const char fish_start[] =
	"function __heddle_first; test (count (commandline -opc)) = 1; end\n"
	"# Behind a group's first word, where the second is to come.\n"
	"function __heddle_in\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) = 2; and test \"$words[2]\" = $argv[1]\n"
	"end\n"
	"# Behind all words of the verb.\n"
	"function __heddle_behind\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -gt (count $argv); or return 1\n"
	"\tset -l last (math (count $argv) + 1)\n"
	"\ttest \"$words[2..$last]\" = \"$argv\"\n"
	"end\n";

static void print_fish(bool of_daemon, struct strbuf *out)
{
	const char *name = of_daemon ? "heddled" : "heddle";
	const struct cli_option *o;

	strbuf_printf(out,
		"# fish completion for %s; written by: heddle --print-completion fish %s\n"
		"complete -c %s -f\n",
		name, name, name);
	for (unsigned i = 0; of_daemon && (o = cli_option_at(cli_verbs[0], i)); i++)
		fish_option(name, "", o, out);
	if (of_daemon)
		return;
	strbuf_puts(out, fish_start);
	for (unsigned i = 0; i < cli_verbs_len; i++)
		fish_verb(cli_verbs[i], i, out);
}

int cli_completion(const char *shell, struct strbuf *out)
{
	bool of_daemon = cli_verbs[0]->flags & CLI_PROGRAM;

	if (strcmp(shell, "bash") == 0)
		print_bash(of_daemon, out);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(of_daemon, out);
	else if (strcmp(shell, "fish") == 0)
		print_fish(of_daemon, out);
	else
		return -EINVAL;
	return 0;
}
