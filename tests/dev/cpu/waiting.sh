#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: waiting.sh PROGRAM DRIVER KEPT
# Checks that the same driver calls wait for a running kernel on the virtual GPU as on the GPU on
# which doc/results/waiting.txt was measured.
set -eu
out=$(mktemp)
trap 'rm -f "$out"' EXIT
LD_LIBRARY_PATH=$(dirname "$2") "$1" >"$out"
diff "$3" "$out"
