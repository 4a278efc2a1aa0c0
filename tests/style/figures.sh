#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# doc/results.md, doc/status.md and the figures of README.md must be up to date: bench/results.sh
# renders them from doc/results and doc/status.facts. In doc/status.md, and in the section of
# README.md about measurements, each number must have a mark (<!--TABLE:NAME-->) or a †, or be in a
# phrase of figures.txt, which lists numbers that are no measurements.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
: "${PHRASES:=$here/figures.txt}"
cp README.md doc/status.md "$tmp/"
{
	RESULTS="$PWD/doc/results" PAGE="$tmp/results.md" README="$tmp/README.md" \
		STATUS="$tmp/status.md" sh bench/results.sh render 2>&1 |
		sed "s|^bench/render.py: ||; s|^$tmp/||"
	for file in doc/results.md README.md doc/status.md doc/results/*.svg; do
		made=$tmp/${file#doc/}
		[ -f "$file" ] || continue
		diff "$file" "$made" >"$tmp/diff" 2>&1 ||
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
	FILENAME != "README.md" { measured = 1 }
	FILENAME == "README.md" && /^## / {
		measured = /^## What it gains/
		sections += measured
	}
	note && /<!--\/stale-->$/ { note = 0; next }
	# not a figure, but the rendered note that says how old figures are
	!measured || note { next }
	/<!--stale-->$/ { note = 1 }
	{
		text = $0
		figures += gsub(/[0-9][0-9,]*(\.[0-9]+)?((†|‡)?<!--[a-z-]+:[^ >]*-->|†)/, "", text)
		gsub(/`[^`]*`|\]\([^)]*\)/, "", text)
		gsub(/\| measured (with earlier forms )?[0-9-]+ \|/, "| |", text)
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
		if (sections != 1)
			print "README.md:1: no section \"What it gains\""
		if (figures < 20)
			print "README.md:1: " figures + 0 " figures in README.md and doc/status.md: 20 or more are expected"
		for (i = 1; i <= n; i++)
			if (!seen[i])
				print phrases ":1: in neither README.md nor doc/status.md: " phrase[i]
	}' README.md doc/status.md
} | verdict
