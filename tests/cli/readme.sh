#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: readme.sh MESON BUILD SOURCE PREFIX LIBDIR quick|full
# Runs every command of README.md's code blocks, in order, in a shell on the virtual GPU: in a
# folder that stands for a checkout, with BUILD installed into a folder that stands for the root.
# The test fails on a command that is not listed below, and on a listed command that README.md no
# longer has. Commands that cannot run here have stand-ins on the PATH, which check their arguments:
#   apt-get                            installs nothing
#   sudo                               runs the command unchanged
#   meson, ninja                       install and uninstall in the other root. Building is already
#                                      done. meson test, from ./run test, only records the call (it
#                                      would run this test again). full: they build what ./run dist
#                                      needs, in a copy of the source
#   systemctl                          checks that the unit and its program exist, and that
#                                      systemd-analyze verify accepts it
#   systemd-sysusers, usermod, getent  use the other root's files; the group must exist before it is
#                                      used
#   docker                             checks that all mounted paths exist, and that ./simulation,
#                                      run with only the mounts and variables given, becomes a
#                                      tenant of the requested priority
set -eu
meson=$1
build=$2
source=$3
prefix=$4
libdir=$5
mode=$6
dir=$(mktemp -d)
ninja=$(command -v ninja || command -v samu || :)
user=$(id -un)
log=$build/meson-logs/install-log.txt
[ ! -f "$log" ] || cp "$log" "$dir/install-log"
pids=''
end() {
	status=$?
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null || :
	wait
	[ ! -f "$dir/install-log" ] || cp "$dir/install-log" "$log"
	[ "$status" = 0 ] || [ -z "${KEEP-}" ] || cp -R "$dir" "$KEEP"
	rm -rf "$dir"
	exit "$status"
}
trap end EXIT
trap 'exit 1' INT TERM
fail() {
	echo "FAILED: $*"
	exit 1
}
await() { # SECONDS COMMAND...
	tries=$(($1 * 50))
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.02
	done
}
if [ ! -x "$build/examples/va" ] || [ -z "$ninja" ]; then
	echo "skipped: no compiler for kernels, or no ninja"
	exit 77
fi

