# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# ./run test and ./run times. run sources this file and defines say, die, setup, ensure_packages,
# usage and the list of packages $to_test.
# shellcheck disable=SC2154
: "$to_test"
passed=0
failed=0
skipped=0
lost=
again=
logs=    # log files of the tests, as JSON
steps=   # lines for tests/times.py: name, wall seconds, CPU seconds, log or -
wrapper= # the command that runs each test when CPU time is measured

# Many tests mostly wait, so twice as many run at once as there are processors.
jobs=$((2 * $(getconf _NPROCESSORS_ONLN)))

# step NAME LOG COMMAND…: runs the command, records how long it took, and returns its status.
step() {
	step=$1 step_log=$2
	shift 2
	clocks=$(mktemp)
	step_status=0
	# A command substitution would run `times` in a subshell, which reports only its own times.
	{ date +%s%N && times; } >"$clocks"
	"$@" || step_status=$?
	{ date +%s%N && times; } >>"$clocks"
	steps="$steps$(awk -v name="$step" -v log_file="$step_log" '
	NF == 1 { wall = $1 / 1e9 - wall }
	NR % 3 == 0 { # user and system time of all commands so far
		gsub(/s/, "")
		now = 0
		for (i = 1; i <= 2; i++) {
			split($i, t, "m")
			now += t[1] * 60 + t[2]
		}
		cpu = now - cpu
	}
	END { printf "%s\t%.1f\t%.1f\t%s", name, wall, cpu, log_file }' "$clocks")
"
	rm -f "$clocks"
	return "$step_status"
}

# count RESULT LOG: prints how many tests of the log have this result.
count() {
	grep -c "\"result\": \"$1\"" "$2" || :
}

# what_failed DIR LOG: prints a line for each failed test of the log, and the end of its output.
what_failed() {
	grep -vE '"result": "(OK|EXPECTEDFAIL|SKIP)"' "$2" | while IFS= read -r row; do
		printf '%s\n' "$row" | sed "s|^{\"name\": \"\([^\"]*\)\".*\"result\": \"\([A-Z]*\)\".*|\2 in $1: \1|"
		for said in stdout stderr; do
			printf '%s\n' "$row" | sed -n 's/.*"'"$said"'": "\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/p' |
				sed 's/\\u001b\[[0-9;]*m//g; s/\\n/\n/g; s/\\"/"/g; s/\\t/ /g' | grep . | tail -n 12 | sed 's/^/    /'
		done
	done
}

# once_more DIR ARGUMENT…: reruns each failed test of the suite "timed" (tests/meson.build) alone,
# unless it failed by a wrong result or a sanitizer's report, which timing cannot explain. The
# output of the first run is shown in any case, and tests that pass now are reported.
once_more() {
	dir=$1
	shift
	late=$(sed -nE '/"result": "(OK|EXPECTEDFAIL|SKIP)"|Sanitizer|runtime error|wrong result|results differ/d
		s|^\{"name": "[^"/]*[:+]timed[^"/]*/ ([^"]*)".*|\1|p' "$log")
	for name in $late; do
		meson test -C "$dir" --no-rebuild --logbase again "$@" "$name" >&2 || continue
		passed=$((passed + 1))
		failed=$((failed - 1))
		lost="${lost}passed when it ran again, alone: $name in $dir
"
	done
}

# run_tests DIR MESON-TEST-ARGUMENT…: runs tests and adds their results to the totals.
run_tests() {
	dir=$1
	shift
	log=$dir/meson-logs/run.json
	rm -f "$dir"/meson-logs/run*.json
	# shellcheck disable=SC2086
	step "$dir tests" "$log" meson test -C "$dir" --no-rebuild --print-errorlogs --logbase run \
		--num-processes "$jobs" $wrapper "$@" >&2 || :
	# The name of a test setup becomes part of the log's name.
	for f in "$dir"/meson-logs/run*.json; do
		[ ! -f "$f" ] || [ "$f" = "$log" ] || mv "$f" "$log"
	done
	if [ ! -s "$log" ]; then
		say "no tests in $dir"
		return
	fi
	logs="$logs $log"
	python3 tests/times.py keep "$log" "$dir/took.json"
	ok=$(($(count OK "$log") + $(count EXPECTEDFAIL "$log")))
	skip=$(count SKIP "$log")
	all=$(wc -l <"$log")
	passed=$((passed + ok))
	skipped=$((skipped + skip))
	failed=$((failed + all - ok - skip))
	[ "$all" != "$((ok + skip))" ] || return 0
	lost="$lost$(what_failed "$dir" "$log")
"
	[ -z "$again" ] || once_more "$dir" "$@"
}

# tested DIR OPTION…: builds for tests. A failed build counts as a failure.
tested() {
	step "$1 built" - setup "$@" && return
	failed=$((failed + 1))
	lost="${lost}the build of $1 failed
"
	return 1
}

