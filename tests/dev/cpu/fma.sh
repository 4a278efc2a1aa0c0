#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: fma.sh HEDDLE FILE
# HEDDLE_VGPU=fma=none rounds a product and its sum separately, and kernel fu_first of FILE gives 0.
# fma=ptxas, the default, contracts them, and the kernel gives 2^-24.
set -eu
heddle=$1
file=$2

# gives OPTION: prints the first word that the kernel stores.
gives() {
	HEDDLE_VGPU="serial,$1" "$heddle" exec --device cpu "$file" fu_first --grid 1 --block 1 \
		'u32[4]:zero>-' 'u32[3]:iota' 2>/dev/null | head -n 1
}

for row in 'fma=none 0' 'fma=ptxas 864026624' 'sms=8 864026624'; do
	[ "$(gives "${row% *}")" = "${row#* }" ] || {
		echo "${row% *}: $(gives "${row% *}") in place of ${row#* }"
		exit 1
	}
done
