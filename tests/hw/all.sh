#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: all.sh WHERE OUT [NAME[@k/n][=SECONDS]...]
# Runs the tests of this folder in turn on this machine's GPU, in pieces of a few minutes, each with
# a timeout, so that a hang costs no more than that. WHERE: the output of ./run dist, or a build
# folder. OUT gets NAME.log for each piece, and NAME.kept with more data for some that failed.
# NAME@k/n is the k-th of n parts of forms, virtual, woven, tasks or generated.
# A piece with a verdict is not run again at the same commit and device: STATE (OUT/state) has a
# line for each. AGAIN=1 runs it again. With FOR=SECONDS, no piece starts after this time, and the
# running one is ended without a verdict; call the script again to continue. Exit status 3: pieces
# are left. PROGRAMS=DIR: also runs programs (programs.sh). DEVICE=cpu uses the virtual GPU for the
# pieces that support it, and is only for trying this script. Prints a line for each piece, and the
# last lines of failed ones.
set -u
where=$1
out=$2
shift 2
here=$(dirname "$0")
# shellcheck source=bench/about.sh
. "$here/../../bench/about.sh"
names='forms@1/2 forms@2/2 merged virtual@1/4 virtual@2/4 virtual@3/4 virtual@4/4 woven@1/2 woven@2/2 tasks
generated ops random-1 random-2501 random-5001 random-7501 smid often scenarios lanes wide pair daemon-killed
again-killed again-stopped again-often kills kills-mps again-killed-mps again-often-mps share record resets devices
tenants tenants-mps'
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $names ${PROGRAMS:+programs}
for test; do
	test=${test%%[=@]*}
	case " $(echo "$names" | tr '\n' ' ')programs " in
	*" $test "* | *" $test@"*) continue ;;
	esac
	case $test in random-*[!0-9]*) ;; random-[0-9]*) continue ;; esac
	echo "all.sh: no test '$test'; these are: $(echo "$names" | tr '\n' ' ')programs"
	exit 2
done
mkdir -p "$out"
state=${STATE:-$out/state} device=${DEVICE:-cuda}
[ -f "$state" ] || : >"$state"

run_test() { # NAME
	case $1 in
	again-*-mps) MPS=on sh "$here/../e2e/again.sh" "$where" "$(echo "$1" | cut -d- -f2)" ;;
	again-*) MPS=off sh "$here/../e2e/again.sh" "$where" "${1#again-}" ;;
	forms | merged | virtual | woven) JOBS=${JOBS:-12} sh "$here/hw.sh" "$where" "$1" ;;
	generated) sh "$here/hw.sh" "$where" generated "${GENERATED:-40}" ;;
	tasks | pair | daemon-killed) sh "$here/hw.sh" "$where" "$1" ;;
	kills) sh "$here/hw.sh" "$where" kills "${KILLS:-40}" off ;;
	record) DEVICE=$device sh "$here/../e2e/record.sh" "$where" ;;
	share) DEVICE=$device sh "$here/../e2e/share.sh" "$where" ;;
	resets | devices) DEVICE=$device sh "$here/../e2e/$1.sh" "$where" ;;
	tenants | tenants-mps)
		[ "$1" = tenants ] && mps=off || mps=on
		DEVICE=$device MPS=$mps SIZE=large sh "$here/../e2e/tenants.sh" "$where" "${TENANTS:-10}"
		;;
	kills-mps) sh "$here/hw.sh" "$where" kills "${KILLS:-30}" on ;;
	ops) TSV=$out/ops.tsv sh "$here/hw.sh" "$where" ops ;;
	random-*) SEED=${1#random-} LIMIT=20 sh "$here/hw.sh" "$where" random 2500 ;;
	programs) TSV=$out/programs.tsv sh "$here/programs.sh" "$where" "$PROGRAMS" ;;
	lanes)
		heddle=$where/bin/heddle
		[ -x "$heddle" ] || heddle=$where/heddle
		sh "$here/lanes.sh" "$heddle" "$device"
		;;
	smid | often | scenarios | wide) sh "$here/$1.sh" "$where" ;;
	esac
}

# The script calls itself with ALL_ONE for each test, because timeout can end only a process.
if [ "${ALL_ONE:-}" ]; then
	run_test "$1"
	exit
fi
heddle=$where/bin/heddle
[ -x "$heddle" ] || heddle=$where/heddle
[ -x "$heddle" ] || {
	echo "$where has no bin/heddle: ./run dist makes such a folder"
	exit 2
}
tested="$(about_commit "$heddle") on $(about_device "$heddle" "$device")"
# The commit does not identify a modified tree, so add a checksum.
case $tested in *-dirty\ *) tested="$tested, heddle $(cksum <"$heddle" | cut -d' ' -f1)" ;; esac
echo "$tested"
since=$(date +%s)

# left: prints the seconds until no more pieces may start; empty: no limit.
left() {
	[ -z "${FOR:-}" ] || echo $((since + FOR - $(date +%s)))
}

tab=$(printf '\t')
failed=0 later=
for test; do
	name=${test%%=*}
	limit_s=${test#"$name"}
	limit_s=${limit_s#=}
	limit_s=${limit_s:-240}
	file=$(echo "$name" | tr '@/' '--')
	line=$(grep -F "$tested$tab$name$tab" "$state" | tail -n 1)
	if [ -n "$line" ] && [ -z "${AGAIN:-}" ]; then
		echo "$name: $(echo "$line" | cut -f 3-4 | tr '\t' ' ') (before)"
		case $line in *"$tab"passed"$tab"* | *"$tab"skipped"$tab"*) ;; *) failed=$((failed + 1)) ;; esac
		continue
	fi
	room=$(left)
	if [ -n "$room" ] && [ "$room" -lt 10 ]; then
		later="$later $test"
		continue
	fi
	cut=
	if [ -n "$room" ] && [ "$room" -lt "$limit_s" ]; then
		limit_s=$room cut=1
	fi
	case $name in *@*) part=${name#*@} ;; *) part=1/1 ;; esac
	began=$(date +%s) status=0
	PART=$part KEEP=$out/$file.kept ALL_ONE=1 timeout -k 5 "$limit_s" \
		sh "$0" "$where" "$out" "${name%@*}" >"$out/$file.log" 2>&1 || status=$?
	took="$(($(date +%s) - began)) s"
	case $status in
	0) verdict=passed ;;
	77) verdict=skipped ;;
	124 | 137) verdict="ended by its limit" ;;
	*) verdict="failed ($status)" ;;
	esac
	said=$(grep -vx passed "$out/$file.log" | tail -n 1 | cut -c 1-120)
	if [ -n "$cut" ] && { [ "$status" = 124 ] || [ "$status" = 137 ]; }; then
		echo "$name: no verdict, cut off by FOR=$FOR after $took"
		later="$later $test"
		continue
	fi
	printf '%s\t%s\t%s\t%s\t%s\n' "$tested" "$name" "$verdict" "$took" "$said" >>"$state"
	echo "$name: $verdict, $took; $said"
	case $verdict in
	passed | skipped) ;;
	*)
		failed=$((failed + 1))
		tail -n 12 "$out/$file.log" | cut -c 1-200 | sed 's/^/    /'
		;;
	esac
done
echo "$failed failed${later:+; left for another call:$later}"
[ "$failed" = 0 ] || exit 1
[ -z "$later" ] || exit 3
