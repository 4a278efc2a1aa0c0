# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: times.py slowest LOG...
       times.py keep LOG KEPT
       times.py page PAGE STEPS FOLDER

slowest: prints the five slowest tests of meson's JSON logs.
keep: writes the duration of each test of the log to KEPT, beside those of other tests there.
page: writes to PAGE, between its lines <!-- times --> and <!-- times end -->, where the time of ./run times
went. STEPS (build/times) has a line for each step, separated by tabs: its name, wall seconds, seconds of
processor time, and the JSON log of tests, relative to FOLDER (or -). The processor time of a test is
what tests/times.sh printed.
"""
import json
import os
import re
import sys

TIMES = re.compile(r"^times:\n.*\n(\d+)m([\d.]+)s (\d+)m([\d.]+)s$", re.M)
CORES = len(os.sched_getaffinity(0))


def read_log(path):
    """Returns a dictionary for each test of the log, with its processor time, if known, as `cpu`."""
    tests = []
    with open(path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            suites, test["name"] = test["name"].split(" / ", 1)
            test["duration"] = float(test["duration"])
            test["suite"] = suites.split(":", 1)[1].split("+")[0]
            found = TIMES.findall(test.get("stderr", ""))
            if found:
                user_min, user_s, system_min, system_s = map(float, found[-1])
                test["cpu"] = (user_min + system_min) * 60 + user_s + system_s
            tests.append(test)
    return tests


def alone(tests):
    """Returns for how many seconds one test ran and no other, and for how many of them at the end."""
    marks = sorted([(t["starttime"], 1) for t in tests] + [(t["starttime"] + t["duration"], -1) for t in tests])
    running, total = 0, 0.0
    tail_from = marks[0][0]
    for (at, step), (until, _) in zip(marks, marks[1:]):
        running += step
        if running == 1:
            total += until - at
        elif running > 1:
            tail_from = until
    return float(total), float(marks[-1][0] - tail_from)


def row(*cells):
    return "| " + " | ".join(f"{c:.1f}" if isinstance(c, float) else str(c) for c in cells) + " |"


def head(*cells):
    return [row(*cells), row(*["---"] * len(cells))]


def slowest(paths):
    tests = [(t["duration"], t["name"], path) for path in paths for t in read_log(path)]
    for duration, name, path in sorted(tests, reverse=True)[:5]:
        print(f"{duration:6.1f} s  {name} in {path.split('/')[0]}")


def keep(log, kept):
    took = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as text:
            took = json.load(text)
    took.update((t["name"], round(t["duration"], 2)) for t in read_log(log))
    with open(kept, "w", encoding="utf-8") as text:
        json.dump(took, text, indent=0)


def idle(wall, cpu):
    return f"{max(0, 1 - cpu / wall / CORES):.0%}"


def table_of_steps(steps):
    lines = head("step", "wall s", "processor s", "idle", "tests", "one test alone s", "of it at the end s")
    for name, wall, cpu, tests in steps:
        lines.append(row(name, wall, cpu, idle(wall, cpu), len(tests) or "", *(alone(tests) if tests else ("", ""))))
    wall, cpu = sum(s[1] for s in steps), sum(s[2] for s in steps)
    return lines + [row("all", wall, cpu, idle(wall, cpu), sum(len(s[3]) for s in steps), "", "")]


def table_of_suites(steps):
    steps = [s for s in steps if s[3]]
    lines = head("suite", *[f"{s[0]}: {what}" for s in steps for what in ("tests", "wall s", "processor s")])
    for suite in sorted({t["suite"] for s in steps for t in s[3]}):
        cells = []
        for step in steps:
            mine = [t for t in step[3] if t["suite"] == suite]
            cells += [len(mine), float(sum(t["duration"] for t in mine)), float(sum(t.get("cpu", 0) for t in mine))]
        lines.append(row(suite, *cells))
    return lines


def table_of_tests(steps):
    tests = [(t["duration"], t.get("cpu", 0.0), t["name"], s[0]) for s in steps for t in s[3]]
    return head("slowest tests", "step", "wall s", "processor s", "waiting s") + [
        row(f"`{name}`", step, wall, cpu, max(0.0, wall - cpu)) for wall, cpu, name, step in sorted(tests)[:-21:-1]
    ]


def page(path, steps_path, folder):
    steps = []
    with open(steps_path, encoding="utf-8") as lines:
        for line in lines:
            name, wall, cpu, log = line.rstrip("\n").split("\t")
            steps.append((name, float(wall), float(cpu), read_log(f"{folder}/{log}") if log != "-" else []))
    with open(path, encoding="utf-8") as text:
        before, rest = text.read().split("<!-- times -->\n", 1)
    after = rest.split("<!-- times end -->", 1)[1]
    tables = [f"On {CORES} processors:", ""] + table_of_steps(steps)
    tables += [""] + table_of_suites(steps) + [""] + table_of_tests(steps)
    with open(path, "w", encoding="utf-8") as text:
        text.write(before + "<!-- times -->\n" + "\n".join(tables) + "\n<!-- times end -->" + after)


if __name__ == "__main__":
    {"slowest": lambda *logs: slowest(logs), "keep": keep, "page": page}[sys.argv[1]](*sys.argv[2:])
