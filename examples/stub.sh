#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: stub.sh HEADER OUTPUT CC...
# Builds a library named libcuda.so.1 that has every function of cuda_min.h and does nothing, only
# so that programs can be linked where there is no driver. It is never found at run time.
set -eu
header=$1
output=$2
shift 2
sed -n 's/^CUresult \(cu[A-Za-z0-9_]*\)(.*/int \1(void); int \1(void) { return 999; }/p' "$header" |
	"$@" -shared -fPIC -x c - -Wl,-soname,libcuda.so.1 -o "$output"
