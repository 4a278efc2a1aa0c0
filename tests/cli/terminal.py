# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: terminal.py BUILD FOLDER [VERB...]

Runs every verb on pseudo-terminals of 80 and 40 columns, and without one. The text left on the screen
must equal the output without a terminal: no progress line stays or exceeds the screen's width, and only
progress lines move the cursor. FOLDER is an empty folder for the test.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

BUILD, FOLDER = sys.argv[1:3]
ONLY = sys.argv[3:]
HEDDLE = f"{BUILD}/heddle"
PROGRESS = re.compile(r"\[\d+(/\d+)?\] ")
wrong = []


def fail(what):
    wrong.append(what)
    print("FAILED:", what)


def screen(raw, columns, what):
    """Returns the lines left on the screen, after \\r, \\n and "erase to the end of the line"."""
    lines, line, at = [], [], 0
    for token in re.findall(r"\x1b\[K|\r|\n|[^\x1b\r\n]|\x1b", raw):
        if token == "\x1b[K":
            del line[at:]
        elif token == "\r":
            at = 0
        elif token == "\n":
            lines.append("".join(line).rstrip())
            line, at = [], 0
        elif token == "\x1b" or (ord(token) < 32 and token != "\t") or token == "\x7f":
            fail(f"{what}: {token!r} on the terminal")
        else:
            line[at:at + 1] = [token]
            at += 1
    lines.append("".join(line).rstrip())
    for shown in re.findall(r"\r\x1b\[K([^\r\n]+)", raw):
        if PROGRESS.match(shown) and len(shown) >= columns:
            fail(f"{what}: a progress line of {len(shown)} in {columns} columns: {shown!r}")
    return lines


def on_terminal(argv, columns, env, stop=None, key=None):
    """Runs argv; returns its status and output. After the pattern `stop`, sends the key, or Ctrl-C."""
    pid, fd = pty.fork()
    if pid == 0:  # set the size before exec: the program may query it at once
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.environ.update(env)
        os.chdir(FOLDER)
        os.execv(argv[0], argv)
    raw, end = b"", time.time() + 240
    while time.time() < end:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            got = os.read(fd, 65536)
        except OSError:
            break
        if not got:
            break
        raw += got
        if stop and re.search(stop, raw.decode(errors="replace")):
            if key:
                os.write(fd, key)
            else:
                os.kill(pid, signal.SIGINT)
            stop = None
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return os.waitstatus_to_exitcode(status), raw.decode(errors="replace").replace("\r\n", "\n")


