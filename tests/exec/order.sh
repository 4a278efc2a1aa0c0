#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: order.sh HEDDLE
# Tests in which order and on which SMs the blocks of merged kernels run (KernelMerge, section 2.2
# and figure 3). Each block records its begin and end by the virtual GPU's clock, in serial mode.
# SAMPLE=1: fewer workers, fewer claim sizes for each grid, and fewer options of the own launch.
set -eu
heddle=$1
ptx=$(dirname "$0")/order.ptx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
bad=0 checks=0 turn=0
some=${SAMPLE:+2 3} # numbers of workers

# hungry: like `where`, but with more than 150 registers in use throughout.
awk '/^}/ { if (on) print; on = 0 }
	/entry where/ { on = 1; sub("where", "hungry") }
	/done:/ && on { for (i = 1; i < 160; i++) printf "\txor.b32 %%h0, %%h0, %%h%d;\n", i
		print "\tcvt.u64.u32 %rd4, %h0;\n\tand.b64 %rd4, %rd4, 0;\n\tadd.u64 %rd5, %rd5, %rd4;"
		print "\tst.global.u64 [%rd1+16], %rd5;" }
	on { print }
	/^{/ && on { print "\t.reg .b32 %h<160>;"; for (i = 0; i < 160; i++) printf "\tmov.u32 %%h%d, %%clock;\n", i }' \
	"$ptx" >"$work/hungry.entry"
cat "$ptx" "$work/hungry.entry" >"$work/order.ptx"
ptx=$work/order.ptx

# corun "BLOCKS:ROUNDS[:THREADS:KERNEL]..." OPTION...: runs kernels A, B ... with these numbers of
# blocks and rounds. Writes a line for each block to $work/blocks, ordered by begin: begin, end,
# SM, kernel, number.
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
		case $k in *:*:*) ;; *) k=$k:32:where ;; esac
		blocks=${k%%:*} k=${k#*:}
		rounds=${k%%:*} k=${k#*:}
		set -- "$@" "$ptx" "${k#*:}" --grid "$blocks" --block "${k%:*}" \
			"u64[$((3 * blocks))]:zero>$work/out.$name" "u32:$rounds"
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

# is NAME WHAT EXPECTED: compares two texts.
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

# at_once KERNEL: prints the largest number of its blocks that ran at the same time.
at_once() {
	awk -v k="$1" '$4 == k { print $1, 1; print $2, -1 }' "$work/blocks" | sort -n -k1,1 -k2,2 |
		awk '{ n += $2; if (n > most) most = n } END { print most + 0 }'
}

# sms KERNEL: prints the SMs on which its blocks ran.
sms() {
	awk -v k="$1" '$4 == k { print $3 }' "$work/blocks" | sort -nu | tr '\n' ' '
}

export HEDDLE_VGPU=serial,sms=4

# Figure 3a: the kernels' blocks alternate; when one kernel has no blocks left, the rest of the
# other follow.
corun "8:900 4:300" --total-workers 1
is "figure 3a" "$(order)" "A0 B0 A1 B1 A2 B2 A3 B3 A4 A5 A6 A7"
corun "2:900 6:900" --total-workers 1
is "second is longer" "$(order)" "A0 B0 A1 B1 B2 B3 B4 B5"
corun "3:900 1:900 4:900" --total-workers 1
is "three kernels" "$(order)" "A0 B0 C0 A1 C1 A2 C2 C3"
corun "6:900 4:900" --total-workers 1 --chunk 2
is "two blocks a turn" "$(order)" "A0 A1 B0 B1 A2 A3 B2 B3 A4 A5"
corun "6:900 3:900" --total-workers 1 --chunk 2:1
is "two of one, one of the other" "$(order)" "A0 A1 B0 A2 A3 B1 A4 A5 B2"
corun "5:900" --total-workers 1
is "one kernel" "$(order)" "A0 A1 A2 A3 A4"
corun "4:900 6:900" --total-workers 1 --yield-every 2
is "resumed" "$(order), $(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/report")" \
	"A0 B0 A1 B1 A2 B2 A3 B3 B4 B5, 3"
# Several workers claim blocks in the same order; which worker claims which block is not certain.
corun "12:4000 4:4000" --total-workers 4
is "four workers begin with" "$(order | tr -d 0-9 | cut -d ' ' -f 1-4 | tr ' ' '\n' | sort | tr '\n' ' ')" "A A B B "
is "four workers" "$(at_once '[AB]') $(awk '{ print $4 $5 }' "$work/blocks" | sort | uniq | wc -l)" "0 16"

# With one queue that all workers share, blocks run in the order of figure 3a for any number of
# workers. Only the order of the first blocks, one for each worker, is not certain.
shared() {
	corun "$2" --schedule steal:shared --total-workers "$1"
	is "$1 workers, one queue: $2" "$(order | cut -d ' ' -f "-$1" | tr ' ' '\n' | sort | tr '\n' ' ')$(order | cut -d ' ' -f "$(($1 + 1))-")" \
		"$(echo "$3" | cut -d ' ' -f "-$1" | tr ' ' '\n' | sort | tr '\n' ' ')$(echo "$3" | cut -d ' ' -f "$(($1 + 1))-")"
}
for workers in ${some:-1 2 3 4 5}; do
	shared "$workers" "8:23000:32:uneven 4:5000:32:uneven" "A0 B0 A1 B1 A2 B2 A3 B3 A4 A5 A6 A7"
	shared "$workers" "6:9000:32:uneven 6:5300:32:uneven" "A0 B0 A1 B1 A2 B2 A3 B3 A4 B4 A5 B5"
	shared "$workers" "3:9100:32:uneven 1:31000:32:uneven 4:17300:32:uneven" "A0 B0 C0 A1 C1 A2 C2 C3"
	shared "$workers" "5:9100:32:uneven 1:3100:32:uneven 5:17300:32:uneven" "A0 B0 C0 A1 C1 A2 C2 A3 C3 A4 C4"
	shared "$workers" "6:30000:32:uneven 5:7100:32:uneven 3:2300:32:uneven" \
		"A0 B0 C0 A1 B1 C1 A2 B2 C2 A3 B3 A4 B4 A5"
done
corun "6:900 4:900" --total-workers 1 --chunk 2 --schedule steal:shared
is "one queue, two blocks a turn" "$(order)" "A0 A1 B0 B1 A2 A3 B2 B3 A4 A5"

# Claims of several blocks: blocks of simultaneous claims alternate, and claims become smaller
# towards the end. Each block is in exactly one claim, however many claims there are.
corun "40:4000" --schedule steal:shared --total-workers 4 --chunk 4
is "claims of four, as they begin" "$(order | cut -d ' ' -f 1-4 | tr ' ' '\n' | sort | tr '\n' ' ')" "A0 A1 A2 A3 "
is "claims of four, their second blocks" "$(order | cut -d ' ' -f 5-8 | tr ' ' '\n' | sort | tr '\n' ' ')" "A4 A5 A6 A7 "
is "the last claims of four, and of two" "$(order | cut -d ' ' -f 17-40 | tr ' ' '\n' | sort | tr '\n' ' ')" \
	"$(seq 16 39 | sed 's/^/A/' | tr '\n' ' ')"
for n in 1 2 7 40 97 600; do
	for how in 1,1 1,4 2,2 3,8 4,3 5,32 32,2 60,16; do
		turn=$((turn + 1))
		[ -z "${SAMPLE-}" ] || [ $((turn % 9)) -eq 0 ] || continue
		corun "$n:1:32:once 5:1:32:once" --total-workers "${how%,*}" --chunk "${how#*,}"
		is "$n blocks, $how, each once" "$(awk '$1 == 1' "$work/blocks" | wc -l)" $((n + 5))
	done
done

# If a kernel overwrites a worker's claim, the worker does not continue with it.
timeout 60 "$heddle" corun --device cpu --total-workers 1 --chunk 4 -- "$ptx" stray --grid 8 --block 32 "u64[8]:zero" \
	>"$work/report" 2>"$work/err" && status=0 || status=$?
is "a claim written over" "$status $(grep -c "merged launch: a kernel accessed an address" "$work/err")" "1 1"

# Figure 3b: one of four workers runs only the short kernel's blocks, however long the others take.
corun "12:500 24:2000" --schedule partition=1:3 --total-workers 4
is "figure 3b" "$(at_once A) $(at_once B)" "1 3"
is "figure 3b, in their order" "$(awk '$4 == "A" { printf "%d ", $5 }' "$work/blocks")" \
	"0 1 2 3 4 5 6 7 8 9 10 11 "
corun "40:500 40:500" --schedule partition=3:13 --total-workers 16
is "3 of 16" "$(at_once A) $(at_once B)" "3 13"
# With --help-others, a worker whose kernel has no blocks left runs blocks of the other kernel.
corun "4:500 40:2000" --schedule partition=1:1 --total-workers 4
is "without help" "$(at_once B)" 2
corun "4:500 40:2000" --schedule partition=1:1 --total-workers 4 --help-others
is "with help" "$(at_once B)" 4

# The SMs on which each kernel ran.
corun "64:2000 64:2000" --schedule apart
is "apart" "$(sms A)- $(sms B)" "0 1 - 2 3 "
corun "64:2000 64:2000" --schedule apart=1:3
is "apart, 1 to 3" "$(sms A)- $(sms B)" "0 - 1 2 3 "
corun "8:900 160:2000" --schedule apart --help-others
is "apart, with help" "$(sms A)- $(sms B)" "0 1 - 0 1 2 3 "
corun "64:2000 64:2000" --schedule mixed
is "mixed" "$(sms A)- $(sms B)" "0 1 2 3 - 0 1 2 3 "
corun "160:2000 160:2000" --schedule mixed=1:3 --workers 8
is "mixed, 1 to 3" "$(at_once A) $(at_once B)" "8 24"

# own WHAT LEAST OPTION...: merges a kernel that needs many threads and registers with a frugal one,
# of which an SM holds 32 blocks if it runs alone. In the merged launch an SM holds fewer workers,
# and so fewer frugal blocks. With an own launch, at least LEAST frugal blocks must run at once.
own() {
	what=$1 least=$2
	shift 2
	corun "24:20000:256:hungry 600:3000" "$@"
	is "$what, all blocks" "$(awk '{ print $4 $5 }' "$work/blocks" | sort -u | wc -l)" 624
	is "$what, $(at_once B) blocks at once" "$(($(at_once B) >= least))" 1
}
corun "24:20000:256:hungry 600:3000" --schedule apart
is "a hungry kernel limits a frugal one" "$(($(at_once B) <= 2))" 1
own "SMs of its own" $((2 * 32)) --schedule apart --own 2
is "SMs of its own" "$(sms A)- $(sms B)" "0 1 - 2 3 "
own "SMs of its own, named first" $((3 * 32)) --schedule apart=1:3 --own 2
is "SMs of its own, 1 to 3" "$(sms A)- $(sms B)" "0 - 1 2 3 "
own "what the other leaves" $((4 * 32 * 9 / 10)) --schedule mixed --own 2
[ -n "$some" ] || own "the same, by number" $((4 * 32 * 9 / 10)) --schedule partition --own 2
[ -n "$some" ] || own "by turns" $((4 * 32 * 9 / 10)) --schedule steal --own 2
own "one queue" $((4 * 32 * 9 / 10)) --schedule steal:shared --own 2
own "resumed" 1 --schedule mixed --own 2 --yield-every 50
is "resumed, launches" "$(($(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/report") > 4))" 1
corun "600:3000 24:20000:256:hungry" --schedule apart --own 1
is "the first has its own" "$(sms A)- $(sms B)" "2 3 - 0 1 "
# --resident must report how many blocks of the frugal kernel were resident at once.
corun "24:20000:256:hungry 600:3000" --schedule apart --own 2 --resident
is "counted" "$(sed -n 's/.*"resident": \([0-9]*\).*/\1/p' "$work/report" | tail -n 1)" "$(at_once B)"

echo "$checks checks, $bad wrong"
[ $bad -eq 0 ]
