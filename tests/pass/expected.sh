# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh

# as_expected FOUND EXPECTED: each of the sorted lines found is among those expected; which of these there
# are depends on the compilers. BLESS=1 writes the expectation.
as_expected() {
	if [ "${BLESS:-}" ]; then
		cp "$1" "$2"
	elif LC_ALL=C comm -13 "$2" "$1" | grep .; then
		echo "not as in $2 (left: what was found)"
		return 1
	fi
}
