#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: block_order.sh HEDDLE DEVICE KERNELS
# Tests in which order a preemptible form takes the blocks of a grid. A single worker records the
# ids of its blocks in order, which must match the order's definition (below). With many workers,
# each block must run once. For grids of more than 2^32 blocks, --first starts at the last blocks.
# The results of transpose and mm, as compiled in KERNELS (build/kernels), must equal those of the
# plain form. SAMPLE=1: only one set of options and one kernel for each grid and order, in turn;
# transpose of one compiler, in two forms; the last blocks of large grids with one kernel for each
# grid and order.
set -eu
heddle=$1
device=$2
kernels=$3
ptx=$(dirname "$0")/block_order.ptx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
runs=0 bad=0 turn=0

# wanted ORDER X Y Z FIRST: prints the ids of the blocks from ticket FIRST on, one block a line.
# hilbert: bands of 16 rows, every second one from right to left; a band has tiles of 16 x 16
# blocks, then single columns; the last rows do not fill a band.
wanted() {
	awk -v order="$1" -v gx="$2" -v gy="$3" -v gz="$4" -v t="$5" '
	# Sets cx and cy to block d of a curve through n x n blocks that ends at the greatest x.
	function curve(d, n, q, h, s) {
		if (n == 1) {
			cx = cy = 0
			return
		}
		h = n / 2
		q = int(d / (h * h))
		curve(d % (h * h), h)
		s = cx
		if (q == 0) { cx = cy; cy = s }
		if (q == 1) { cy += h }
		if (q == 2) { cx += h; cy += h }
		if (q == 3) { cx = n - 1 - cy; cy = h - 1 - s }
	}
	BEGIN {
		for (; t < gx * gy * gz; t++) {
			z = int(t / (gx * gy))
			i = t % (gx * gy)
			x = i % gx
			y = int(i / gx)
			if (order == "column") { x = int(i / gy); y = i % gy }
			band = int(y / 16)
			if (order == "hilbert" && (band + 1) * 16 <= gy) {
				i -= band * 16 * gx
				tile = int(i / 256)
				if (tile < int(gx / 16)) {
					curve(i % 256, 16)
					cx += tile * 16
				} else {
					cx = int(i / 16)
					cy = i % 16
				}
				x = band % 2 ? gx - 1 - cx : cx
				y = band * 16 + cy
			}
			print x, y, z
		}
	}'
}

# walk KERNEL X Y Z FIRST OPTIONS [ARG]: writes the blocks' ids, in the order in which the blocks
# ran, to $work/out.
walk() {
	n=$(($2 * $3 * $4 - $5))
	# shellcheck disable=SC2086
	timeout 120 "$heddle" exec --json --device "$device" --as preempt --grid "$2,$3,$4" --block 64 \
		$6 "$ptx" "$1" "u32[$((3 * n + 1))]:zero>-" "u32:$n" ${7-} >"$work/all" 2>&1 || {
		echo "FAIL $*: $(grep -F error "$work/all" | tr '\n' ' ')"
		bad=$((bad + 1))
	}
	runs=$((runs + 1))
	sed '/^{$/,$d' "$work/all" | sed 1d | paste -d ' ' - - - >"$work/out"
	blocks=$(head -n 1 "$work/all")
	[ "$blocks" = "$n" ] || {
		echo "FAIL $*: $blocks blocks ran, not $n"
		bad=$((bad + 1))
	}
}

# compare WHAT: compares $work/out with $work/want.
compare() {
	cmp -s "$work/want" "$work/out" || {
		echo "FAIL $1: $(diff "$work/want" "$work/out" | head -n 5 | tr '\n' ' ')"
		bad=$((bad + 1))
	}
}

# is_due I N: whether to run the I-th of N combinations. Without SAMPLE, all run; with SAMPLE, one,
# which $turn selects.
is_due() {
	[ -z "${SAMPLE-}" ] || [ $((($1 + turn) % $2)) -eq 0 ]
}

