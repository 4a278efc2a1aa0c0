#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: circles.sh ROOT BUILD
# Finds cycles of source files that need each other's symbols, directly or through others, from the
# object files of a complete build. A cycle fails the test unless a row of circles.txt lists exactly
# its files, with the reason. A row without a cycle fails, too.
set -eu
root=${1:?usage: circles.sh ROOT BUILD}
build=${2:?usage: circles.sh ROOT BUILD}
for tool in nm ninja python3; do
	command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
root=$(cd "$root" && pwd)
cd "$build"
ninja -t targets all | sed -n 's/\.o: .*/.o/p' | grep -E '^src/' | sort -u |
	python3 "$root/tests/style/circles.py" "$root/tests/style/circles.txt"
