#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: classify.sh TOOL EXPECTED PTX...
# Rewrites every kernel of the given files, and compares tier, traits and reason with the expected
# lines, which are the same for every compiler. BLESS=1 writes the expected lines.
set -eu
# shellcheck source=tests/pass/expected.sh
. "$(dirname "$0")/expected.sh"
tool=$1
expected=$2
shift 2
[ $# -gt 0 ] || { echo "no compiler for kernels: skipped"; exit 77; }
got=$(mktemp)
trap 'rm -f "$got"' EXIT
"$tool" classify "$@" | LC_ALL=C sort -u >"$got"
as_expected "$got" "$expected"
