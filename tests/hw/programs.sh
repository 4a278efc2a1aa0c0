#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: programs.sh WHERE DIR [PATTERN...]
# Checks that third-party programs, beside a program that disturbs them, give the same results as
# without heddle. WHERE is a build folder or the output of ./run dist; DIR holds a folder NAME for
# each program, with
#   NAME       the executable, run in a copy of the folder
#   args       its arguments, in one line
#   limit      its timeout in seconds (default: 20 times its time alone, plus 10)
#   filter     a sed -E script that removes from its output all text that is not a result, such as
#              times and addresses
#   unordered  if this file exists, the order of the output's lines does not count either
# DIR may also have a filter for all programs, DIR/filter, which is applied last, and DIR/LIST with
# their origins: lines of name, suite, repository, commit, separated by tabs. Exit status, output
# and created files are compared. PATTERN selects programs (a shell pattern). With PART=2/3 in the
# environment, only the second third of these runs.
#
# Each program runs alone, then natively beside the disturber, then under heddle with low priority
# twice: first with no form in the cache, then with cached forms. The disturber launches a kernel of
# 30 us every 2 ms, under heddle with high priority, and checks each result. MPS is off. All kernels
# are managed (min_managed_us=1, gates=off), and launches wait for their forms. GATES=on: kernels
# that suit a gate are not managed. DEFAULTS=on: only the kernels that heddled manages by default.
# WAIT_MS=20: launches wait for forms only as long as by default. The script then lets all
# compilations end, twice, before the last run. Verdicts:
#   same                  the results are the same as natively
#   varies                they differ, but so do native runs from each other: only the exit status
#                         was compared
#   differs, fails, hang  other output; another exit status; timeout
#   unusable              the program fails or does not end natively: no verdict
# TSV=FILE in the environment: the table for machines. KEEP=FOLDER: keeps the differences.
# DEVICE=cpu uses the virtual GPU. The column gpu then says how the output compares with that of a
# GPU, which was recorded in GPU=FILE (programs-gpu.tsv beside this script): same; close (only
# fractions differ, by at most 1e-4); differs; varies (on the GPU itself); - (not recorded).
# RECORD=FILE in the environment records a GPU's results natively and does nothing else (WHERE is
# ignored): digests (digest.awk) of outputs that are the same in three runs; KEEP has the complete
# output. The driver's CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 and CUDA_COREDUMP_FILE keep the details
# of a GPU fault. Prints suites, medians and counts at the end; exit status 1 if any program
# differs, fails or hangs. A program with a row in TSV is not run again, so an interrupted run
# continues where it was; the final lines cover all rows.
set -eu
where=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- '*'
here=$(cd "$(dirname "$0")" && pwd)
heddle=$where/bin/heddle
examples=$where/lib/heddle/examples
[ -x "$heddle" ] || {
	heddle=$where/heddle
	examples=$where/examples
}
device=${DEVICE:-cuda}
if { [ -z "${RECORD:-}" ] && [ ! -x "$examples/tick" ]; } || { [ "$device" = cuda ] && [ ! -e /dev/nvidiactl ]; }; then
	echo "skipped: no NVIDIA GPU, or no compiler for kernels"
	exit 77
fi
heddled=$(dirname "$heddle")/heddled
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
[ -z "${WAIT_MS:-}" ] || export HEDDLE_FORM_WAIT_MS="$WAIT_MS"
export CUDA_CACHE_PATH="$dir/cuda-cache"
tsv=${TSV:-$dir/table}
gpu=${GPU:-$here/programs-gpu.tsv}
every_us=2000 base_s=10 native_library=
# the virtual GPU runs on the processors: it is slow, and all programs share them
if [ "$device" = cpu ]; then
	every_us=20000 base_s=60
	native_library=$where/src/dev/cpu:$where/src/cudart
	[ -d "$where/src/dev/cpu" ] || native_library=$where/lib/heddle/cpu:$where/lib/heddle/cudart
	export HEDDLE_VGPU="programs-$$"
fi

# ---- one run of one program ----

