#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/results.sh DIST [TABLE...]
#        bench/results.sh render
#        bench/results.sh stale
#        bench/results.sh figures TABLE
# Makes the tables of doc/results.md. The first way runs each TABLE's line (all: an hour or two) on this
# machine, keeps what it prints in doc/results/TABLE.json or .txt (and .data.json), and in TABLE.about the
# line, the commit, the digest of the emitted forms (bench/digest.sh), the device and the driver, and renders.
# render makes doc/results.md from what is kept, and renews the figures of README.md and doc/status.md
# (bench/readme.awk). stale lists the tables whose digest is not this tree's; figures, what pages may name of
# a table. DIST:
# what ./run dist made. TABLE is a name in bench/results.tables, which has a limit in seconds for each. A
# table that is kept of this commit, digest and device is not made again unless FORCE=1. FOR: seconds after
# which no line begins, and the one that runs is ended; call it again to go on.
# A line that fails leaves what was kept before (but where it says how many runs of many failed). DEVICE=cpu:
# the virtual GPU, to try this script (with RESULTS); ROUNDS, BUDGET, COUNT, PAIRS, NAMES, PART, MORE (further options): of the
# lines; ROW_LIMIT: seconds for each. RESULTS, PAGE, README, STATUS: another folder, page, README.md and
# doc/status.md (with RESULTS alone, these three are left as they are). BUILD: a build folder; PROGRAMS: what tests/hw/programs-build.sh
# made; VIRTUAL: what it made with DEVICE=cpu; PYTHON: one that has PyTorch. A table that lacks its part is left out, and named.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${RESULTS:-}" ]; then
	: "${PAGE:=$root/doc/results.md}" "${README:=$root/README.md}" "${STATUS:=$root/doc/status.md}"
fi
results=${RESULTS:-$root/doc/results} page=${PAGE:-} readme=${README:-} status=${STATUS:-}
tables=$root/bench/results.tables
# shellcheck source=bench/about.sh
. "$root/bench/about.sh"

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

# on TABLE: sets device, driver and digest; what needs no GPU has the compiler in place of the first two.
# The digest is of the forms that DIST emits, whatever tree this script stands in.
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

# is_kept TABLE: of this commit, digest and device. A commit with changes does not say which.
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

# measure TABLE: keeps what its line prints, if it succeeds.
measure() {
	kind=$(of "$1" 2) limit_s=${ROW_LIMIT:-$(of "$1" 3)} needs=$(of "$1" 4) line=$(of "$1" 5)
	[ -z "${FILTER:-}" ] || line="FILTER='$FILTER' $line" # not the whole: hw.sh reads it
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
	# A line that was ended finds its own files again, at the same commit, forms and device.
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
		# Tests that fail are a result. And a few runs of many may have failed: then it is whole, says how many, and
		# so does its table.
		if [ "$kind" != test ] && { [ "$kind" != json ] || ! awk -f "$root/bench/json.awk" "$tmp/out" 2>/dev/null |
			grep -q '^failures.[1-9]'; }; then
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
	for file in "$tmp/keep/"*; do # TABLE.data.json: raw figures beside what is printed
		case $file in *.part) continue ;; esac # what a line goes on from, if it is ended
		[ ! -f "$file" ] || cp "$file" "$results/"
	done
}

# values TABLE: all that is kept of it, as lines of a path and a value, and its figures by name.
values() {
	{
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
		# The pairs of SiM's paper are in two tables.
		if [ "$1" = share ] && [ -f "$results/share-rest.json" ]; then
			awk -f "$root/bench/json.awk" "$results/share-rest.json" >"$tmp/rest" || return 1
			sed 's/^/other./' "$tmp/rest"
		fi
	} >"$tmp/raw"
	awk -F '\t' -v table="$1" -f "$root/bench/results_figures.awk" "$tmp/raw"
}

# is_of_now TABLE: measured with the forms that this tree's passes emit. (bench/digest.sh takes long where it is
# computed, and answers the same for most tables.)
is_of_now() {
	case $1 in
	tasks | as-tasks | orders) kind=$1 ;;
	*) kind=kernels ;;
	esac
	[ -s "$tmp/digest.$kind" ] || sh "$root/bench/digest.sh" "$root" "$1" >"$tmp/digest.$kind"
	grep -qxF "digest: $(cat "$tmp/digest.$kind")" "$results/$1.about"
}

