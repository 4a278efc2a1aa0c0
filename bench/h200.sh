#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/h200.sh DIST [TABLE...]
# Makes the tables of doc/results.md that need a GPU, on this machine's. DIST: what ./run dist made;
# TABLE: demo, overhead, pairs, spatial, extra, handover, latency, queue, compiling, calls, kills (all,
# half an hour). calls needs BUILD, a build folder. And merge and tuned (kernels together; DATA: where figures and
# pictures go), and opaque, which needs PyTorch, and a while.
set -eu
dist=$1
shift
[ $# -gt 0 ] || set -- demo overhead pairs spatial extra handover latency queue compiling calls kills
here=$(dirname "$0")
bench() {
	"$dist/bin/heddle" bench preempt --device cuda --check last "$@" 2>/dev/null
}
for table; do
	echo "== $table"
	case $table in
	demo) "$dist/bin/heddle" demo --device cuda --svg "${SVG:-heddle-demo.svg}" ;;
	overhead) bench --part overhead --rounds 24 ;;
	pairs) bench --part pairs --rounds 10 ;;
	spatial) bench --part spatial --rounds 30 --budget-s 170 ;;
	extra) bench --part extra --rounds 10 ;;
	merge)
		"$dist/bin/heddle" bench merge --device cuda --budget-s "${BUDGET_S:-240}" --store "${DATA:-.}/pairs.db" \
			--data "${DATA:-.}/pairs.json" --svg "${DATA:-.}/pairs.svg"
		;;
	tuned)
		"$dist/bin/heddle" bench merge --device cuda --part tuned --store "${DATA:-.}/pairs.db" \
			--data "${DATA:-.}/tuned.json"
		;;
	handover) sh "$here/handover.sh" "$dist" ;;
	latency) sh "$here/latency.sh" "$dist" ;;
	queue) sh "$here/queue.sh" "$dist" ;;
	opaque) sh "$here/opaque.sh" "$dist" ;;
	compiling)
		for way in module link library process; do
			"$dist/lib/heddle/bench/compiling" "$way"
		done
		;;
	calls)
		driver=$(ldconfig -p | sed -n 's/.*libcuda.so.1 .*x86-64.*=> //p' | head -n 1)
		for _ in 1 2 3 4 5; do sh "$here/shim.sh" "${BUILD:-build}" "$driver"; done
		;;
	kills)
		sh "$here/../tests/hw/hw.sh" "$dist" kills 200 off
		sh "$here/../tests/hw/hw.sh" "$dist" kills 200 on || :
		;;
	*) exit 2 ;;
	esac
done
