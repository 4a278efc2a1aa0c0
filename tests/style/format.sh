#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every C file is formatted as by clang-format 14 (./run fmt does this).
. "$(dirname "$0")/lib.sh"
tool=$(command -v clang-format-14 || command -v clang-format) || {
	echo "skipped: no clang-format"
	exit 77
}
case $("$tool" --version) in *' 14.'*) ;; *)
	echo "skipped: not clang-format 14"
	exit 77
	;;
esac
files '*.c' '*.h' '*.cu' '*.cuh' | recent | xargs -r -n 16 -P 2 "$tool" --dry-run 2>&1 |
	grep -E '^[^ ].*: (warning|error): ' | sed 's/ warning: .*/ not formatted: .\/run fmt/' | verdict