# Matches lines that are not the program's own output.
told_by='^(heddle|virtual GPU): '

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# execute RUN WORD...: runs the program $name, under the command WORD..., in a copy of its folder.
# Writes its output to $dir/$name.RUN, its exit status to .status, its time to .ms.
execute() {
	out=$dir/$name.$1
	shift
	rm -rf "$dir/scratch"
	cp -R "$programs/$name" "$dir/scratch"
	# shellcheck disable=SC2046
	set -- "$@" "./$name" $(cat "$programs/$name/args" 2>/dev/null || :)
	began=$(now_ms)
	status=0
	(cd "$dir/scratch" && exec timeout -k 2 "$limit_s" "$@" </dev/null >"$out.raw" 2>"$out.err") ||
		status=$?
	echo $(($(now_ms) - began)) >"$out.ms"
	echo "$status" >"$out.status"
	grep -E "$told_by" "$out.err" >"$out.warned" || :
	{
		cat "$out.raw"
		grep -vE "$told_by" "$out.err" || :
		cd "$dir/scratch"
		find . -type f | LC_ALL=C sort | while read -r file; do
			cmp -s "$file" "$programs/$name/$file" || tell_file "$file"
		done
	} | filter_output >"$out"
	[ ! -e "$programs/$name/unordered" ] || LC_ALL=C sort -o "$out" "$out"
	rm -f "$out.raw" "$out.err"
}

tell_file() { # FILE, created by the program; text is printed unchanged
	if LC_ALL=C grep -Iq . "$1"; then
		echo "$1"
		cat "$1"
	else
		echo "$1 $(cksum <"$1")"
	fi
}

filter_output() {
	set --
	for script in "$programs/$name/filter" "$programs/filter"; do
		[ ! -f "$script" ] || set -- "$@" -f "$script"
	done
	if [ $# -gt 0 ]; then LC_ALL=C sed -E "$@"; else cat; fi
}

execute_natively() { # RUN
	if [ -n "$native_library" ]; then
		execute "$1" env LD_LIBRARY_PATH="$native_library"
	else
		execute "$1"
	fi
}

of() { # RUN WHAT: prints this file of the program $name
	cat "$dir/$name.$1.$2"
}

ended() { # RUN: succeeds if the run ended before its timeout
	case $(of "$1" status) in 124 | 137) return 1 ;; esac
}

equal() { # RUN RUN
	cmp -s "$dir/$name.$1" "$dir/$name.$2"
}

seconds() { # RUN
	if [ -f "$dir/$name.$1.ms" ]; then
		of "$1" ms | awk '{ printf "%.2f", $1 / 1000 }'
	else
		echo -
	fi
}

# ---- a GPU's recorded results ----

# digest RUN: prints, separated by tabs, the exit status, a digest of the output, a digest of it
# without fractions, and a summary of the fractions.
digest() {
	numbers=$(LC_ALL=C awk -v shape="$dir/shape" -f "$here/digest.awk" "$dir/$name.$1")
	[ -e "$dir/shape" ] || : >"$dir/shape"
	printf '%s\t%s\t%s\t%s\n' "$(of "$1" status)" "$(sha256sum <"$dir/$name.$1" | cut -c 1-16)" \
		"$(sha256sum <"$dir/shape" | cut -c 1-16)" "$numbers"
	rm -f "$dir/shape"
}

# recorded COLUMN: 2 exit status, 3 digest, 4 digest without fractions, 5 the fractions.
recorded() {
	awk -F '\t' -v name="$name" -v column="$1" '$1 == name { print $column }' "$gpu"
}

# Compares the output of the native run alone with the GPU's recorded one.
compare_with_gpu() {
	compared=-
	[ -s "$gpu" ] && [ "$(recorded 2)" = 0 ] && [ "$(of alone status)" = 0 ] || return 0
	if [ "$(recorded 3)" = varies ]; then
		compared=varies
		return
	fi
	digest alone >"$dir/digest"
	if [ "$(cut -f 1,2 "$dir/digest")" = "$(recorded 2)	$(recorded 3)" ]; then
		compared=same
	elif [ "$(cut -f 1,3 "$dir/digest")" = "$(recorded 2)	$(recorded 4)" ]; then
		compared=$(cut -f 4 "$dir/digest" | LC_ALL=C awk -v other="$(recorded 5)" -f "$here/digest.awk")
	else
		compared=differs
	fi
}

