# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Commit, device and driver of a measurement or test, for scripts that keep them. HEDDLE is the program, DEVICE
# is cuda or cpu. Sourced.

# about_commit HEDDLE: as `heddle version` has it; with "-dirty" where the tree had changes.
about_commit() {
	"$1" version | sed -n 's/.*(commit \(.*\))$/\1/p'
}

# about_device HEDDLE DEVICE: the device's own name.
about_device() {
	about_kind=GPU
	[ "$2" = cuda ] || about_kind='virtual GPU'
	"$1" doctor | sed -n "s/^ok *$about_kind  *//p" | head -n 1
}

# about_driver DEVICE: whose driver; none of the virtual GPU.
about_driver() {
	[ "$1" = cuda ] || {
		echo none
		return
	}
	about_version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1) ||
		about_version=
	echo "${about_version:-unknown}"
}
