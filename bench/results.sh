#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/results.sh DIST [TABLE...]
#        bench/results.sh render
#        bench/results.sh stale
# Makes the tables of doc/results.md. The first way runs each TABLE's line (all: an hour or two) on this
# machine, keeps what it prints in doc/results/TABLE.json or .txt (and .data.json), and in TABLE.about the
# line, the commit, the digest of the emitted forms (bench/digest.sh), the device and the driver, and renders;
# the second renders, from nothing but what is kept; the third lists the tables whose digest is not this
# tree's. DIST: what ./run dist made. TABLE is a name in bench/results.tables, which has a limit in seconds
# for each. A table that is kept of this commit, digest and device is not made again unless FORCE=1. FOR:
# seconds after which no line begins, and the one that runs is ended; call it again to go on.
# A line that fails leaves what was kept before (but where it says how many runs of many failed). DEVICE=cpu:
# the virtual GPU, to try this script; ROUNDS, BUDGET, COUNT, PAIRS, NAMES, MORE (further options): of the
# lines; ROW_LIMIT: seconds for each. RESULTS, PAGE: another folder and page. BUILD: a build folder; PROGRAMS: what
# tests/hw/programs-build.sh made; PYTHON: one that has PyTorch. A table that lacks its part is left out, and
# named.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
results=${RESULTS:-$root/doc/results}
page=${PAGE:-$root/doc/results.md}
tables=$root/bench/results.tables
# shellcheck source=bench/about.sh
. "$root/bench/about.sh"
begin='<!-- begin: made by bench/results.sh -->'
end='<!-- end: made by bench/results.sh -->'

die() {
	echo "bench/results.sh: $*" >&2
	exit 1
}

# of TABLE FIELD [FOLDER]: 2, how it is kept; 3, its limit; 4, what it needs; 5, its line, with what is chosen
# here put in, and FOLDER (doc/results) for what it writes itself.
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

# lacks WHAT: what a table needs is not here.
lacks() {
	case $1 in
	-) return 1 ;;
	BUILD) ! [ -x "$root/$BUILD/tests/shim/fake_daemon" ] && ! [ -x "$BUILD/tests/shim/fake_daemon" ] ;;
	PROGRAMS) [ ! -d "${PROGRAMS:-}" ] ;;
	PYTHON) ! "${PYTHON:-python3}" -c 'import torch' 2>/dev/null ;;
	PTXAS) ! command -v ptxas >/dev/null && ! [ -x /usr/local/cuda/bin/ptxas ] ;;
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

# is_kept TABLE: of this commit, digest and device. A commit with changes does not say which.
is_kept() {
	[ -z "${FORCE:-}" ] && [ -f "$results/$1.about" ] || return 1
	case $commit in *-dirty) return 1 ;; esac
	for field in "commit: $commit" "digest: $digest" "device: $device"; do
		grep -qxF -e "$field" "$results/$1.about" || return 1
	done
}

# measure TABLE: keeps what its line prints, if it succeeds.
measure() {
	kind=$(of "$1" 2) limit_s=${ROW_LIMIT:-$(of "$1" 3)} needs=$(of "$1" 4) line=$(of "$1" 5)
	[ -z "${FILTER:-}" ] || line="FILTER='$FILTER' $line" # not the whole: hw.sh reads it
	[ -z "${SEED:-}" ] || line="SEED=$SEED $line"
	if lacks "$needs"; then
		echo "== $1: left out, it needs $needs" >&2
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
	rm -rf "$tmp/keep"
	mkdir "$tmp/keep"
	(cd "$root" && timeout -k 10 "$limit_s" sh -euc "$(of "$1" 5 "$tmp/keep")") >"$tmp/out" || status=$?
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
		echo "== $1: ended by its limit of $limit_s s; nothing of it is kept" >&2
		return
		;;
	*)
		failed="$failed $1"
		# Tests that fail are a result. And a few runs of many may have failed: then it is whole, says how many, and
		# so does its table.
		if [ "$kind" != test ] && { [ "$kind" != json ] || ! awk -f "$root/bench/json.awk" "$tmp/out" 2>/dev/null |
			grep -q '^failures.[1-9]'; }; then
			echo "== $1: failed; nothing of it is kept" >&2
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
	for file in "$tmp/keep/"*; do # TABLE.data.json: raw figures beside what is printed
		[ ! -f "$file" ] || cp "$file" "$results/"
	done
}

