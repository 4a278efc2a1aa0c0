#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/results.sh DIST [TABLE...]
#        bench/results.sh render
# Makes the tables of doc/results.md. The first way runs each TABLE's line (all: an hour) on this machine,
# keeps what came out in doc/results/TABLE.json or .txt (and .data.json), and in TABLE.about the line, the commit, the
# device and the driver, and renders; the second renders, from nothing but what is kept. DIST: what
# ./run dist made. TABLE is a name in bench/results.tables. A line that fails leaves what was kept
# before (but where it says how many runs of many failed). DEVICE=cpu: the virtual GPU, to try this
# script; ROUNDS, BUDGET, MORE (further options): of the lines of heddle bench. RESULTS, PAGE: another
# folder and page. BUILD: a build folder, for calls. PYTHON, for opaque: one that has PyTorch.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
results=${RESULTS:-$root/doc/results}
page=${PAGE:-$root/doc/results.md}
tables=$root/bench/results.tables
begin='<!-- begin: made by bench/results.sh -->'
end='<!-- end: made by bench/results.sh -->'

die() {
	echo "bench/results.sh: $*" >&2
	exit 1
}

# of TABLE FIELD [FOLDER]: 2, how it is kept; 3, its line, with what is chosen here put in, and FOLDER
# (doc/results) for what it writes itself.
of() {
	awk -F '\t+' -v table="$1" -v field="$2" '$1 == table { print $field }' "$tables" |
		sed "s/@DEVICE@/${DEVICE:-cuda}/; s/@ROUNDS:\([0-9]*\)@/${ROUNDS:-\1}/
			s/@BUDGET:\([0-9]*\)@/${BUDGET:-\1}/; s/ *@MORE@/${MORE:+ $MORE}/
			s|@KEEP@|${3:-doc/results}|g"
}

names() {
	awk -F '\t+' '!/^#/ && NF { print $1 }' "$tables"
}

# Which device, as it calls itself, and whose driver.
device() {
	what=GPU
	[ "${DEVICE:-cuda}" = cuda ] || what='virtual GPU'
	"$DIST/bin/heddle" doctor | sed -n "s/^ok *$what  *//p"
}
driver() {
	version=none
	if [ "${DEVICE:-cuda}" = cuda ]; then
		version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1) ||
			version=
	fi
	echo "${version:-unknown}"
}

commit() {
	"$DIST/bin/heddle" version | sed -n 's/.*(commit \(.*\))$/\1/p'
}

about() { # LINE SECONDS
	cat <<-END
		line: $1
		commit: $(commit)
		device: $(device)
		driver: $(driver)
		host: $(uname -m), $(getconf _NPROCESSORS_ONLN) processors
		day: $(date -u +%Y-%m-%d)
		seconds: $2
	END
}

# measure TABLE: keeps what its line prints, if it succeeds.
measure() {
	kind=$(of "$1" 2)
	line=$(of "$1" 3)
	[ -n "$line" ] || die "$1 is not a table; these are: $(names | tr '\n' ' ')"
	echo "== $1: $line" >&2
	since=$(date +%s)
	rm -rf "$tmp/keep"
	mkdir "$tmp/keep"
	(cd "$root" && sh -euc "$(of "$1" 3 "$tmp/keep")") >"$tmp/out" || {
		failed="$failed $1"
		# A few runs of many may have failed: then it is whole, says how many, and so does its table.
		if [ "$kind" != json ] || ! awk -f "$root/bench/json.awk" "$tmp/out" 2>/dev/null |
			grep -q '^failures.[1-9]'; then
			echo "== $1: failed; nothing of it is kept" >&2
			return
		fi
	}
	about "$line" $(($(date +%s) - since)) >"$tmp/about"
	mkdir -p "$results"
	rm -f "$results/$1.json" "$results/$1.txt"
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
			/^about\.(commit|device|driver)\t/ { print table "\t" substr($1, 7) "\t" $2 }
		' "$tmp/$table.values"
	done >"$tmp/all"
	awk -F '\t' -v part=head -f "$root/bench/results.awk" "$tmp/all"
	for table in $kept; do
		awk -F '\t' -v part="$table" -f "$root/bench/results.awk" "$tmp/$table.values"
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

[ $# -gt 0 ] || die "usage: bench/results.sh DIST [TABLE...], or bench/results.sh render"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
if [ "$1" = render ]; then
	[ $# = 1 ] || die "render takes no arguments"
	render
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
	[ -n "$(of "$table" 3)" ] || die "$table is not a table; these are: $(names | tr '\n' ' ')"
done
failed=
for table; do
	measure "$table"
done
render
[ -z "$failed" ] || die "failed:$failed"
