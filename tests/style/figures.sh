#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# doc/results.md and the figures of README.md are what bench/results.sh renders from doc/results. In the
# sections of README.md that tell of measurements each number has a mark (<!--TABLE:NAME-->) or a †, or is in
# a phrase of figures.txt, which stands there for what is no measurement.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
: "${PHRASES:=$here/figures.txt}"
cp README.md "$tmp/README.md"
{
	env -u PAGE RESULTS="$PWD/doc/results" PAGE="$tmp/results.md" README="$tmp/README.md" sh bench/results.sh render 2>&1 |
		sed "s|^bench/results.sh: ||; s|^$tmp/||"
	for file in doc/results.md README.md; do
		diff "$file" "$tmp/$(basename "$file")" >"$tmp/diff" ||
			echo "$file:$(sed -n '1s/[^0-9].*//p' "$tmp/diff") not what 'bench/results.sh render' makes of doc/results"
	done
	awk -v phrases="$PHRASES" '
	BEGIN {
		while ((getline line <phrases) > 0)
			if (line !~ /^#/ && line != "")
				phrase[++n] = line
	}
	function without(text, part,   at) {
		while ((at = index(text, part)) > 0)
			text = substr(text, 1, at - 1) " " substr(text, at + length(part))
		return text
	}
	/^## / {
		measured = /^## (Beside the vendor|What works today)/
		sections += measured
	}
	!measured { next }
	{
		text = $0
		figures += gsub(/[0-9][0-9,]*(\.[0-9]+)?((†|‡)?<!--[a-z-]+:[^ >]*-->|†)/, "", text)
		gsub(/`[^`]*`|\]\([^)]*\)/, "", text)
		for (i = 1; i <= n; i++) {
			seen[i] = seen[i] || index(text, phrase[i])
			text = without(text, phrase[i])
		}
		while (match(text, /(^|[^A-Za-z0-9_])[0-9][0-9.,]*/)) {
			number = substr(text, RSTART, RLENGTH)
			gsub(/^[^0-9]|[.,]$/, "", number)
			print FILENAME ":" FNR ": " number " has neither a mark nor †, and is in no phrase of " phrases
			text = substr(text, RSTART + RLENGTH)
		}
	}
	END {
		if (sections != 2)
			print FILENAME ":1: " sections + 0 " of the two sections of measurements are there"
		if (figures < 20)
			print FILENAME ":1: " figures + 0 " figures: these were 20 and more"
		for (i = 1; i <= n; i++)
			if (!seen[i])
				print phrases ":1: not in README.md: " phrase[i]
	}' README.md
} | verdict
