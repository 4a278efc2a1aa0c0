#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# A set-uid program that finds the shim, or the virtual GPU, on its library path: what its caller's
# environment says is not believed, least of all which library to load.
set -eu
: "$THROUGH_SHIM" "$ON_CPU" "$FAKE"
[ "$(id -u)" = 0 ] || { echo "skipped: only root can make a program another user's"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 711 "$dir"
unset LD_LIBRARY_PATH
export HEDDLE_DRIVER_LIB="$FAKE" HEDDLE_VGPU="privileged-$$,sms=3"

says() { # PROGRAM: as it is, and as another user's
	rm -f "$dir/prog"
	cp "$1" "$dir/prog"
	plain=$("$dir/prog")
	chown 65534 "$dir/prog"
	chmod 4755 "$dir/prog"
	set=$("$dir/prog")
	echo "$plain; set-uid: $set"
	case $set in 'secure 1 '*) ;; *)
		echo "skipped: set-uid programs are not, here"
		exit 77
		;;
	esac
}

says "$THROUGH_SHIM"
case $plain in 'secure 0 init 34 '*) ;; *) echo "the driver that was named was not loaded"; exit 1 ;; esac
case $set in *' init 34 '*) echo "a set-uid program loads what it is told to"; exit 1 ;; esac
says "$ON_CPU"
case $plain in *' sms 3') ;; *) echo "HEDDLE_VGPU was not read"; exit 1 ;; esac
case $set in *' sms 8') ;; *) echo "a set-uid program reads HEDDLE_VGPU"; exit 1 ;; esac
