#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: run_install.sh SOURCE
# ./run installs missing packages on any distribution with apt-get, continues without packages that
# the release does not have, and needs fewer packages to build than to test. Nothing is installed
# here: dpkg-query, apt-get, apt-cache, sudo and meson are stand-ins that record their arguments.
set -eu
source=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/bin" "$dir/tree/tests"
cp "$source/run" "$dir/tree/"
cp "$source/tests/matrix.sh" "$dir/tree/tests/"

fail() {
	echo "FAILED: $*"
	exit 1
}

tool() { # NAME LINE...
	name=$1
	shift
	printf '#!/bin/sh\n' >"$dir/bin/$name"
	printf '%s\n' "$@" >>"$dir/bin/$name"
	chmod +x "$dir/bin/$name"
}
# shellcheck disable=SC2016
{
	tool dpkg-query 'echo "gcc installed"'
	tool apt-cache '[ "$2" != clang-14 ]'
	tool apt-get "echo \"\$*\" >>'$dir/asked'"
	tool sudo '"$@"'
	tool meson 'exit 1'
}
for command in 'build' 'test style'; do
	: >"$dir/asked"
	# shellcheck disable=SC2086
	PATH="$dir/bin:$PATH" "$dir/tree/run" $command >"$dir/out" 2>&1 || :
	grep -q '^-q update$' "$dir/asked" || fail "run $command: $(cat "$dir/out" "$dir/asked")"
	grep ' install .*ninja-build.* libinih-dev' "$dir/asked" >"$dir/install" ||
		fail "run $command installs: $(cat "$dir/out" "$dir/asked")"
	! grep -w gcc "$dir/install" || fail "run $command: installs what is there"
	! grep -w clang-14 "$dir/install" || fail "run $command: installs what there is not"
	grep -q 'no package for, going on without: clang-14' "$dir/out" || fail "$(cat "$dir/out")"
	cp "$dir/install" "$dir/install.${command%% *}"
done
! grep -w shellcheck "$dir/install.build" || fail "run build: installs what tests need"
grep -qw shellcheck "$dir/install.test" || fail "run test: does not install what tests need"
