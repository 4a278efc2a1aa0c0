#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# heddle's output as its input, and kernels that happen to use the names of heddle's own code.
# - Every pass refuses every form, and the message says that it is a form.
# - Kernels whose registers, labels, variables and parameters have heddle's names: each form leaves
#   the same memory as the kernel under its own names.
# - Module symbols with such names: the form works, or the message contains the name.
#   own_names.sh HEDDLE TASK_TOOL KERNELS
# PTXAS=path: ptxas must accept each form.
set -eu
heddle=$1
tool=$2
kernels=$3
work=$(mktemp -d)
trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-names-$$"*' EXIT INT TERM
export HEDDLE_VGPU="names-$$"
bad=0 n=0
passes='preempt slice merge fuse-vertical fuse-horizontal weave virtual task'

fail() {
	echo "FAIL $*"
	bad=$((bad + 1))
}

# make PASS FILE KERNEL [BLOCK]: writes the form to $work/form.ptx.
make() {
	n=$((n + 1))
	case $1 in
	preempt | slice) "$heddle" ptx "$1" --kernel "$3" "$2" ;;
	virtual) "$heddle" ptx virtual -- "$2" "$3" --grid 4 --block "${4:-64}" ;;
	task) "$tool" 64 0 full "$2" "$3" ;;
	*) "$heddle" ptx "$1" -- "$2" "$3" --block "${4:-64}" + "$work/other.ptx" special_store --block 32,2 ;;
	esac >"$work/form.ptx" 2>"$work/said"
}

# accepted WHAT: ptxas must accept the form.
accepted() {
	[ "${PTXAS-}" ] || return 0
	"$PTXAS" -arch=sm_90 -o /dev/null "$work/form.ptx" >"$work/said" 2>&1 ||
		fail "ptxas of $1: $(head -n 1 "$work/said")"
}

cp "$kernels/ptx/special.ptx" "$work/other.ptx"
for first in $passes; do
	make "$first" "$work/other.ptx" special_call || fail "$first: $(head -n 1 "$work/said")"
	cp "$work/form.ptx" "$work/first.ptx"
	entry=$(sed -n 's/.*\.entry \([a-z_]*\)(.*/\1/p' "$work/first.ptx" | tail -n 1)
	case $first in preempt | slice) entry=special_call ;; esac
	for second in $passes; do
		if make "$second" "$work/first.ptx" "$entry"; then
			fail "$second takes a form of $first"
		else
			grep -q 'is a form that heddle made' "$work/said" ||
				fail "$second of $first: $(head -n 1 "$work/said")"
		fi
	done
done

# renamed FILE: prints the file with heddle's names in place of its own.
renamed() {
	awk '
	BEGIN {
		names = "hd_end hd_sync hd_store hd_ret hd_next hd_top hd_body hd_special hd_take hd_out hd_kind hd_go"
		n_labels = split(names, label, " ")
		n_params = split("hd_args hd_slice hd_args0 hd_task hd_merge hd_a0 hd_cx hd_gx", param, " ")
	}
	/\.entry |\.func / { params = labels = 0; delete to }
	{
		# Renames parameters: NAME_param_N, and those of special.ptx.
		while (match($0, /[A-Za-z_0-9]*_param_[0-9]+/)) {
			old = substr($0, RSTART, RLENGTH)
			if (!(old in to)) to[old] = param[1 + params++ % n_params]
			$0 = substr($0, 1, RSTART - 1) to[old] substr($0, RSTART + RLENGTH)
		}
		while (match($0, /\$?L?_?_?BB[0-9]+_[0-9]+/)) {
			old = substr($0, RSTART, RLENGTH)
			if (!(old in to)) { labels++; to[old] = "$" label[1 + (labels - 1) % n_labels] (labels > n_labels ? labels : "") }
			$0 = substr($0, 1, RSTART - 1) to[old] substr($0, RSTART + RLENGTH)
		}
		gsub(/%rd/, "%hd_d"); gsub(/%rs/, "%hd_h"); gsub(/%r/, "%hd_r"); gsub(/%p/, "%hd_p"); gsub(/%f/, "%hd_f")
		gsub(/\(out\)|\[out\]/, "[hd_args]"); gsub(/\.u64 out\)/, ".u64 hd_args)")
		gsub(/\$again/, "$hd_top"); gsub(/\$part/, "$hd_sync"); gsub(/\$meet/, "$hd_end")
		gsub(/\<words\>/, "hd_slot"); gsub(/\<own\>/, "hd_pick"); gsub(/\<given\>/, "hd_a0"); gsub(/\<got\>/, "hd_a1")
		gsub(/\<from\>/, "hd_cx"); gsub(/\<to\>/, "hd_gx")
		print
	}' "$1"
}

