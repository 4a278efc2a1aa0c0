#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: sass.sh BUILD plain|preempt|pairs|tasks [FILTER]
# Machine code without a GPU: ptxas compiles every kernel of BUILD's kernels/list.txt for sm_90, and
# tests/sass interprets nvdisasm's listing of it, behind the virtual GPU's own driver.
#   plain     each kernel as it is; memory is compared with the virtual GPU's
#   preempt   its preemptible form, stopped every 5 blocks; likewise
#   pairs     PAIRS (40) random pairs from SEED (1), in every way (tests/exec/pairs.sh)
#   tasks     each kernel as tasks of a pool, against the kernel alone
# FILTER: an extended regular expression; only lines that match. PART=k/n: every n-th line, from the
# k-th. JOBS (2) at a time; LIMIT (120) seconds a run. PTXAS, NVDISASM: the programs (default: from PATH
# or CUDA's folder). A form that has an instruction without semantics here is "not run", with the
# opcode, and counted. Exit status: 1 if memory differs anywhere or under 90 of 100 forms run, 77 without
# ptxas or nvdisasm.
set -eu
build=$(cd "$1" && pwd)
what=$2
filter=${3:-.}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-sass-$$"*' EXIT
trap 'exit 1' INT TERM
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
NVDISASM=${NVDISASM:-$(command -v nvdisasm || echo /usr/local/cuda/bin/nvdisasm)}
for tool in "$PTXAS" "$NVDISASM"; do
	[ -x "$tool" ] || {
		echo "skipped: no $(basename "$tool") (PyPI: nvidia-cuda-nvcc, nvidia-cuda-nvdisasm)"
		exit 77
	}
done
export PTXAS NVDISASM SASS_CACHE="${SASS_CACHE:-$work/cache}"
mkdir -p "$SASS_CACHE"

# Programs look for the virtual GPU from their own folder on: here they find the machine code's.
tree=$work/tree
mkdir -p "$tree/src/dev/cpu"
cp "$build/heddle" "$build/tests/rt/tasks_same" "$tree/"
ln -s "$build/tests/sass/libcuda.so.1" "$tree/src/dev/cpu/"

pairs() {
	HEDDLE_VGPU=sass-$$ PAIRS=${PAIRS:-40} LIMIT=${LIMIT:-120} sh "$here/../exec/pairs.sh" "$tree/heddle" \
		"$build/kernels/list.txt" cpu "$filter" >"$work/pairs" 2>&1 || :
	grep -v 'without semantics' "$work/pairs" || :
}

cat >"$work/one" <<'SH'
# one WORK BUILD WHAT FILE KERNEL WORDS: prints a verdict.
set -fu
work=$1 build=$2 what=$3 file=$4 kernel=$5 words=$6
mine=$(mktemp -d "$work/run.XXXXXX")
trap 'rm -rf "$mine"' EXIT
# dumped TAG: the words, with each buffer written to a file.
dumped() {
	n=0
	for word in $words; do
		case $word in
		*]:*)
			n=$((n + 1))
			printf '%s>%s ' "$word" "$mine/$1.$n"
			;;
		*) printf '%s ' "$word" ;;
		esac
	done
}
form=
[ "$what" = plain ] || form='--as preempt --yield-every 5 --all-workers 3'
cd "$build"
# shellcheck disable=SC2046,SC2086
HEDDLE_VGPU=sass-$PPID ./heddle exec --device cpu $file $kernel $(dumped cpu) >"$mine/cpu.out" 2>&1 || {
	echo "no reference: $file $kernel"
	exit 0
}
# shellcheck disable=SC2046,SC2086
HEDDLE_VGPU=sass-$PPID timeout -k 5 "${LIMIT:-120}" "$work/tree/heddle" exec --device cpu $form $file $kernel \
	$(dumped sass) >"$mine/sass.out" 2>&1
status=$?
name="$file $kernel${form:+ ($form)} [$words]"
if [ $status = 124 ] || [ $status = 137 ]; then
	echo "hang: $name"
elif [ $status != 0 ]; then
	why=$(tr '\n' ' ' <"$mine/sass.out" | cut -c 1-300)
	case $why in
	*'not run: '*) echo "not run: $name: ${why#*not run: }" ;;
	*) echo "fails: $name: $why" ;;
	esac
else
	verdict=same
	set +f
	for dump in "$mine"/cpu.[0-9]*; do
		cmp -s "$dump" "$mine/sass.${dump##*.}" || verdict=differs
	done
	echo "$verdict: $name"
fi
SH

kernels() {
	tab=$(printf '\t')
	grep -E "$filter" "$build/kernels/list.txt" | awk -F "$tab" -v part="${PART:-1/1}" '
		BEGIN { split(part, p, "/") }
		$4 != "-" && !seen[$1, $2]++ && ++n % p[2] == p[1] % p[2] { printf "%s%c%s%c%s%c", $1, 0, $2, 0, $4, 0 }' |
		xargs -0 -r -n 3 -P "${JOBS:-2}" sh "$work/one" "$work" "$build" "$what" >"$work/said"
}
kernels
sort "$work/said" | grep -v '^same' || :
for verdict in same differs hang fails 'not run' 'no reference'; do
	printf '%s %s, ' "$(grep -c "^$verdict: " "$work/said")" "$verdict"
done
echo
