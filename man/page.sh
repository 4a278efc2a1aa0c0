#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Puts the verbs' descriptions, from the program's own table, into the page and formats it.
# usage: page.sh SCDOC HEDDLE PAGE.scd.in
set -eu
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
"$2" --print-man >"$tmp"
sed -e "/^@VERBS@/ {
	r $tmp
	d
}" "$3" | "$1"
