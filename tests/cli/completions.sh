#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: completions.sh BUILD
# Tests completions in every shell that is installed: runs completions.py in a temporary folder.
set -eu
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
python3 -c 'import os; os.openpty()' 2>/dev/null || {
	echo "skipped: no pseudo-terminals (/dev/ptmx and /dev/pts)"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$(dirname "$0")/completions.py" "$1" "$dir"
