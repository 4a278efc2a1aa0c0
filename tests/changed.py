# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: changed.py BUILD SECONDS FILE...

Prints the names of the quick tests of a configured build that concern the changed FILEs (paths relative to the
source tree):

  1. tests that run or read a changed file, or a program that is compiled from it directly;
  2. tests of the source itself (the suite style), except those that CONCERNS lists;
  3. tests of the same subject (CONCERNS), the shortest first, until their last runs add up to SECONDS.
     The number of tests left out is printed on standard error.

Lines that begin with "build " name the files that these tests need, relative to BUILD.
"""
import json
import os
import re
import sys

# Pairs of regular expressions. The first matches the path of a changed file; the second matches the
# folder or the name of the tests to run for that file.
CONCERNS = [
    (r"^src/(\w+)/", r"^tests/\1/"),
    (r"^src/dev/cpu/", r"^tests/dev/cpu/"),
    (r"^src/pass/", r"^(random|preempted-ptx|merge-order|weave|block-order)$"),
    (r"^src/(base|ctl|host|wire)/", r"^(tests/shim/|e2e-(pair|queue)$)"),
    (r"^src/(cli|front|stage|job|lab)/", r"^tests/cli/"),
    (r"^include/heddle/policy", r"^tests/sched/"),
    (r"^include/", r"^tests/rt/"),
    (r"^(kernels|examples)/", r"^(tests/exec/|e2e-pair$)"),
    (r"^(man|completions|contrib|README|doc|examples)", r"^(cli-(man|readme|installed|completions)|rt-installed)"),
    (r"^bench/", r"^tests/cli/"),
    (r"^(bench|doc|src/pass)/|^README", r"^(figures|stale-tables)$"),
    (r"^bench/re|^doc/status", r"^(faults|selftest)$"),
    (r"^tests/style/", r"^selftest$"),
    (r"^tests/((?:\w+/)+)", r"^tests/\1"),
]


def read(build, name):
    with open(f"{build}/meson-info/intro-{name}.json", encoding="utf-8") as text:
        return json.load(text)


def durations(build, tests):
    """Returns the duration of each test in its last run, in seconds, or a guess by its suite."""
    guesses = {"unit": 0.2, "sched": 0.1, "golden": 1}
    took = {t["name"]: guesses.get(t["suite"][0], 5) for t in tests}
    path = f"{build}/took.json"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            took.update(json.load(text))
    return took


def sources_of(target):
    return [s for part in target["target_sources"] for s in part.get("sources", [])]


def uses_of(test, programs, root):
    """Returns the files of the source tree that the test names, and the sources of its programs."""
    uses = set()
    for word in filter(os.path.isabs, test["cmd"]):
        for path in [word] + (sources_of(programs[word]) if word in programs else []):
            uses.add(os.path.relpath(os.path.normpath(path), root))
    return uses


def main(build, seconds, changed):
    root = os.path.dirname(build)
    targets = read(build, "targets")
    programs = {f: t for t in targets for f in t["filename"]}
    tests = []
    for test in read(build, "tests"):
        test["suite"] = [s.split(":", 1)[1] for s in test["suite"]]
        if not {"full", "hw"} & set(test["suite"]):
            test["uses"] = uses_of(test, programs, root)
            tests.append(test)
    # If some tests name a changed file of tests/, only those tests run for it.
    used = set().union(*(t["uses"] for t in tests))
    subjects = [
        re.sub(f"(?:{pattern}).*", where, file)
        for file in changed
        if not (file.startswith("tests/") and file in used)
        for pattern, where in CONCERNS
        if re.search(pattern, file)
    ]
    direct, style, near = [], [], []
    for test in tests:
        folder = next((os.path.dirname(u) for u in sorted(test["uses"]) if u.startswith("tests/")), "") + "/"
        if test["uses"] & set(changed):
            direct.append(test["name"])
        elif "style" in test["suite"] and not re.match("selftest|figures|stale", test["name"]):
            style.append(test["name"])
        elif any(re.search(s, folder) or re.search(s, test["name"]) for s in subjects):
            near.append(test["name"])
    took = durations(build, tests)
    near.sort(key=took.get)
    left = float(seconds)
    for i, name in enumerate(near):
        left -= took[name]
        if left < 0:
            print(f"left out for time: {len(near) - i} tests, {near[i]} the first", file=sys.stderr)
            near = near[:i]
            break
    names = direct + style + near
    needed = {d for t in tests if t["name"] in names for d in t["depends"]}
    print("\n".join(names))
    for path in sorted(f for t in targets if t["id"] in needed for f in t["filename"]):
        print("build " + os.path.relpath(path, build))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:])
