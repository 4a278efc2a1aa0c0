#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/results.sh DIST [TABLE...]
#        bench/results.sh render
#        bench/results.sh stale
#        bench/results.sh next [SECONDS]
#        bench/results.sh figures TABLE
#        bench/results.sh thin TABLE
# The first way measures tables on this machine and renders doc/results.md. DIST is the output of
# ./run dist. TABLE is a name in bench/results.tables, whose row has a command line and a time limit
# in seconds. Without TABLE, all are measured, in an hour or two. The output of the command line
# becomes doc/results/TABLE.json or .txt (and .data.json). TABLE.about gets the command line, the
# commit, the digest of the emitted forms (bench/digest.sh), the device and the driver. The other
# ways are those of bench/render.py, which renders pages from stored results.
#
# A table whose result is of this commit, digest and device is not measured again, unless FORCE=1. A
# command line that fails leaves the earlier result in place, except if its output states that only
# a few of many runs failed. A table whose requirement is missing is left out, and named. With
# FOR=SECONDS, no command line starts after that time, and the running one is ended; call the script
# again to continue.
#
# Settings: DEVICE=cpu uses the virtual GPU, to try this script (with RESULTS). ROUNDS, BUDGET,
# COUNT, PAIRS, NAMES, PART and MORE (further options) are inserted into command lines. ROW_LIMIT:
# the time limit in seconds for each table. RESULTS, PAGE, README, STATUS: another folder for
# results, another page, README.md and doc/status.md (with RESULTS alone, these three stay
# unchanged). BUILD: a build folder. PROGRAMS: the output of tests/hw/programs-build.sh; VIRTUAL:
# its output with DEVICE=cpu. PYTHON: a Python that has PyTorch.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
results=${RESULTS:-$root/doc/results}
tables=$root/bench/results.tables
# shellcheck source=bench/about.sh
. "$root/bench/about.sh"

die() {
	echo "bench/results.sh: $*" >&2
	exit 1
}

# of TABLE FIELD [FOLDER]: prints a field of the table's row in results.tables: 2, the kind of
# result; 3, the time limit; 4, the requirement; 5, the command line, after substitution of the
# chosen options. The command writes its own files to FOLDER (default: doc/results).
of() {
	awk -F '\t+' -v table="$1" -v field="$2" '$1 == table { print $field }' "$tables" |
		awk -v keep="${3:-doc/results}" -v device="${DEVICE:-cuda}" '{
			gsub(/@DEVICE@/, device)
			gsub(/@KEEP@/, keep)
			sub(/ *@MORE@/, ENVIRON["MORE"] == "" ? "" : " " ENVIRON["MORE"])
			while (match($0, /@[A-Z]+:[^@]*@/)) {
				name = substr($0, RSTART + 1, RLENGTH - 2)
				value = name
				sub(/:.*/, "", name)
				sub(/^[A-Z]*:/, "", value)
				if (ENVIRON[name] != "")
					value = ENVIRON[name]
				$0 = substr($0, 1, RSTART - 1) value substr($0, RSTART + RLENGTH)
			}
			print
		}'
}

# lacks REQUIREMENT: true if this machine does not have what a table requires.
lacks() {
	case $1 in
	-) return 1 ;;
	PROGRAMS) [ ! -d "${PROGRAMS:-}" ] ;;
	VIRTUAL) [ ! -d "${VIRTUAL:-}" ] ;;
	PYTHON) ! "${PYTHON:-python3}" -c 'import torch' 2>/dev/null ;;
	PTXAS) ! (cd "$root" && [ -x "$BUILD/tests/pass/preempt_tool" ] && PATH=$PATH:/usr/local/cuda/bin command -v ptxas >/dev/null) ;;
	esac
}

names() {
	awk -F '\t+' '!/^#/ && NF { print $1 }' "$tables"
}

about() { # LINE SECONDS
	cat <<-END
		line: $1
		commit: $commit
		digest: $digest
		device: $device
		driver: $driver
		host: $(uname -m), $(getconf _NPROCESSORS_ONLN) processors
		day: $(date -u +%Y-%m-%d)
		seconds: $2
		status: $3
	END
}

# on TABLE: sets device, driver and digest. For a table that needs no GPU, device is the compiler or
# the virtual GPU, and driver is "none". The digest is that of the forms that DIST emits, not of
# this script's tree.
on() {
	forms=$root
	[ ! -f "$DIST/tests/pass/forms/digests" ] || forms=$DIST
	device=$gpu driver=$gpu_driver digest=$(sh "$root/bench/digest.sh" "$forms" "$1")
	case $(of "$1" 4) in
	PTXAS)
		PATH=$PATH:/usr/local/cuda/bin
		device="no GPU; ptxas $(ptxas --version 2>/dev/null | sed -n 's/.*, V//p')" driver=none
		;;
	VIRTUAL) device=$(about_device "$DIST/bin/heddle" cpu) driver=none ;;
	esac
}

# is_kept TABLE: true if the stored result is of this commit, digest and device. A commit with
# uncommitted changes does not identify its source, so its results never match.
is_kept() {
	[ -z "${FORCE:-}" ] && [ -f "$results/$1.about" ] || return 1
	case $commit in *-dirty) return 1 ;; esac
	for field in "commit: $commit" "digest: $digest" "device: $device"; do
		grep -qxF -e "$field" "$results/$1.about" || return 1
	done
}

last_lines() {
	tail -n 5 "$tmp/out" | cut -c 1-300 >&2
}

