#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: all.sh WHERE OUT [NAME[=SECONDS]...]
# The tests of this folder one after the other on this machine's GPU, each with a limit, so that what
# hangs costs no more than that. WHERE: what ./run dist made; OUT: gets NAME.log of each, and NAME.kept
# with more of some that failed. Names:
# forms, merged, virtual, ops, random-1, random-2501, random-5001, random-7501, smid, often, scenarios, lanes, wide, pair,
# daemon-killed; all of them take some ten minutes. PROGRAMS=DIR in the environment: programs, too
# (programs.sh). Prints a line for each, and the last lines of what failed.
set -u
where=$1
out=$2
shift 2
here=$(dirname "$0")
[ $# -gt 0 ] || set -- forms merged virtual ops random-1 random-2501 random-5001 random-7501 smid often scenarios \
	lanes wide pair daemon-killed ${PROGRAMS:+programs}
mkdir -p "$out"

run_test() { # NAME
	case $1 in
	forms | merged | virtual) JOBS=${JOBS:-12} sh "$here/hw.sh" "$where" "$1" ;;
	ops) TSV=$out/ops.tsv sh "$here/hw.sh" "$where" ops ;;
	random-*) SEED=${1#random-} LIMIT=20 sh "$here/hw.sh" "$where" random 2500 ;;
	pair | daemon-killed) sh "$here/hw.sh" "$where" "$1" ;;
	programs) TSV=$out/programs.tsv sh "$here/programs.sh" "$where" "$PROGRAMS" ;;
	smid | often | scenarios | lanes | wide) sh "$here/$1.sh" "$where" ;;
	*)
		echo "no such test: $1"
		return 2
		;;
	esac
}

# A process of its own, which timeout can end.
if [ "${ALL_ONE:-}" ]; then
	run_test "$1"
	exit
fi
failed=0
for test; do
	name=${test%%=*}
	limit_s=${test#"$name"}
	limit_s=${limit_s#=}
	began=$(date +%s)
	KEEP=$out/$name.kept ALL_ONE=1 timeout -k 5 "${limit_s:-150}" sh "$0" "$where" "$out" "$name" >"$out/$name.log" 2>&1
	status=$?
	case $status in
	0) verdict=passed ;;
	77) verdict=skipped ;;
	124 | 137) verdict="ended by its limit" ;;
	*) verdict="failed ($status)" ;;
	esac
	echo "$name: $verdict, $(($(date +%s) - began)) s; $(tail -n 1 "$out/$name.log" | cut -c 1-120)"
	case $status in
	0 | 77) ;;
	*)
		failed=$((failed + 1))
		tail -n 12 "$out/$name.log" | cut -c 1-200 | sed 's/^/    /'
		;;
	esac
done
echo "$failed failed"
[ "$failed" = 0 ]