record() {
	for name in $names; do
		! cut -f 1 "$RECORD" 2>/dev/null | grep -qxF -e "$name" || continue
		limit_s=60
		for again in alone again1 again2; do
			execute_natively "$again"
			[ "$(of alone status)" = 0 ] || break
		done
		if [ "$(of alone status)" = 0 ] && ! { equal alone again1 && equal alone again2; }; then
			printf '%s\t0\tvaries\n' "$name" >>"$RECORD"
		else
			printf '%s\t%s\n' "$name" "$(digest alone)" >>"$RECORD"
		fi
		tail -n 1 "$RECORD" | cut -c 1-100
		[ -z "${KEEP:-}" ] || {
			mkdir -p "$KEEP"
			cp "$dir/$name.alone" "$KEEP/$name"
		}
		rm -rf "$dir/$name".*
	done
	echo "recorded: $(grep -c . "$RECORD")"
}

# ---- the disturber ----

start_tick() { # WORD...: the command under which the disturber runs
	rm -f "$dir/tick.out" # left by an earlier run
	"$@" "$examples/tick" --rounds "$rounds" --every-us "$every_us" --count 0 --check 1 --json \
		>"$dir/tick.out" 2>"$dir/tick.err" &
	tick=$!
	pids=$tick
	await 60 grep -q '"ready"' "$dir/tick.out" || fail "the disturber does not begin"
}

# The disturber's exit status says whether all its results were right.
stop_tick() {
	pids=
	kill "$tick" 2>/dev/null || :
	wait "$tick" || {
		cat "$dir/tick.err"
		disturbed=$((disturbed + 1))
	}
}

reports() {
	grep -c '"count"' "$dir/tick.out" || :
}

more_reports() {
	[ "$(reports)" -gt "$1" ]
}

# report [RUN]: reads the disturber's latencies since the last report; writes "p50 p99" in
# microseconds to the run's .tick.
report() {
	seen=$(reports)
	latency='- -'
	if kill -USR1 "$tick" 2>/dev/null && await 60 more_reports "$seen"; then
		latency=$(tail -n 1 "$dir/tick.out" |
			sed -E 's/.*"p50_us":([0-9.]+),"p99_us":([0-9.]+).*/\1 \2/')
	fi
	[ $# = 0 ] || echo "$latency" >"$dir/$name.$1.tick"
}

latency() { # RUN
	if [ -f "$dir/$name.$1.tick" ]; then of "$1" tick; else echo '- -'; fi
}

# ---- heddled ----

start_under_heddle() {
	if [ -n "${DEFAULTS:-}" ]; then
		start_daemon --mps off
	else
		start_daemon --mps off --set min_managed_us=1 --set "gates=${GATES:-off}"
	fi
	start_tick "$heddle" run --device "$device" -p high --
	# Only one heddled can serve a GPU. If another one serves this GPU, these programs would be
	# refused and run natively, and the comparison would be of native runs only.
	await 30 tick_alone || fail "heddled does not serve the disturber; does another one serve this GPU?"
}

stop_under_heddle() {
	stop_tick
	kill "$daemon" 2>/dev/null || :
	wait "$daemon" || disturbed=$((disturbed + 1))
	daemon=
}

tick_alone() {
	[ "$("$heddle" ps --json | grep -o '"tenant":' | wc -l)" = 1 ]
}

what_is_wrong() {
	if ! kill -0 "$daemon" 2>/dev/null; then
		echo "heddled ended"
	elif ! kill -0 "$tick" 2>/dev/null; then
		echo "the disturber ended"
	else
		echo "its tenant remained"
	fi
}

# Runs the program under heddle and writes its preemptions to .preempted. If its tenant is still
# there afterwards, or heddled or the disturber has ended, restarts both.
execute_under_heddle() { # RUN
	before=$(wc -c <"$dir/events")
	report
	execute "$1" "$heddle" run --device "$device" -p low --
	report "$1"
	await 30 tick_alone || {
		note="$note; $1: $(what_is_wrong)"
		stop_under_heddle
		start_under_heddle
		before=0
	}
	tail -c "+$((before + 1))" "$dir/events" | grep -cE '"event": "(preempt|shrink)"' \
		>"$dir/$name.$1.preempted" || :
}

none_compiles() {
	! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -q '/heddle-assembler$'
}

# Waits until all compilations of forms have ended: those that the runs so far started, and those
# that two further runs start.
settle() {
	for again in 1 2; do
		await 60 none_compiles || note="$note; it compiles for a minute"
		execute "settle$again" "$heddle" run --device "$device" -p low --
	done
	await 60 none_compiles || note="$note; it compiles for a minute"
}

# ---- verdicts ----

# Judges the native runs: whether they succeed, and whether their output is always the same.
judge_natively() {
	if [ "$(of alone status)" != 0 ] || [ "$(of beside status)" != 0 ]; then
		verdict=unusable
		note="natively exit status $(of alone status), $(of beside status)"
		[ ! -s "$dir/$name.alone.warned" ] || note="$note; $(head -n 1 "$dir/$name.alone.warned")"
	elif ! equal alone beside; then
		verdict=varies
	fi
}

# Runs the program natively twice more before a difference is attributed to heddle. Succeeds if its
# output varies.
does_vary() {
	for again in again1 again2; do
		execute_natively "$again"
		equal alone "$again" || return 0
	done
	return 1
}

judge_under_heddle() { # RUN
	[ -s "$dir/$name.alone" ] || note="nothing to compare but its exit status"
	[ ! -s "$dir/$name.$1.warned" ] || note="$note; $(head -n 1 "$dir/$name.$1.warned")"
	if ! ended "$1"; then
		verdict=hang
	elif grep -q '^heddle: heddled refused' "$dir/$name.$1.warned"; then
		verdict=fails # the program did not run under heddle
	elif [ "$(of "$1" status)" != 0 ]; then
		verdict=fails
		note="$note; $1: exit status $(of "$1" status)"
	elif [ "$verdict" = same ] && ! equal alone "$1"; then
		if does_vary; then verdict=varies; else verdict=differs; fi
		[ "$verdict" = varies ] || note="$note; $1: $(diff "$dir/$name.alone" "$dir/$name.$1" |
			sed -n 2,5p | cut -c 1-60 | tr '\t\n' ' |')"
	fi
}