for grid in 1,1,1 37,1,1 1,37,1 5,7,1 16,16,1 33,17,3 64,3,2 7,64,1 1,16,3 50,33,1 19,48,2; do
	IFS=, read -r x y z <<-END
		$grid
	END
	# With the three steps in the loop below, $turn advances by 5 for each grid. So over several
	# grids, each order gets each of the 6 combinations.
	turn=$((turn + 2))
	for order in row column hilbert; do
		turn=$((turn + 1)) way=0
		wanted $order "$x" "$y" "$z" 0 >"$work/want"
		for options in "" "--chunk 5 --yield-every 100" "--chunk 40 --pull-ahead"; do
			for kernel in walk walk_bar; do
				way=$((way + 1))
				is_due $way 6 || continue
				walk $kernel "$x" "$y" "$z" 0 "--order $order --total-workers 1 $options"
				compare "$kernel $grid $order $options"
				grep -q "\"order\": \"$order\"" "$work/all" || {
					echo "FAIL $kernel has not order $order"
					bad=$((bad + 1))
				}
			done
		done
		# The order is not certain with many workers at once, and in the guard form, whose
		# blocks the hardware orders. So compare sorted lists.
		sort "$work/want" >"$work/sorted"
		mv "$work/sorted" "$work/want"
		for kernel in walk walk_bar walk_guard; do
			way=$((way + 1))
			is_due $way 6 || continue
			walk $kernel "$x" "$y" "$z" 0 "--order $order --chunk 3 --yield-every 50"
			sort "$work/out" >"$work/sorted"
			mv "$work/sorted" "$work/out"
			compare "$kernel $grid $order, many workers"
			[ $kernel != walk_guard ] || grep -q '"tier": "guard"' "$work/all" || {
				echo "FAIL walk_guard is not guarded"
				bad=$((bad + 1))
			}
		done
	done
done
# Most of these grids need tickets of 64 bits. In the one that is 2^28 blocks wide, a band of 16
# rows has 2^32 blocks, too many for hilbert order, so row order remains.
for grid in 65538,65535,1 1,65535,65535 70001,1001,97 268435456,32,1 268435455,32,1; do
	IFS=, read -r x y z <<-END
		$grid
	END
	first=$((x * y * z - 200))
	for order in column hilbert; do
		kept=$order
		[ "$order$x" != hilbert268435456 ] || kept=row
		wanted $kept "$x" "$y" "$z" $first >"$work/want"
		for kernel in walk walk_bar; do
			turn=$((turn + 1))
			[ -z "${SAMPLE-}" ] || [ $((turn / 2 % 2)) -ne $((turn % 2)) ] || continue
			walk $kernel "$x" "$y" "$z" $first \
				"--order $order --total-workers 1 --chunk 7 --first $first"
			compare "$kernel $grid $order from $first"
		done
	done
done

# Workers keep row order if blocks wait for blocks of lower number (walk_up), and if a kernel reads
# only one id (walk_y).
for order in column hilbert; do
	wanted row 33 17 1 0 >"$work/want"
	walk walk_up 33 17 1 0 "--order $order --total-workers 2 --chunk 3" "u32[562]:zero"
	compare "walk_up $order"
	sed 's/^[0-9]* \([0-9]*\) .*/0 \1 0/' "$work/want" >"$work/y"
	mv "$work/y" "$work/want"
	walk walk_y 33 17 1 0 "--order $order --total-workers 1"
	compare "walk_y $order"
	grep -q '"order": "row"' "$work/all" || {
		echo "FAIL walk_y has not row order"
		bad=$((bad + 1))
	}
done

# same FILE GRID BLOCK ARG...: the last buffer must be the same in each order as in the plain form.
same() {
	file=$1 kernel=$(basename "$1" .ptx) shape="--grid $2 --block $3"
	shift 3
	for form in plain "preempt --order row" "preempt --order hilbert" \
		"preempt --order column --chunk 3" "preempt --order hilbert --chunk 5 --yield-every 40"; do
		case ${SAMPLE-}$form in 1*row | 1*hilbert) continue ;; esac
		# shellcheck disable=SC2086
		timeout 120 "$heddle" exec --device "$device" --as $form $shape "$file" "$kernel" \
			"$@" >"$work/all" 2>&1 || {
			echo "FAIL $file $form: $(head -n 1 "$work/all")"
			bad=$((bad + 1))
		}
		runs=$((runs + 1))
		[ "$form" != plain ] || mv "$work/result" "$work/want"
		[ "$form" = plain ] || cmp -s "$work/want" "$work/result" || {
			echo "FAIL $file $form: differs from plain"
			bad=$((bad + 1))
		}
	done
}
for folder in "$kernels"/clang "$kernels"/nvcc; do
	[ -f "$folder/mm.ptx" ] || continue
	[ -n "${SAMPLE-}" ] || same "$folder/mm.ptx" 17,17 256 "f32[1183744]:rand(1)" "f32[1183744]:rand(2)" \
		"f32[1183744]:zero>$work/result" u32:1088 u32:1
	same "$folder/transpose.ptx" 33,17 32,8 "f32[568000]:rand(1)" "f32[568000]:zero>$work/result" \
		u32:1050 u32:540
	[ -z "${SAMPLE-}" ] || break
done
echo "$runs runs, $bad wrong"
[ $bad -eq 0 ]
