#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# Builds a target with libFuzzer, ASan and UBSan in build-fuzz/, and runs it for SECONDS on a copy
# of its corpus. A crash is a failure; its input is kept in build-fuzz/findings/NAME.
# usage: fuzz.sh NAME SECONDS [LIBFUZZER-OPTION…]
set -eu
cd "$(dirname "$0")/../.."
name=${1:?usage: fuzz.sh NAME SECONDS}
seconds=${2:?usage: fuzz.sh NAME SECONDS}
shift 2
dir=build-fuzz
if [ ! -f $dir/build.ninja ]; then
	CC=clang-14 meson setup -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
		-Dbuildtype=debugoptimized $dir
fi
ninja -C $dir "tests/fuzz/fuzz_$name"
mkdir -p "$dir/corpus/$name" "$dir/findings/$name"
UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	"$dir/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
	-artifact_prefix="$dir/findings/$name/" "$@" "$dir/corpus/$name" "tests/fuzz/corpus/$name"
