#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: tables.sh TASK_TOOL
# A kernel that only reads its module's variables (sine's table, printf's strings) can be a task.
# One that may write them is refused, with the names of the user's file. If ptxas is installed, it
# must accept the result.
set -eu
tool=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
n=0
# kernel DECLARATION: prints a kernel whose body comes from standard input.
kernel() {
	cat <<-END
		.version 7.8
		.target sm_80
		.address_size 64
		.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
		$1
		.visible .func reads(.param .b64 a)
		{
		.reg .b64 %d; .reg .b32 %r;
		ld.param.b64 %d, [a];
		ld.b32 %r, [%d];
		st.b32 [%d], %r;
		ret;
		}
		.visible .entry k(.param .u64 p)
		{
		.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .pred %q;
		ld.param.u64 %d0, [p];
		mov.u32 %r0, %tid.x;
		mul.wide.u32 %d1, %r0, 4;
		$(cat)
		ret;
		}
	END
}
taken() { # name, declaration
	n=$((n + 1))
	kernel "$2" >"$dir/k.ptx"
	for form in full partly; do
		if ! "$tool" 256 32 $form "$dir/k.ptx" k >"$dir/form.ptx" 2>"$dir/why"; then
			echo "bad: $1 is refused: $(cat "$dir/why")"
			failed=1
		elif command -v ptxas >/dev/null && ! ptxas -arch=sm_80 "$dir/form.ptx" -o "$dir/x"; then
			echo "bad: $1: the assembler does not take it"
			failed=1
		fi
	done
	grep -q 'k0_table' "$dir/form.ptx" || { echo "bad: $1 has no table" && failed=1; }
}
refused() { # name, declaration, reason
	n=$((n + 1))
	kernel "$2" >"$dir/k.ptx"
	if "$tool" 256 32 full "$dir/k.ptx" k >"$dir/form.ptx" 2>"$dir/why"; then
		echo "bad: $1 is taken"
		failed=1
	elif ! grep -qxF "k: $3" "$dir/why"; then
		echo "bad: $1: $(cat "$dir/why")"
		failed=1
	fi
}
table='.global .align 4 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8};'
taken direct "$table" <<'END'
ld.global.u32 %r1, [table+4];
st.global.u32 [%d0], %r1;
END
taken computed "$table" <<'END'
mov.u64 %d2, table;
add.s64 %d3, %d2, %d1;
ld.global.nc.u32 %r1, [%d3];
st.global.u32 [%d0], %r1;
END
taken generic "$table" <<'END'
cvta.global.u64 %d2, table;
setp.eq.u32 %q, %r0, 0;
selp.b64 %d3, %d2, %d0, %q;
ld.u32 %r1, [%d3];
st.global.u32 [%d0], %r1;
END
taken printf "$table" <<'END'
mov.u64 %d2, table;
cvta.global.u64 %d3, %d2;
mov.u64 %d4, 0;
{
.param .b64 a; .param .b64 b; .param .b32 r;
st.param.b64 [a], %d3;
st.param.b64 [b], %d4;
call.uni (r), vprintf, (a, b);
}
END
taken constant '.const .align 4 .b8 table[16] = {1, 2, 3, 4};' <<'END'
ld.const.u32 %r1, [table];
st.global.u32 [%d0], %r1;
END
refused stored "$table" "st.global.u32 may write the module variable 'table'" <<'END'
st.global.u32 [table], %r0;
END
refused 'stored, computed' "$table" "st.global.u32 may write the module variable 'table'" <<'END'
mov.u64 %d2, table;
add.s64 %d3, %d2, %d1;
st.global.u32 [%d3], %r0;
END
refused 'stored in a loop' "$table" "st.global.u32 may write the module variable 'table'" <<'END'
mov.u64 %d3, %d0;
again:
st.global.u32 [%d3], %r0;
mov.u64 %d3, %d2;
mov.u64 %d2, table;
setp.eq.u32 %q, %r0, 0;
@%q bra again;
END
refused atomic "$table" "atom.global.add.u32 may write the module variable 'table'" <<'END'
atom.global.add.u32 %r1, [table], 1;
END
refused 'let out' "$table" "st.global.u64 may write the module variable 'table'" <<'END'
mov.u64 %d2, table;
st.global.u64 [%d0], %d2;
END
refused 'given away' "$table" "st.param.b64 may write the module variable 'table'" <<'END'
mov.u64 %d2, table;
{
.param .b64 a;
st.param.b64 [a], %d2;
call.uni reads, (a);
}
END
refused visible ".visible $table" \
	"it uses the module variable 'table', which the host and other modules can write" <<'END'
ld.global.u32 %r1, [table];
END
refused empty ".global .align 4 .b8 table[16];" \
	"it uses the module variable 'table', which has no initial value" <<'END'
ld.global.u32 %r1, [table];
END
refused pointers "$table .global .u64 other = table;" \
	"it uses the module variable 'other', which holds addresses" <<'END'
ld.global.u64 %d2, [other];
END
[ "$n" -eq 14 ] || { echo "bad: $n kernels were looked at" && failed=1; }
exit $failed