# tested_long: builds for tests of the suite "full", including targets that only these need.
tested_long() {
	tested build || return
	ninja -C build long-tests >>build/ninja.log 2>&1 && return
	failed=$((failed + 1))
	lost="${lost}the build of what the long tests need failed: build/ninja.log
"
	return 1
}

# sanitized NAME SANITIZERS OPTIMIZATION SETUP: runs the tests that make sense in such a build.
# Tests of the suite "plain" measure, run binaries of another build, or check the source's style, so
# they are left out. Reports name source lines, for which -g1 is enough.
sanitized() {
	# One compiler for kernels is enough here, and clang is faster.
	chain=auto
	! command -v clang-14 >/dev/null || chain=clang
	tested "build-$1" -Db_sanitize="$2" -Db_lundef=false -Dbuildtype=debugoptimized \
		-Doptimization="$3" -Dc_args=-g1 -Dtoolchain=$chain || return 0
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1 \
		TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0:suppressions="'$PWD/tests/tsan.supp'" \
		run_tests "build-$1" -t 6 --setup "$4"
}

# Prints failures last, because earlier parts of a long log may be truncated.
verdict() {
	echo "the slowest tests:"
	# shellcheck disable=SC2086
	[ -z "$logs" ] || python3 tests/times.py slowest $logs
	printf '%s' "$steps" | awk -F '\t' '{ printf "%s%s in %.0f s", NR == 1 ? "" : ", ", $1, $2; all += $2 }
		END { printf ": %d min %.0f s\n", all / 60, all % 60 }'
	printf '%s' "$lost"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}

cmd_test() {
	full=
	only=
	names=
	changed=
	for arg in "$@"; do
		case $arg in
		--full) full=1 ;;
		--changed) changed=1 ;;
		--times) wrapper="--wrapper $PWD/tests/times.sh" ;;
		--asan | --ubsan | --tsan) only="$only ${arg#--}" ;;
		-*) usage >&2 && exit 2 ;;
		*) names="$names $arg" ;;
		esac
	done
	# shellcheck disable=SC2086
	ensure_packages $to_test
	if [ -n "$changed" ]; then
		test_changed
	elif [ -n "$names" ]; then
		picked='' build=tested
		for n in $names; do
			case $n in exec | full | sass-*) build=tested_long ;; esac
			case $n in
			unit | golden | exec | sched | shim | cli | fuzz | hw | style | full)
				picked="$picked --suite $n" ;;
			*) picked="$picked $n" ;;
			esac
		done
		# shellcheck disable=SC2086
		$build build && run_tests build --setup full $picked
	elif again=1 && [ -n "$only" ]; then
		for s in $only; do
			run_sanitizer "$s"
		done
	elif [ -n "$full" ]; then
		tested_long && run_tests build --setup full
		run_sanitizer asan
		run_sanitizer tsan
	else
		tested build && run_tests build --setup quick
		run_sanitizer asan
	fi
	[ -z "$wrapper" ] || printf '%s' "$steps" >build/times
	verdict
}

# changed_files: lists the files that differ from $SINCE.
changed_files() {
	git diff --name-only "$SINCE"
	git ls-files --others --exclude-standard
}

# test_changed: runs the plain build's tests that concern the files changed since the last commit
# (or, if there are none, in the last commit), as many as fit into some 20 s. If everything was
# built before, builds only what these tests need.
test_changed() {
	[ -f build/heddle ] || { tested build || return 0; }
	SINCE=HEAD
	[ -n "$(changed_files)" ] || SINCE=HEAD~
	export SINCE # the source tests read it, too (tests/style/lib.sh)
	# shellcheck disable=SC2046
	python3 tests/changed.py build 20 $(changed_files) >build/changed
	needed=$(sed -n 's/^build //p' build/changed)
	# shellcheck disable=SC2086
	step "build built" - ninja -C build $needed >build/ninja.log 2>&1 || {
		cat build/ninja.log >&2
		failed=1
		return
	}
	# shellcheck disable=SC2046
	run_tests build --setup quick $(grep -v '^build ' build/changed)
}

# Shows where the time of ./run test goes, from a clean checkout of the last commit: the tables of
# doc/testing.md.
cmd_times() {
	clone=$(mktemp -d)
	trap 'rm -rf "$clone"' EXIT
	git clone -q . "$clone/heddle"
	(cd "$clone/heddle" && ./run test --times) || say "not all tests passed"
	python3 tests/times.py page doc/testing.md "$clone/heddle/build/times" "$clone/heddle"
}

run_sanitizer() {
	case $1 in
	# With -O2, GCC would take three times as long to compile the code that both sanitizers
	# check.
	asan) sanitized asan address,undefined g "asan${full:+_full}" ;;
	ubsan) sanitized ubsan undefined g "ubsan${full:+_full}" ;;
	tsan) sanitized tsan thread 2 tsan ;;
	esac
}

