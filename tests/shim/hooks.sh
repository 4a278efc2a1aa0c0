#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: hooks.sh TEST_HOOKS
# Every function of NVIDIA's cuda.h, if installed, must have a row in hooks.def, and its stream must
# be the parameter that the row names.
test=${1:?usage: hooks.sh TEST_HOOKS}
for dir in "${CUDA_PATH:-/usr/local/cuda}/include" /usr/include; do
	[ ! -f "$dir/cuda.h" ] || break
done
[ -f "$dir/cuda.h" ] || { echo "skipped: no cuda.h"; exit 77; }
version=$(awk '$2 == "CUDA_VERSION" { print $3 }' "$dir/cuda.h")
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# Lists all functions of cuda.h, including older forms, which cuda.h otherwise hides by macros.
echo '#include <cuda.h>' | cc -E -P -I"$dir" -D__CUDA_API_VERSION_INTERNAL -x c - | tr '\n' ' ' | tr ';' '\n' |
	awk '
	match($0, /CUresult +cu[A-Za-z0-9_]+ *\(/) {
		s = substr($0, RSTART)
		sub(/^CUresult +/, "", s)
		name = s
		sub(/ *\(.*/, "", name)
		n = split(substr(s, index(s, "(") + 1), param, ",")
		stream = "-"
		for (i = n; i; i--)
			if (param[i] ~ /(^|[^A-Za-z0-9_])CUstream[^A-Za-z0-9_]/)
				stream = param[i] ~ /CUstream *\*/ ? -2 : i
		print name, stream
	}' | LC_ALL=C sort >"$tmp/theirs"
"$test" --print >"$tmp/rows" && LC_ALL=C sort "$tmp/rows" >"$tmp/ours" || exit 1
[ "$(wc -l <"$tmp/theirs")" -gt 300 ] || { echo "cuda.h of $version was not understood"; exit 1; }
# A function without a stream parameter may still use a stream (hooks.def: INSIDE, DEFAULT, ALL).
LC_ALL=C join -a 1 "$tmp/theirs" "$tmp/ours" | awk -v newer="$((version > 13000))" '
	NF == 2 && newer { print "not in hooks.def, which is older: " $1; next }
	NF == 2 { print "no row in hooks.def: " $1; bad = 1; next }
	$2 == "-" && ($3 > 0 || $3 == -2) || $2 != "-" && $2 != $3 {
		print $1 ": the stream is parameter " $2 ", hooks.def says " $3
		bad = 1
	}
	END { exit bad }'
