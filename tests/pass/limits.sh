#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# heddle ptx check and the virtual GPU must refuse sizes that ptxas refuses, and name the limit.
# They must accept the largest sizes that ptxas accepts. Kernels whose constants do not fit one
# module together are not merged, fused or made tasks of one pool.
#   limits.sh HEDDLE TASK_TOOL
# PTXAS=path: also checks what ptxas accepts.
set -eu
heddle=$1
tool=$2
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-limits-$$"*' EXIT INT TERM
export HEDDLE_VGPU="limits-$$"
bad=0 n=0

fail() {
	echo "FAIL $*"
	bad=$((bad + 1))
}

# module VERSION TARGET GLOBALS PARAMETERS BODY: writes a module.
module() {
	cat <<-END
		.version $1
		.target $2
		.address_size 64
		$3
		.visible .entry k(.param .u64 out$4)
		{
		.reg .b32 %r<4>;
		.reg .b64 %d<3>;
		ld.param.u64 %d1, [out];
		$5
		st.global.u32 [%d1], %r1;
		ret;
		}
	END
}

# row SAYS VERSION TARGET GLOBALS PARAMETERS BODY: checks one module. SAYS is in the error; "": no
# error.
row() {
	says=$1 n=$((n + 1))
	shift
	module "$@" >"$work/k.ptx"
	status=0
	"$heddle" ptx check "$work/k.ptx" >"$work/said" 2>&1 || status=$?
	if [ -z "$says" ]; then
		[ $status = 0 ] || fail "$*: $(head -n 1 "$work/said")"
		more=$(echo "$4" | sed -n 's/.*b8 p\[\([0-9]*\)\].*/hex:\1/p')
		[ -z "$more" ] || more=hex:$(printf "%0$((2 * ${more#hex:}))d" 0)
		# shellcheck disable=SC2086
		"$heddle" exec --device cpu --grid 1 --block 1 "$work/k.ptx" k 'u32[1]:zero' $more >"$work/said" 2>&1 ||
			fail "$*: $(head -n 1 "$work/said")"
	else
		[ $status = 1 ] || fail "$*: status $status"
		grep -qF "$says" "$work/said" || fail "$*: not '$says': $(head -n 1 "$work/said")"
		! "$heddle" exec --device cpu --grid 1 --block 1 "$work/k.ptx" k 'u32[1]:zero' >"$work/said" 2>&1 ||
			fail "exec takes $*"
		grep -qF "$says" "$work/said" || fail "exec $*: not '$says': $(head -n 1 "$work/said")"
		! "$heddle" ptx preempt "$work/k.ptx" >"$work/said" 2>&1 || fail "preempt takes $*"
	fi
	[ "${PTXAS-}" ] || return 0
	accepts=0
	"$PTXAS" -arch="${2%,*}" -o /dev/null "$work/k.ptx" >"$work/said" 2>&1 || accepts=1
	case $accepts$says in 0 | 1?*) ;; *) fail "ptxas of $*: $(head -n 1 "$work/said")" ;; esac
}

none='mov.u32 %r1, 1;'
for target in sm_75 sm_80 sm_90; do
	row '' 8.0 $target '.const .align 4 .b8 c[65536];' '' 'ld.const.u32 %r1, [c];'
	row 'at most 65536' 8.0 $target '.const .align 4 .b8 c[65537];' '' 'ld.const.u32 %r1, [c];'
	row '' 8.0 $target '' '' '.shared .align 4 .b8 s[49152]; mov.u32 %r1, s;'
	row 'at most 49152' 8.0 $target '' '' '.shared .align 4 .b8 s[49153]; mov.u32 %r1, s;'
	row '' 8.0 $target '' ', .param .align 4 .b8 p[4344]' "$none"
	row 'at most 4352' 8.0 $target '' ', .param .align 4 .b8 p[4345]' "$none"
	row '' 8.1 $target '' ', .param .align 4 .b8 p[32756]' "$none"
	row 'at most 32764' 8.1 $target '' ', .param .align 4 .b8 p[32757]' "$none"
