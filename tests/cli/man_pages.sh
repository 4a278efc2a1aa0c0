#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: man_pages.sh BUILD
# Formats the manual pages for terminals of several widths: every option and key in the programs'
# help must appear unbroken, and each page must have examples.
set -eu
export LC_ALL=C.UTF-8
build=$1
[ -f "$build/man/heddle.1" ] || {
	echo "skipped: no scdoc"
	exit 77
}
if command -v mandoc >/dev/null; then
	page() { mandoc -T utf8 -O width="$1" "$2" | col -b; }
elif command -v man >/dev/null; then
	page() { MANWIDTH=$1 man -l "$2" 2>/dev/null | col -b; }
else
	echo "skipped: nothing that formats pages"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*"
	exit 1
}
"$build/heddle" --print-man | sed -n 's/^\*--\([a-z-]*\)\*.*/--\1/p' | sort -u >"$dir/heddle.1"
"$build/heddle" help --json | python3 -c '
import json, sys
for v in json.load(sys.stdin)["verbs"]: print(v["name"])' | while read -r verb; do
	# shellcheck disable=SC2086
	"$build/heddle" $verb -h | sed -n '/^JSON:/,$p' | grep -o '[a-z]*_[a-z_0-9]*'
done | sort -u >>"$dir/heddle.1"
"$build/heddle" --print-man heddled | sed -n 's/^\*--\([a-z-]*\)\*.*/--\1/p' >"$dir/heddled.8"
"$build/heddled" -h | sed -n 's/.*--policy \(hpf|.*\)|FILE$/\1/p' | tr '|' '\n' >"$dir/policies"
[ -s "$dir/policies" ] || fail "no names of policies in heddled -h"
cat "$dir/policies" >>"$dir/heddled.8"
: >"$dir/heddle-environment.7"
# (policy.h is for heddled's policies; heddled.8 describes it.)
find "${0%/*}/../../include/heddle" -name '*.h' ! -name 'policy*.h' \
	-exec grep -oh 'heddle_[a-z_]*(' {} + | tr -d '(' | sort -u >"$dir/heddle.3"
for name in heddle.1 heddled.8 heddle-environment.7 heddle.3; do
	grep -q '^\.SH EXAMPLES' "$build/man/$name" || fail "$name: no examples"
	for width in 50 80; do
		page "$width" "$build/man/$name" >"$dir/text"
		[ -s "$dir/text" ] || fail "$name: nothing at $width columns"
		! grep -n "04'" "$dir/text" || fail "$name: a broken item of a list at $width columns"
		! grep -n '[[:alnum:]][-‐]$' "$dir/text" || fail "$name: cut in two at $width columns"
		while read -r word; do
			grep -qwF -e "$word" "$dir/text" || fail "$name: no $word at $width columns"
		done <"$dir/$name"
	done
	echo "$name: $(wc -l <"$dir/$name") words, in one piece"
done