# same FILE KERNEL WORDS: compares each form with the kernel. The last one of WORDS is the compared
# buffer.
same() {
	file=$1 kernel=$2
	shift 2
	renamed "$file" >"$work/k.ptx"
	"$heddle" ptx check "$work/k.ptx" >"$work/said" 2>&1 || fail "$file: $(head -n 1 "$work/said")"
	options='' before='' last='' after='' # last: the last buffer argument
	for word; do
		case $word in
		*\[*\]:*) before="$before $last $after" last=$word after='' ;;
		*:*) after="$after $word" ;;
		*) options="$options $word" ;;
		esac
	done
	# shellcheck disable=SC2086
	{
		"$heddle" exec --device cpu $options "$file" "$kernel" $before "$last>$work/plain" $after >"$work/said" 2>&1 ||
			fail "$kernel: $(head -n 1 "$work/said")"
		for more in "" "--as preempt --yield-every 2" "--as preempt --chunk 2 --yield-every 3"; do
			n=$((n + 1))
			"$heddle" exec --device cpu $more $options "$work/k.ptx" "$kernel" $before "$last>$work/form" $after \
				>"$work/said" 2>&1 || fail "$kernel renamed $more: $(head -n 1 "$work/said")"
			cmp -s "$work/plain" "$work/form" || fail "$kernel renamed $more: memory differs"
		done
		for how in merge vertical horizontal weave; do
			n=$((n + 1))
			"$heddle" corun --device cpu --how $how --check -- "$work/k.ptx" "$kernel" "$@" + \
				"$work/k.ptx" "$kernel" "$@" >"$work/said" 2>&1 ||
				fail "$kernel renamed $how: $(tail -n 1 "$work/said")"
		done
	}
	for pass in $passes; do
		if make "$pass" "$work/k.ptx" "$kernel"; then
			accepted "$kernel renamed $pass"
		else
			case $(cat "$work/said") in
			*"rename it"* | *"in generated code"* | *bug*) fail "$kernel renamed $pass: $(head -n 1 "$work/said")" ;;
			esac
		fi
	done
}

while read -r kernel words; do
	# shellcheck disable=SC2086
	same "$kernels/ptx/special.ptx" "$kernel" $words
done <<-END
	$(sed -n 's,^// exec: ,,p' "$kernels/ptx/special.ptx")
END
if [ -e "$kernels/clang/transpose.ptx" ]; then
	for row in transpose callee_barrier flow_middle; do
		while IFS='	' read -r file kernel compiler words; do
			[ "$kernel $compiler" = "$row clang" ] || continue
			# shellcheck disable=SC2086
			same "$kernels/../$file" "$kernel" $words
			break
		done <"$kernels/list.txt"
	done
fi

# Tests symbols of modules; a line is SYMBOLS|USE.
while IFS='|' read -r symbols use; do
	cat >"$work/k.ptx" <<-END
		.version 8.0
		.target sm_80
		.address_size 64
		$symbols
		.visible .entry k(.param .u64 out)
		{
		.reg .b32 %r<8>;
		.reg .b64 %d<4>;
		mov.u32 %r1, %ctaid.x;
		mov.u32 %r2, %ntid.x;
		mov.u32 %r3, %tid.x;
		mad.lo.u32 %r4, %r1, %r2, %r3;
		$use
		ld.param.u64 %d1, [out];
		mul.wide.u32 %d2, %r4, 4;
		add.s64 %d1, %d1, %d2;
		st.global.u32 [%d1], %r5;
		ret;
		}
	END
	for pass in $passes; do
		if make "$pass" "$work/k.ptx" k; then
			accepted "$symbols $pass"
		else
			grep -q "uses 'hd_[a-z_0-9]*', a name\|it uses the module variable\|which has barriers" "$work/said" ||
				fail "$symbols $pass: $(head -n 1 "$work/said")"
		fi
	done
done <<-END
	.global .b32 hd_args;|ld.global.u32 %r5, [hd_args];
	.visible .global .b32 hd_slot[8];|ld.global.u32 %r5, [hd_slot];
	.const .b32 hd_slice[8] = {1, 2};|ld.const.u32 %r5, [hd_slice];
	.shared .b32 hd_slot[8];|st.shared.u32 [hd_slot], %r4; ld.shared.u32 %r5, [hd_slot];
	.extern .shared .b32 hd_slot[];|st.shared.u32 [hd_slot], %r4; ld.shared.u32 %r5, [hd_slot];
	.extern .shared .b32 hd_pool[];|st.shared.u32 [hd_pool], %r4; ld.shared.u32 %r5, [hd_pool];
	.weak .global .b32 hd_pool;|ld.global.u32 %r5, [hd_pool];
	.weak .global .b32 hd_own;|ld.global.u32 %r5, [hd_own];
	.global .b32 hd_merged;|ld.global.u32 %r5, [hd_merged];
	.global .b32 hd_tasks;|ld.global.u32 %r5, [hd_tasks];
	.func hd_k_f() { ret; } .func f() { .reg .b32 %r<3>; mov.u32 %r1, %ctaid.x; bar.sync 0; ret; }|call f; mov.u32 %r5, %r4;
	.weak .func hd_merged() { ret; }|call hd_merged; mov.u32 %r5, %r4;
END
echo "$n forms, $bad wrong"
[ "$bad" -eq 0 ]
