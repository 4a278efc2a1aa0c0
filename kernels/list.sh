#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: list.sh SOURCE_ROOT BUILD_ROOT PTX...
# Lists every kernel of the given PTX files, tab separated: file (relative to the build root),
# kernel, toolchain (nvcc, clang, or ptx: by hand), arguments for `heddle exec` or "-" where the
# source names none.
# A kernel with several "exec:" lines in its source is listed once for each.
set -eu
source_root=$1
build_root=$2
shift 2
tab=$(printf '\t')
for ptx; do
	path=$(realpath "$ptx")
	file=${path#"$(realpath "$build_root")"/}
	toolchain=$(basename "$(dirname "$path")")
	name=$(basename "$path")
	name=${name%%.*}
	source=$source_root/kernels/$name.cu
	[ -f "$source" ] || source=$source_root/kernels/forms/$name.cu
	[ -f "$source" ] || source=$source_root/kernels/forms/$name.ptx
	# Names hold no blanks.
	# shellcheck disable=SC2013
	for kernel in $(sed -n 's/.*\.entry[[:space:]]*\([A-Za-z0-9_$]*\).*/\1/p' "$ptx"); do
		sed -n "s/^[ *\/]*exec: $kernel \(--.*\)/\1/p" "$source" | {
			found=
			while read -r arguments; do
				found=1
				echo "$file$tab$kernel$tab$toolchain$tab$arguments"
			done
			[ "$found" ] || echo "$file$tab$kernel$tab$toolchain$tab-"
		}
	done
done
