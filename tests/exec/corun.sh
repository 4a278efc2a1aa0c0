# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For scripts that run kernels together and compare each with the kernel alone. Scripts source this
# file; they set heddle (the program), device, limit (timeout of a run in seconds) and exec (the
# folder of unordered.txt).
# shellcheck disable=SC2034,SC2154
: "$heddle" "$device" "$limit" "$exec"

# corun OUT OPTIONS WORDS: runs `heddle corun` once. WORDS: the kernels' specifications (file,
# kernel, options and arguments of each), with " + " between them. Writes the report to OUT.out and
# errors to OUT.err. Sets corun_said to the error's text, and corun_verdict: "ok"; "refused"; "hang"
# after a timeout; "FAIL" for any other end. Compares memory (--check) unless a kernel is in
# unordered.txt: such a kernel's result depends on the order of its blocks.
corun() {
	corun_check=--check corun_status=0
	while read -r corun_kernel; do
		case " $3 " in *".ptx $corun_kernel "*) corun_check= ;; esac
	done <"$exec/unordered.txt"
	set -f
	# shellcheck disable=SC2086
	timeout -k 5 "$limit" "$heddle" corun --json --device "$device" $corun_check $2 -- $3 \
		>"$1.out" 2>"$1.err" || corun_status=$?
	set +f
	corun_verdict=ok corun_said=
	[ $corun_status != 0 ] || return 0
	corun_said=$(cat "$1.err" "$1.out" | grep -E ' error: |"error": ' | tail -n 1) || :
	case $corun_status-$corun_said in
	1-*"cannot be merged: "* | 1-*" may wait for each other"* | 1-*" would have no worker"* | \
		1-*"no block of them fits"* | 1-*"can be woven, not "*)
		corun_verdict=refused
		;;
	124-* | 137-*) corun_verdict=hang corun_said="hangs ($limit s)" ;;
	1-)
		corun_said=$(sed -n '/"differences": \[/,/\]/p' "$1.out" | tr -d ' \t\n' | cut -c 1-160)
		corun_verdict=FAIL corun_said="memory differs: $corun_said"
		;;
	*) corun_verdict=FAIL corun_said="exit status $corun_status: $corun_said" ;;
	esac
}
