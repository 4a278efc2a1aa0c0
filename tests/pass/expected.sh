# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh

# as_expected FOUND EXPECTED: each sorted line in FOUND must be in EXPECTED. Not all expected lines
# must be found, since that depends on the installed compilers. BLESS=1 writes EXPECTED.
as_expected() {
	if [ "${BLESS:-}" ]; then
		cp "$1" "$2"
	elif LC_ALL=C comm -13 "$2" "$1" | grep .; then
		echo "not as in $2 (left: what was found)"
		return 1
	fi
}
