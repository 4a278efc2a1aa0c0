#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Forms that need more local memory than any launch before are launched beside preempted or held
# launches: the driver must not wait for a launch that only its next call could resume.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
unset HEDDLE_FORM_WAIT_MS
deeper() { # MODE
	start "$1" 3
	for _ in 1 2; do # the second time its forms are in the cache
		same deep 4 24 30
	done
	stop
}
for mode in storm hold; do
	beside $mode deeper $mode
done
together
