#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: programs-selftest.sh BUILD
# programs.sh must give each of its verdicts, on the virtual GPU, to programs that behave
# differently under heddle than without.
set -eu
build=$1
for part in heddled heddle examples/mm examples/tick \
	src/shim/libcuda.so.1 src/dev/cpu/libcuda.so.1; do
	[ -x "$build/$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# program NAME: creates a script from standard input.
program() {
	mkdir -p "$dir/programs/$1"
	{
		echo '#!/bin/sh'
		cat
	} >"$dir/programs/$1/$1"
	chmod +x "$dir/programs/$1/$1"
}

# A real program, which is preempted while it runs. A filter removes the times from its output, and
# its argument comes from a file.
program right <<-EOF
	[ ! -e data ] || exec "$build/examples/mm" --size large --repeat 3 --check last --json --seed "\$@"
EOF
echo 7 >"$dir/programs/right/args"
: >"$dir/programs/right/data"
echo '/"round"/d; s/"(blocks|max_error)":[^,]*//' >"$dir/programs/right/filter"
echo '/^at /d' >"$dir/programs/filter"

# shellcheck disable=SC2016
under='[ -z "${HEDDLE_PRIORITY:-}" ]'
program varying <<-EOF
	echo "at \$\$"
	echo \$\$
EOF
program only-filtered <<-EOF
	$under && echo 1 || echo 2
	echo "at \$\$"
	$under && echo 2 || echo 1
	$under || echo 'heddle: a warning' >&2
EOF
: >"$dir/programs/only-filtered/unordered"
program other-output <<-EOF
	$under && echo 1 || echo 2
EOF
program other-errors <<-EOF
	$under || echo wrong >&2
EOF
program other-file <<-EOF
	mkdir folder
	$under && echo 1 >folder/out || echo 2 >folder/out
EOF
program other-status <<-EOF
	$under
EOF
program endless <<-EOF
	$under || exec sleep 1000
EOF
echo 2 >"$dir/programs/endless/limit"
program fractions <<-EOF
	echo 5 items of 1.5 and -2.5e-3
EOF
program fractions-off <<-EOF
	echo 1.5
EOF
program broken <<-EOF
	exit 3
EOF
mkdir "$dir/programs/nothing"
for name in broken right varying other-file; do
	printf '%s\tsuite\ta/b\tc0ffee\n' "$name"
done >"$dir/programs/LIST"

# Simulates a GPU's recorded results: three programs gave other results there, and the program that
# fails here succeeded.
RECORD=$dir/gpu DEVICE=cpu sh "$(dirname "$0")/programs.sh" "$build" "$dir/programs"
RECORD=$dir/gpu DEVICE=cpu sh "$(dirname "$0")/programs.sh" "$build" "$dir/programs" >"$dir/out"
grep -qx 'recorded: 11' "$dir/out" || {
	echo "FAILED: it is recorded again"
	exit 1
}
sed -i -E 's|^(fractions.0.)[^\t]*(.*)2 1.5/1.5|\1other\22 1.5001/1.5001|
	s|^(fractions-off.0.)[^\t]*(.*)1 1.5/1.5|\1other\21 1.501/1.501|
	s|^(other-status.0.).*|\1other\tother\t0|; s|^broken.3|broken\t0|' "$dir/gpu"

status=0
GPU=$dir/gpu TSV=$dir/table KEEP=$dir/kept DEVICE=cpu \
	sh "$(dirname "$0")/programs.sh" "$build" "$dir/programs" >"$dir/out" 2>&1 || status=$?
cat "$dir/out"
[ "$status" = 1 ] || {
	echo "FAILED: status $status"
	exit 1
}
cut -f 1,2,15 "$dir/table" | tr '\t' ' ' >"$dir/got"
cat >"$dir/want" <<-EOF
	program verdict gpu
	broken unusable -
	endless hang same
	fractions-off same differs
	fractions same close
	only-filtered same same
	other-errors differs same
	other-file differs same
	other-output differs same
	other-status fails differs
	right same same
	varying varies varies
EOF
diff "$dir/want" "$dir/got"
bad=0
check() { # WHAT COMMAND...
	what=$1
	shift
	"$@" >/dev/null || {
		echo "FAILED: $what"
		bad=1
	}
}
check 'the disturber, or heddled' [ "$(grep -c FAILED "$dir/out")" = 0 ]
check 'not counted' grep -qx '3 differs, 1 fails, 1 hang, 4 same, 1 unusable, 1 varies' "$dir/out"
check 'not told what ended it' grep -qx 'Stopped by: exit status 3 (1)' "$dir/out"
check 'not compared with a GPU' grep -qx 'As on a GPU: 1 close, 2 differs, 6 same, 1 varies' "$dir/out"
check 'not counted by suites' grep -qxF \
	'| suite (a/b, c0ffee) | 4 | 1 | 1 | 1 | 0 | 0 | 1 |' "$dir/out"
check 'what differs is not told' grep -q '^other-output.*< 1|---|> 2|' "$dir/out"
check 'the warning is not told' grep -q '^only-filtered.*heddle: a warning' "$dir/table"
check 'not told that nothing is printed' grep -q '^other-status.*nothing to compare' "$dir/table"
check 'what differs is not kept' grep -qx 2 "$dir/kept/other-output.cold"
check 'the disturber did not run, or nothing was preempted' awk -F '\t' \
	'$1 == "right" { for (k = 3; k <= 12; k++) ok += $k > 0; ok += $13 > 2 && $14 > 2 }
	END { exit ok != 11 }' "$dir/table"

# A program that has a row is not run again.
grep -v '^other-output' "$dir/table" >"$dir/rows"
cp "$dir/rows" "$dir/table"
TSV=$dir/table DEVICE=cpu sh "$(dirname "$0")/programs.sh" "$build" "$dir/programs" >"$dir/out" 2>&1 || status=$?
check 'what has a row, or not what has none' [ "$(grep -c '^[a-z].* [0-9.]* .* [0-9.]* ' "$dir/out")" = 1 ]
check 'rows are lost' [ "$(sort "$dir/table" | grep -vxF -f "$dir/rows" | cut -f 1,2)" = 'other-output	differs' ]
check 'not all are counted' grep -qx '3 differs, 1 fails, 1 hang, 4 same, 1 unusable, 1 varies' "$dir/out"

TSV=$dir/third PART=2/3 DEVICE=cpu sh "$(dirname "$0")/programs.sh" "$build" "$dir/programs" \
	'o*' broken >"$dir/out" 2>&1 || status=$?
check 'not the second third' [ "$(sed 1d "$dir/third" | cut -f 1 | tr '\n' ' ')" = \
	'only-filtered other-output ' ]
exit $bad
