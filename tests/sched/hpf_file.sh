#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: hpf_file.sh RUNNER POLICY SCENARIO...
# Runs the scenarios of policy hpf with the policy in the file. The file is copied, because heddled
# loads none from a folder that other users can write to.
set -e
run=$1
policy=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
install -m 644 "$policy" "$dir/hpf.so"
"$run" --hpf "$dir/hpf.so" "$@"
