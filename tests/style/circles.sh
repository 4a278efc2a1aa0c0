#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: circles.sh ROOT BUILD. Circles of source files: files that need symbols of each other,
# directly or by way of others. By the object files of a whole build. A circle fails the test unless
# its files, and no others, stand in a row of circles.txt, with the reason. A row whose circle is
# gone fails, too.
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
