#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Every script passes shellcheck. (Without SC2016: awk programs are in single quotes.)
. "$(dirname "$0")/lib.sh"
command -v shellcheck >/dev/null || {
	echo "skipped: no shellcheck"
	exit 77
}
files '*.sh' run .ci/run | recent | xargs -r shellcheck -x -e SC1091,SC2016 -f gcc | verdict
