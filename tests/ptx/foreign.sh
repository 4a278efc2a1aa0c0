#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: [BUILD=build] [JOBS=2] foreign.sh DIR
# Tests PTX from other compilers: Triton, Numba, NVRTC and tinygrad (wheels of the versions below,
# in a virtual environment in DIR), clang, and rustc (nightly, if installed). Parses and prints
# each file, makes it preemptible, and merges, fuses and weaves each kernel with itself and makes
# it a task. If ptxas accepts the file, it must accept every result. A refusal with a clear message
# is counted and listed. Exit status 1: a failure, fewer than 150 files, or an installed generator
# that gave none. Needs the package index. Nothing generated is committed. Not part of ./run test.
set -eu
pins='triton==3.9.0 numba==0.68.1 numba-cuda==0.30.4 cuda-bindings==13.5.0 cuda-core==1.2.2 tinygrad==0.14.0
numpy==2.4.6 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
nvidia-nvvm==13.0.88 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-nvcc==13.0.88'
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "${BUILD:-$root/build}" && pwd)
least=150

die() {
	echo "foreign.sh: $*" >&2
	exit 1
}

# ---- tests of one file ----

# note WHAT KERNEL STEP [MESSAGE]: adds a line to the file's results.
note() {
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$file" "$2" "$3" "${4:-}" >>"$results"
}

# assembles TEXT: whether ptxas accepts it for the architecture of its own .target.
assembles() {
	arch=$(sed -n 's/^[[:space:]]*\.target[[:space:]]*\(sm_[0-9]*[af]*\).*/\1/p' "$1" | head -1)
	"$PTXAS" -arch="${arch:-none}" "$1" -o "$tmp/cubin" >"$tmp/ptxas" 2>&1
}

# A message that tells users nothing about their kernel is a failure, not a refusal.
is_clear() {
	[ "$1" -lt 126 ] && [ -s "$tmp/err" ] &&
		! grep -qi 'a bug\|sanitizer\|invalid argument\|operation not supported\|: module$' "$tmp/err"
}

# step NAME KERNEL COMMAND...: the command's output must assemble, or its refusal must be clear.
step() {
	name=$1 kernel=$2
	shift 2
	status=0
	timeout 300 "$@" >"$tmp/form.ptx" 2>"$tmp/err" </dev/null || status=$?
	if [ $status != 0 ]; then
		message=$(grep -m 1 'error: \|: ' "$tmp/err" | tr '\t' ' ' | cut -c1-300 || :)
		if is_clear $status; then
			note refused "$kernel" "$name" "$message"
		else
			note FAILED "$kernel" "$name" "status $status: $message"
		fi
	elif assembles "$tmp/form.ptx"; then
		note ok "$kernel" "$name"
	else
		note FAILED "$kernel" "$name" "ptxas: $(head -1 "$tmp/ptxas" | cut -c1-300)"
	fi
}

# kernels FILE: prints each kernel with a block size that its directives allow.
kernels() {
	awk '
	match($0, /\.entry[ \t]+[A-Za-z0-9_$%]+/) {
		split(substr($0, RSTART, RLENGTH), w, /[ \t]+/)
		name = w[2]; block = "128"; open = 1
	}
	open && match($0, /\.(reqntid|maxntid)[ \t]+[0-9]+([ \t]*,[ \t]*[0-9]+)*/) {
		n = substr($0, RSTART + 8, RLENGTH - 8); gsub(/[ \t]/, "", n)
		if ($0 ~ /reqntid/ || n ~ /,[2-9]/ || n ~ /,1[0-9]/ || n + 0 < 128)
			block = n
	}
	open && /^[ \t]*;|\)[ \t]*;/ { open = 0 }
	open && /\{/ { print name, block; open = 0 }' "$1"
}

one() {
	file=$1
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	name=$(echo "$file" | tr / _)
	results=$DIR/results/$name.txt
	path=$DIR/ptx/$file
	: >"$results"
	if ! assembles "$path"; then
		note foreign - native "ptxas: $(head -1 "$tmp/ptxas" | cut -c1-300)"
		return
	fi
	note ok - native
	step print - "$heddle" ptx print "$path"
	step preempt - "$heddle" ptx preempt "$path"
	kernels "$path" >"$tmp/kernels"
	while read -r kernel block; do
		for verb in merge fuse-vertical fuse-horizontal weave; do
			step $verb "$kernel" "$heddle" ptx $verb -- "$path" "$kernel" --block "$block" + \
				"$path" "$kernel" --block "$block"
		done
		step task "$kernel" "$task_tool" 1024 0 full "$path" "$kernel"
	done <"$tmp/kernels"
}

heddle=$build/heddle task_tool=$build/tests/pass/task_tool
if [ "${1:-}" = --one ]; then
	DIR=$2
	one "$3"
	exit 0
fi

# ---- all files ----

