#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: vendor.sh SOURCE BUILD VENDOR
# If a CUDA toolkit is installed, our runtime library of its version must export the same names at
# the same version node, give the same text for each error, and lay out cudaDeviceProp and the
# other structures in the same way.
set -eu
src=$1 build=$2 vendor=$3
for tool in nm cc readelf; do
	command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
cuda=${CUDA_PATH:-/usr/local/cuda}
theirs=
for abi in 13 12; do
	for dir in lib64 lib targets/x86_64-linux/lib; do
		[ -n "$theirs" ] || [ ! -e "$cuda/$dir/libcudart.so.$abi" ] || theirs=$cuda/$dir/libcudart.so.$abi
	done
	[ -z "$theirs" ] || break
done
if [ -z "$theirs" ] || [ ! -f "$cuda/include/driver_types.h" ]; then
	echo "skipped: no CUDA toolkit of 12 or 13"
	exit 77
fi
ours=$build/src/cudart/libcudart.so.$abi
version=$(sed -n 's/^#define CUDART_VERSION *\([0-9]*\)$/\1/p' "$cuda/include/cuda_runtime_api.h")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Compares names, each with its version node. NVIDIA's library may have more, if it is newer.
names() { nm -D --defined-only "$1" | sed -n 's/.* T \(_*cuda.*\)/\1/p' | LC_ALL=C sort; }
names "$ours" >"$tmp/ours"
names "$theirs" >"$tmp/theirs"
[ "$(wc -l <"$tmp/theirs")" -gt 300 ] || { echo "$theirs was not understood"; exit 1; }
diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff" || case $version in
12090 | 130[0-9]0)
	echo "names differ (<: $theirs, >: ours):"
	cat "$tmp/diff"
	exit 1
	;;
*) echo "$theirs is of another version ($version): $(grep -c '^[<>]' "$tmp/diff") names differ" ;;
esac

"$vendor" "$ours" "$theirs"

# Compares structures: offset and size of each field of cudaDeviceProp, and sizes of the others.
fields=$(sed -n "s/^RT_PROP(\(BOTH\|$abi\), [^,]*, \([^,]*\),.*/\2/p" "$src/src/cudart/props.def")
{
	for field in $fields; do
		printf 'FIELD(%s)\n' "$field"
	done
	echo 'SIZE(PROPS) SIZE(FUNC) SIZE(COPY) SIZE(KERNEL) SIZE(LAUNCH) SIZE(CHANNELS)'
	[ "$abi" = 12 ] || echo 'SIZE(POINTER)'
} >"$tmp/fields.inc"
cat >"$tmp/head.inc" <<'EOF'
#include <stddef.h>
#include <stdio.h>
#define FIELD(f) printf(#f " %zu %zu\n", offsetof(PROPS, f), sizeof(((PROPS *)0)->f));
#define SIZE(s) printf(#s " %zu\n", sizeof(s));
int main(void)
{
#include "fields.inc"
	return 0;
}
EOF
cat >"$tmp/ours.c" <<EOF
#include "cudart/types.h"
#define PROPS struct rt_props$abi
#define FUNC struct rt_func_attributes
#define POINTER struct rt_pointer_attributes
#define COPY struct rt_copy3d
#define KERNEL struct rt_kernel_node
#define LAUNCH struct rt_launch_config
#define CHANNELS struct rt_channels
#include "head.inc"
EOF
cat >"$tmp/theirs.c" <<'EOF'
#include <driver_types.h>
#define PROPS struct cudaDeviceProp
#define FUNC struct cudaFuncAttributes
#define POINTER struct cudaPointerAttributes
#define COPY struct cudaMemcpy3DParms
#define KERNEL struct cudaKernelNodeParams
#define LAUNCH cudaLaunchConfig_t
#define CHANNELS struct cudaChannelFormatDesc
#include "head.inc"
EOF
for side in ours theirs; do
	cc -I"$tmp" -I"$src/src" -I"$cuda/include" -o "$tmp/$side.bin" "$tmp/$side.c"
	"$tmp/$side.bin" >"$tmp/$side.layout"
done
[ "$(wc -l <"$tmp/ours.layout")" -gt 80 ] || { echo "no layout"; exit 1; }
diff "$tmp/theirs.layout" "$tmp/ours.layout" || { echo "layouts differ (<: the vendor's, >: ours)"; exit 1; }
echo "compared with $theirs ($version): $(wc -l <"$tmp/ours") names, $(wc -l <"$tmp/ours.layout") fields"
