#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: sass.sh BUILD plain|preempt|pairs|tasks [FILTER]
# Runs machine code without a GPU: ptxas compiles every kernel of BUILD's kernels/list.txt for
# sm_90, and tests/sass interprets nvdisasm's listing of it below the virtual GPU's own driver.
#   plain     each kernel as it is; compares memory with the virtual GPU's. A kernel that differs
#             is compiled again without contraction, which the virtual GPU does not do. If it has
#             approximate instructions, floats that agree in 20 bits are "close", which counts as
#             right
#   preempt   its preemptible form, which yields every 5 blocks. ORDER (row, column, hilbert): the
#             order in which its workers take blocks
#   pairs     PAIRS (default: 40) random pairs from SEED (default: 1), in every way
#             (tests/exec/pairs.sh)
#   tasks     each kernel as tasks of a pool (tests/rt/tasks_same.c)
# For preempt, pairs and tasks, memory is compared with the plain kernel's machine code, so that
# approximate instructions (MUFU) cause no difference. Kernels of tests/exec/unordered.txt must
# only end without an error: their outputs depend on the order of blocks. FILTER: extended regular
# expression that selects lines of the list. PART=k/n: the k-th of n parts. JOBS: runs at a time
# (default: 2); LIMIT: timeout of a run in seconds (default: 120). VERBOSE=1 also prints forms that
# are the same. PTXAS, NVDISASM: the programs; without these, tools.sh searches for them. A run
# that reaches an instruction without semantics is "not run": the script prints its opcode, and it
# counts as not right. A form that heddle refuses to make is "refused", and does not count. Exit
# status: 1 if memory differs anywhere, or if fewer than RIGHT (default: 90) of 100 forms are the
# same; 77 without ptxas, nvdisasm or a kernel that FILTER selects.
set -eu
build=$(cd "$1" && pwd)
what=$2
filter=${3:-.}
here=$(cd "$(dirname "$0")" && pwd)
exec=$(cd "$here/../exec" && pwd)
refused=$here/../rt/refused.txt
tab=$(printf '\t')
case $what in
plain | preempt | pairs | tasks) ;;
*)
	echo "sass.sh: $what: valid modes are plain, preempt, pairs and tasks" >&2
	exit 2
	;;
esac
# shellcheck source=tests/sass/tools.sh
. "$here/tools.sh"
sass_open "$build"
export exec refused

# Prints the verdict on one kernel; all other settings come from the environment.
cat >"$work/one" <<'SH'
# usage: one FILE KERNEL TOOLCHAIN WORDS
set -fu
file=$1 kernel=$2 toolchain=$3 words=$4
mine=$(mktemp -d "$work/run.XXXXXX")
trap 'rm -rf "$mine"' EXIT
export HEDDLE_VGPU="sass-$sass_id-${mine##*.}"
cd "$build"
name="$file $kernel [$words]"

# attempt PROGRAM ARG...: runs it with the timeout. If it fails, prints the verdict and fails.
attempt() {
	status=0
	timeout -k 5 "${LIMIT:-120}" "$@" >"$mine/out" 2>&1 || status=$?
	[ $status != 0 ] || return 0
	why=$(tr '\n' ' ' <"$mine/out" | cut -c 1-400)
	case $status-$why in
	124-* | 137-*) echo "hang: $name: ended after ${LIMIT:-120} s" ;;
	*'not run: '*) echo "not run: $name: ${why#*not run: }" ;;
	*'buffers differ'*) echo "differs: $name: $why" ;;
	*) echo "fails: $name: exit status $status: $why" ;;
	esac
	return 1
}

# exec_to TAG PROGRAM OPTION...: runs the kernel, and writes each buffer to a file.
exec_to() {
	tag=$1 program=$2
	shift 2
	n=0 dumped=
	for word in $words; do
		case $word in
		*]:*)
			n=$((n + 1))
			word="$word>$mine/$tag.$n"
			;;
		esac
		dumped="$dumped $word"
	done
	# shellcheck disable=SC2086
	attempt "$program" exec --device cpu "$@" $file $kernel $dumped
}

same() {
	! grep -qx "$kernel" "$exec/unordered.txt" || return 0
	while [ "$n" -gt 0 ]; do
		cmp -s "$mine/want.$n" "$mine/got.$n" || return 1
		n=$((n - 1))
	done
}

