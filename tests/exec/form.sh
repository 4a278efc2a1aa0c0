# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# For scripts that compare the memory that runs of one kernel leave. Scripts source this file; they
# set heddle (the program) and limit (timeout of a run in seconds). Here and in these scripts, WORDS
# are a kernel's options and arguments for heddle exec, as in the last column of kernels/list.txt.
# shellcheck disable=SC2034,SC2154
: "$heddle" "$limit"

# part_of: selects from standard input the lines that PART=k/n names (every n-th line from the k-th
# on), and the lines that match ALWAYS.
part_of() {
	part=${PART:-1/1}
	awk -v k="${part%/*}" -v n="${part#*/}" -v always="${ALWAYS:-^$}" '(NR - 1) % n == k - 1 || $0 ~ always'
}

# seldom OPTIONS WORDS: sets form_options to OPTIONS, but multiplies --yield-every by 1 plus a
# hundredth of the largest grid's blocks, so that large grids are not relaunched hundreds of times.
# WORDS: those of one kernel or several.
seldom() {
	form_options=$1 form_most=1 form_rest=$2
	case $1 in *"--yield-every "*) ;; *) return 0 ;; esac
	while :; do
		case $form_rest in *"--grid "*) ;; *) break ;; esac
		form_rest=${form_rest#*--grid }
		form_blocks=1 form_grid=${form_rest%% *},
		while [ "$form_grid" ]; do
			form_blocks=$((form_blocks * ${form_grid%%,*}))
			form_grid=${form_grid#*,}
		done
		[ $form_blocks -le $form_most ] || form_most=$form_blocks
	done
	form_after=${1#*--yield-every }
	form_every=${form_after%% *}
	form_every=$((form_every * (1 + form_most / 100)))
	form_options="${1%%--yield-every *}--yield-every $form_every${form_after#"${form_after%% *}"}"
}

# report FILE: sets tier and launches to the report's values.
report() {
	tier='' launches=''
	while IFS= read -r form_line; do
		case $form_line in
		'  "tier": "'*) tier=${form_line#*: \"} tier=${tier%\",} ;;
		'  "launches": '*) launches=${form_line#*: } launches=${launches%,} ;;
		esac
	done <"$1"
}

# run_form OUT DEVICE FILE KERNEL-AND-WORDS [OPTIONS]: runs the kernel, and writes its buffers to
# OUT.0, OUT.1 …, the report to OUT.out and errors to OUT.err. Status 124: timeout.
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

# prints RUN: whether the kernel printed text, which precedes the report. The report begins with
# "{".
prints() {
	form_line=
	read -r form_line <"$1.out" || :
	[ "$form_line" != "{" ]
}

# texts_same PLAIN FORM: whether two runs (OUT of run_form) printed the same lines, in any order.
texts_same() {
	prints "$1" || prints "$2" || return 0
	sed '/^{$/,$d' "$1.out" | sort >"$1.text"
	sed '/^{$/,$d' "$2.out" | sort | cmp -s - "$1.text"
}

# is_ordered KERNEL: whether the kernel's result is a function of its input, that is, whether it is
# not in unordered.txt.
form_unordered=
[ -z "${here-}" ] || while read -r form_line; do
	form_unordered="$form_unordered $form_line "
done <"$here/unordered.txt"
is_ordered() {
	case $form_unordered in *" $1 "*) return 1 ;; esac
}

# same_left PLAIN FORM KERNEL: whether two runs left the same memory and printed text. For kernels
# in unordered.txt, which is in $here, only the text counts.
same_left() {
	texts_same "$1" "$2" || return 1
	is_ordered "$3" || return 0
	for form_file in "$1".[0-9]*; do
		[ ! -e "$form_file" ] || cmp -s "$form_file" "$2.${form_file##*.}" || return 1
	done
}
