# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
# shellcheck shell=sh
#
# Shared by the scripts of this folder, which source it under set -eu: finds ptxas and nvdisasm,
# makes a folder in which programs find the machine-code interpreter as their driver, and counts
# verdicts.
# shellcheck disable=SC2034

# sass_tool NAME: prints the path of the program, or nothing. Searches PATH, the wheels of the
# active Python environment, WHEELS (a folder made by pip install --target), and CUDA's folder.
sass_tool() {
	command -v "$1" && return
	for sass_at in "${VIRTUAL_ENV:-/nowhere}"/lib/python3*/site-packages/nvidia/*/bin \
		"${WHEELS:-/nowhere}"/nvidia/*/bin /usr/local/cuda/bin; do
		[ -x "$sass_at/$1" ] && echo "$sass_at/$1" && return
	done
	return 0
}

# sass_open BUILD: sets work, a folder that is removed at exit, and tree, the folder of the
# programs. Skips the script without ptxas or nvdisasm.
sass_open() {
	build=$1
	PTXAS=${PTXAS:-$(sass_tool ptxas)}
	NVDISASM=${NVDISASM:-$(sass_tool nvdisasm)}
	for sass_name in "ptxas:$PTXAS:nvidia-cuda-nvcc" "nvdisasm:$NVDISASM:nvidia-cuda-nvdisasm"; do
		sass_at=${sass_name#*:}
		[ -x "${sass_at%%:*}" ] || {
			echo "skipped: no ${sass_name%%:*} (PyPI: ${sass_at##*:}; WHEELS names the folder of pip install --target)"
			exit 77
		}
	done
	work=$(mktemp -d)
	sass_id=$$
	trap 'rm -rf "$work" "/dev/shm/heddle-vgpu-$(id -u)-sass-$sass_id"*' EXIT
	trap 'exit 1' INT TERM
	SASS_CACHE=${SASS_CACHE:-$work/cache}
	# Programs search for the virtual GPU from their own folder. With this path, which meson
	# sets, they would find the one that interprets PTX.
	unset LD_LIBRARY_PATH
	tree=$work/tree
	mkdir -p "$SASS_CACHE" "$tree/src/dev/cpu"
	cp "$build/heddle" "$tree/"
	mkdir -p "$tree/src/rt" "$tree/tests/rt"
	cp "$build"/src/rt/libheddle.so.[0-9] "$tree/src/rt/"
	cp "$build/tests/rt/tasks_same" "$tree/tests/rt/"
	cp "$build/tests/sass/libcuda.so.1" "$tree/src/dev/cpu/"
	export PTXAS NVDISASM SASS_CACHE work tree build what sass_id
}

# sass_count FILE: prints the verdicts other than "same", and counts. Fails as described in the
# head of sass.sh.
sass_count() {
	[ -s "$1" ] || {
		echo "skipped: no kernel matches (no such compiler here)"
		exit 77
	}
	sort "$1" | if [ -n "${VERBOSE:-}" ]; then cat; else grep -Ev '^(same|refused)' || :; fi
	sass_forms=0
	sass_same=0
	for sass_verdict in same close differs hang fails 'not run' 'no reference' refused; do
		sass_n=$(grep -c "^$sass_verdict: " "$1") || :
		[ "$sass_verdict" = refused ] || sass_forms=$((sass_forms + sass_n))
		case $sass_verdict in same | close) sass_same=$((sass_same + sass_n)) ;; esac
		[ "$sass_verdict" != differs ] || sass_differs=$sass_n
		printf '%s %s, ' "$sass_n" "$sass_verdict"
	done
	echo "of $sass_forms forms"
	[ "$sass_differs" = 0 ] && [ "$sass_forms" -gt 0 ] && [ $((sass_same * 100)) -ge $((sass_forms * ${RIGHT:-90})) ]
}
