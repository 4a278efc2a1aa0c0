# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Reads what scripts and tests print as text, and returns it as data: a row for each name.

A row's values have the names of figures: handover's `sliced` has launches, p50, p99 and max. Lines
that are not understood are left out; they are in the file that the page links.
"""
import re
import statistics

from .values import Number


def _number(text):
    """A number as it was printed: 1.50 stays 1.50."""
    return int(text) if re.fullmatch(r"-?\d+", text) else Number(text)


def _values(match, *names):
    """The groups of a match by name, as numbers. A group that is missing gives no value."""
    return {name: _number(text) for name, text in zip(names, match.groups()) if text is not None}


def handover(lines):
    """NAME tick: N launches, turnaround X us median, X p99, X max; then hand-overs of that NAME."""
    rows, row = {}, {}
    for line in lines:
        tick = re.match(r"(\S+) +tick: (\d+) launches, turnaround ([\d.]+) us median, "
                        r"([\d.]+) p99, ([\d.]+) max", line)
        hands = re.match(r"(.*?) +median +([\d.]+) us +p99 +([\d.]+)", line)
        if tick:
            row = rows[tick[1]] = {"name": tick[1], "launches": _number(tick[2]),
                                   "p50": _number(tick[3]), "p99": _number(tick[4]),
                                   "max": _number(tick[5])}
        elif re.match(r"\d+ preemptions, ", line):
            row["preemptions"] = _number(line.split()[0])
        elif hands:
            row[hands[1].replace(" ", "-")] = {"p50": _number(hands[2]), "p99": _number(hands[3])}
    return rows


def latency(lines):
    """BLOCK TARGET: PLAIN MANAGED (RATIO); PREEMPTIONS P50 P99"""
    rows = {}
    for line in lines:
        words = re.sub(r"[:();]", " ", line).split()
        if re.match(r" *\d+ +\d+: ", line) and len(words) >= 8:
            names = "block", "target", "plain_ms", "heddle_ms", "ratio", "preemptions", "p50", "p99"
            rows[f"block-{words[0]}.target-{words[1]}"] = dict(zip(names, map(_number, words)))
    if not rows:
        return rows
    # within: rows whose p99 is at most 8 us above the target, or above a block's duration if that
    # is longer
    within = [r for r in rows.values() if r["p99"] <= max(r["block"], r["target"]) + 8]
    return {**rows, "settings": len(rows), "within": len(within),
            "cost_worst": max(row["ratio"] for row in rows.values()) - 1}


def queue(lines):
    """NAME low N SECONDS right; high N P50 P99 MAX[; W words; W words to launches, to tenants, ...]
    """
    rows = {}
    for line in lines:
        if not re.match(r"[a-z-]+ +low \d+ ", line):
            continue
        words = line.replace(";", "").split()
        row = rows[words[0]] = {"name": words[0], "s": _number(words[3]), "result": words[4]}
        if words[5:6] == ["high"]:
            row.update(p50=_number(words[7]), p99=_number(words[8]))
        if words[11:12] == ["words"]:
            row.update(words_launches=_number(words[10]), words_tenants=_number(words[12]))
    for name, row in rows.items():
        # Rows with an event log have a quarter of the launches.
        if "native" in rows and not name.endswith("-log"):
            row["over_native"] = row["s"] / rows["native"]["s"]
    return rows


def compiling(lines):
    """WAY: MS ms; meanwhile N launches; at worst a launch took X ms, the wait X, memory X, ..."""
    rows = {}
    for line in lines:
        match = re.match(r"([a-z]+): (\d+) ms; meanwhile (\d+) launches; at worst a launch took "
                         r"([\d.]+) ms, the wait ([\d.]+), memory ([\d.]+), a small module "
                         r"([\d.]+)", line)
        if match:
            rows[match[1]] = {"name": match[1], **dict(zip(
                ("ms", "launches", "launch_ms", "wait_ms", "memory_ms", "module_ms"),
                map(_number, match.groups()[1:])))}
    return rows


def waiting(lines):
    """CALL: goes on, or CALL: waits; another thread's launch waits, too"""
    rows = {}
    for line in lines:
        match = re.match(r"([A-Za-z0-9-]+): (goes on|waits|error)", line)
        if match:
            rows[match[1]] = {
                "name": match[1].replace("-", " "),
                "beside": "fails" if match[2] == "error" else match[2],
                "waits": "error" if match[2] == "error" else int(match[2] == "waits"),
                "others": int("launch waits" in line)}
    return rows


def calls(lines):
    """KIND: driver N ns, shim N ns, more N ns, in several runs: medians, and the range."""
    more, driver = {}, {}
    for line in lines:
        match = re.match(r"(.*?): driver (-?\d+).*, more (-?\d+) ns", line)
        if match:
            name = "wait" if match[1].startswith("of that") else match[1]
            driver.setdefault(name, []).append(_number(match[2]))
            more.setdefault(name, []).append(_number(match[3]))
    rows = {}
    for name, ns in more.items():
        driver_ns = statistics.median_low(driver[name])
        rows[name] = {"name": "of managed: the driver's wait behind it" if name == "wait" else name,
                      "ns": statistics.median_low(ns), "least": min(ns), "most": max(ns),
                      "driver_ns": driver_ns}
        rows[f"{name}-driver"] = {"ns": driver_ns, "least": min(driver[name]),
                                  "most": max(driver[name])}
    return rows


