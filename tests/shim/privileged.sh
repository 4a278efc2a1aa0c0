#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: privileged.sh PROGRAM PATH SHIM VGPU FAKE
# A set-uid program that finds the shim or the virtual GPU on its library path must not trust its
# caller's environment, least of all for the library to load. The program's user may have no access
# to the build folder: everything is copied to a folder that the user can read, whose name replaces
# PATH, of the same length, in PROGRAM's run path.
set -eu
program=$1
path=$2
shim=$3
vgpu=$4
fake=$5
[ "$(id -u)" = 0 ] || {
	echo "skipped: only root can make a program another user's"
	exit 77
}
dir=$(mktemp -d "$(echo "$path" | tr 0 X)")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
chmod 711 "$dir"
LC_ALL=C sed "s|$path|$dir|g" "$program" >"$dir/privileged"
grep -q "$dir" "$dir/privileged" || {
	echo "FAILED: $program does not name $path"
	exit 1
}
cp "$fake" "$dir/fake.so"
chmod 755 "$dir/fake.so"
unset LD_LIBRARY_PATH
export HEDDLE_DRIVER_LIB="$dir/fake.so" HEDDLE_VGPU="privileged-$$,sms=3,nonsense=1" HEDDLE_CACHE_MB=lots

says() { # LIBRARY: prints the program's output with the library, first unprivileged, then set-uid
	rm -f "$dir/prog"
	cp "$1" "$dir/libcuda.so.1"
	cp "$dir/privileged" "$dir/prog"
	chmod 755 "$dir/prog" "$dir/libcuda.so.1"
	plain=$("$dir/prog" 2>"$dir/plain.err")
	chown 65534 "$dir/prog"
	chmod 4755 "$dir/prog"
	set=$("$dir/prog" 2>"$dir/set.err")
	echo "$plain; set-uid: $set"
	[ ! -s "$dir/set.err" ] || {
		echo "FAILED: a set-uid program says what is wrong in its caller's environment: $(cat "$dir/set.err")"
		exit 1
	}
	case $set in 'secure 1 '*) ;; *)
		echo "skipped: set-uid programs are not, here"
		exit 77
		;;
	esac
}

says "$shim"
grep -q 'HEDDLE_CACHE_MB=lots' "$dir/plain.err" || {
	echo "FAILED: what is wrong in the environment was not said"
	exit 1
}
case $plain in 'secure 0 init 34 '*) ;; *) echo "FAILED: the driver that was named was not loaded" && exit 1 ;; esac
case $set in *' init 34 '*) echo "FAILED: a set-uid program loads what it is told to" && exit 1 ;; esac
says "$vgpu"
case $plain in *' sms 3') ;; *) echo "FAILED: HEDDLE_VGPU was not read" && exit 1 ;; esac
grep -q "'nonsense=1' is not understood" "$dir/plain.err" || {
	echo "FAILED: what is wrong with HEDDLE_VGPU was not said"
	exit 1
}
case $set in *' sms 8') ;; *) echo "FAILED: a set-uid program reads HEDDLE_VGPU" && exit 1 ;; esac
