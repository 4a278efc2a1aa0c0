# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Reads names of object files from standard input and prints the cycles among them that no row of
the table allows (circles.sh). Handles one program or library at a time, because two programs may
define symbols with the same name."""

import os
import re
import subprocess
import sys


def folder(target):
    """Returns the folder of a target such as src/cli/heddle.p, and that of its sources."""
    return os.path.dirname(os.path.dirname(target)), os.path.dirname(target)


def source(obj):
    """Returns the source file of an object, relative to the tree, without its extension."""
    where, _ = folder(obj)
    name = re.sub(r"\.(c|S|cc)\.o$", "", os.path.basename(obj))
    name = name.replace("meson-generated_.._", "generated/")
    while name.startswith(".._"):
        where, name = os.path.dirname(where), name[3:]
    return where, name


def named(where, name, root):
    """Meson replaces "/" by "_" in names of objects; returns the real file."""
    parts = name.split("_")
    best = name
    for cut in range(len(parts)):
        path = "/".join(parts[:cut]) + ("/" if cut else "") + "_".join(parts[cut:])
        for end in (".c", ".S"):
            if os.path.exists(os.path.join(root, where, path + end)):
                best = path
    return where + "/" + best


def read_objects(objects, root):
    """Returns the symbols that each file defines and needs, by program or library."""
    out = subprocess.run(["nm", "-A", "-g"] + objects, stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout
    files = {}
    for line in out.splitlines():
        obj, rest = line.split(":", 1)
        words = rest.split()
        of = files.setdefault(obj, (set(), set()))
        if len(words) == 2 and words[0] in "Uw":
            of[1].add(words[1])
        elif len(words) == 3:
            of[0].add(words[2])
    return {obj: (named(*source(obj), root),) + of for obj, of in files.items()}


def edges_of(files):
    """Returns for each file the files whose symbols it needs, with one of the symbols."""
    defined = {}
    for obj, (name, own, _) in files.items():
        for symbol in own:
            defined.setdefault((folder(obj)[1], symbol), name)
            defined.setdefault(("", symbol), name)
    edges = {}
    for obj, (name, _, needed) in files.items():
        of = edges.setdefault(name, {})
        for symbol in sorted(needed):
            to = defined.get((folder(obj)[1], symbol)) or defined.get(("", symbol))
            if to and to != name:
                of.setdefault(to, symbol)
    return edges


def circles_of(edges):
    """Strongly connected components of more than one file (Tarjan), without recursion."""
    number, low, stack, found, count = {}, {}, [], [], 0
    for start in sorted(edges):
        if start in number:
            continue
        work = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = count = count + 1
        stack.append(start)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in number:
                    number[to] = low[to] = count = count + 1
                    stack.append(to)
                    work.append((to, iter(sorted(edges.get(to, {})))))
                    break
                if to in stack:
                    low[at] = min(low[at], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == number[at]:
                    cut = stack.index(at)
                    if len(stack) - cut > 1:
                        found.append(sorted(stack[cut:]))
                    del stack[cut:]
    return sorted(found)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1]))))
    objects = [line.strip() for line in sys.stdin]
    missing = [o for o in objects if not os.path.exists(o)]
    if missing or not objects:
        print("skipped: not all is built:", " ".join(missing[:3]))
        return 77
    allowed = {}
    with open(sys.argv[1], encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            row = line.rstrip("\n").split("\t")
            if not line.startswith("#"):
                allowed[tuple(sorted(row[0].split()))] = number
    edges = edges_of(read_objects(objects, root))
    bad = 0
    for circle in circles_of(edges):
        if allowed.pop(tuple(circle), None):
            continue
        bad += 1
        print("%s:1: a circle of %d files:" % (circle[0], len(circle)))
        for name in circle:
            for to in sorted(set(edges[name]) & set(circle)):
                print("  %s needs %s of %s" % (name, edges[name][to], to))
    for circle, number in allowed.items():
        bad += 1
        print("tests/style/circles.txt:%d: no such circle: %s" % (number, " ".join(circle)))
    return 1 if bad else 0


sys.exit(main())
