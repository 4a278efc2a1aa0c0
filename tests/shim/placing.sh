#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A form that is made while its kernel waits for the next launch of its program comes to the device when
# that has ended: until then nothing of the program's waits for it, and afterwards it is used.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"
export HEDDLE_FORM_WAIT_MS=0
loaded() { # MODE: when the driver loads code
	export CUDA_MODULE_LOADING="$1"
	for _ in 1 2 3 4 5; do # the machine may have had no processor for the form
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
