#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: selftest.sh BUILD
# Tests each way in which sass.sh can fail, by an edit of nvdisasm's listing: an instruction
# without semantics is not run, one with wrong semantics changes memory, and an endless loop is a
# hang. Exit status 77 without ptxas or nvdisasm, but only after the case that needs neither.
set -eu
build=$(cd "$1" && pwd)
what=selftest
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/sass/tools.sh
. "$here/tools.sh"
bad=0

# expect STATUS TEXT NAME COMMAND...: the command must have this exit status, and print this text.
expect() {
	want=$1 text=$2 name=$3 status=0
	shift 3
	said=$("$@" 2>&1) || status=$?
	case $status-$said in
	"$want-"*"$text"*) ;;
	*)
		echo "$name: exit status $status instead of $want, or no '$text' in:"
		echo "$said"
		bad=$((bad + 1))
		;;
	esac
}

expect 77 'skipped: no ptxas' 'no ptxas' env PTXAS=/nowhere/ptxas sh "$here/sass.sh" "$build" plain
expect 2 'valid modes' 'no such mode' sh "$here/sass.sh" "$build" nothing
[ "$bad" = 0 ] || exit 1
sass_open "$build"
export SASS_NVDISASM="$NVDISASM" SASS_CACHE=
cat >"$work/nvdisasm" <<'SH'
#!/bin/sh
listing=$(mktemp "$work/listing.XXXXXX")
"$SASS_NVDISASM" "$@" >"$listing" || exit 1
if grep -q "$EDIT_IN" "$listing"; then sed "$EDIT" "$listing"; else cat "$listing"; fi
SH
chmod +x "$work/nvdisasm"

# edited IN EDIT MODE: runs sass.sh on one kernel; sed edits its listings if they contain IN.
edited() (
	unset SASS_CACHE PART VERBOSE RIGHT
	export EDIT_IN="$1" EDIT="$2" NVDISASM="$work/nvdisasm" PAIRS=1 LIMIT="${4:-60}"
	sh "$here/sass.sh" "$build" "$3" "^kernels/(clang/va|nvcc/va)[.]ptx"
)

# The mode `plain` edits plain kernels, and the virtual GPU gives the reference. The other modes
# edit only forms, and the plain kernel's machine code gives the reference.
expect 0 ' 0 not run,' 'nothing planted' edited . '' plain
expect 1 'not run: kernels' 'an instruction without semantics' edited . 's/FADD/FNONE/' plain
expect 1 'FNONE' 'its name' edited . 's/FADD/FNONE/' plain
expect 1 'not run: kernels' 'a modifier without semantics' edited . 's/FADD/FADD.NONE/' plain
expect 1 'differs: kernels' 'a wrong instruction' edited . 's/FADD/FMUL/' plain
expect 1 'hang: kernels' 'a loop without an end' edited . 's/EXIT ;/NOP ;/' plain 5
expect 1 'differs: kernels' 'a wrong preemptible form' edited ATOMG 's/FADD/FMUL/' preempt
expect 1 'differs: va + va, vertical' 'a wrong pair' edited hd_merged 's/FADD/FMUL/' pairs
expect 1 'not run: va + va, weave' 'a pair without semantics' edited hd_merged 's/FADD/FNONE/' pairs
expect 1 'differs: kernels' 'a wrong task' edited hd_tasks 's/FADD/FMUL/' tasks
[ "$bad" = 0 ]
