#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: waiting.sh PROGRAM DRIVER KEPT. Which calls wait for a kernel that runs, on the virtual GPU as on
# the GPU that doc/results/waiting.txt is of.
set -eu
out=$(mktemp)
trap 'rm -f "$out"' EXIT
LD_LIBRARY_PATH=$(dirname "$2") "$1" >"$out"
diff "$3" "$out"