def commands():
    with open(f"{FOLDER}/k.ptx", "w", encoding="utf-8") as f:
        f.write(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry put(.param .u64 p)\n{\n"
                "\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\tst.global.u64 [%rd1], %rd1;\n"
                "\tret;\n}\n")
    put = ["k.ptx", "put", "--grid", "1", "--block", "1", "u64[1]:zero"]
    return {
        "run": [["run", "-v", "--device", "cpu", "--", "true"]],
        "demo": [["demo", "--device", "cpu", "--rounds", "1", "--svg", f"{FOLDER}/demo.svg"]],
        "ps": [["ps"]], "status": [["status"]], "top": [["top", "--once"]], "set": [["set", "1"]],
        "profile": [["profile"], ["profile", "--device", "cpu", "--store", f"{FOLDER}/profile.db", "--", "true"]],
        "record": [["record", "--device", "cpu", "-o", f"{FOLDER}/recording", "--", "true"]],
        "sim": [["sim", f"{FOLDER}/k.ptx"]],
        "ptx check": [["ptx", "check", "k.ptx"]], "ptx print": [["ptx", "print", "k.ptx"]],
        "ptx preempt": [["ptx", "preempt", "k.ptx"]],
        "ptx slice": [["ptx", "slice", "k.ptx"]],
        "ptx merge": [["ptx", "merge", "--"] + put + ["+"] + put],
        "ptx fuse-vertical": [["ptx", "fuse-vertical", "--"] + put + ["+"] + put],
        "ptx fuse-horizontal": [["ptx", "fuse-horizontal", "--"] + put + ["+"] + put],
        "ptx weave": [["ptx", "weave", "--"] + put + ["+"] + put],
        "ptx virtual": [["ptx", "virtual", "--"] + put],
        "exec": [["exec", "--device", "cpu", "--grid", "1", "--block", "1", "k.ptx", "put", "u64[1]:zero>-"]],
        "corun": [["corun", "--device", "cpu", "--check", "--"] + put + ["+"] + put],
        "tune": [["tune", "--device", "cpu", "--rounds", "3", "--points", "1", "--store",
                  f"{FOLDER}/db", "--"] + put + ["+"] + put],
        "bench preempt": [], "bench share": [], "bench merge": [], "bench tasks": [], "doctor": [["doctor"], ["doctor", "--", "true"]],
        "help": [["help"], ["help", "exec"], ["help", "nonesuch"]], "version": [["version"]],
    }


def check_widths(verb, columns, lines):
    """A line may be longer than the screen only if a single word is."""
    for line in lines:
        one = line.strip().startswith(("[", "-")) and line.strip().count(" ") == 1
        if len(line) > columns and not one and " " in line.strip()[:columns - 8]:
            fail(f"{verb} -h: {len(line)} in {columns} columns: {line!r}")


def words(text):
    """Drops words that differ between runs: times, and pieces of long paths."""
    return [w for w in text.split() if not re.match(r"[\d.,]+$", w)]


def check_words(verb, columns, lines, plain):
    """These verbs print sentences: lines break between words and fit the screen, except for one long word."""
    if words(" ".join(lines)) != words(plain):
        fail(f"{verb} at {columns}: other words than elsewhere: {lines}")
    for line in lines:
        if len(line) > columns and " " in line.strip():
            fail(f"{verb} at {columns}: a line of {len(line)}: {line!r}")


def look(verb, argv):
    plain = subprocess.run(argv, cwd=FOLDER, capture_output=True, text=True, check=False)
    for name, text in (("output", plain.stdout), ("errors", plain.stderr)):
        if "\r" in text or "\x1b" in text:
            fail(f"{verb}: not on a terminal, and yet: {name} {text!r}")
    for columns in (100, 80, 70, 60, 40) if verb in ("ps", "top", "status", "doctor") else (80, 40):
        status, raw = on_terminal(argv, columns, {"TERM": "xterm", "COLUMNS": ""})
        lines = screen(raw, columns, f"{verb} at {columns}")
        if status != plain.returncode:
            fail(f"{verb} at {columns}: status {status}, not {plain.returncode}: {raw}")
        if any(PROGRESS.search(line) for line in lines):
            fail(f"{verb} at {columns}: progress stays: {lines}")
        if verb in ("status", "doctor"):
            check_words(verb, columns, lines, plain.stdout)
        if verb in ("ps", "top") and any(len(line) > columns for line in lines):
            fail(f"{verb} at {columns}: too wide: {lines}")
        if verb == "top" and not re.search(r"(tenants|launches|preemptions|MPS \w+|us)$", lines[0]):
            fail(f"top at {columns}: the first line is cut: {lines[0]!r}")
        if re.search(r"\x1b\[[0-9;]*m", raw):
            fail(f"{verb}: colours")
        if verb == "demo":
            seen = re.findall(r"\[(\d+)/(\d+)\]", raw)
            if [int(a) for a, _ in seen] != list(range(1, 9)) or {b for _, b in seen} != {"8"}:
                fail(f"demo: steps {seen}")
            if not any("results all correct" in line for line in lines):
                fail(f"demo: no result: {lines}")
        if verb == "demo":
            continue  # too slow to repeat: the command takes seconds
        if verb == "tune" and not re.search(r"\[1/\d+\] first look: sequential.*\[\d+/\d+\] rounds: "
                                            r".*\[\d+/\d+\] again: ", raw, re.S):
            fail(f"tune: no progress: {raw!r}")
        quiet_status, quiet = on_terminal(argv, columns, {"TERM": "xterm", "NO_COLOR": "1"})
        if quiet_status != status or re.search(r"\x1b\[[0-9;]*m", quiet):
            fail(f"{verb} with NO_COLOR: status {quiet_status}")


def count_parts():
    """The parts of the bench count all their rows, including those for which no time is left, and mark
    figures of one round as noise."""
    parts = {"extra": ([], 4), "spatial": (["--budget-s", "1"], 16), "shares": (["--budget-s", "1"], 26)}
    for part, (more, of) in parts.items():
        argv = [HEDDLE, "bench", "preempt", "--device", "cpu", "--part", part, "--quick", "--rounds", "1",
                "--check", "last"] + more
        status, raw = on_terminal(argv, 80, {"TERM": "xterm"})
        counts = [(int(a), int(b)) for a, b in re.findall(r"\r\x1b\[K\[(\d+)/(\d+)\] ", raw)]
        rows = len(counts) if more else of
        if status != 0 or not counts or counts != [(i + 1, of) for i in range(rows)]:
            fail(f"bench --part {part}: status {status}, steps {counts}: {raw}")
        lines = screen(raw, 80, f"bench {part}")
        if rows < of and not any(line == f"{of - rows} rows are missing for want of time" for line in lines):
            fail(f"bench --part {part}: missing rows are not counted: {lines}")
        marked = [line for line in lines if "~" in line and "~ noise" not in line]
        if part == "extra" and len(marked) != 2:
            fail(f"bench --part {part}: what is noise is not marked: {lines}")


def main():
    os.environ["HEDDLE_VGPU"] = f"tty-{os.getpid()}"
    table = commands()
    verbs = json.loads(subprocess.run([HEDDLE, "help", "--json"], capture_output=True, text=True,
                                      check=True).stdout)["verbs"]
    for verb in (v["name"] for v in verbs):
        if ONLY and verb not in ONLY:
            continue
        if verb not in table:
            fail(f"{verb}: nothing is known of how to run it")
            continue
        for args in table[verb]:
            look(verb, [HEDDLE] + args)
        for columns in (80, 40):
            _, raw = on_terminal([HEDDLE] + verb.split() + ["-h"], columns, {"TERM": "xterm"})
            check_widths(verb, columns, screen(raw, columns, f"{verb} -h"))
    if ONLY and "bench preempt" not in ONLY:
        sys.exit(1 if wrong else 0)
    # top fills the screen until q is pressed.
    status, raw = on_terminal([HEDDLE, "top"], 80, {"TERM": "xterm"}, "tenants", b"q")
    if status != 0 or "no tenants" not in raw:
        fail(f"top: {status}: {raw!r}")
    # demo rejects an unwritable picture path before it measures anything.
    status, raw = on_terminal([HEDDLE, "demo", "--device", "cpu", "--rounds", "1", "--svg",
                               "/nonexistent/x.svg"], 80, {"TERM": "xterm"})
    if status != 1 or "results all correct" in raw or "/nonexistent/x.svg" not in raw:
        fail(f"demo without a picture: {status}: {raw}")
    # When a command is interrupted in the middle, it prints the rows that it has measured.
    argv = [HEDDLE, "bench", "preempt", "--device", "cpu", "--part", "overhead", "--rounds", "1"]
    for columns in (80, 40):
        status, raw = on_terminal(argv, columns, {"TERM": "xterm"}, r"\[\d+/32\] overhead nn")
        lines = screen(raw, columns, f"bench at {columns}")
        if status != -signal.SIGINT:
            fail(f"bench: status {status}: {raw}")
        if not any(re.match(r"cfd +[0-9.]+ +[0-9.]+ .*%$", line) for line in lines):
            fail(f"bench: no row: {lines}")
        if any(PROGRESS.search(line) for line in lines):
            fail(f"bench: progress stays: {lines}")
    count_parts()
    print(f"{len(verbs)} verbs")
    sys.exit(1 if wrong else 0)


main()
