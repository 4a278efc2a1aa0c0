#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A held program makes many launches that the device cannot run yet. At most 256 launches, or 1 MiB
# of parameters, may be in flight, and the next launch waits. No launch may fail or go unmanaged,
# and each must have its own parameters.
set -eu
# shellcheck source=tests/shim/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

fills() { # fills N SCENARIO ARG...: exactly N launches must be in flight when the next one waits
	most=$1
	shift
	for try in 1 2 3 4 5; do
		: "$try"
		managed fill "$@"
		grep -q '^native 0 opaque 0 of 0$' "$dir/daemon" || fail "$1: launches went plain"
		n=$(sed -n 's/^filled //p' "$dir/daemon")
		[ "${n:-0}" -le "$most" ] || fail "$1: $n launches are under way"
		# fewer: the daemon took an unrelated kick for a full queue
		[ "${n:-0}" -lt "$most" ] || return 0
	done
	fail "$1: only ${n:-0} launches are under way"
}

start grant
same chain 1 8 1 # puts the forms into the cache
same bulky 1 8 1
stop
fills 256 chain 200 8 1
fills 32 bulky 32 8 1 # 32 KiB per launch