# Prints a summary of all results; its status is the script's.
summary() {
	echo "refused:"
	awk -F '\t' '$1 == "refused" { print "  " $4 ": " $5 }' "$DIR/all.txt" | sed -E 's/: .*error: (.)/: \1/
		s/kernel (2, )?.[A-Za-z0-9_$]+.( |:)/kernel K\2/; s/: [A-Za-z0-9_$]+: /: /' | sort | uniq -c | sort -rn
	echo "not taken by ptxas as they were:"
	awk -F '\t' '$1 == "foreign" { print "  " $2 ": " $5 }' "$DIR/all.txt"
	echo "failed:"
	awk -F '\t' '$1 == "FAILED" { print "  " $2 ": " $3 ": " $4 ": " $5 }' "$DIR/all.txt" | sed "s,$DIR/ptx/,,g"
	awk -F '\t' -v least=$least -v generators="$generators" '
	{ g = $2; sub(/\/.*/, "", g) }
	$4 == "native" && $1 == "ok" { files++; of[g]++ }
	$1 == "ok" && $4 != "native" { ok[$4]++ }
	$1 == "refused" { refused[$4]++; n_refused++ }
	$1 == "FAILED" { failed++ }
	END {
		n = split(generators, name, " ")
		for (i = 1; i <= n; i++) {
			printf "%s%s %d", (i > 1 ? ", " : "files: "), name[i], of[name[i]]
			none += !of[name[i]]
		}
		print ""
		n = split("print preempt merge fuse-vertical fuse-horizontal weave task", step, " ")
		for (i = 1; i <= n; i++)
			printf "%-16s %4d assembled, %3d refused\n", step[i], ok[step[i]], refused[step[i]]
		printf "%d files, %d refusals, %d failures\n", files, n_refused, failed
		exit (failed || none || files < least) ? 1 : 0
	}' "$DIR/all.txt"
}

[ $# = 1 ] || die "usage: foreign.sh DIR"
mkdir -p "$1"
DIR=$(cd "$1" && pwd)
for part in "$heddle" "$task_tool"; do
	[ -x "$part" ] || die "$part is not built"
done

if [ "$(cat "$DIR/venv/pins" 2>/dev/null)" != "$pins" ]; then
	rm -rf "$DIR/venv"
	python3 -m venv "$DIR/venv"
	# shellcheck disable=SC2086
	"$DIR/venv/bin/pip" install --quiet $pins >"$DIR/pip.log" 2>&1 || die "pip failed: see $DIR/pip.log"
	echo "$pins" >"$DIR/venv/pins"
fi
python=$DIR/venv/bin/python
PTXAS=$(find "$DIR/venv" -path '*/nvidia/*/bin/ptxas' | head -1)
[ -x "$PTXAS" ] || die "the wheels hold no ptxas"
export PTXAS DIR build JOBS="${JOBS:-2}" BUILD="$build"
rm -rf "$DIR/ptx" "$DIR/results"
mkdir -p "$DIR/results"
generators='triton numba nvrtc tinygrad clang'
command -v rustc >/dev/null && rustc +nightly --version >/dev/null 2>&1 && generators="$generators rustc"
for g in $generators; do
	mkdir -p "$DIR/ptx/$g"
	out=$DIR/ptx/$g
	case $g in
	triton) TRITON_CACHE_DIR="$DIR/cache" "$python" "$here/foreign/triton_gen.py" "$out" ;;
	numba) "$python" "$here/foreign/numba_gen.py" "$out" ;;
	nvrtc) "$python" "$here/foreign/nvrtc_gen.py" "$out" "$root/kernels" ;;
	tinygrad) "$python" "$here/foreign/tiny.py" "$out" ;;
	clang)
		for source in "$root"/kernels/*.cu "$root"/kernels/forms/*.cu; do
			n=$(basename "$source" .cu)
			for level in O3 O0; do
				clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent -Xclang \
					-target-feature -Xclang +ptx70 -$level -S --cuda-gpu-arch=sm_80 "$source" -o "$out/$n-$level.ptx" ||
					rm -f "$out/$n-$level.ptx"
			done
		done
		;;
	rustc)
		for level in 0 1 2 3 s; do
			for arch in sm_80 sm_90; do
				rustc +nightly --target nvptx64-nvidia-cuda -C opt-level=$level -C overflow-checks=off -C panic=abort \
					-C target-cpu=$arch --emit asm "$here/foreign/kernels.rs" -o "$out/kernels-$level-$arch.ptx"
			done
		done
		;;
	esac >"$DIR/$g.log" 2>&1 || echo "foreign.sh: $g ended early: see $DIR/$g.log" >&2
done

(cd "$DIR/ptx" && find . -name '*.ptx' | sed 's,^\./,,' | sort) >"$DIR/files"
xargs -P "$JOBS" -I '{}' sh "$here/foreign.sh" --one "$DIR" '{}' <"$DIR/files"
cat "$DIR"/results/*.txt >"$DIR/all.txt"

summary
