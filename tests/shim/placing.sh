#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A form is compiled while its kernel runs and waits for the program's next launch. It must be
# loaded onto the device only when that kernel has ended. Until then none of the program's work may
# wait for the form; later launches use it.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export HEDDLE_FORM_WAIT_MS=0
loaded() { # MODE: the driver's setting for when to load code
	export CUDA_MODULE_LOADING="$1"
	for _ in 1 2 3 4 5; do # tried again if the form got no CPU time
		rm -rf "$dir/cache"
		start watch
		same fed 20
		stop
		plain=$(sed -n 's/^native [0-9]* opaque [0-9]* of \([0-9]*\)$/\1/p' "$dir/daemon")
		[ "$plain" -ge 30 ] || return 0
	done
	fail "$plain of 40 launches went plain: no form was used"
}
beside lazy loaded ''
beside eager loaded EAGER
together
