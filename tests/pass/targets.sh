#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: targets.sh HEDDLE TASK_TOOL [EVERY]
# A form's .target is the combination of its kernels' targets, by the PTX ISA's rules for the
# suffixes `a` and `f` and for options. Kernels that no GPU can run together are refused, with both
# targets and the other kernel's file. If ptxas is installed, it must accept every form, or every
# EVERY-th one.
set -eu
heddle=$1
tool=$2
every=${3:-1} looks=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
bad() {
	echo "bad: $*"
	failed=1
}
kernel() { # version, target, [instruction]
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
		mov.u32 %r1, words;
		mad.lo.u32 %r1, %r0, 4, %r1;
		st.shared.u32 [%r1], %r0;
		bar.sync 0;
		ld.shared.u32 %r2, [words];
		${3:-}
		st.global.u32 [%d0], %r2;
		ret;
		}
	END
}
make() { # form, file, file
	case $1 in
	tasks) "$tool" 256 32 full "$2" k "$3" k ;;
	virtual) "$heddle" ptx virtual -- "$2" k --grid 2 --block 128 ;;
	*) "$heddle" ptx "$1" -- "$2" k --block 128 + "$3" k --block 128 ;;
	esac
}
# look FORM TARGET: the form must have this target, and ptxas must accept it.
look() {
	says=$(sed -n 's/^\.target //p' "$dir/form.ptx")
	[ "$says" = "$2" ] || bad "$1 of $a and $b says $says, not $2"
	looks=$((looks + 1))
	if [ $((looks % every)) -eq 0 ] && command -v ptxas >/dev/null; then
		ptxas -arch="${2%%,*}" "$dir/form.ptx" -o "$dir/x" || bad "$1 of $a and $b is not taken"
	fi
}
n=0
while IFS='|' read -r a b together; do
	# shellcheck disable=SC2086 # version and target
	{
		kernel ${a%%,*} >"$dir/a.ptx"
		kernel ${b%%,*} >"$dir/b.ptx"
	}
	case $a in *,*) sed -i "s/^\.target .*/&,${a#*,}/" "$dir/a.ptx" ;; esac
	case $b in *,*) sed -i "s/^\.target .*/&,${b#*,}/" "$dir/b.ptx" ;; esac
	for form in merge fuse-vertical fuse-horizontal weave tasks; do
		n=$((n + 1))
		made=yes
		make $form "$dir/a.ptx" "$dir/b.ptx" >"$dir/form.ptx" 2>"$dir/why" || made=
		case $together in
		no:*)
			[ ! "$made" ] || bad "$form of $a and $b is made"
			grep -qF "its target is ${b#* }, that of kernel 'k'" "$dir/why" ||
				bad "$form of $a and $b: $(cat "$dir/why")"
			grep -qF "${a#* }: ${together#no: }" "$dir/why" ||
				bad "$form of $a and $b: $(cat "$dir/why")"
			! grep -q 'bug in heddle' "$dir/why" || bad "$form of $a and $b: a bug"
			[ $form = tasks ] || grep -qF "of $dir/a.ptx" "$dir/why" ||
				bad "$form of $a and $b does not name the file: $(cat "$dir/why")"
			;;
		*)
			[ "$made" ] || bad "$form of $a and $b: $(cat "$dir/why")"
			look $form "$together"
			;;
		esac
	done
	case $together in
	no:*) ;;
	*)
		make virtual "$dir/a.ptx" >"$dir/form.ptx" || bad "virtual of $a"
		look virtual "${a#* }"
		;;
	esac
done <<'END'
8.0 sm_90a|8.0 sm_90a|sm_90a
8.0 sm_90a|7.0 sm_80|sm_90a
7.8 sm_90|8.0 sm_90a|sm_90a
7.0 sm_80|7.8 sm_90|sm_90
8.8 sm_100f|8.8 sm_100f|sm_100f
8.8 sm_100f|8.6 sm_100a|sm_100a
8.6 sm_100|8.8 sm_100f|sm_100f
8.8 sm_100f|8.8 sm_103|sm_103f
8.8 sm_103|8.8 sm_100f|sm_103f
8.8 sm_103a|8.8 sm_100f|sm_103a
8.7 sm_120a|8.8 sm_120f|sm_120a
8.8 sm_120f|8.8 sm_121|sm_121f
7.0 sm_75, texmode_independent|7.0 sm_75, texmode_independent|sm_75, texmode_independent
8.0 sm_90a|8.6 sm_100|no: no GPU runs both
8.6 sm_100a|8.8 sm_103f|no: no GPU runs both
8.8 sm_100f|8.7 sm_120|no: no GPU runs both
8.8 sm_121f|8.7 sm_120a|no: no GPU runs both
8.8 sm_100f|9.0 sm_110f|no: no GPU runs both
7.0 sm_75|7.0 sm_75, texmode_independent|no: both or neither need texmode_independent
END
[ "$n" -eq 95 ] || bad "$n forms were looked at"

# Three kernels: the message names the one that conflicts with the third, not the one next to it.
kernel 8.0 sm_90a >"$dir/a.ptx"
kernel 7.0 sm_80 >"$dir/b.ptx"
kernel 8.6 sm_100 >"$dir/c.ptx"
"$heddle" ptx merge -- "$dir/a.ptx" k --block 32 + "$dir/b.ptx" k --block 32 + \
	"$dir/c.ptx" k --block 32 2>"$dir/why" && bad "three are merged"
grep -qF "sm_100, that of kernel 'k' of $dir/a.ptx sm_90a" "$dir/why" || bad "three: $(cat "$dir/why")"

# The first warp of an instruction of four warps (wgmma) has a number that is a multiple of four.
kernel 8.0 sm_90a 'wgmma.fence.sync.aligned;' >"$dir/group.ptx"
"$heddle" ptx fuse-horizontal -- "$dir/group.ptx" k --block 128 + "$dir/b.ptx" k --block 32 >"$dir/form.ptx" ||
	bad "warp group first"
"$heddle" ptx fuse-horizontal -- "$dir/b.ptx" k --block 128 + "$dir/group.ptx" k --block 128 >"$dir/form.ptx" ||
	bad "warp group at thread 128"
"$heddle" ptx fuse-horizontal -- "$dir/b.ptx" k --block 32 + "$dir/group.ptx" k --block 128 2>"$dir/why" &&
	bad "warp group at thread 32"
grep -q 'group.ptx:16:.*multiple of four' "$dir/why" || bad "warp group: $(cat "$dir/why")"
exit $failed
