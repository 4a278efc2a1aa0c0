#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# heddle-environment(7) must describe every environment variable that the source names, and no
# other, and there may be at most 13. Libraries that are loaded into other programs, which may be
# set-uid, must not read these with getenv. Any other variable that is read or set must be described
# on some manual page.
. "$(dirname "$0")/lib.sh"
page=man/heddle-environment.7.scd
{
	files '*.c' '*.h' | grep -E '^src/(base|dev|pass|ptx|cfg|image|shim|wire)/' |
		xargs -r grep -HnE '(^|[^_a-z])getenv\(' | sed 's/\(:[0-9]*:\).*/\1 secure_getenv is meant/'
	files '*.c' '*.h' '*.def' | grep -E '^(src|include)/' |
		xargs -r grep -Hno '"HEDDLE_[A-Z0-9_]*[="]' | awk -F'"' -v page="$page" '
	BEGIN {
		while ((getline line < page) > 0)
			while (match(line, /\*HEDDLE_[A-Z0-9_]*\*/)) {
				listed[substr(line, RSTART + 1, RLENGTH - 2)] = 1
				line = substr(line, RSTART + RLENGTH)
			}
	}
	{ sub(/=$/, "", $2) }
	$2 == "HEDDLE_VERSION" { next }
	!($2 in used) {
		used[$2] = 1
		if (++n == 14)
			print $1 " the 14th environment variable: " $2
		if (!($2 in listed))
			print $1 " not in " page ": " $2
	}
	END {
		for (v in listed)
			if (!(v in used))
				print page ":1: nothing reads " v
	}'
	files '*.c' '*.h' | grep -E '^(src|include)/' |
		xargs -r grep -Hno '[gs]etenv("[A-Z_]*"' | while IFS=: read -r file line text; do
		name=${text#*\"}
		name=${name%\"}
		grep -qw "$name" man/*.scd* || echo "$file:$line: in no manual page: $name"
	done
	sed -n 's/^\tKEY(\([a-z_]*\),.*/\1/p' src/daemon/config.c | while read -r key; do
		grep -q "^\*$key\*\|[ ,]\*$key\*" man/heddled.8.scd.in ||
			echo "man/heddled.8.scd.in:1: does not describe the key $key"
	done
} | verdict
