#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: man_examples.sh BUILD SOURCE
# Runs every shell block of the manual pages as a terminal shows it, or, without scdoc and man, as
# the source has it with its escapes undone. Runs on the virtual GPU, with these stand-ins:
#   /etc/heddle, /tmp  folders of the test
#   systemctl          does nothing: its real work needs root
#   heddled            reads the configuration from the test's folder
#   heddle tune        has one round and one point
#   ./program, ./simulation, ./controller, ./driver-api-program, *.ptx: created here
set -eu
build=$1
source=$2
dir=$(mktemp -d)
pids=''
end() {
	status=$?
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null || :
	wait
	rm -rf "$dir"
	exit "$status"
}
trap end EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	exit 1
}
if [ ! -x "$build/examples/rt/shared/va" ] || [ ! -x "$build/examples/va" ]; then
	echo "skipped: no example programs"
	exit 77
fi

# ---- the blocks ----

# from_source PAGE.scd: writes its fenced blocks to $dir/blocks/NAME.NUMBER.
from_source() {
	sed 's/\\\(.\)/\1/g' "$1" | awk -v to="$dir/blocks/$name." '
		/^```/ { in_block = !in_block; n += in_block; next }
		in_block { print >(to n) }'
}
# from_page PAGE: as from_source, for the formatted page. Formats all blocks as one page, each after
# a marker line. A block that does not begin with a command is prose.
from_page() {
	awk 'BEGIN { printf ".TH X 1\n.SH X\n.nf\n.ad l\n.nh\n" }
		/^\.nf$/ { on = 1; text = ""; next }
		/^\.fi$/ {
			on = 0
			if (text ~ /^([A-Z_]+=[^ ]* )*(heddled?|cc|systemctl|\()[ a-z]/)
				printf "=== block\n%s", text
			next
		}
		on && !/^\.RS/ { text = text $0 "\n" }' "$1" >"$dir/roff"
	LC_ALL=C.UTF-8 MANWIDTH=400 man -l "$dir/roff" 2>/dev/null | col -bx | sed '/X(1)$/d; s/^       //' |
		awk -v to="$dir/blocks/$name." '/^=== block$/ { n++; next } n && NF { print >(to n) }'
}
mkdir "$dir/blocks"
for name in heddled.8 heddle.1 heddle-environment.7 heddle.3; do
	scd=$source/man/$name.scd
	[ -f "$scd" ] || scd=$scd.in
	fences=$(grep -c '^```' "$scd")
	if [ -f "$build/man/$name" ] && command -v man >/dev/null && command -v col >/dev/null; then
		from_page "$build/man/$name"
	else
		echo "$name: from the source: no scdoc, or no man"
		from_source "$scd"
	fi
	set -- "$dir/blocks/$name."*
	[ $(($# * 2)) = "$fences" ] || fail "$name: $((fences / 2)) blocks in the source, $# found in the page"
done

# ---- stand-ins for the machine ----

mkdir -p "$dir/etc/heddle/heddled.conf.d" "$dir/tmp" "$dir/bin" "$dir/work" "$dir/home"
export HOME="$dir/home" HEDDLE_SOCKET="$dir/heddled.sock" HEDDLE_VGPU="examples-$$" HEDDLE_DEVICE=cpu
unset XDG_CACHE_HOME XDG_STATE_HOME HEDDLE_PRIORITY HEDDLE_DRIVER_LIB 2>/dev/null || :
export PKG_CONFIG_PATH="$build/meson-uninstalled" CPATH="$source/include" LIBRARY_PATH="$build/src/rt"
rt=$(find "$build/src/rt" -name 'libheddle.so.0' | head -n 1)
export LD_LIBRARY_PATH="${rt%/*}:$build/src/dev/cpu"
printf '#!/bin/sh\n[ "$1" != tune ] || { shift && set -- tune --rounds 1 --points 1 "$@"; }\nexec "%s/heddle" "$@"\n' "$build" \
	>"$dir/bin/heddle"
printf '#!/bin/sh\n' >"$dir/bin/systemctl"
printf '#!/bin/sh\nexec "%s/heddled" --config-root "%s" "$@"\n' "$build" "$dir" >"$dir/bin/heddled"
chmod +x "$dir/bin/"*
PATH=$dir/bin:$PATH
cd "$dir/work"
cp "$source"/examples/*.c "$source"/examples/policy/*.c "$source"/examples/*.h "$source/examples/corun.ptx" .
cp "$build/examples/rt/shared/va" program
printf '#!/bin/sh\nexec "%s/mm" --size small\n' "$build/examples" >controller
printf '#!/bin/sh\nexec "%s/va" --size small\n' "$build/examples" >simulation
cp controller driver-api-program
chmod +x controller simulation driver-api-program
# kernel FILE NAME PARAMETERS BODY: writes a kernel. %r1 is the thread's index in the grid, %rd1 the
# first buffer, %rd2 the second.
kernel() {
	cat >"$1" <<EOF
.version 7.0
.target sm_70
.address_size 64
.visible .entry $2($3)
{
	.reg .b64 %rd<5>;
	.reg .b32 %r<5>;
	.reg .f32 %f<4>;
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.u32 %r1, %r2, %r3, %r4;
	mul.wide.u32 %rd3, %r1, 4;
	ld.param.u64 %rd1, [a];
	add.u64 %rd4, %rd1, %rd3;
	$4
	ret;
}
EOF
}
kernel add.ptx add '.param .u64 a, .param .u64 b, .param .u32 n' \
	'ld.param.u64 %rd2, [b]; add.u64 %rd2, %rd2, %rd3; ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd2], %f1;'
kernel a.ptx scale '.param .u64 a, .param .f32 by' \
	'ld.param.f32 %f2, [by]; ld.global.f32 %f1, [%rd4]; mul.f32 %f1, %f1, %f2; st.global.f32 [%rd4], %f1;'
kernel b.ptx count '.param .u64 a, .param .u64 b' \
	'ld.param.u64 %rd2, [b]; ld.global.u32 %r2, [%rd4]; red.global.add.u32 [%rd2], %r2;'

# ---- each block, in the order of the pages ----

ran=0
for name in heddled.8 heddle.1 heddle-environment.7 heddle.3; do
	for block in "$dir/blocks/$name."*; do
		if [ $name = heddle.3 ] && { ! command -v cc || ! command -v pkg-config; } >/dev/null; then
			echo "not run: no compiler, or no pkg-config: $(head -n 1 "$block")"
			continue
		fi
		sed "s|/tmp/|$dir&|g; s|/etc/heddle/|$dir&|g" "$block" >"$dir/block"
		# Wait for background programs, except heddled.
		case $(cat "$block") in
		heddled*'&') echo "echo \$! >'$dir/daemon'" >>"$dir/block" ;;
		*) echo wait >>"$dir/block" ;;
		esac
		sh -eu "$dir/block" >"$dir/out" 2>"$dir/err" </dev/null ||
			fail "$name: status $?: $(cat "$block" "$dir/out" "$dir/err")"
		if [ -f "$dir/daemon" ]; then
			pids="$pids $(cat "$dir/daemon")"
			rm "$dir/daemon"
			tries=1500
			until heddle status >/dev/null 2>&1; do
				tries=$((tries - 1))
				[ "$tries" -gt 0 ] || fail "heddled does not come up: $(cat "$dir/err")"
				sleep 0.02
			done
		fi
		! grep -E 'error|did not become|without heddle' "$dir/err" || fail "$name: $(cat "$block" "$dir/err")"
		ran=$((ran + 1))
	done
done
grep -q '"event": "join".*"priority": "low"' "$dir/tmp/heddle.events" || fail "heddled's events: nobody joined"
grep -q '^latency_us = 50$' "$dir/etc/heddle/heddled.conf.d/50-latency.conf" || fail "the configuration is another"
echo "$ran blocks ran"
