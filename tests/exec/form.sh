# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For scripts that compare what runs of one kernel leave in memory. Sourced; heddle names the program,
# limit how many seconds a run may take.
# shellcheck disable=SC2154
: "$heddle" "$limit"

# part_of: of the lines on standard input those that PART=k/n leaves: every n-th, from the k-th on.
part_of() {
	part=${PART:-1/1}
	awk -v k="${part%/*}" -v n="${part#*/}" '(NR - 1) % n == k - 1'
}

# run_form OUT DEVICE FILE KERNEL-AND-WORDS [OPTIONS]: runs the kernel; buffers go to OUT.0, OUT.1 …,
# the report to OUT.out, errors to OUT.err. Status 124: it was ended at the limit.
run_form() {
	form_out=$1 form_on=$2 form_file=$3
	set -f
	# shellcheck disable=SC2086
	set -- $4 ${5-}
	set +f
	form_n=0
	for form_word; do
		shift
		case $form_word in
		*\[*\]:*)
			form_word="$form_word>$form_out.$form_n"
			form_n=$((form_n + 1))
			;;
		esac
		set -- "$@" "$form_word"
	done
	form_status=0
	timeout -k 5 "$limit" "$heddle" exec --json --device "$form_on" "$form_file" "$@" \
		>"$form_out.out" 2>"$form_out.err" || form_status=$?
	[ $form_status = 0 ] || sed -n 's/^ *"error": "\(.*\)",$/error: \1/p' "$form_out.out" >>"$form_out.err"
	case $form_status in
	124 | 137)
		echo "hangs ($limit s)" >"$form_out.err"
		form_status=124
		;;
	esac
	return $form_status
}

# same_left PLAIN FORM KERNEL LIST: whether two runs (OUT of run_form) left the same; of kernels in LIST
# only the text that they printed counts.
same_left() {
	sed '/^{$/,$d' "$1.out" | sort >"$1.text"
	sed '/^{$/,$d' "$2.out" | sort | cmp -s - "$1.text" || return 1
	! grep -qx "$3" "$4" || return 0
	for form_file in "$1".[0-9]*; do
		[ ! -e "$form_file" ] || cmp -s "$form_file" "$2.${form_file##*.}" || return 1
	done
}
