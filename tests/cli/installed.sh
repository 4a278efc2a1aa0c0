#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: installed.sh MESON BUILD SOURCE PREFIX
# After meson install into a folder, heddle must run from there, and from another place to which the
# folder is moved. The unit files must name heddled's path below the prefix, and heddle must need no
# newer C library than README.md says.
set -eu
meson=$1
build=$2
source=$3
prefix=$4
dir=$(mktemp -d)
daemon=''
# Restore the install log at exit: ninja uninstall reads the list of files from it.
log=$build/meson-logs/install-log.txt
[ ! -f "$log" ] || cp "$log" "$dir/install-log"
end() {
	status=$?
	[ ! -f "$dir/install-log" ] || cp "$dir/install-log" "$log"
	[ -z "$daemon" ] || { kill "$daemon" && wait "$daemon"; } 2>/dev/null || :
	rm -rf "$dir"
	exit "$status"
}
trap end EXIT
trap 'exit 1' INT TERM

fail() {
	echo "FAILED: $*"
	exit 1
}

DESTDIR="$dir/root" "$meson" install -C "$build" --no-rebuild --quiet >"$dir/log" 2>&1 ||
	fail "meson install: $(cat "$dir/log")"
mv "$dir/root$prefix" "$dir/moved"
rm -rf "$dir/root"
cd "$dir"
unset HEDDLE_DRIVER_LIB LD_LIBRARY_PATH
export HEDDLE_SOCKET="$dir/sock" HEDDLE_VGPU="installed-$$" XDG_CACHE_HOME="$dir/cache" XDG_STATE_HOME="$dir/state"
heddle=$dir/moved/bin/heddle
[ -x "$heddle" ] || fail "no bin/heddle"

# A program becomes a tenant of the installed daemon.
"$dir/moved/bin/heddled" >"$dir/daemon.log" 2>&1 &
daemon=$!
tries=3000
until "$heddle" status >/dev/null 2>&1; do
	tries=$((tries - 1))
	kill -0 $daemon || fail "heddled ended: $(cat "$dir/daemon.log")"
	[ $tries -gt 0 ] || fail "heddled does not answer"
	sleep 0.02
done
"$heddle" doctor --device cpu >"$dir/doctor.log" 2>&1 || :
! grep "^bad" "$dir/doctor.log" || fail "doctor finds something bad"
"$heddle" bench tasks -h >"$dir/bench.log" 2>&1 || fail "heddle bench: $(cat "$dir/bench.log")"
va=$(find moved -path '*/examples/va' -type f)
# A program of the C API finds libheddle in the moved folder.
share=$(find "$dir/moved" -path '*/examples/share' -type f)
cpu=$(dirname "$(find "$dir/moved" -path '*cpu/libcuda.so.1' | head -n 1)")
LD_LIBRARY_PATH=$cpu "$share" cpu "$share.ptx" 500 2000 >"$dir/share.out" 2>&1 || fail "share: $(cat "$dir/share.out")"
grep -q ' 0 of 64000 results wrong$' "$dir/share.out" || fail "share: $(cat "$dir/share.out")"
# Under heddle run, programs find the CUDA runtime for the virtual GPU in the installed folder, and
# nowhere else.
folders=$("$heddle" run --device cpu -- sh -c 'echo "$LD_LIBRARY_PATH"') || fail "heddle run: $?"
runtime=$(dirname "$(find "$dir/moved" -path '*cudart/libcudart.so.13' | head -n 1)")
case $folders in *:"$runtime") ;; *) fail "not among $folders: $runtime" ;; esac
[ -f "$runtime/libcudart.so.12" ] || fail "no libcudart.so.12"
[ "$(find "$dir/moved" -name 'libcudart*' | wc -l)" = 2 ] || fail "libcudart: $(find "$dir/moved" -name 'libcudart*')"
if [ -n "$(find moved -name va.ptx)" ]; then
	HEDDLE_FORM_WAIT_MS=60000 "$heddle" run --device cpu -- "$va" --size small --check each >"$dir/out" 2>&1 ||
		fail "heddle run: $(tail -n 5 "$dir/out")"
	! grep 'heddle' out || fail "it did not become a tenant"
	# heddle demo runs both programs with a daemon of its own.
	HEDDLE_SOCKET='' "$heddle" demo --device cpu --rounds 1 >"$dir/demo.log" 2>&1 ||
		fail "demo: $(cat "$dir/demo.log")"
	[ -s heddle-demo.svg ] || fail "no picture"
	[ "$(grep -c 'all correct' "$dir/demo.log")" = 2 ] || fail "demo: $(cat "$dir/demo.log")"
	# heddle finds the assembler, so that a crash of the driver's compiler ends only that
	# process.
	ptx=$(find moved -name va.ptx | head -n 1)
	! HEDDLE_VGPU="installed-$$,crash=hd_pick" "$heddle" corun --device cpu --how merge \
		-- "$ptx" va --grid 4 --block 256 'f32[1000]:zero' 'f32[1000]:zero' 'f32[1000]:zero' u32:1000 u32:1 >"$dir/out" 2>&1 ||
		fail "a compiler that crashes, and yet"
	grep -q 'compiler crashed on it' "$dir/out" || fail "a compiler that crashes: $(cat "$dir/out")"
else
	echo "no kernels were built: no program was run"
fi

# The units start the installed programs.
for kind in system user; do
	unit=moved/lib/systemd/$kind/heddled.service
	grep -Eq "^ExecStart=$prefix/bin/heddled( |\$)" "$unit" || fail "$unit: $(grep ExecStart "$unit")"
done
[ -f moved/share/doc/heddle/LICENSE ] || fail "no licence"
if command -v scdoc >/dev/null; then
	for page in man1/heddle.1 man3/heddle.3 man7/heddle-environment.7 man8/heddled.8; do
		[ -s "moved/share/man/$page" ] || fail "no $page"
	done
fi

# examples/rt are excluded: nvcc decides what they link.
libc=$(find moved -path '*/examples/rt' -prune -o -type f -exec objdump -T {} + 2>/dev/null |
	sed -n 's/.*GLIBC_\([0-9][0-9.]*\).*/\1/p' | sort -uV | tail -n 1)
said=$(sed -n 's/.*glibc \([0-9][0-9.]*\) or newer.*/\1/p' "$source/README.md")
[ "$libc" = "$said" ] || fail "it needs glibc $libc; README.md says $said"
echo "runs from $dir/moved; glibc $libc"
