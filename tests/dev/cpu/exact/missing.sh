#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Runs instead of the comparison with MPFR if MPFR is missing.
echo "skipped: MPFR is missing (Debian: libmpfr-dev)"
exit 77