# close: whether all values of the dumps, read as f32, have a relative difference of at most 2^-20.
close() {
	while [ "$n" -gt 0 ]; do
		for dump in want got; do
			od -An -v -tf4 -w4 "$mine/$dump.$n" >"$mine/$dump"
		done
		paste "$mine/want" "$mine/got" | awk '
			$1 != $2 && ($1 ~ /nan/ || $2 ~ /nan/ || ($1 - $2)^2 > ($1 * 2^-20)^2) { exit 1 }' || return 1
		n=$((n - 1))
	done
}

case $what in
plain)
	exec_to want ./heddle >"$mine/verdict" || {
		echo "no reference: $(cat "$mine/verdict")"
		exit 0
	}
	exec_to got "$tree/heddle" || exit 0
	buffers=$n
	if ! same; then
		SASS_OPTIONS=--fmad=false exec_to got "$tree/heddle" || exit 0
		if ! same && n=$buffers && grep -q '[.]approx[.]' "$file" && close; then
			echo "close: $name"
			exit 0
		fi
	fi
	n=$buffers
	;;
preempt)
	exec_to want "$tree/heddle" || exit 0
	exec_to got "$tree/heddle" --as preempt ${ORDER:+--order "$ORDER"} --yield-every 5 --total-workers 3 || exit 0
	;;
tasks)
	printf '%s\t%s\t%s\t%s\n' "$file" "$kernel" "$toolchain" "$words" >"$mine/list"
	attempt "$tree/tests/rt/tasks_same" "$mine/list" "$build" "$toolchain" "$refused" || exit 0
	! grep -q ' 1 refused' "$mine/out" || {
		echo "refused: $name"
		exit 0
	}
	if grep -q '^1 kernels the same' "$mine/out"; then
		echo "same: $name"
	else
		echo "fails: $name: $(cat "$mine/out")"
	fi
	exit 0
	;;
esac
if same; then echo "same: $name"; else echo "differs: $name"; fi
SH

kernels() {
	grep -E "$filter" "$build/kernels/list.txt" | awk -F "$tab" -v part="${PART:-1/1}" '
		BEGIN { split(part, p, "/") }
		$4 != "" && $4 != "-" && !seen[$1, $2]++ && ++n % p[2] == p[1] % p[2] {
			printf "%s%c%s%c%s%c%s%c", $1, 0, $2, 0, $3, 0, $4, 0 }' |
		xargs -0 -r -n 4 -P "${JOBS:-2}" sh "$work/one"
}

# A wrapper of heddle for pairs.sh, which takes the last error line of heddle's output. If the
# virtual GPU reports a fault, the wrapper prints the fault's place and reason in place of the
# report.
cat >"$work/heddle" <<'SH'
#!/bin/sh
mine=$(mktemp -d "$work/run.XXXXXX")
status=0
"$tree/heddle" "$@" >"$mine/out" 2>"$mine/err" || status=$?
cat "$mine/err" >&2
if grep -q '^virtual GPU: ' "$mine/err"; then
	sed -n 's/^virtual GPU: \(.*\)/"error": "\1",/p' "$mine/err" | head -n 1
else
	cat "$mine/out"
fi
rm -rf "$mine"
exit $status
SH
chmod +x "$work/heddle"

# Converts the verdicts of pairs.sh to those of the other modes. The text after FAIL tells which
# verdict it becomes.
pairs() {
	PAIRS=${PAIRS:-40} LIMIT=${LIMIT:-120} sh "$exec/pairs.sh" "$work/heddle" "$build/kernels/list.txt" cpu \
		"$filter" >"$work/pairs" 2>&1 || :
	awk '
		/^hang / { sub(/^hang /, ""); print "hang: " $0; next }
		/^FAIL / {
			sub(/^FAIL /, "")
			verdict = /memory differs|not what the kernel leaves alone/ ? "differs" : /not run: / ? "not run" : "fails"
			print verdict ": " $0
			next
		}
		/: ok [0-9]+ wrong [0-9]+ hang [0-9]+ refused [0-9]+$/ {
			way = $0
			sub(/: ok .*/, "", way)
			n = split($0, word, " ")
			for (i = 0; i < word[n - 6]; i++)
				print "same: " way
			for (i = 0; i < word[n]; i++)
				print "refused: " way
		}' "$work/pairs"
	grep -v '^FAIL \|^hang \|: ok \|runs the same' "$work/pairs" >&2 || :
}

if [ "$what" = pairs ]; then pairs; else kernels; fi >"$work/said"
sass_count "$work/said"
