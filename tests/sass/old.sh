#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: old.sh BUILD
# Forms that failed on a GPU although the virtual GPU ran them correctly: the machine code of the
# old text must give other results than the plain kernels, and that of today's text must not. An
# old text is today's text, edited on its way to ptxas:
#   preempt   no .maxnreg line: ptxas 12.8 to 13.3 then compute a value again from a register that
#             they have overwritten. With other versions this case is skipped, with a note.
#   weave     no `bar.warp.sync -1` in the woven kernel (pairs: old.txt): lanes that diverge at a
#             branch then reach a block barrier or a vote separately, as they did before weaving
#             added places to reconverge
# va-async.ptx is another old text, which is not edited, and hangs. LIMIT (default: 120), PTXAS,
# NVDISASM: as for sass.sh. Exit status: 1 if an old text is not found, or if today's is wrong or
# does not run; 77 without ptxas or nvdisasm.
set -eu
build=$(cd "$1" && pwd)
what=old
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/sass/tools.sh
. "$here/tools.sh"
SASS_CACHE= # its key would not be found again
sass_open "$build"
export SASS_PTXAS="$PTXAS"
bad=0 cases=0

# The compiler of old texts. Its path is part of the cache's key, so results stay separate in
# $work.
cat >"$work/ptxas" <<'SH'
#!/bin/sh
for word; do
	case $word in *.ptx) ptx=$word ;; esac
done
if grep -q "$OLD_IN" "$ptx"; then
	sed "/$OLD_LINE/d" "$ptx" >"$ptx.$$" && mv "$ptx.$$" "$ptx"
fi
exec "$SASS_PTXAS" "$@"
SH
chmod +x "$work/ptxas"

# run ARG...: runs heddle with the machine-code driver. Prints "right", "wrong", or what else
# happened.
run() {
	status=0
	(cd "$build" && HEDDLE_VGPU=sass-$sass_id timeout -k 5 "${LIMIT:-120}" "$tree/heddle" "$@") \
		>"$work/out" 2>&1 || status=$?
	case $status-$(cat "$work/out") in
	0-*) echo right ;;
	124-* | 137-*) echo wrong: hang ;;
	1-*'"differences": [ ]'* | 1-*'"differences": []'*) echo "fails: $(tr '\n' ' ' <"$work/out" | tail -c 300)" ;;
	1-*'"differences": ['*) echo wrong ;;
	*) echo "fails: $(tr '\n' ' ' <"$work/out" | tail -c 300)" ;;
	esac
}

# old COMMAND...: runs the command with old texts.
old() {
	PTXAS="$work/ptxas" "$@"
}

# judge NAME NOW OLD: prints both results, and counts a case that is wrong.
judge() {
	cases=$((cases + 1))
	echo "$1: today's text: $2; old text: $3"
	case $2-$3 in
	right-wrong*) ;;
	*) bad=$((bad + 1)) ;;
	esac
}

# sort_form: runs the preemptible form of the kernel that ptxas miscompiles, as machine code.
sort_form() {
	kernel='kernels/clang/sort.ptx sort --grid 4 --block 256'
	cd "$build"
	# shellcheck disable=SC2086
	HEDDLE_VGPU=sass-$sass_id "$tree/heddle" exec --device cpu $kernel "u32[2048]:rand(1)>$work/want" >/dev/null
	rm -f "$work/got"
	# shellcheck disable=SC2086
	HEDDLE_VGPU=sass-$sass_id timeout -k 5 "${LIMIT:-120}" "$tree/heddle" exec --device cpu --as preempt $kernel \
		"u32[2048]:rand(1)>$work/got" >"$work/out" 2>&1 || :
	if [ ! -e "$work/got" ]; then
		echo "fails: $(tr '\n' ' ' <"$work/out" | tail -c 300)"
	elif cmp -s "$work/want" "$work/got"; then
		echo right
	else
		echo wrong
	fi
}

version=$("$PTXAS" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\),.*/\1 \2/p')
if [ ! -e "$build/kernels/clang/sort.ptx" ]; then
	echo "preempt sort: left out (no clang here)"
elif [ $((${version% *} * 100 + ${version#* })) -lt 1208 ] || [ $((${version% *} * 100 + ${version#* })) -gt 1303 ]; then
	echo "preempt sort: left out (ptxas $version does not have the fault)"
else
	export OLD_IN='%hd_' OLD_LINE='^[.]maxnreg'
	judge 'preempt sort' "$(sort_form)" "$(old sort_form)"
fi

export OLD_IN=hd_merged OLD_LINE='^[[:space:]]*bar[.]warp[.]sync -1;$'
while IFS='|' read -r options first second <&3; do
	case $options in '#'*) continue ;; esac
	name="weave${options:+ $options} ${first%% --*} + ${second%% --*}"
	if [ ! -e "$build/${first%% *}" ] || [ ! -e "$build/${second%% *}" ]; then
		echo "$name: left out (its compiler is not here)"
		continue
	fi
	set -f
	# shellcheck disable=SC2086
	set -- corun --json --device cpu --check --how weave $options -- $first + $second
	set +f
	judge "$name" "$(run "$@")" "$(old run "$@")"
done 3<"$here/old.txt"
# The old text itself, with struct ctl_args of both kernels (grids of 7,3 and 4). The virtual GPU
# must run it; otherwise it might hang for another reason.
if [ -e "$build/kernels/clang/va.ptx" ] && [ -e "$build/kernels/clang/async.ptx" ]; then
	zero=00000000 one=01000000
	va=hex:$zero$zero$zero${zero}15000000${zero}0700000003000000$one$zero$zero$zero$zero${zero}9224492455555555$zero$zero$zero$zero
	async=hex:$zero$zero$zero${zero}04000000${zero}04000000$one$one$zero$zero$zero$zero${zero}00000040ffffffff$zero$zero$zero$zero
	set -- exec --device cpu "$here/va-async.ptx" hd_merged --grid 21 --block 256 --shared 1024 "$va" 'f32[5001]:iota' \
		'f32[5001]:rand(2)' 'f32[5001]:zero' u32:5001 u32:3 "$async" 'u32[1024]:iota' 'u32[1024]:zero'
	HEDDLE_VGPU=sass-$sass_id "$build/heddle" "$@" >"$work/out" 2>&1 || {
		echo "va-async.ptx: the virtual GPU does not run it: $(cat "$work/out")"
		bad=$((bad + 1))
	}
	set -f
	judge 'weave va + async_copy' "$(run corun --json --device cpu --check --how weave -- \
		kernels/clang/va.ptx va --grid 7,3 --block 256 'f32[5001]:iota' 'f32[5001]:rand(2)' 'f32[5001]:zero' u32:5001 u32:3 + \
		kernels/clang/async.ptx async_copy --grid 4 --block 64 'u32[1024]:iota' 'u32[1024]:zero')" "$(LIMIT=10 run "$@")"
	set +f
fi
[ "$cases" -gt 0 ] || exit 77
[ "$bad" = 0 ]