def opaque_runs(lines):
    """ARRANGEMENT WAY PERIOD REQUESTS P50 P99 MAX STEPS, of each run; and ARRANGEMENT training - -
    - - - STEPS. Returns the runs of each (arrangement, way and period), and the steps of training
    alone of each arrangement."""
    runs, training = {}, {}
    for words in (line.split() for line in lines):
        if len(words) != 8:
            continue
        if words[1] == "training":
            training.setdefault(words[0], []).append(_number(words[7]))
        elif re.match(r"[\d.]", words[4]):
            run = {"p50": _number(words[4]), "p99": _number(words[5])}
            if words[7] != "-":
                run["steps"] = _number(words[7])
            runs.setdefault(tuple(words[:3]), []).append(run)
    return runs, training


def opaque(lines):
    """Medians of the runs, and how many there are (opaque_runs)."""
    runs, training = opaque_runs(lines)
    rows = {}
    for name, steps in training.items():
        rows[f"{name}.training"] = {"steps": statistics.median_low(steps),
                                    "steps.runs": len(steps)}
    for (name, way, period), of in runs.items():
        row = rows[f"{name}.{way}-{period}"] = {"arrangement": name, "way": way, "period": period}
        for key in "p50", "p99", "steps":
            values = [run[key] for run in of if key in run]
            if values:
                row[key] = statistics.median_low(values)
                row[f"{key}.runs"] = len(values)
    return rows


def beside(lines):
    """PROGRAM, UNDER: MS... ms; high p50 X, p99 X us"""
    rows = {}
    for line in lines:
        match = re.match(r"([^ ]+), ([a-z]+):([\d. ]*) ms; high p50 ([\d.]+), p99 ([\d.]+) us",
                         line)
        if not match:
            continue
        ms = [_number(text) for text in match[3].split()]
        row = rows[f"{match[1]}.{match[2]}"] = {
            "program": match[1], "under": match[2], "ms": statistics.median_low(ms),
            "least": min(ms), "most": max(ms), "p50": _number(match[4]), "p99": _number(match[5])}
        natively = rows.get(f"{match[1]}.natively")
        if natively:
            row["over_native"] = row["ms"] / natively["ms"]
    return rows


def registers(lines):
    """ptxas: S s as they are, ...; FORMS (TAKEN of KERNELS kernels): N need more than 32 ..."""
    rows = {}
    for line in lines:
        ptxas = re.match(r"ptxas: ([\d.]+) s as they are, .*first forms \(([\d.]+) times.*"
                         r"second ones \(([\d.]+) times", line)
        forms = re.match(r"(.*) \((\d+) of (\d+) kernels\): (\d+) need more than 32 registers: "
                         r"([-+]?\d+) in the median, ([-+]?\d+) at p90, (\d+) over 1.25 times; "
                         r"(\d+) lose blocks of 256 threads \(([\d.]+) %\)", line)
        if ptxas:
            rows["ptxas"] = _values(ptxas, "plain_s", "first", "second")
        elif forms:
            spill = re.search(r"spill at most (\d+)", line)
            values = dict(zip(("taken", "kernels", "above_32", "median", "p90", "over_quarter",
                               "lose_blocks", "lose_share"),
                              (_number(text.lstrip("+")) for text in forms.groups()[1:])))
            rows[f"spill-{spill[1]}" if spill else "first"] = {
                "label": f"second, {spill[1]} bytes" if spill else "first", **values}
    return rows


WAY = re.compile(r"([^:]*): ok (\d+) wrong (\d+) hang (\d+) refused (\d+)$")
SUITE = re.compile(r"\| .* \| \d+ \|")


def _add_sums(line, totals):
    """Adds the "N WORD" parts of a line. Of several words the first counts, but "runs the same" is
    same."""
    if re.match(r"\d+ programs from seed", line):
        for word in "same", "held", "wrong":  # the line omits the words whose count is 0
            totals[word] = 0
    tiers = False
    for part in re.split(r", |; |: ", line):
        match = re.match(r"(\d+) (.*)", part)
        if not match:
            continue
        word = "same" if "the same" in match[2] else match[2].removeprefix("of them ").split(" ")[0]
        tiers = tiers or word == "managed"  # from here on, "held" is a tier, not a result
        name = f"tier-{word}" if tiers and word == "held" else word
        totals[name] = totals.get(name, 0) + int(match[1])


def tests(lines):
    """What tests on a device print: ways, suites of programs, and lines of sums."""
    rows, totals = {}, {}
    for line in lines:
        way = WAY.match(line)
        if way:
            name = way[1].replace(" ", "-").replace("--", "")
            rows[name] = dict(zip(("same", "wrong", "hang", "refused"), map(int, way.groups()[1:])))
        elif SUITE.match(line):
            cells = [int(cell) for cell in re.findall(r"(?<=\| )\d+(?= \|)", line)]
            names = "programs", "same", "varies", "differs", "fails", "hang", "unusable"
            for name, cell in zip(names, cells):
                totals[name] = totals.get(name, 0) + cell
        elif re.match(r"\d+ (programs from seed|kernels|runs|kills|forms,)", line) or \
                " survivors correct" in line:
            _add_sums(line, totals)
    return {**rows, **totals}


READERS = {reader.__name__: reader for reader in (
    handover, latency, queue, compiling, waiting, calls, opaque, beside, registers)}


def read(table, lines):
    """Returns the data of a table that is kept as text."""
    return READERS.get(table, tests)(lines)
