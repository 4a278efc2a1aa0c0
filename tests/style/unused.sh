#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: unused.sh ROOT BUILD
# Finds functions and variables of src/ with external linkage that no other file uses: they are dead
# or should be static. Works on the object files of a complete build; a library's exports count as
# used, and so do symbols that the sources of tests and benchmarks use. A function that only tests
# call is dead, too, except hooks that make a test possible (`hooks`), and so is a function in a
# header that no source of src/ names. A row of a .def that puts the address of a symbol into a
# table, as policies.def does with sched_policy_ID, uses the symbol.
set -eu
# No source of src/ needs to call these: functions of the virtual GPU's library, functions by which
# tests reset or read a module's state, and libc functions that heddled replaces.
hooks='_Exit vgpu_mem_destroy vgpu_module_kernel vgpu_vec_plain launch_on_transition cost_forget durations_find'
hooks="$hooks sim_read_line sim_parse_time sim_real_name sim_split"
root=${1:?usage: unused.sh ROOT BUILD}
build=${2:?usage: unused.sh ROOT BUILD}
for tool in nm ninja; do
	command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
find "$root/tests" "$root/bench" \( -name "*.[ch]" -o -name "*.def" \) -exec cat {} + |
	tr -cs "A-Za-z0-9_" "\n" >"$tmp/outside"
find "$root/src" \( -name "*.[chS]" -o -name "*.def" \) -exec cat {} + |
	tr -cs "A-Za-z0-9_" "\n" | sort | uniq -c >"$tmp/words"
# If a file with "&of_##id" includes a .def, each row ROW(x, ...) of the .def uses of_x. In
# declarations and definitions there is no "&".
grep -rl --include="*.[ch]" "&[a-z_]*##" "$root/src" | while read -r file; do
	sed -n 's/^#include "\(.*\/\)*\(.*\.def\)"/\2/p' "$file" | sort -u | while read -r def; do
		ids=$(find "$root/src" -name "$def" -exec sed -n 's/^[A-Z_]*(\([A-Za-z0-9_]*\),.*/\1/p' {} +)
		for of in $(grep -o "&[a-z_]*##" "$file" | tr -d "&#" | sort -u); do
			echo "$ids" | sed "s/^/$of/"
		done
	done
done >"$tmp/tables"
# Lists inline functions in headers that no source of src/ calls.
find "$root/src" -name "*.h" -exec grep -Ho "^static inline [^(]*(" {} + | sed 's/($//; s|.*/\(.*\):.*[ *]|\1 |' |
	awk -v words="$tmp/words" '
	BEGIN {
		while ((getline line < words) > 0) {
			split(line, field, " ")
			times[field[2]] = field[1]
		}
	}
	times[$2] == 1 { print $1 ": no source of src/ calls " $2 }' | sort >"$tmp/inline"
cd "$build"
find . -name '*.so*' -type f ! -name '*.symbols' -exec nm -D --defined-only {} + |
	sed 's/.* //; s/@.*//' >"$tmp/exported"
ninja -t targets all | sed -n 's/\.o: .*/.o/p' | grep -E '^src/|\.p/(src_|meson-generated)' | sort -u >"$tmp/objects"
[ -s "$tmp/objects" ] || { echo "no objects of src/ in $build"; exit 1; }
while read -r o; do
	[ -f "$o" ] || { echo "skipped: not all is built: $o"; exit 77; }
done <"$tmp/objects"
xargs nm -A -g <"$tmp/objects" >"$tmp/names"
awk -v outside="$tmp/outside" -v exported="$tmp/exported" -v words="$tmp/words" -v tables="$tmp/tables" -v hooks="$hooks" '
BEGIN {
	while ((getline name < outside) > 0)
		named[name] = 1
	while ((getline name < exported) > 0)
		used[name] = 1
	while ((getline name < tables) > 0)
		used[name] = 1
	while ((getline line < words) > 0) {
		split(line, field, " ")
		times[field[2]] = field[1]
	}
	n = split("main " hooks, list, " ")
	for (i = 1; i <= n; i++)
		hook[list[i]] = 1
}
$(NF - 1) == "U" || $(NF - 1) == "w" { used[$NF] = 1; next }
{
	object = $1
	sub(/:[^:]*$/, "", object)
	sub(/.*\//, "", object)
	defined[$NF] = object
}
END {
	for (name in defined) {
		if (name in used || name in hook)
			continue
		if (!(name in named))
			print defined[name] ": nothing outside names " name
		# It occurs twice in src/: as a declaration and as a definition.
		else if (times[name] == 2)
			print defined[name] ": only tests call " name
	}
}' "$tmp/names" | sort | cat - "$tmp/inline" >"$tmp/bad"
cat "$tmp/bad"
[ ! -s "$tmp/bad" ] || { echo "$(wc -l <"$tmp/bad") violations"; exit 1; }
