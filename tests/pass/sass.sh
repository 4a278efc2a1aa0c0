# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For tests that read the assembler's code for a form. Scripts source this file. It sets $ptxas and
# $nvdisasm (NVDISASM names another one), or skips the test if one is missing, and creates a folder
# $work, which is removed at exit.
# shellcheck disable=SC2034
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
nvdisasm=${NVDISASM:-$(command -v nvdisasm || echo /usr/local/cuda/bin/nvdisasm)}
if [ ! -x "$ptxas" ] || [ ! -x "$nvdisasm" ]; then
	echo "skipped: no ptxas, or no nvdisasm"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
