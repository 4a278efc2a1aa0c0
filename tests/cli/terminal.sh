#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: terminal.sh BUILD
# Tests every verb on a terminal: runs terminal.py in a temporary folder with a daemon of its own.
set -eu
build=$1
for part in python3 "$build/examples/cfd"; do
	command -v "$part" >/dev/null || {
		echo "skipped: no $part"
		exit 77
	}
done
python3 -c 'import os; os.openpty()' 2>/dev/null || {
	echo "skipped: no pseudo-terminals (/dev/ptmx and /dev/pts)"
	exit 77
}
heddle=$build/heddle heddled=$build/heddled examples=$build/examples device=cpu
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
start_daemon --policy hpf
mkdir "$dir/work"
told=yes
python3 "$(dirname "$0")/terminal.py" "$build" "$dir/work"