# Prints the commands of fenced and indented blocks, continued lines joined, comments removed.
commands() {
	awk '
	/^```/ { fenced = !fenced; next }
	fenced || /^    / {
		sub(/^    /, "")
		sub(/^ +/, line == "" ? "" : " ")
		sub(/[ \t]+# .*$/, "")
		line = line $0
		if (sub(/ *\\$/, "", line))
			next
		if (line != "")
			print line
	}
	{ line = "" }' "$1"
}
commands "$source/README.md" >"$dir/commands"

# The files that README.md links to exist, and its picture suits dark mode.
grep -oE '\]\([^)]*\)' "$source/README.md" | sed 's/^](//; s/)$//' | sort -u >"$dir/links"
while read -r link; do
	case $link in http*) continue ;; esac
	[ -f "$source/$link" ] || fail "README.md links to $link, which is not there"
	case $link in *.svg) grep -q 'prefers-color-scheme:dark' "$source/$link" || fail "$link: not for dark pages" ;; esac
done <"$dir/links"

# ---- stand-ins for the machine ----

root=$dir/root work=$dir/work stubs=$dir/stubs
mkdir -p "$root/etc" "$root/run/heddle" "$work" "$stubs" "$dir/home"
export HOME="$dir/home" USER="$user" README_ROOT="$root" README_DIR="$dir" README_MODE="$mode" README_BUILD="$build"
export README_MESON="$meson" README_NINJA="$ninja" README_PREFIX="$prefix" README_LIBDIR="$libdir"
export HEDDLE_SOCKET="$root/run/heddle/heddled.sock" HEDDLE_VGPU="readme-$$" HEDDLE_DEVICE=cpu
export HEDDLE_FORM_WAIT_MS=60000
unset XDG_CACHE_HOME HEDDLE_PRIORITY HEDDLE_DRIVER_LIB LD_LIBRARY_PATH DESTDIR MESON_BUILD_ROOT
echo "$user:x:$(id -u):" >"$root/etc/group"
stub() { # NAME: makes a stand-in; its commands come from standard input
	{
		echo '#!/bin/sh'
		echo 'set -eu; root=$README_ROOT dir=$README_DIR'
		echo 'fail() { echo "FAILED: $0: $*" | tee -a "$dir/wrong"; exit 1; }'
		cat
	} >"$stubs/$1"
	chmod +x "$stubs/$1"
}
stub apt-get <<'END'
END
stub sudo <<'END'
exec "$@"
END
stub meson <<'END'
case "$* $README_MODE" in
'install -C build --no-rebuild '*)
	DESTDIR=$root exec "$README_MESON" install -C "$README_BUILD" --no-rebuild --quiet ;;
*build-dist*full) exec "$README_MESON" "$@" ;;
setup*)
	# With this option, README.md's paths of the libraries are right.
	case "$*" in *--libdir=lib\ *) ;; *) fail "$*: libdir" ;; esac
	for last; do :; done
	touch "$last/build.ninja" ;;
test*)
	mkdir -p "$3/meson-logs"
	echo '{"name": "all", "result": "OK"}' >"$3/meson-logs/run.json" ;;
*) fail "$*" ;;
esac
END
stub ninja <<'END'
case "$* $README_MODE" in
*uninstall*) exec "$README_NINJA" -C "$README_BUILD" uninstall ;;
'-C build '* | '-C build-asan '*) ;;
*full) exec "$README_NINJA" "$@" ;;
esac
END
stub systemctl <<'END'
kind=system
[ "$1" != --user ] || { kind=user; shift; }
case "$*" in
daemon-reload) exit ;;
'enable --now heddled' | 'disable --now heddled') ;;
*) fail "$*" ;;
esac
unit=$root$README_PREFIX/lib/systemd/$kind/heddled.service
exe=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
[ -x "$root$exe" ] || fail "$unit starts $exe, which is not there"
[ $kind = user ] || grep -q '^heddle:' "$root/etc/group" || fail "the user that it runs as is not there yet"
command -v systemd-analyze >/dev/null || { echo "not verified: no systemd-analyze"; exit; }
mkdir -p "$dir/$kind"
sed "s|^ExecStart=|&$root|" "$unit" >"$dir/$kind/heddled.service"
[ $kind = system ] || set -- --user
[ $kind = user ] || set --
XDG_RUNTIME_DIR=$dir systemd-analyze "$@" verify --man=no "$dir/$kind/heddled.service" >"$dir/verify" 2>&1 ||
	fail "$unit: $(cat "$dir/verify")"
! grep heddled "$dir/verify" || fail "$unit: $(cat "$dir/verify")"
END
real_sysusers=$(command -v systemd-sysusers || :)
export README_SYSUSERS="$real_sysusers"
stub systemd-sysusers <<'END'
[ -f "$root$1" ] || fail "no $1"
if [ -n "$README_SYSUSERS" ] && "$README_SYSUSERS" --root="$root" "$root$1"; then
	exit
fi
grep -q '^g heddle ' "$root$1" || fail "$1 makes no group heddle"
echo 'heddle:x:999:' >>"$root/etc/group"
END
stub usermod <<'END'
[ "$1 $2" = "-aG heddle" ] && [ -n "$3" ] || fail "$*"
grep -q '^heddle:' "$root/etc/group" || fail "no group heddle yet"
END
stub getent <<'END'
[ "$1" = group ] || fail "$*"
grep "^$2:" "$root/etc/group"
END
stub docker <<'END'
[ "$1" = run ] || fail "$*"
shift
inside=$dir/inside set= env=
while [ $# -gt 0 ]; do
	case $1 in
	--gpus) [ "$2" = all ] || fail "--gpus $2" ;;
	--group-add) grep -q "^heddle:[^:]*:$2:" "$root/etc/group" || fail "--group-add $2: not the group's number" ;;
	-v)
		from=${2%%:*} to=${2#*:}
		to=${to%:ro}
		# (Builds that ./run did not configure may have another libdir.)
	case $from in
	/usr/local/lib/heddle*) from=$README_PREFIX/$README_LIBDIR/heddle${from#/usr/local/lib/heddle} ;;
	esac
	[ -d "$root$from" ] || fail "-v $2: no $from where heddle was installed"
		mkdir -p "$inside${to%/*}"
		# Link the socket in place; copy the rest, so that programs find no files beside it.
		case $from in /run/*) ln -s "$root$from" "$inside$to" ;; *) cp -R "$root$from" "$inside$to" ;; esac ;;
	-e) case $2 in *=/*) env="$env ${2%%=*}=$inside${2#*=}" ;; *) env="$env $2" ;; esac ;;
	*) break ;;
	esac
	shift 2
done
[ "$*" = "my-image ./simulation" ] || fail "what is run: $*"
# shellcheck disable=SC2086
env -i PATH="$PATH" HOME="$dir/home" HEDDLE_VGPU="$HEDDLE_VGPU" HEDDLE_DRIVER_LIB="$dir/cpu/libcuda.so.1" \
	HEDDLE_FORM_WAIT_MS=60000 HEDDLE_SOCKET="$inside/run/heddle/heddled.sock" $env \
	"$dir/examples/va" --size small --check each >"$dir/docker.out" 2>&1 || fail "$(cat "$dir/docker.out")"
! grep heddle "$dir/docker.out" || fail "it went past heddle"
END
PATH=$stubs:$PATH

# Make a checkout of the source files. Add only those programs of the build that ./run starts: the
# build's logs belong to the tests that are running now.
if [ "$mode" = full ]; then
	(cd "$source" && {
		git ls-files -z 2>/dev/null || # find: if there is no git or no checkout
			find . -name .git -prune -o -path './build*' -prune -o -path ./dist -prune -o -type f -print0
	} | xargs -0 cp --parents -t "$work") ||
		fail "the source could not be copied"
else
	cp "$source/run" "$source/meson.build" "$source/README.md" "$work/"
fi
mkdir -p "$work/build" "$work/examples/rt" "$work/kernels"
ln -s "$build/heddled" "$build/examples" "$build/build.ninja" "$work/build/"
# In quick mode, the `heddle demo` that ./run starts is a stub that prints only the demo's last
# lines, because cli-json-demo tests the demo itself.
cat >"$work/build/heddle" <<END
#!/bin/sh
if [ "\$*" = demo ] && [ $mode = quick ]; then
	echo "results all correct; spmv clearly ended before cfd"
	echo svg >heddle-demo.svg
	exit
fi
exec "$build/heddle" "\$@"
END
chmod +x "$work/build/heddle"
cp "$source/examples/rt/vecadd.cu" "$work/examples/rt/"
cp "$source"/kernels/*.h "$work/kernels/"
cat >"$work/kernel.cu" <<'END'
extern "C" __global__ void scale(float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= a;
}
END
ln -s "$build/examples" "$dir/examples"
ln -s "$build/src/dev/cpu" "$dir/cpu"
printf '#!/bin/sh\nexec "%s/va" --size large --for-ms 100000\n' "$build/examples" >"$work/simulation"
printf '#!/bin/sh\nexec "%s/mm" --size small --check each\n' "$build/examples" >"$work/controller"
chmod +x "$work/simulation" "$work/controller"
version=$(sed -n "s/^ *version: '\([^']*\)'.*/\1/p" "$source/meson.build" | head -n 1)
dist=dist/heddle-$version-$(uname -m)

# ---- the commands ----

says() { # TEXT: the last command's output must contain it
	grep -q -e "$1" "$dir/out" || fail "$command: no '$1': $(tail -n 20 "$dir/out")"
}
# Runs a command that must end with status 0.
ends() {
	eval "$command" >"$dir/out" 2>&1 </dev/null || fail "$command: status $?: $(tail -n 20 "$dir/out")"
	[ ! -f "$dir/wrong" ] || fail "$command: $(cat "$dir/wrong")"
}
stays() {
	eval "$command" >"$1" 2>&1 </dev/null
	pids="$pids $!"
}

try() {
	case $command in
	./run\ demo) ends && says 'results all correct' && says 'clearly ended before\|times faster' && [ -s heddle-demo.svg ] ;;
	./run\ build) ends && [ -e build/build.ninja ] ;;
	'sudo meson install -C build --no-rebuild')
		ends
		installed=$root$prefix
		[ -x "$installed/bin/heddle" ] || fail "$command: no $prefix/bin/heddle"
		;;
	./run\ dist)
		if [ "$mode" = full ]; then
			ends && says "$dist"
		else
			mkdir dist && ln -s "$installed" "$dist"
		fi
		;;
	'PATH="$PWD/build:$PATH"')
		eval "$command"
		[ "$(command -v heddled)" = "$PWD/build/heddled" ] || fail "$command: not build"
		;;
	'PATH="$PWD/dist/'*'/bin:$PATH"')
		eval "$command"
		[ "$(command -v heddle)" = "$PWD/$dist/bin/heddle" ] || fail "$command: not $dist"
		;;
	heddle\ doctor) ends && says '^ok  *virtual GPU' && says '^ok  *shim' ;;
	heddle\ doctor\ --\ ./simulation) ends && says 'program .*simulation' ;;
	heddle\ doctor\ --\ ./vecadd) ends && says 'managed  *vecadd(float const' && says '1 managed, 0 guard, 0 held' ;;
	clang-14\ *) with_clang && [ -s kernel.ptx ] ;;
	heddle\ ptx\ check\ kernel.ptx) ends && says 'scale: managed' ;;
	heddle\ exec\ *) ends && says '^3.5$' ;;
	'cp build/examples/rt/shared/vecadd .') ends && [ -x vecadd ] ;;
	'nvcc -cudart shared examples/rt/vecadd.cu -o vecadd') with_nvcc ;;
	'heddle run --device cpu -- ./vecadd') laptop ends && says '^1 launch: 0 of 1000000 sums wrong$' ;;
	'heddle run --device cpu -p low -- ./vecadd 2000 &')
		laptop stays "$dir/low.out"
		await 120 sh -c 'heddle ps | grep -q "[0-9]%.* vecadd("' || fail "$command: $(heddle ps)"
		;;
	'heddle run --device cpu -p high -v -- ./vecadd 20')
		laptop ends && says '^20 launches: 0 of 1000000 sums wrong$' && says '^  launches  *20: 20 managed'
		[ "$(grep -c 'joins: vecadd.* priority \(low\|high\),' "$dir/heddled.log")" = 2 ] ||
			fail "$command: not two tenants: $(cat "$dir/heddled.log")"
		;;
	sudo\ systemd-sysusers\ /usr/local/lib/sysusers.d/heddle.conf) [ "$prefix" != /usr/local ] || ends ;;
	'sudo usermod -aG heddle "$USER"') ends ;;
	sudo\ systemctl\ daemon-reload) ends ;;
	sudo\ systemctl\ enable\ --now\ heddled) ends ;;
	systemctl\ --user\ enable\ --now\ heddled) ends ;;
	'heddled &')
		alone
		stays "$dir/heddled.log"
		await 60 heddle status || fail "$command: $(cat "$dir/heddled.log")"
		;;
	'heddle run -p low -- ./simulation &')
		stays "$dir/simulation.out"
		# Wait until one of its kernels is on the device.
		await 120 sh -c 'heddle ps | grep -q "[0-9]%.* va$"' || fail "$command: $(heddle ps)"
		;;
	'heddle run -p high -- ./controller')
		ends && says 'pass: 1 of 1 checked'
		! grep '^heddle' "$dir/out" "$dir/simulation.out" || fail "$command: not under heddle"
		heddle status --json | grep -q '"preemptions": [1-9]' || fail "$command: nothing was preempted"
		;;
	# This command is in two blocks. It shows the low-priority program, which this test then
	# ends.
	heddle\ ps) ends && says 'low .* \(va\|vecadd\)$' && kill "${pids##* }" ;;
	docker\ run\ *)
		before=$(grep -c joins "$dir/heddled.log" || :)
		ends
		[ "$(grep -c joins "$dir/heddled.log")" -gt "$before" ] || fail "$command: no tenant joined"
		grep joins "$dir/heddled.log" | tail -n 1 | grep -q low || fail "$command: $(tail -n 3 "$dir/heddled.log")"
		;;
	sudo\ systemctl\ disable\ --now\ heddled) ends ;;
	sudo\ ninja\ -C\ build\ uninstall)
		ends
		left=$(find "$root$prefix" -type f 2>/dev/null | head -n 5)
		[ -z "$left" ] || fail "$command: left: $left"
		;;
	'rm -rf ~/.cache/heddle ~/.local/state/heddle')
		[ -d "$HOME/.cache/heddle" ] || fail "$command: it was not there"
		ends
		[ ! -e "$HOME/.cache/heddle" ] || fail "$command: it is there"
		[ ! -e "$HOME/.local/state/heddle" ] || fail "$command: the state is there"
		;;
	*) fail "README.md: nothing is known of this command: $command" ;;
	esac || fail "$command"
}

# Without a daemon, one line says that programs do not share the GPU, and how to start heddled.
alone() {
	heddle run -- "$build/examples/va" --size small >"$dir/out" 2>"$dir/err" || fail "without heddled: $(cat "$dir/err")"
	[ "$(grep -c . "$dir/err")" = 1 ] || fail "without heddled: not one line: $(cat "$dir/err")"
	grep -q 'nothing is shared.*"heddled &" starts it' "$dir/err" || fail "without heddled: $(cat "$dir/err")"
}

# Runs a command as on a machine without a GPU: only the command itself selects the device.
laptop() { # COMMAND...
	unset HEDDLE_DEVICE
	"$@"
	export HEDDLE_DEVICE=cpu
}

# If nvcc is missing, skips its command and says so.
with_nvcc() {
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	[ -x "$nvcc" ] || { echo "left out: no nvcc" && return; }
	case $("$nvcc" --version) in *'release 12.'* | *'release 13.'*) ;; *) echo "left out: nvcc is not of CUDA 12 or 13" && return ;; esac
	PATH=$PATH:${nvcc%/*} ends
	laptop heddle run --device cpu -- ./vecadd 1 1000 >"$dir/out" 2>&1 && says '^1 launch: 0 of 1000 sums wrong$'
}

# If clang-14 is missing, compiles the PTX with nvcc.
with_clang() {
	command -v clang-14 >/dev/null && { ends; return; }
	echo "left out: no clang-14"
	nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
	"$nvcc" -arch=sm_90 -ptx -o kernel.ptx kernel.cu
}

# The number of commands known above; README.md must have each of them.
known=$(sed -n '/^try() {/,/^}/p' "$0" | grep -Ec "^	['a-z.P].*\)( |\$)")
cd "$work"
while IFS= read -r command <&3; do
	echo "\$ $command"
	try
done 3<"$dir/commands"
n=$(sort -u "$dir/commands" | grep -c .)
[ "$n" = "$known" ] || fail "README.md has $n commands, $known are known here"
echo "$n commands"
