#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: versions.sh HEDDLE TASK_TOOL
# A form states the PTX version that its own instructions need, even if its kernel has an older
# one. Tests every pass with a kernel in the oldest PTX for sm_70, and with a later version, which
# the form keeps. PTX for architectures before sm_70 is refused, with that reason. If ptxas is
# installed, it must accept each form.
set -eu
heddle=$1
tool=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
bad() {
	echo "bad: $*"
	failed=1
}
kernel() { # version, target
	cat <<-END
		.version $1
		.target $2
		.address_size 64
		.visible .entry k(.param .u64 p)
		{
		.reg .b32 %r<4>;
		.reg .b64 %d<4>;
		.shared .align 4 .b8 words[512];
		ld.param.u64 %d0, [p];
		mov.u32 %r0, %tid.x;
		mov.u32 %r1, %ctaid.x;
		mul.wide.u32 %d1, %r0, 4;
		add.u64 %d0, %d0, %d1;
		mov.u32 %r2, words;
		mad.lo.u32 %r2, %r0, 4, %r2;
		st.shared.u32 [%r2], %r1;
		bar.sync 0;
		ld.shared.u32 %r3, [words];
		st.global.u32 [%d0], %r3;
		ret;
		}
	END
}
make() { # form, file
	case $1 in
	preempt) "$heddle" ptx preempt "$2" ;;
	tasks) "$tool" 256 32 full "$2" k ;;
	stamps) "$tool" 256 32 stamps "$2" k ;;
	*) "$heddle" ptx "$1" -- "$2" k --block 128 + "$2" k --block 128 ;;
	esac
}
for version in 6.0 6.2 7.1; do
	kernel $version sm_70 >"$dir/k.ptx"
	for form in preempt merge fuse-vertical fuse-horizontal weave tasks stamps; do
		if ! make $form "$dir/k.ptx" >"$dir/form.ptx" 2>"$dir/why"; then
			bad "$form of $version: $(head -3 "$dir/why")"
			continue
		fi
		says=$(sed -n 's/^\.version \([0-9]*\)\.\([0-9]*\)$/\1\2/p' "$dir/form.ptx")
		naps=$(grep -c nanosleep "$dir/form.ptx" || :)
		echo "$form of $version: $says, sleeps $naps"
		[ "$naps" -eq 0 ] || [ "$says" -ge 63 ] || bad "$form of $version sleeps in $says"
		[ $version != 7.1 ] || [ "$says" -eq 71 ] || bad "$form of $version says $says"
		case $form in preempt | tasks | stamps) [ "$naps" -gt 0 ] || bad "$form does not sleep: nothing is shown" ;; esac
		if command -v ptxas >/dev/null; then
			ptxas -arch=sm_90 "$dir/form.ptx" -o "$dir/x" || bad "$form of $version is not taken"
		fi
	done
done
for old in '4.0 sm_50' '6.0 sm_50' '6.0 sm_61'; do
	# shellcheck disable=SC2086 # two words
	kernel $old >"$dir/k.ptx"
	for form in preempt merge fuse-vertical fuse-horizontal weave tasks stamps; do
		make $form "$dir/k.ptx" >"$dir/form.ptx" 2>"$dir/why" || :
		grep -q 'written for sm_[56].*sm_70' "$dir/why" ||
			bad "$form of $old: $(cat "$dir/why" && grep -c hd_ "$dir/form.ptx")"
	done
done
exit $failed
