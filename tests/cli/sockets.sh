#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: sockets.sh BUILD
# Tests each kind of unusable socket with each command that uses one. The message names the path,
# the owner of the file in the way, and the next step, in one sentence; heddle run continues
# natively. Cases with other users need root.
set -eu
build=$1
dir=$(mktemp -d)
listener=''
trap '[ -z "$listener" ] || kill $listener 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"
unset HEDDLE_SOCKET HEDDLE_DEVICE XDG_RUNTIME_DIR 2>/dev/null || :
[ ! -e /run/heddle/heddled.sock ] || { echo 'skipped: the system has a heddled'; exit 77; }
export HEDDLE_VGPU="sockets-$$" XDG_CACHE_HOME="$dir/cache"
me=$(id -u) as='' n=0

fail() {
	echo "FAILED: $kind, $verb: $*"
	cat "$dir/out"
	exit 1
}
# said VERB WORDS...: runs the verb; one line of its output must contain all the words.
said() {
	verb=$1
	shift
	case $verb in
	run) command='run --device cpu -- '$build/examples/va' --size trivial' ;;
	set) command='set -p low 1' ;;
	top) command='top --once' ;;
	*) command=$verb ;;
	esac
	status=0
	# shellcheck disable=SC2086
	$as "$build/heddle" $command >"$dir/out" 2>&1 || status=$?
	if [ "$verb" = run ]; then # the program runs natively and ends normally
		[ "$status" = 0 ] || fail "status $status"
		[ "$(grep -c '^heddle: .*; running natively$' "$dir/out")" = 1 ] || fail 'not said once'
	fi
	for word; do
		grep -q "$word" "$dir/out" || fail "'$word' is missing"
	done
	! grep -q 'program: ;\|not permitted\|: : ' "$dir/out" || fail 'an empty or bare reason'
	n=$((n + 1))
}
# refuses WORDS...: heddled must not start with the socket folder that the environment sets.
refuses() {
	verb=heddled
	# shellcheck disable=SC2086
	! timeout 20 $as "$build/heddled" --config-root /nonexistent >"$dir/out" 2>&1 || fail 'it starts'
	for word; do
		grep -q "^heddled: error: .*$word" "$dir/out" || fail "'$word' is missing"
	done
	n=$((n + 1))
}
# all WORDS...: runs every command with the socket that the environment sets. Each must print the
# words.
all() {
	for command in run ps top status set doctor; do
		said "$command" "$@"
	done
	grep -q '^bad   daemon' "$dir/out" || fail 'it is no fault for doctor'
}
listen() { # TYPE ANSWER: starts a listener that answers each message with these bytes
	python3 - "$dir/sock" "$1" "$2" <<'PY' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
s.bind(sys.argv[1] + ".new")
if sys.argv[2] != "SOCK_DGRAM":
    s.listen(9)
os.chmod(sys.argv[1] + ".new", 0o666)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    c = s.accept()[0] if sys.argv[2] != "SOCK_DGRAM" else s.recv(1)
    try:
        c.recv(4096)
        if sys.argv[3] == "other":
            c.send(b"\x7f" * 64)
    except OSError:
        pass
    c.close()
PY
	listener=$!
	tries=500
	until [ -S "$dir/sock" ] || [ $((tries -= 1)) = 0 ]; do sleep 0.02; done
}
unlisten() {
	kill "$listener"
	wait "$listener" 2>/dev/null || :
	listener=''
}

kind=missing
export HEDDLE_SOCKET="$dir/sock"
for verb in ps top status set; do
	said $verb "no heddled listens on $dir/sock" 'start it: heddled'
done
said doctor "^note  daemon .*$dir/sock: none"
said run 'heddled does not run.*heddled &'

kind='file'
: >"$dir/sock"
all "$dir/sock is a file of user $me, not a socket" 'remove it, or name'
rm "$dir/sock"

kind=folder
mkdir "$dir/sock"
all "$dir/sock is a folder of user $me, not a socket" 'remove it, or name'
rmdir "$dir/sock"

kind='another type'
for type in SOCK_STREAM SOCK_DGRAM; do
	listen $type none
	all "$dir/sock is a socket of another program, of user $me" "name heddled's socket"
	unlisten
	rm "$dir/sock"
done

kind='other protocol'
listen SOCK_SEQPACKET other
all "heddled at $dir/sock (user $me's) speaks another protocol version" 'same release'
unlisten

kind=dead
for verb in ps top status set; do
	said $verb "no heddled listens on $dir/sock: user $me's has ended" 'start it: heddled'
done
said run 'heddled does not run'
rm "$dir/sock"

kind=silent
listen SOCK_SEQPACKET none
all "heddled at $dir/sock (user $me's) closed the connection without an answer" 'log says why'
unlisten
rm "$dir/sock"

kind='too long'
HEDDLE_SOCKET=$dir/$(printf %0100d 0)
for verb in ps top status set doctor; do
	said $verb 'have at most 107 bytes'
done

unset HEDDLE_SOCKET
export XDG_RUNTIME_DIR="$dir/runtime"
kind='writable by others'
mkdir -m 755 "$dir/runtime"
mkdir -m 777 "$dir/runtime/heddle"
chmod 777 "$dir/runtime/heddle"
all "other users can write to $dir/runtime/heddle (of user $me)" 'chmod go-w' "name heddled's"
refuses "other users can write to $dir/runtime/heddle (of user $me)" 'chmod go-w'
rmdir "$dir/runtime/heddle"

kind='a file for its folder'
: >"$dir/runtime/heddle"
all "$dir/runtime/heddle is a file of user $me, not a folder" 'remove it, or name'
rm "$dir/runtime/heddle"

if [ "$me" = 0 ] && command -v setpriv >/dev/null; then
	kind='folder of another user'
	mkdir -m 755 "$dir/runtime/heddle"
	chown 65534 "$dir/runtime/heddle"
	all "$dir/runtime/heddle belongs to user 65534, not to user 0" 'XDG_RUNTIME_DIR is another.*unset it'
	chown 0 "$dir/runtime/heddle"
	as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	export HOME=/nonexistent
	if $as "$build/heddle" version >/dev/null 2>&1; then
		all "$dir/runtime/heddle belongs to user 0, not to user 65534" 'XDG_RUNTIME_DIR is another.*unset it'
		kind='closed folder of another user' # the situation after su to that user
		chmod 700 "$dir/runtime"
		all "$dir/runtime belongs to user 0, and user 65534 may not enter" 'XDG_RUNTIME_DIR is another.*unset it'
		refuses "$dir/runtime belongs to user 0, and user 65534 may not enter" 'XDG_RUNTIME_DIR is another.*unset it'
		rmdir "$dir/runtime/heddle"
		chmod 755 "$dir/runtime"
		refuses "$dir/runtime belongs to user 0, and user 65534 may not write to it" 'XDG_RUNTIME_DIR is another.*unset it'
		mkdir -m 755 "$dir/runtime/heddle"
		chmod 700 "$dir/runtime"
		kind='given, in a closed folder'
		HEDDLE_SOCKET=$dir/runtime/heddle/s
		export HEDDLE_SOCKET
		all "$dir/runtime belongs to user 0, and user 65534 may not enter"
		kind='socket of another user'
		HEDDLE_SOCKET=$dir/sock
		listen SOCK_SEQPACKET none
		chmod 600 "$dir/sock"
		all "$dir/sock does not let this user in: it belongs to user 0 and group 0" 'who may: '
		unlisten
	fi
fi
echo "$n messages"