preempted() { # RUN
	if [ -f "$dir/$name.$1.preempted" ]; then of "$1" preempted; else echo -; fi
}

row() {
	note=${note#; }
	# shellcheck disable=SC2046
	set -- "$name" "$verdict" "$(seconds alone)" "$(seconds beside)" "$(seconds cold)" \
		"$(seconds warm)" $(latency beside) $(latency cold) $(latency warm) \
		"$(preempted cold)" "$(preempted warm)" "$compared"
	printf '%-26s %-8s %7s %7s %7s %7s %8s %8s %8s %8s %8s %8s %6s %6s %-7s' "$@"
	echo "  $note"
	(
		IFS='	'
		echo "$*	$note" >>"$tsv"
	)
	[ -z "${KEEP:-}" ] || [ "$verdict" = same ] || {
		mkdir -p "$KEEP"
		cp "$dir/$name".* "$KEEP/"
	}
	rm -rf "$dir/$name".*
}

heading() {
	set -- program verdict alone_s beside_s cold_s warm_s p50_us p99_us cold_p50_us cold_p99_us \
		warm_p50_us warm_p99_us cold_preempted warm_preempted gpu note
	[ -s "$tsv" ] || (
		IFS='	'
		echo "$*" >"$tsv"
	)
	printf '%-26s %-8s %7s %7s %7s %7s  %-17s %-17s %-17s %s\n' '' '' alone beside cold warm \
		'p50 p99 natively' 'cold' 'warm: us' 'preempted'
}

# Prints the median of each numeric column of the table.
medians() {
	for column in 3 4 5 6 7 8 9 10 11 12 13 14; do
		printf '%s ' "$(sed -n 1p "$tsv" | cut -f "$column")"
		sed 1d "$tsv" | cut -f "$column" | grep '^[0-9]' | sort -n |
			awk '{ v[NR] = $1 } END { printf "%s; ", NR ? v[int((NR + 1) / 2)] : "-" }'
	done
}

# Prints the table by suites, for doc/results.md.
suites() {
	awk -F '\t' -v verdicts='same varies differs fails hang unusable' '
		BEGIN { n = split(verdicts, v, " "); head = "| suite (repository, commit) | programs |"
			for (k = 1; k <= n; k++) { head = head " " v[k] " |"; line = line " --- |" }
			print head "\n| --- | --- |" line }
		NR == FNR { suite[$1] = $2 " (" $3 ", " $4 ")"; next }
		FNR > 1 { s = $1 in suite ? suite[$1] : "others"; if (!all[s]++) order[++m] = s; count[s, $2]++ }
		END { for (i = 1; i <= m; i++) { s = order[i]; row = "| " s " | " all[s] " |"
			for (k = 1; k <= n; k++) row = row " " count[s, v[k]] + 0 " |"
			print row } }' "$programs/LIST" "$tsv"
}

# ---- all of them ----

names=
part=${PART:-1/1}
n=0
for folder in "$programs"/*/; do
	name=$(basename "$folder")
	[ -x "$folder/$name" ] || continue
	for pattern; do
		# shellcheck disable=SC2254
		case $name in
		$pattern)
			[ $((n % ${part#*/} + 1)) != "${part%/*}" ] || names="$names $name"
			n=$((n + 1))
			break
			;;
		esac
	done
