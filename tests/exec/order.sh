#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# order.sh HEDDLE: in which order, and where, the blocks of merged kernels run (KernelMerge, section
# 2.2 and figure 3), from when each began and ended by the virtual GPU's clock, in its serial mode.
set -eu
heddle=$1
ptx=$(dirname "$0")/order.ptx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
bad=0 checks=0

# corun "BLOCKS:ROUNDS..." OPTION...: kernels A, B ... of so many blocks, so long each. To $work/blocks
# a line for each block, by when it began: begin, end, SM, kernel, number.
corun() {
	kernels=$1
	shift
	set -- "$@" --
	for name in A B C D; do
		[ -n "$kernels" ] || break
		k=${kernels%% *}
		kernels=${kernels#"$k"}
		kernels=${kernels# }
		[ $name = A ] || set -- "$@" +
		set -- "$@" "$ptx" where --grid "${k%:*}" --block 32 \
			"u64[$((3 * ${k%:*}))]:zero>$work/out.$name" "u32:${k#*:}"
	done
	rm -f "$work"/out.*
	timeout 60 "$heddle" corun --json --device cpu "$@" >"$work/report" 2>"$work/err" || {
		echo "FAIL: $(head -n 2 "$work/err")"
		bad=$((bad + 1))
	}
	for name in A B C D; do
		[ ! -r "$work/out.$name" ] || od -An -v -tu8 -w24 "$work/out.$name" |
			awk -v k="$name" '{ print $1, $2, $3, k, NR - 1 }'
	done | sort -k1,1n -k2,2n >"$work/blocks"
}

# is NAME WHAT EXPECTED
is() {
	checks=$((checks + 1))
	[ "$2" = "$3" ] || {
		echo "FAIL $1:"
		echo " $2"
		echo "instead of"
		echo " $3"
		bad=$((bad + 1))
	}
}

order() {
	awk '{ printf "%s%s%d", (NR > 1 ? " " : ""), $4, $5 }' "$work/blocks"
}

# at_once KERNEL: the most blocks of it that ran at the same time.
at_once() {
	awk -v k="$1" '$4 == k { print $1, 1; print $2, -1 }' "$work/blocks" | sort -n -k1,1 -k2,2 |
		awk '{ n += $2; if (n > most) most = n } END { print most + 0 }'
}

# sms KERNEL: those that its blocks were on.
sms() {
	awk -v k="$1" '$4 == k { print $3 }' "$work/blocks" | sort -nu | tr '\n' ' '
}

export HEDDLE_VGPU=serial,sms=4

# Figure 3a: by turns, and once one kernel has no blocks left, the rest of the other.
corun "8:900 4:300" --workers 1
is "figure 3a" "$(order)" "A0 B0 A1 B1 A2 B2 A3 B3 A4 A5 A6 A7"
corun "2:900 6:900" --workers 1
is "second is longer" "$(order)" "A0 B0 A1 B1 B2 B3 B4 B5"
corun "3:900 1:900 4:900" --workers 1
is "three kernels" "$(order)" "A0 B0 C0 A1 C1 A2 C2 C3"
corun "6:900 4:900" --workers 1 --chunk 2
is "two blocks a turn" "$(order)" "A0 A1 B0 B1 A2 A3 B2 B3 A4 A5"
corun "6:900 3:900" --workers 1 --chunk 2:1
is "two of one, one of the other" "$(order)" "A0 A1 B0 A2 A3 B1 A4 A5 B2"
corun "5:900" --workers 1
is "one kernel" "$(order)" "A0 A1 A2 A3 A4"
corun "4:900 6:900" --workers 1 --yield-every 2
is "resumed" "$(order), $(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/report")" \
	"A0 B0 A1 B1 A2 B2 A3 B3 B4 B5, 3"
# Several workers: claimed in this order, whoever comes.
corun "12:4000 4:4000" --workers 4
is "four workers begin with" "$(order | tr -d 0-9 | cut -d ' ' -f 1-4 | tr ' ' '\n' | sort | tr '\n' ' ')" "A A B B "
is "four workers" "$(at_once '[AB]') $(awk '{ print $4 $5 }' "$work/blocks" | sort | uniq | wc -l)" "0 16"

# Figure 3b: one worker in four keeps to the short kernel, however long the others take.
corun "12:500 24:2000" --schedule partition=1:3 --workers 4
is "figure 3b" "$(at_once A) $(at_once B)" "1 3"
is "figure 3b, in their order" "$(awk '$4 == "A" { printf "%d ", $5 }' "$work/blocks")" \
	"0 1 2 3 4 5 6 7 8 9 10 11 "
corun "40:500 40:500" --schedule partition=3:13 --workers 16
is "3 of 16" "$(at_once A) $(at_once B)" "3 13"
# Who has no blocks of its own left helps, if it is told to.
corun "4:500 40:2000" --schedule partition=1:1 --workers 4
is "without help" "$(at_once B)" 2
corun "4:500 40:2000" --schedule partition=1:1 --workers 4 --help-others
is "with help" "$(at_once B)" 4

# By SM.
corun "64:2000 64:2000" --schedule apart
is "apart" "$(sms A)- $(sms B)" "0 1 - 2 3 "
corun "64:2000 64:2000" --schedule apart=1:3
is "apart, 1 to 3" "$(sms A)- $(sms B)" "0 - 1 2 3 "
corun "8:900 160:2000" --schedule apart --help-others
is "apart, with help" "$(sms A)- $(sms B)" "0 1 - 0 1 2 3 "
corun "64:2000 64:2000" --schedule mixed
is "mixed" "$(sms A)- $(sms B)" "0 1 2 3 - 0 1 2 3 "
corun "160:2000 160:2000" --schedule mixed=1:3 --workers-per-sm 8
is "mixed, 1 to 3" "$(at_once A) $(at_once B)" "8 24"

echo "$checks checks, $bad wrong"
[ $bad -eq 0 ]