done
row 'at most 65536' 8.0 sm_80 '.const .align 4 .b8 c[80000];' '' "$none"
row 'at most 65536' 8.0 sm_80 '.visible .const .align 4 .b8 c[80000];' '' "$none"
row 'at most 65536' 8.0 sm_80 '.weak .const .align 4 .b8 c[80000];' '' "$none"
row 'at most 65536' 8.0 sm_80 '.const .align 4 .b8 c[80000] = {1};' '' 'ld.const.u32 %r1, [c];'
row 'at most 65536' 8.0 sm_80 '.const .b32 c[10000]; .const .b32 d[10000];' '' 'ld.const.u32 %r1, [c];'
row 'at most 65536' 8.0 sm_80 '' '' '.const .align 4 .b8 c[65537]; ld.const.u32 %r1, [c];'
row '' 8.0 sm_80 '.const .align 1 .b8 a[1]; .const .align 16 .b8 c[65520];' '' 'ld.const.u32 %r1, [c]; ld.const.u8 %r2, [a];'
row 'at most 65536' 8.0 sm_80 '.const .align 1 .b8 a[1]; .const .align 16 .b8 c[65521];' '' 'ld.const.u32 %r1, [c];'
row '' 8.0 sm_80 '.shared .align 4 .b8 s[60000];' '' "$none"
row 'at most 49152' 8.0 sm_80 '.shared .align 4 .b8 s[60000];' '' 'mov.u32 %r1, s;'
row 'at most 49152' 8.0 sm_80 '' '' '.shared .align 4 .b8 s[60000]; mov.u32 %r1, 1;'
callee='.func f() { .shared .align 4 .b8 t[30000]; .reg .b32 %r<3>; mov.u32 %r1, t; st.shared.u32 [t], %r1; ret; }'
row '' 8.0 sm_80 "$callee" '' '.shared .align 4 .b8 s[30000]; mov.u32 %r1, s;'
row 'at most 49152' 8.0 sm_80 "$callee" '' '.shared .align 4 .b8 s[30000]; call f; mov.u32 %r1, s;'
row '' 8.0 sm_80 '' '' '.shared .align 1 .b8 a[1]; .shared .align 16 .b8 s[49136]; mov.u32 %r1, s; mov.u32 %r2, a;'
row 'at most 49152' 8.0 sm_80 '' '' '.shared .align 1 .b8 a[1]; .shared .align 16 .b8 s[49137]; mov.u32 %r1, s; mov.u32 %r2, a;'

# together SAYS BYTES BYTES: checks two kernels with constants of these sizes.
together() {
	module 8.0 sm_80 ".const .align 4 .b8 c[$2];" '' 'ld.const.u32 %r1, [c];' >"$work/a.ptx"
	module 8.0 sm_80 ".const .align 4 .b8 c[$3];" '' 'ld.const.u32 %r1, [c];' >"$work/b.ptx"
	for pass in merge fuse-vertical fuse-horizontal weave task; do
		n=$((n + 1)) status=0
		if [ $pass = task ]; then
			"$tool" 64 0 full "$work/a.ptx" k "$work/b.ptx" k >"$work/form.ptx" 2>"$work/said" || status=$?
		else
			"$heddle" ptx $pass -- "$work/a.ptx" k --block 64 + "$work/b.ptx" k --block 64 \
				>"$work/form.ptx" 2>"$work/said" || status=$?
		fi
		case $status$1 in
		0) ;;
		[12]?*) grep -qF "$1" "$work/said" || fail "$pass $2 $3: $(head -n 1 "$work/said")" ;;
		*) fail "$pass $2 $3: status $status $(head -n 1 "$work/said")" ;;
		esac
		case $status${PTXAS-} in 0?*) ;; *) continue ;; esac
		"$PTXAS" -arch=sm_80 -o /dev/null "$work/form.ptx" >"$work/said" 2>&1 ||
			fail "ptxas of $pass $2 $3: $(head -n 1 "$work/said")"
	done
}
together '' 32768 32768
together 'at most 65536' 32768 32772
together 'at most 65536' 40000 40000
echo "$n cases, $bad wrong"
[ "$bad" -eq 0 ]
