#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: bench/registers.sh BUILD PTX...
# Compares the registers of kernels: unchanged, in the form that the shim compiles first, and in the
# second form, which is limited to the registers of the unchanged kernel. A kernel gets a second
# form if the first needs more registers than the kernel and more than the 32 that each thread of a
# full SM can have. Also prints the time that ptxas takes for each. Settings: ARCH (sm_90), JOBS
# (2), OUT: a file with a line per kernel: registers and spilled bytes of each form (- if there is
# none), name, file. Needs ptxas but no GPU.
set -eu
build=$(cd "$1" && pwd)
shift
tool=$build/tests/pass/preempt_tool
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
[ -x "$ptxas" ] || {
	echo "skipped: no ptxas"
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/read.awk" <<'AWK'
# Reads the output of ptxas -v; prints name, registers, bytes spilled.
/Compiling entry function/ { split($0, part, "\x27"); name = part[2] }
/bytes spill stores/ { spilled = $0; sub(/ bytes spill stores.*/, "", spilled); sub(/.* /, "", spilled) }
/: Used [0-9]+ registers/ && name != "" {
	used = $0; sub(/.*Used /, "", used); sub(/ .*/, "", used)
	print name, used, spilled
	name = ""
}
AWK
cat >"$dir/bound.awk" <<'AWK'
# Prints the module with the register limits that a file lists.
BEGIN { while ((getline line <bounds) > 0) { split(line, part, " "); bound[part[1]] = part[2] } }
/\.entry / { name = $0; sub(/.*\.entry */, "", name); sub(/[^A-Za-z0-9_$].*/, "", name) }
/^\.maxnreg/ && name in bound {
	$2 = $2 < bound[name] ? $2 : bound[name]
	name = ""
}
/^\{/ && name in bound { print ".maxnreg " bound[name] }
/^\{/ { name = "" }
{ print }
AWK
cat >"$dir/one" <<'SH'
set -eu
dir=$1 tool=$2 ptxas=$3 arch=$4 ptx=$5
work=$(mktemp -d "$dir/w.XXXXXX")
# assembled NAME: assembles NAME.ptx; writes registers to NAME.regs and seconds to NAME.s. Fails if
# ptxas rejects the file.
assembled() {
	sh -c '"$1" -v -arch="$2" "$3.ptx" -o "$3.cubin" >"$3.said" 2>&1; echo $? >"$3.status"; times' \
		sh "$ptxas" "$arch" "$work/$1" | sed -n '2s/m/ /gp' | tr -d s |
		awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }' >"$work/$1.s"
	awk -f "$dir/read.awk" "$work/$1.said" | sort >"$work/$1.regs"
	[ "$(cat "$work/$1.status")" = 0 ]
}
target=$(sed -n 's/^\.target *\(sm_[0-9]*a\).*/\1/p' "$ptx" | head -n 1)
arch=${target:-$arch}
cp "$ptx" "$work/plain.ptx"
assembled plain || exit 0
"$tool" classify "$ptx" 2>/dev/null | awk '$2 == "managed" { sub(/:$/, "", $1); print $1 }' |
	sort >"$work/managed"
"$tool" lean "$ptx" >"$work/form.ptx" 2>/dev/null && assembled form || exit 0
join "$work/managed" "$work/plain.regs" | join - "$work/form.regs" >"$work/both"
awk 'function step(n) { return int((n + 7) / 8) * 8 }
	step($4) > 32 && step($4) > step($2) { print $1, (step($2) > 32 ? step($2) : 32) }' \
	"$work/both" >"$work/bounds"
: >"$work/second.regs"
echo 0 >"$work/second.s"
if [ -s "$work/bounds" ]; then
	# Assembles only the kernels with a register limit, because the shim, too, compiles a second
	# form for one kernel at a time.
	awk -f "$dir/bound.awk" -v bounds="$work/bounds" "$work/form.ptx" >"$work/second.ptx"
	assembled second || :
	join "$work/bounds" "$work/second.regs" | awk '{ print $1, $3, $4 }' >"$work/x"
	mv "$work/x" "$work/second.regs"
fi
join -a 1 -e - -o 0,1.2,1.3,1.4,1.5,2.2,2.3 "$work/both" "$work/second.regs" |
	awk -v file="$(basename "$ptx")" '{ print $2, $3, $4, $5, $6, $7, $1, file }' >"$work.rows"
# ptxas assembles a whole module, so the time of the second forms is scaled by their share of
# kernels.
awk -v n="$(grep -c . "$work/second.regs" || :)" -v of="$(grep -c . "$work/form.regs")" \
	'{ s[++i] = $1 } END { print s[1], s[2], of ? s[3] * n / of : 0 }' \
	"$work/plain.s" "$work/form.s" "$work/second.s" >"$work.times"
rm -rf "$work"
SH
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -I{} sh "$dir/one" "$dir" "$tool" "$ptxas" "${ARCH:-sm_90}" {}
cat "$dir"/w.*.rows >"$dir/rows"
[ -z "${OUT:-}" ] || cp "$dir/rows" "$OUT"
cat "$dir"/w.*.times | awk '{ a += $1; b += $2; c += $3 }
	END { printf "ptxas: %.1f s as they are, %.1f s first forms (%.2f times), %.1f s second ones (%.2f times in all)\n",
		a, b, b / a, c, (b + c) / a }'
# Prints the result for a shim that chooses the second form of a kernel if it spills at most this
# many bytes more than the unmodified kernel.
for spill in none 0 16 64; do
	awk -v spill="$spill" '
		function step(n) { return int((n + 7) / 8) * 8 }
		function blocks(n) { return int(65536 / (step(n) * 256)) < 8 ? int(65536 / (step(n) * 256)) : 8 }
		{
			form = $3
			if (spill != "none" && $5 != "-" && $6 - $2 <= spill) { form = $5; taken++ }
			lose += blocks(form) < blocks($1)
			if (form > 32) { print "g", form - $1; over += form > 1.25 * $1; n++ }
		}
		END { print "s", NR, n, over + 0, lose + 0, taken + 0 }' "$dir/rows" | sort -k 1,1 -k 2,2n |
		awk -v spill="$spill" '
		$1 == "g" { g[++n] = $2 }
		$1 == "s" {
			say = spill == "none" ? "first forms" : "second ones that spill at most " spill " bytes more"
			printf "%s (%d of %d kernels): %d need more than 32 registers: ", say, $6, $2, $3
			printf "%+d in the median, %+d at p90, %d over 1.25 times; ", g[int((n + 1) / 2)], g[int(n * 0.9 + 0.999)], $4
			printf "%d lose blocks of 256 threads (%.1f %%)\n", $5, 100 * $5 / $2
		}'
done