done
[ -n "$names" ] || fail "no such program"

[ -z "${RECORD:-}" ] || {
	record
	exit 0
}

has_row() {
	[ -s "$tsv" ] && cut -f 1 "$tsv" | grep -qxF -e "$1"
}

# together NAME...: runs the programs alone, beside the disturber, then under heddle.
together() {
	limit_s=60
	for name; do
		execute_natively alone
	done
	start_tick env LD_LIBRARY_PATH="$native_library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	report
	for name; do
		report
		execute_natively beside
		report beside
	done
	stop_tick
	start_under_heddle
	for name; do
		verdict=same note='' compared=-
		[ "$device" != cpu ] || compare_with_gpu
		judge_natively
		limit_s=$(($(of alone ms) / 50 + base_s))
		[ ! -f "$programs/$name/limit" ] || limit_s=$(cat "$programs/$name/limit")
		for under in cold warm; do
			case $verdict in unusable | hang | fails) break ;; esac
			[ "$under" = cold ] || [ -z "${WAIT_MS:-}" ] || settle
			execute_under_heddle "$under"
			judge_under_heddle "$under"
		done
		row
	done
	stop_under_heddle
}

disturbed=0
# Prints what ended programs natively (missing features of the virtual GPU and others), by count.
stopped_by() {
	awk -F '\t' '$2 == "unusable" {
			why = $16
			if (sub(/.*not known to the virtual GPU: */, "", why))
				sub(/[ ,;].*/, "", why)
			else if ($16 ~ /virtual GPU: .* is not supported /) {
				sub(/.*virtual GPU: /, "", why)
				sub(/ is not supported .*/, "", why)
			} else if ($16 ~ /status 124/)
				why = "its limit of time"
			else {
				why = $16
				sub(/^natively /, "", why)
				sub(/[,;].*/, "", why)
			}
			print why
		}' "$tsv" | sort | uniq -c | sort -rn |
		awk '{ n = $1; sub(/^ *[0-9]+ /, ""); printf "%s%s (%d)", k++ ? ", " : "Stopped by: ", $0, n } END { if (k) print "" }'
}

# Prints how many programs have the same output as recorded on a GPU, where there is a record.
compared() {
	sed 1d "$tsv" | cut -f 15 | grep -v '^-' | sort | uniq -c |
		awk '{ printf "%s%d %s", n++ ? ", " : "As on a GPU: ", $1, $2 } END { if (n) print "" }'
}

if [ "$device" = cpu ]; then
	rounds=100 # fixed, because times vary: programs share the processors
else
	rounds=$("$examples/tick" --kernel-us 30 --count 1 --json |
		sed -n 's/.*"rounds":\([0-9]*\).*/\1/p')
fi
[ -n "$rounds" ] || fail "the disturber does not run"
heading
some=
for name in $names; do
	has_row "$name" || some="$some $name"
	# shellcheck disable=SC2086
	[ "$(echo $some | wc -w)" -lt 8 ] || {
		together $some
		some=
	}
done
# shellcheck disable=SC2086
[ -z "$some" ] || together $some
[ ! -f "$programs/LIST" ] || suites
echo "median: $(medians)"
sed 1d "$tsv" | cut -f 2 | sort | uniq -c | awk '{ printf "%s%d %s", n++ ? ", " : "", $1, $2 } END { print "" }'
compared
[ "$device" != cpu ] || stopped_by
[ "$disturbed" = 0 ] || fail "wrong results of the disturber, or it or heddled failed: $disturbed"
# failures are in the table already
told=1 # is in the table already
! cut -f 2 "$tsv" | grep -qxE 'differs|hang|fails'
