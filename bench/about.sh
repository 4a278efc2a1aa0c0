# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Sourced by scripts that record the commit, device and driver of a measurement or test. HEDDLE is
# the path of the program; DEVICE is cuda or cpu.

# about_commit HEDDLE: prints the commit that `heddle version` reports, with "-dirty" if the source
# tree had uncommitted changes.
about_commit() {
	"$1" version | sed -n 's/.*(commit \(.*\))$/\1/p'
}

# about_device HEDDLE DEVICE: prints the device's name.
about_device() {
	about_kind=GPU
	[ "$2" = cuda ] || about_kind='virtual GPU'
	"$1" doctor | sed -n "s/^ok *$about_kind  *//p" | head -n 1
}

# about_driver DEVICE: prints the driver's version, or "none" for the virtual GPU.
about_driver() {
	[ "$1" = cuda ] || {
		echo none
		return
	}
	about_version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1) ||
		about_version=
	echo "${about_version:-unknown}"
}
