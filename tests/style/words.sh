#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Finds phrases that confuse readers, in documents and comments. words.txt lists them with better
# words, and with the number of remaining uses per folder. Documents must have none. Code in a
# document (`...`, blocks) does not count, nor do generated pages and doc/notebook.md, which is a
# history. BLESS=1 updates the numbers: run it when there are fewer.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/lib.sh"
: "${WORDS:=$here/words.txt}"

# text FILE...: prints each paragraph and each comment as one line, after FILE:LINE and a tab.
text() {
	xargs -r awk '
	function flush() {
		if (part != "")
			print FILENAME_OF ":" start "\t" part " "
		part = ""
	}
	function add(line) {
		if (part == "")
			start = FNR
		part = part " " line
	}
	FNR == 1 {
		flush()
		FILENAME_OF = FILENAME
		fenced = 0
		open = 0
		kind = FILENAME ~ /\.md$/ ? "md" : FILENAME ~ /\.scd/ ? "scd" : FILENAME ~ /\.(c|h|cu|cuh|def|S)$/ ? "c" : "sh"
	}
	kind == "md" || kind == "scd" {
		if (/^(```|    )/)
			fenced = /^```/ ? !fenced : fenced
		if (fenced || /^(```|    [^ ])/ || /^[ \t]*$/) {
			flush()
			next
		}
		if (/^(#|\||[ \t]*- )/)
			flush()
		line = $0
		sub(/^#+.*/, "", line) # a title may be a question without a question mark
		gsub(/`[^`]*`/, "CODE", line)
		gsub(/\]\([^)]*\)/, "]", line)
		gsub(/[*_\\]/, "", line)
		sub(/^[ \t]*(- )?/, "", line)
		gsub(/ \| /, " . ", line)
		add(line)
		next
	}
	kind == "c" {
		line = $0
		while (line != "") {
			if (!open) {
				if (!match(line, /\/\*/))
					break
				flush()
				open = 1
				line = substr(line, RSTART + 2)
			}
			end = match(line, /\*\//)
			here = end ? substr(line, 1, RSTART - 1) : line
			line = end ? substr(line, RSTART + 2) : ""
			sub(/^[ \t]*\*?[ \t]*/, "", here)
			if (here == "")
				flush()
			else
				add(here)
			if (end) {
				open = 0
				flush()
			}
		}
		next
	}
	/^[ \t]*#/ && !/^#!/ {
		line = $0
		sub(/^[ \t]*#+[ \t]*/, "", line)
		if (line == "")
			flush()
		else
			add(line)
		next
	}
	{ flush() }
	END { flush() }'
}

files '*.md' '*.scd' '*.scd.in' '*.c' '*.h' '*.cu' '*.cuh' '*.def' '*.sh' '*.py' run meson.build '*/meson.build' |
	grep -vE '^doc/(results|notebook)\.md$|^tests/cli/results/|/corpus/|/foreign/' | text |
	awk -F '\t' -v words="$WORDS" -v bless="${BLESS-}" '
	BEGIN {
		while ((getline line <words) > 0) {
			n = split(line, field, /\t+/)
			if (field[1] == "avoid" && n == 3) {
				avoid[++patterns] = field[2]
				instead[patterns] = field[3]
			} else if (field[1] == "left" && n == 3)
				left[field[2]] = field[3]
			else if (line !~ /^(#|$)/)
				print words ":1: not understood: " line
		}
		if (!patterns)
			print words ":1: it names no phrase"
	}
	{
		folder = $1
		sub(/:[0-9]*$/, "", folder)
		document = folder ~ /\.(md|scd)/
		n = split(folder, path, "/")
		folder = document ? "documents" : n < 2 ? "." : n == 2 ? path[1] : path[1] "/" path[2]
		for (i = 1; i <= patterns; i++) {
			rest = $2
			while (match(rest, avoid[i])) {
				found = substr(rest, RSTART, RLENGTH)
				gsub(/^[^A-Za-z]+|[^A-Za-z]+$/, "", found)
				count[folder]++
				seen[folder] = seen[folder] $1 ": \"" found "\": " instead[i] "\n"
				rest = substr(rest, RSTART + RLENGTH - 1)
			}
		}
	}
	END {
		if (bless != "") {
			for (folder in count)
				if (folder != "documents")
					printf "left\t%s\t%s\n", folder, count[folder] | "sort >" words ".left"
			exit
		}
		for (folder in count)
			if (count[folder] > left[folder] + 0) {
				printf "%s", seen[folder]
				if (left[folder])
					print folder ":1: " count[folder] " phrases to avoid, " left[folder] " are left from before (" words ")"
			}
	}' | verdict || exit 1
if [ -n "${BLESS-}" ]; then
	{
		grep -v '^left' "$WORDS"
		cat "$WORDS.left"
	} >"$WORDS.new"
	mv "$WORDS.new" "$WORDS"
	rm "$WORDS.left"
fi
