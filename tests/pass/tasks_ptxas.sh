#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: tasks_ptxas.sh TOOL PTX...
# ptxas must accept every kernel as a task, in both forms, at each number of registers that a pool
# may have. Prints the registers that the whole kernel needs, and the bytes spilled.
set -eu
tool=$1
shift
command -v ptxas >/dev/null || { echo "no ptxas: skipped"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
made=0
for ptx; do
	target=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$ptx")
	case $target in 7? | 8? | 90) ;; *) continue ;; esac
	ptxas -arch=sm_90 "$ptx" -o "$dir/x" 2>/dev/null || continue
	# Names contain no blanks.
	# shellcheck disable=SC2013
	for kernel in $(sed -n 's/.*\.entry[[:space:]]*\([A-Za-z0-9_$]*\).*/\1/p' "$ptx"); do
		for form in full partly; do
			registers=$((32 << made % 3))
			"$tool" 512 "$registers" "$form" "$ptx" "$kernel" >"$dir/new.ptx" 2>"$dir/why" || {
				[ $? -eq 2 ] && continue
				cat "$dir/why"
				failed=1
				continue
			}
			made=$((made + 1))
			if ! ptxas -v -arch=sm_90 "$dir/new.ptx" -o "$dir/x" 2>"$dir/new"; then
				echo "$ptx $kernel ($form, $registers registers):"
				head -5 "$dir/new"
				failed=1
				continue
			fi
			echo "$kernel $form of $registers: $(sed -n 's/.*Used \([0-9]* registers\).*/\1/p' "$dir/new")," \
				"$(sed -n 's/.*, \([0-9]* bytes spill stores\).*/\1/p' "$dir/new" | tr '\n' ' ')"
		done
	done
done
echo "$made forms"
[ "$made" -gt 50 ] || failed=1
exit $failed
