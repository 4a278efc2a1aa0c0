#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: cram.sh SOURCE-ROOT BUILD-ROOT FILE.t
# Runs one cram file, NAME.t: commands and their expected output. heddle is on the PATH, $SRC is the
# source tree, $BUILD the build folder, and the working folder is empty. With BLESS=1, the file is
# rewritten with the actual output.
set -eu
SRC=$1
BUILD=$2
test=$3
tool=$(command -v cram3 || command -v cram) || {
	echo "skipped: no cram"
	exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export SRC BUILD LC_ALL=C.UTF-8 PATH="$BUILD:$PATH" XDG_STATE_HOME="$tmp/state"
# Run a copy: cram writes NAME.t.err beside the file if the output differs.
copy=$tmp/$(basename "$test")
cp "$test" "$copy"
status=0
"$tool" -E --shell=/bin/sh "$copy" || status=$?
# (cram's own -i needs a patch program that accepts the file names in its diff; some versions do
# not.)
if [ "${BLESS-}" ] && [ -f "$copy.err" ]; then
	cp "$copy.err" "$test"
	exit 0
fi
exit "$status"
