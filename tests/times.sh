#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: times.sh COMMAND…
# Runs a test, and then prints "times:" and the output of the shell's own `times` on standard error: its
# second line has the processor time of the test and of all processes that it waited for, as user and
# system. tests/times.py reads this from meson's log.
"$@"
status=$?
{ echo times: && times; } >&2
exit $status
