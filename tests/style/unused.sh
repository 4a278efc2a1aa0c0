#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: unused.sh ROOT BUILD. Functions and variables of src/ that other files can see and none
# names: they are dead, or want to be static. By the object files of a whole build; what a library
# exports is named from outside, and so is what the sources of tests and benchmarks name.
set -eu
root=${1:?usage: unused.sh ROOT BUILD}
build=${2:?usage: unused.sh ROOT BUILD}
for tool in nm ninja; do
	command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
find "$root/tests" "$root/bench" \( -name "*.[ch]" -o -name "*.def" \) -exec cat {} + |
	tr -cs "A-Za-z0-9_" "\n" >"$tmp/outside"
cd "$build"
find . -name '*.so*' -type f ! -name '*.symbols' -exec nm -D --defined-only {} + |
	sed 's/.* //; s/@.*//' >>"$tmp/outside"
ninja -t targets all | sed -n 's/\.o: .*/.o/p' | grep -E '^src/|\.p/(src_|meson-generated)' | sort -u >"$tmp/objects"
[ -s "$tmp/objects" ] || { echo "no objects of src/ in $build"; exit 1; }
while read -r o; do
	[ -f "$o" ] || { echo "skipped: not all is built: $o"; exit 77; }
done <"$tmp/objects"
xargs nm -A -g <"$tmp/objects" >"$tmp/names"
awk -v outside="$tmp/outside" '
BEGIN {
	while ((getline name < outside) > 0)
		named[name] = 1
	named["main"] = 1
}
$(NF - 1) == "U" || $(NF - 1) == "w" { named[$NF] = 1; next }
{
	object = $1
	sub(/:[^:]*$/, "", object)
	sub(/.*\//, "", object)
	defined[$NF] = object
}
END {
	for (name in defined)
		if (!(name in named))
			print defined[name] ": nothing outside names " name
}' "$tmp/names" | sort >"$tmp/bad"
cat "$tmp/bad"
[ ! -s "$tmp/bad" ] || { echo "$(wc -l <"$tmp/bad") violations"; exit 1; }