# measure TABLE: runs the table's command line and stores its output if it succeeds.
measure() {
	kind=$(of "$1" 2) limit_s=${ROW_LIMIT:-$(of "$1" 3)} needs=$(of "$1" 4) line=$(of "$1" 5)
	[ -z "${FILTER:-}" ] || line="FILTER='$FILTER' $line" # hw.sh tests only this part
	[ -z "${SEED:-}" ] || line="SEED=$SEED $line"
	on "$1"
	if lacks "$needs"; then
		echo "== $1: left out, it needs $needs" >&2
		return
	elif [ -z "$device" ]; then
		echo "== $1: left out, heddle doctor finds no GPU" >&2
		return
	elif is_kept "$1"; then
		echo "== $1: kept, of this commit, digest and device; FORCE=1 makes it again" >&2
		return
	fi
	cut=
	if [ -n "${FOR:-}" ]; then
		room=$((begun + FOR - $(date +%s)))
		[ "$room" -ge "$limit_s" ] || limit_s=$room cut=1
		[ "$room" -ge 5 ] || {
			later="$later $1"
			return
		}
	fi
	echo "== $1: $line" >&2
	since=$(date +%s) status=0
	# A command line that was interrupted finds its own files again if commit, forms and device
	# are the same.
	keep=$(mkdir -p "$results/.part/$1" && cd "$results/.part/$1" && pwd)
	if [ -n "${FORCE:-}" ] || ! echo "$commit $digest $device $line" | cmp -s - "$keep/.of"; then
		rm -rf "$keep"
		mkdir "$keep"
		echo "$commit $digest $device $line" >"$keep/.of"
	fi
	(cd "$root" && timeout -k 10 "$limit_s" sh -euc "$(of "$1" 5 "$keep")") >"$tmp/out" || status=$?
	case $status-$cut in
	0-*) ;;
	124-* | 137-*)
		if [ -n "$(ls "$keep")" ]; then
			echo "== $1: ended after $limit_s s; it goes on from there in another call" >&2
			later="$later $1"
			return
		fi
		;;
	esac
	rm -rf "$tmp/keep"
	mv "$keep" "$tmp/keep"
	rmdir "$results/.part" 2>/dev/null || :
	case $status-$cut in
	0-*) ;;
	124-1 | 137-1)
		echo "== $1: cut off by FOR=$FOR; nothing of it is kept" >&2
		later="$later $1"
		return
		;;
	77-*)
		echo "== $1: left out, $(tail -n 1 "$tmp/out")" >&2
		return
		;;
	124-* | 137-*)
		failed="$failed $1"
		last_lines
		echo "== $1: ended by its limit of $limit_s s; nothing of it is kept" >&2
		return
		;;
	*)
		failed="$failed $1"
		# Failed tests are a result. A JSON result with a few failed runs is complete, too:
		# it states how many failed, and so does its table.
		if [ "$kind" != test ] && { [ "$kind" != json ] || ! python3 "$root/bench/render.py" failures "$tmp/out" 2>/dev/null |
			grep -q '^[1-9]'; }; then
			last_lines
			echo "== $1: failed (exit status $status); nothing of it is kept" >&2
			return
		fi
		;;
	esac
	about "$line" $(($(date +%s) - since)) "$status" >"$tmp/about"
	mkdir -p "$results"
	rm -f "$results/$1.json" "$results/$1.txt"
	[ "$kind" = json ] || kind=txt
	cp "$tmp/out" "$results/$1.$kind"
	cp "$tmp/about" "$results/$1.about"
	for file in "$tmp/keep/"*; do # TABLE.data.json holds the raw figures of the printed result
		case $file in *.part) continue ;; esac # the rows of an interrupted call are no result
		[ ! -f "$file" ] || cp "$file" "$results/"
	done
	if [ "$kind" = json ] && command -v python3 >/dev/null; then
		python3 "$root/bench/render.py" thin "$1" >&2
	fi
}

[ $# -gt 0 ] || die "usage: bench/results.sh DIST [TABLE...], or bench/results.sh render|stale|next|figures|thin"
case $1 in render | stale | next | figures | thin) exec python3 "$root/bench/render.py" "$@" ;; esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
[ "${DEVICE:-cuda}" = cuda ] || [ -n "${RESULTS:-}" ] || die "DEVICE=$DEVICE wants RESULTS=FOLDER: doc/results is a GPU's"
[ -x "$1/bin/heddle" ] || die "$1 has no bin/heddle: ./run dist makes such a folder"
DIST=$(cd "$1" && pwd)
PATH=$DIST/bin:$PATH
export DIST PATH BUILD="${BUILD:-build}"
shift
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(names)
for table; do
	[ -n "$(of "$table" 5)" ] || die "$table is not a table; these are: $(names | tr '\n' ' ')"
done
commit=$(about_commit "$DIST/bin/heddle") gpu=$(about_device "$DIST/bin/heddle" "${DEVICE:-cuda}")
gpu_driver=$(about_driver "${DEVICE:-cuda}")
[ -n "$commit" ] || die "heddle version does not say what commit this is"
begun=$(date +%s) failed='' later=''
for table; do
	measure "$table"
done
if command -v python3 >/dev/null; then
	python3 "$root/bench/render.py" render
else
	echo "bench/results.sh: no python3: run '$0 render' where there is one" >&2
fi
[ -z "$later" ] || echo "bench/results.sh: left for another call:$later" >&2
[ -z "$failed" ] || die "failed:$failed"