# tables_are KIND: those that are kept, are missing, or are stale: measured with other forms than this tree's
# passes emit.
tables_are() {
	for table in $(names); do
		if [ ! -f "$results/$table.about" ]; then
			[ "$1" != missing ] || echo "$table"
		elif [ "$1" = kept ] || { [ "$1" = stale ] && ! is_of_now "$table"; }; then
			echo "$table"
		fi
	done
}

render_part() { # PART VALUES
	awk -F '\t' -v part="$1" -f "$root/bench/results.awk" -f "$root/bench/results_together.awk" \
		-f "$root/bench/results_checks.awk" -f "$root/bench/results_text.awk" "$2"
}

# listed WORDS: as a list in a sentence.
listed() {
	echo "$1" | tr '\n' ' ' | sed 's/ $//; s/ /, /g'
}

made() {
	cat <<-'END'
		# Results

		`bench/results.sh render` makes this page from `results/`, and nothing here is typed in. Each table is what the line below
		its title printed, kept in the file that it links, with the commit, the device and the digest of the forms that the passes
		emitted. `bench/results.sh DIST TABLE` measures one again, or the line as it stands, in the tree, after

		    export DIST="$PWD/dist/heddle-0.1.0-x86_64" BUILD=build
		    PATH="$DIST/bin:$PATH"

		where `./run dist` made DIST. `~` marks noise, which is no result: it cannot be (ANTT below 1, STP above the number of
		programs), or rounds differ by more than 10 %. [notebook.md](notebook.md) has measurements that were typed in by hand before.
	END
	[ -z "$missing" ] || printf '\n**Not measured yet**: %s.\n' "$(listed "$missing")"
	[ -z "$stale" ] || printf '\n**Measured with other forms** than the passes of this tree emit (‡ in README.md): %s.\n' \
		"$(listed "$stale")"
	[ -n "$kept" ] || return 0
	for table in $kept; do
		values "$table" >"$tmp/$table.values" || return 1
		awk -F '\t' -v table="$table" '
			/^about\.(commit|digest|device|driver)\t/ { print table "\t" substr($1, 7) "\t" $2 }
		' "$tmp/$table.values"
	done >"$tmp/all"
	echo
	render_part head "$tmp/all"
	for table in $kept; do
		render_part "$table" "$tmp/$table.values"
	done
}

# render: the page, README.md and doc/status.md. Faults of the latter two are printed at the end.
render() {
	kept=$(tables_are kept) missing=$(tables_are missing) stale=$(tables_are stale)
	made >"$tmp/made" || die "${page:-the page} is as it was"
	[ -z "$page" ] || cat "$tmp/made" >"$page"
	for table in $kept; do
		sed "s/^/$table:/" "$tmp/$table.values"
	done >"$tmp/known"
	: >"$tmp/faults"
	for file in "$readme" "$status"; do
		[ -f "$file" ] || continue
		: >"$tmp/new-faults"
		awk -v known="$tmp/known" -v tables="$(names | tr '\n' ' ')" -v kept="$(echo "$kept" | tr '\n' ' ')" \
			-v stale="$(echo "$stale" | tr '\n' ' ')" -v faults="$tmp/new-faults" \
			-f "$root/bench/readme.awk" "$file" >"$tmp/filled"
		cat "$tmp/new-faults" >>"$tmp/faults"
		cmp -s "$tmp/filled" "$file" || cat "$tmp/filled" >"$file"
	done
	[ ! -s "$tmp/faults" ] || die "$(cat "$tmp/faults")"
}

stale() {
	for table in $(tables_are stale); do
		echo "$table: measured with forms $(sed -n 's/^digest: //p' "$results/$table.about"), the passes emit $(
			sh "$root/bench/digest.sh" "$root" "$table")"
	done
}

[ $# -gt 0 ] || die "usage: bench/results.sh DIST [TABLE...], or bench/results.sh render|stale|figures TABLE"
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
if [ "$1" = figures ]; then
	[ -f "$results/${2:-}.about" ] || die "figures wants a table that is measured: $(tables_are kept | tr '\n' ' ')"
	values "$2" | grep -v '^about\.\|^text\.'
	exit
fi
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
render
[ -z "$later" ] || echo "bench/results.sh: left for another call:$later" >&2
[ -z "$failed" ] || die "failed:$failed"
