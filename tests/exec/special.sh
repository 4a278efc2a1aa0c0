#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Special registers inside { } (kernels/forms/special.ptx), in each form: memory must equal the
# plain kernel's, which must hold the ids. (The tests rt-tasks-ptx and virtual-ptx run this kernel
# as tasks, and moved into another kernel.)
#   special.sh HEDDLE KERNELS DEVICE
set -eu
heddle=$1
file=$2/ptx/special.ptx
device=$3
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-special-$$"*' EXIT INT TERM
export HEDDLE_VGPU="special-$$"
bad=0 runs=0

fail() {
	echo "FAIL $*"
	bad=$((bad + 1))
}

# run OUT FILE KERNEL WORDS OPTIONS [MORE]: runs a kernel, and writes the buffer to OUT. MORE: a
# further argument.
run() {
	runs=$((runs + 1))
	# shellcheck disable=SC2086
	timeout -k 5 "${LIMIT:-60}" "$heddle" exec --device "$device" $5 ${4% *} "$2" "$3" "${4##* }>$1" ${6-} \
		>"$work/said" 2>&1 || fail "$3 $5: $(tail -n 1 "$work/said")"
}

# words N...: prints the numbers as 32-bit words, for hex: arguments.
words() {
	for n; do
		printf '%02x%02x%02x%02x' $((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24 & 255))
	done
}

# same KERNEL WHAT: the last run must leave the plain kernel's memory.
same() {
	cmp -s "$work/plain" "$work/form" || fail "$1 $2: memory differs"
}

"$heddle" ptx slice "$file" >"$work/sliced.ptx"
sed -n 's,^// exec: ,,p' "$file" >"$work/kernels"
while read -r kernel given; do
	run "$work/plain" "$file" "$kernel" "$given" ""
	for options in "--yield-every 1" "--yield-every 2 --chunk 3 --pull-ahead" "--order hilbert --yield-every 3"; do
		run "$work/form" "$file" "$kernel" "$given" "--as preempt $options"
		same "$kernel" "preempted $options"
	done
	grid=${given#*--grid }
	grid=${grid%% *},1,1
	x=${grid%%,*} grid=${grid#*,}
	y=${grid%%,*} grid=${grid#*,}
	z=${grid%%,*}
	rest=${given#*--grid }
	run "$work/form" "$work/sliced.ptx" "$kernel" "--grid $((x * y * z)) ${rest#* }" "" "hex:$(words 0 "$x" "$y" "$z")"
	same "$kernel" sliced
	other="$file special_store --grid 4,3 --block 32,2 u32[12288]:zero"
	for how in merge "merge --schedule apart=1:2 --yield-every 2" vertical horizontal weave; do
		runs=$((runs + 1))
		# shellcheck disable=SC2086
		timeout -k 5 "${LIMIT:-60}" "$heddle" corun --device "$device" --how $how --check -- \
			"$file" "$kernel" $given + $other >"$work/said" 2>&1 ||
			fail "$kernel $how: $(tail -n 1 "$work/said")"
	done
done <"$work/kernels"

# The first four of each thread's sixteen words: %ctaid.x, %ctaid.y, %nctaid.x, %tid.x.
run "$work/plain" "$file" special_store "--grid 4,3 --block 32,2 u32[12288]:zero" ""
od -An -v -w64 -tu4 "$work/plain" | awk '
	{ i = NR - 1; block = int(i / 64); if ($1 != block % 4 || $2 != int(block / 4) || $3 != 4 || $4 != i % 32) bad = 1 }
	END { exit bad || NR != 768 }' || fail "special_store: not the ids"
echo "$runs runs, $bad wrong"
[ "$bad" -eq 0 ]
