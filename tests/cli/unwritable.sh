#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: unwritable.sh BUILD-FOLDER
# A command that writes a file after long work rejects an unwritable path at once: before it runs a
# program and (except profile) before it opens a device. An invalid word in HEDDLE_VGPU would make
# opening the device fail.
set -eu
heddle=$(cd "$1" && pwd)/heddle
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
printf 'device sms=4\nat 0ms join A\nat 1ms launch A k\n' >"$dir/trace"
cat >"$dir/k.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
	ret;
}
PTX
printf '#!/bin/sh\ntouch ran\n' >"$dir/prog"
chmod +x "$dir/prog"
mkdir "$dir/closed"
echo none >"$dir/closed/file"
chmod 400 "$dir/closed/file"
chmod 500 "$dir/closed"
export HEDDLE_VGPU=no-such=word TMPDIR="$dir" XDG_STATE_HOME="$dir/state"
failed=0

# refuses COMMAND PATH: COMMAND, with PATH for each @, must end at once with an error that names
# PATH.
refuses() {
	status=0
	# shellcheck disable=SC2046
	(cd "$dir" && timeout 5 "$heddle" $(printf '%s' "$1" | sed "s|@|$2|g")) >"$dir/out" 2>&1 ||
		status=$?
	if [ "$status" != 1 ] || ! grep -qF -e "error: $2: " -e "\"error\": \"$2: " "$dir/out" ||
		{ [ "$kind" != kept ] && grep -q no-such "$dir/out"; } || [ -e "$dir/ran" ]; then
		echo "heddle $1 with $2: status $status:"
		cat "$dir/out"
		failed=1
	fi
	rm -f "$dir/ran"
}

# Paths at which a command cannot create a file, a new folder, or a folder that may already exist.
# Even root cannot, except at the paths in `closed`.
files="/nodir/x /proc/x $dir $dir/trace/x"
stores="/proc/x.db $dir $dir/trace $dir/trace/x.db"
new="/nodir/x /proc/x $dir $dir/trace $dir/trace/x"
folders="/nodir/x /proc/x /proc $dir/trace $dir/trace/x"
if ! sh -c ": >'$dir/closed/x'" 2>"$dir/out"; then
	files="$files $dir/closed/file $dir/closed/x"
	stores="$stores $dir/closed/x.db"
	new="$new $dir/closed/x"
	folders="$folders $dir/closed $dir/closed/x"
fi
spec='k.ptx k --grid 1 --block 32'
while IFS='|' read -r kind command; do
	case $kind in
	file) paths=$files ;;
	store | kept) paths=$stores ;;
	new) paths=$new ;;
	*) paths=$folders ;;
	esac
	for path in $paths; do
		refuses "$command" "$path"
	done
done <<END
file|demo --device cpu --svg @
file|sim trace --svg @
file|bench share --device cpu --svg @
file|bench share --device cpu --resume @
file|bench preempt --device cpu --resume @
file|bench merge --device cpu --svg @
file|bench merge --device cpu --data @
file|exec --device cpu $spec u32[8]:zero>@
file|exec --device cpu --as preempt --json $spec u32[8]:zero>@
file|corun --device cpu -- $spec u32[8]:zero>@
file|corun --device cpu --how merge -- $spec u32[8]:zero>- + $spec u32[8]:zero>@
store|tune --device cpu --store @ -- $spec u32[8]:zero + $spec u32[8]:zero
store|bench merge --device cpu --part pairs --store @
kept|profile --device cpu --store @ -- ./prog
new|record --device cpu -o @ -- ./prog
folder|ptx preempt --dump @ k.ptx
folder|ptx slice --dump @ k.ptx
folder|ptx merge --dump @ -- $spec + $spec
folder|ptx fuse-vertical --dump @ -- $spec + $spec
folder|ptx fuse-horizontal --dump @ -- $spec + $spec
folder|ptx weave --dump @ -- $spec + $spec
folder|ptx virtual --dump @ -- $spec
END

# The default file, when the current folder is not writable.
if (cd /proc && timeout 5 "$heddle" demo --device cpu) >"$dir/out" 2>&1 ||
	! grep -q 'error: heddle-demo.svg: ' "$dir/out"; then
	echo "heddle demo in /proc:"
	cat "$dir/out"
	failed=1
fi

# The check does not create, remove or truncate a writable file.
echo kept >"$dir/old"
ln -s new-target "$dir/link"
for path in old link fresh; do
	timeout 20 "$heddle" exec --device cpu "$dir/k.ptx" nothing --grid 1 --block 32 "u32[8]:zero>$dir/$path" \
		>"$dir/out" 2>&1 && failed=1
done
if [ "$(cat "$dir/old")" != kept ] || [ ! -L "$dir/link" ] || [ -e "$dir/fresh" ]; then
	echo "the check of a file changed something:"
	ls -l "$dir"
	failed=1
fi
exit "$failed"
