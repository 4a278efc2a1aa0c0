#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: profile.sh BUILD
# heddle profile queries peers that send bad answers: messages in the wrong order, truncated ones,
# unterminated strings, NaN and infinity, or no answer. It must list the rows that are valid or fail
# with one line, must not crash or hang, and must print valid JSON.
set -eu
build=$1
command -v python3 >/dev/null || {
	echo "skipped: no python3"
	exit 77
}
exec python3 - "$build/heddle" <<'END'
import json, os, random, socket, struct, subprocess, sys, tempfile, threading

PROTOCOL, KERNEL, SHAPE, END = 7, 10, 11, 7
KERNEL_BYTES, SHAPE_BYTES = 16 + 16 + 24 + 8 + 8 + 128 + 160, 16 + 8 + 8 + 48 + 40


def message(kind, body, size=None):
    return struct.pack("=4I", kind, size or 16 + len(body), PROTOCOL, 0) + body


def kernel(shapes=0, name=b"k", floats=0.5, launches=1):
    return message(KERNEL, struct.pack("=4I3Q2I34f64s64s32s", 1000, 8, shapes, 4, 77, launches, 9000, 1, 1,
                                       *[floats] * 34, name, b"a GPU", b"13000"))


def shape(number=100, floats=1.0):
    return message(SHAPE, struct.pack("=2IQ12f5Q", 128, 0, number, *[floats] * 12, *[number] * 5))


END_ROW = message(END, b"")
nan, inf, most = float("nan"), float("inf"), 2**64 - 1
# Each case: name, the peer's answer, the expected exit status.
cases = [
    ("nothing", [END_ROW], 0),
    ("a kernel", [kernel(), END_ROW], 0),
    ("shapes", [kernel(2), shape(), shape(), END_ROW], 0),
    ("fewer shapes", [kernel(2), shape(), END_ROW], 0),
    ("no numbers", [kernel(1, floats=nan), shape(0, nan), END_ROW], 0),
    ("greatest numbers", [kernel(1, floats=inf, launches=most), shape(most, inf), END_ROW], 0),
    ("escapes in a name", [kernel(0, b"\033[2J\xff\xfe"), END_ROW], 0),
    ("a shape of no kernel", [shape(), END_ROW], 1),
    ("more shapes than said", [kernel(1), shape(), shape(), END_ROW], 1),
    ("a name without end", [kernel(0, b"x" * 64), END_ROW], 1),
    ("a cut kernel", [kernel()[:-1], END_ROW], 1),
    ("a kernel of another size", [message(KERNEL, b"x" * 8), END_ROW], 1),
    ("an unknown type", [message(99, b""), END_ROW], 1),
    ("another protocol", [struct.pack("=4I", END, 16, PROTOCOL + 1, 0)], 1),
    ("no end", [kernel()], 1),
    ("not a word", [], 1),
    ("too much at once", [b"y" * 9000], 1),
]
choice = random.Random(36)
for i in range(60):
    said = bytearray(choice.choice([kernel(1), shape(), END_ROW]))
    for _ in range(choice.randrange(1, 9)):
        said[choice.randrange(len(said))] = choice.randrange(256)
    cases.append(("random %d" % i, [kernel(1), bytes(said), END_ROW], None))


def serve(listener, packets):
    peer, _ = listener.accept()
    with peer:
        peer.recv(4096)
        try:
            for p in packets:
                peer.send(p)
        except OSError:
            pass  # heddle has closed the connection


def ask(heddle, path, packets, *options):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(1)
        thread = threading.Thread(target=serve, args=(listener, packets))
        thread.start()
        done = subprocess.run([heddle, "profile", "--socket", path, *options], capture_output=True, timeout=60)
        thread.join()
    os.unlink(path)
    return done


assert len(kernel()) == KERNEL_BYTES and len(shape()) == SHAPE_BYTES
with tempfile.TemporaryDirectory() as folder:
    for what, packets, status in cases:
        for options in [], ["k"], ["--json"]:
            done = ask(sys.argv[1], folder + "/s", packets, *options)
            ok = done.returncode == status if status is not None else done.returncode in (0, 1)
            ok = ok and b"\033" not in done.stdout + done.stderr
            if "--json" in options:
                keys = json.loads(done.stdout, parse_constant=lambda c: sys.exit("%s: %s in JSON" % (what, c)))
                ok = ok and ("errors" in keys) == (done.returncode == 1)
            elif done.returncode:
                ok = ok and 1 <= len(done.stderr.splitlines()) <= 2
            if not ok:
                sys.exit("%s %s: exit status %d: %s%s" % (what, options, done.returncode, done.stdout, done.stderr))
END