# values TABLE: all that is kept of it, as lines of a path and a value.
values() {
	awk '{ key = $1; sub(/^[a-z]*: /, ""); print "about." substr(key, 1, length(key) - 1) "\t" $0 }' \
		"$results/$1.about"
	if [ -f "$results/$1.json" ]; then
		awk -f "$root/bench/json.awk" "$results/$1.json" || return 1
	else
		awk '{ printf "text.%d\t%s\n", NR - 1, $0 }' "$results/$1.txt"
	fi
	if [ -f "$results/$1.data.json" ]; then
		awk -f "$root/bench/json.awk" "$results/$1.data.json" >"$tmp/data" || return 1
		printf 'about.data\t%s.data.json\n' "$1"
	fi
}

render_part() { # PART VALUES
	awk -F '\t' -v part="$1" -f "$root/bench/results.awk" -f "$root/bench/results_together.awk" \
		-f "$root/bench/results_checks.awk" "$2"
}

made() {
	kept=
	for table in $(names); do
		[ ! -f "$results/$table.about" ] || kept="$kept $table"
	done
	if [ -z "$kept" ]; then
		echo 'No table has been made by it yet.'
		return
	fi
	for table in $kept; do
		values "$table" >"$tmp/$table.values" || return 1
		awk -F '\t' -v table="$table" '
			/^about\.(commit|digest|device|driver)\t/ { print table "\t" substr($1, 7) "\t" $2 }
		' "$tmp/$table.values"
	done >"$tmp/all"
	render_part head "$tmp/all"
	for table in $kept; do
		render_part "$table" "$tmp/$table.values"
	done
}

render() {
	for mark in "$begin" "$end"; do
		[ "$(grep -cxF -e "$mark" "$page")" = 1 ] || die "$page: not one line that is '$mark'"
	done
	made >"$tmp/made" || die "$page is as it was"
	awk -v begin="$begin" -v end="$end" -v made="$tmp/made" '
		$0 == end { inside = 0 }
		!inside { print }
		$0 == begin {
			inside = 1
			while ((getline line < made) > 0)
				print line
		}' "$page" >"$tmp/page"
	cat "$tmp/page" >"$page"
}

# stale: the tables that were measured with other forms than this tree's passes emit.
stale() {
	now=$(sh "$root/bench/digest.sh" "$root")
	for table in $(names); do
		[ -f "$results/$table.about" ] || continue
		was=$(sed -n 's/^digest: //p' "$results/$table.about")
		[ "$was" = "$now" ] || echo "$table: measured with forms ${was:-unknown}, the passes emit $now"
	done
}

[ $# -gt 0 ] || die "usage: bench/results.sh DIST [TABLE...], or bench/results.sh render|stale"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
if [ "$1" = render ]; then
	[ $# = 1 ] || die "render takes no arguments"
	render
	exit
fi
if [ "$1" = stale ]; then
	stale
	exit
fi
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
commit=$(about_commit "$DIST/bin/heddle") device=$(about_device "$DIST/bin/heddle" "${DEVICE:-cuda}")
driver=$(about_driver "${DEVICE:-cuda}") digest=$(sh "$root/bench/digest.sh" "$root")
begun=$(date +%s) failed='' later=''
for table; do
	measure "$table"
done
render
[ -z "$later" ] || echo "bench/results.sh: left for another call:$later" >&2
[ -z "$failed" ] || die "failed:$failed"
