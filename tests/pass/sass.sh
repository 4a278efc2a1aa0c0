# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For the tests that read what the assembler makes of a form. Sourced: $ptxas and $nvdisasm, which
# NVDISASM may name, or it is a test skipped; and a folder $work, which goes at the end.
# shellcheck disable=SC2034
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
nvdisasm=${NVDISASM:-$(command -v nvdisasm || echo /usr/local/cuda/bin/nvdisasm)}
if [ ! -x "$ptxas" ] || [ ! -x "$nvdisasm" ]; then
	echo "skipped: no ptxas, or no nvdisasm"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
