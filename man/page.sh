#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Puts the verbs' descriptions, or the daemon's options, from the program's own table into the page, and
# formats it. No word is hyphenated, since a search would not find it then. (scdoc says so before .TH, which
# undoes it.)
# usage: page.sh SCDOC HEDDLE PAGE.scd
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$2" --print-man >"$tmp/verbs"
"$2" --print-man heddled >"$tmp/options"
sed -e "/^@VERBS@/ {
	r $tmp/verbs
	d
}" -e "/^@OPTIONS@/ {
	r $tmp/options
	d
}" "$3" >"$tmp/source"
"$1" <"$tmp/source" >"$tmp/page" # (in a pipe its failure would be lost)
awk '
	!/^[.\x27]/ && !/^\\h\x27/ { gsub(/\\-/, "-"); gsub(/-/, "\\-") } # a minus, where no line ends
	{ print }
	/^\.TH / { print ".nh"; print ".ad l" }' "$tmp/page"
