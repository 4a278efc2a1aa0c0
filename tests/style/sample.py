#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: sample.py SEED COUNT LEAST MOST PATH...

Prints a random sample of comments for a reader who judges whether each is clear at first reading: COUNT
comments of LEAST to MOST characters in the tracked files below the PATHs, with the lines around them (@
marks the comment's first line). The same seed gives the same sample of the same files. License heads do
not count.
"""
import random
import re
import subprocess
import sys

C_LIKE = re.compile(r"\.(c|h|def|cu)$")
SHELL_LIKE = re.compile(r"\.(sh|py)$|meson\.build$|(^|/)run$")
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)


def c_comments(text):
    """Line number and text of each comment in C."""
    for match in C_COMMENT.finditer(text):
        found = match.group(0)
        if found.startswith("/"):
            body = found[2:-2] if found[1] == "*" else found[2:]
            yield text.count("\n", 0, match.start()) + 1, " ".join(re.sub(r"(?m)^\s*\*", " ", body).split())


def shell_comments(text):
    """Line number and text of each block of lines that begin with #, and of each comment behind code."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        first, block = at, []
        while at < len(lines) and re.match(r"\s*#(?!!)", lines[at]):
            block.append(re.sub(r"^\s*#\s?", "", lines[at]))
            at += 1
        if block:
            yield first + 1, " ".join(" ".join(block).split())
            continue
        behind = re.search(r"\s#\s(.*)$", lines[at])
        if behind:
            yield at + 1, behind.group(1).strip()
        at += 1


def main():
    seed, count, least, most = (int(word) for word in sys.argv[1:5])
    found = []
    listed = subprocess.run(["git", "ls-files"] + sys.argv[5:], capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        reader = c_comments if C_LIKE.search(name) else shell_comments if SHELL_LIKE.search(name) else None
        if not reader:
            continue
        with open(name, encoding="utf-8") as file:
            text = file.read()
        found += [(name, line, said) for line, said in reader(text)
                  if least <= len(said) <= most and "SPDX" not in said and "shellcheck" not in said]
    for number, (name, line, said) in enumerate(random.Random(seed).sample(found, count), 1):
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
        print(f"== {number}. {name}:{line}")
        for at in range(max(0, line - 3), min(len(lines), line + 2 + len(said) // 60)):
            print(f"{'@' if at == line - 1 else ' '} {lines[at]}")


if len(sys.argv) < 6:
    sys.exit(__doc__)
main()
