#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Limits on numbers of lines. A function is the text between a "{" and the next "}" in column 0,
# plus its head; clang-format guarantees this shape. The medians are over src/ and checked only if
# the tree is large enough.
. "$(dirname "$0")/lib.sh"

# Only the interpreter's dispatch function may be longer.
exempt='^src/dev/cpu/.*: dispatch'

{
	files '*.c' '*.h' '*.cu' '*.cuh' | xargs -r awk -v exempt="$exempt" '
	function file_end() {
		limit = name ~ /\.h$/ ? 250 : 900
		if (name ~ /src\/ptx\/(ops|ptx)\.h/) # to be split
			limit = 200
		if (lines > limit)
			print name ":" lines ": file of " lines " lines, at most " limit
		if (name ~ /^src\/.*\.c$/)
			cfile[++nc] = lines
	}
	function percentile(a, n, p,   i, j, t) {
		for (i = 2; i <= n; i++) {
			t = a[i]
			for (j = i - 1; j > 0 && a[j] > t; j--)
				a[j + 1] = a[j]
			a[j + 1] = t
		}
		return a[int((n - 1) * p) + 1]
	}
	FNR == 1 {
		if (name != "")
			file_end()
		name = FILENAME
		head = 1
		open = 0
	}
	{ lines = FNR }
	# The head of a function starts after a blank line, a preprocessor line, or the end of
	# another definition.
	!open && (/^$/ || /^#/ || /^}/ || /;$/ || /\*\/$/) { head = FNR + 1 }
	!open && /^{/ { open = FNR }
	open && /^}/ {
		n = FNR - head + 1
		where = name ":" head ": function of "
		if (n > 100 && (name ": " fn) !~ exempt)
			print where n " lines, at most 100: " fn
		if (name ~ /^src\/.*\.c$/)
			func_lines[++nf] = n
		open = 0
		head = FNR + 1
	}
	!open && /^[a-zA-Z].*\(/ { fn = $0; sub(/\(.*/, "", fn); sub(/.*[ *]/, "", fn) }
	END {
		if (name != "")
			file_end()
		if (nc >= 20 && (m = percentile(cfile, nc, 0.5)) > 300)
			print "src:1: median .c file of " m " lines, at most 300"
		if (nf >= 200 && (m = percentile(func_lines, nf, 0.5)) > 15)
			print "src:1: median function of " m " lines, at most 15"
		if (nf >= 200 && (m = percentile(func_lines, nf, 0.9)) > 50)
			print "src:1: 90th percentile of functions " m " lines, at most 50"
	}'
	while read -r file limit; do
		[ ! -f "$file" ] || awk -v f="$file" -v limit="$limit" '
			END { if (NR > limit) print f ":" NR ": " NR " lines, at most " limit }' "$file"
	done <<-EOF
		meson.build 200
		README.md 130
		HACKING.md 90
		.clang-format 30
	EOF
	# Checks the number of columns. Continuation bytes of a UTF-8 character do not count.
	[ ! -f README.md ] || LC_ALL=C awk '
		{ gsub(/[\200-\277]/, "") }
		length > 110 { print FILENAME ":" FNR ": line of " length " columns, at most 110" }' README.md
	files '*.c' '*.h' '*.cu' '*.cuh' '*.sh' run | xargs -r awk '
		length > 140 && !/exec: |^CUresult / { print FILENAME ":" FNR ": line of " length " bytes" }'
} | verdict
