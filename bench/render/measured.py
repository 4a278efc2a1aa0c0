# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""What is kept of one table: its data, what is known of the run, and its figures by name.

A figure's name is its path in the table's JSON. Beside that, members of arrays have names:
summary.heddle-MPS.antt_mean is summary.4.antt_mean. README.md and doc/status.md name figures in
this way, and `bench/results.sh figures TABLE` lists them.
"""
import math
import os

from . import printed
from .values import load_json, read_file

# The pairs of programs of the paper SiM are in two tables.
OTHER_PAIRS = {"share": "share-rest"}


class Measured:
    """One table as it is kept in a folder: TABLE.about, and TABLE.json or TABLE.txt."""

    def __init__(self, folder, name):
        self.name = name
        self.about = self._read_about(folder)
        self.lines = []  # of a text
        path = f"{folder}/{name}.json"
        if os.path.exists(path):
            self.data = load_json(read_file(path), path)
            self.file = f"{name}.json"
        else:
            self.lines = read_file(f"{folder}/{name}.txt").splitlines()
            self.data = printed.read(name, self.lines)
            self.file = f"{name}.txt"
        raw = f"{name}.data.json"
        self.raw_file = raw if os.path.exists(f"{folder}/{raw}") else None
        other = f"{folder}/{OTHER_PAIRS.get(name)}.json"
        self.other = load_json(read_file(other), other) if os.path.exists(other) else None
        self.figures = self._find_figures()

    def _read_about(self, folder):
        about = {}
        for line in read_file(f"{folder}/{self.name}.about").splitlines():
            key, _, value = line.partition(": ")
            about[key] = value
        return about

    def _find_figures(self):
        data = {key: value for key, value in self.data.items() if key != "samples"}  # raw ones
        figures = dict(_flat(data, ""))
        figures.update(_flat(data, "", True))
        if self.name == "pairs":
            figures.update(over_heddle(self.data))
        elif self.name in ("share", "share-rest"):
            figures.update(share_groups([self.data] + ([self.other] if self.other else [])))
        elif self.name == "merge":
            figures.update(better_ways(self.data))
        return figures


def dashed(name):
    """Returns a name as figures have it: heddle-MPS."""
    return name.replace(" ", "-")


def _name_of(member):
    """The name of an array's member, or None."""
    if isinstance(member, dict):
        for key in ("kernel", "program", "name"):
            if isinstance(member.get(key), str):
                return dashed(member[key])
    return None


def _flat(value, path, named=False):
    """Lists paths and values. Named: only paths whose last array with names has one in them."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _flat(member, f"{path}{key}.", named)
    elif isinstance(value, list):
        for i, member in enumerate(value):
            name = _name_of(member)
            yield from _flat(member, f"{path}{i}.", named)
            if named and name:
                yield from _flat(member, f"{path}{name}.")
    elif not named and path:
        yield path[:-1], value


def over_heddle(data):
    """Of FLEP's pairs: turnaround of the high one in each arrangement, over that under heddle."""
    ratios = {}
    for pair in data["pairs"]:
        us = {dashed(a["name"]): a["high_us"] for a in pair["arrangements"]}
        for name, value in us.items():
            if name != "heddle" and us.get("heddle"):
                ratios.setdefault(name, []).append(value / us["heddle"])
    for name, values in ratios.items():
        yield f"over-heddle.{name}.min", min(values)
        yield f"over-heddle.{name}.max", max(values)


def paper_utilisation(data):
    """Issue slots in SiM's paper, percent, of its own programs."""
    uses = {}
    for program in data["programs"]:
        use = program.get("takes", {}).get("utilisation_paper") or program.get("utilisation_paper")
        if use is not None:
            uses[program["program"]] = use
    return uses


def paper_class(pair, uses):
    """low or high, by the paper's figure 3: whether one of the two uses fewer than half of the
    issue slots. None: the pair is not of the paper's own programs."""
    pair = [uses.get(pair[which]) for which in ("first", "second")]
    return None if None in pair else "low" if min(pair) < 50 else "high"


def share_groups(tables):
    """Of SiM's pairs: means by group and arrangement, as paper_low.greedy.mean.

    Groups: paper, paper_low and paper_high are pairs of the paper's own programs, by its classes;
    here, here_low and here_high all pairs, by what the kernels use on this device. Pairs that are
    noise are counted, and are in no mean.
    """
    groups = {}
    for data in tables:
        uses = paper_utilisation(data)
        for pair in data["pairs"]:
            names = ["here", f"here_{pair['class']}"]
            of_paper = paper_class(pair, uses)
            if of_paper:
                names += ["paper", f"paper_{of_paper}"]
            for arrangement in pair["arrangements"]:
                for name in names:
                    key = f"{name}.{dashed(arrangement['name'])}"
                    groups.setdefault(key, []).append(arrangement)
    for key, members in groups.items():
        members = [m for m in members if m.get("stp_makespan") is not None]
        quiet = [m for m in members if not m.get("noise")]
        if members:
            yield f"{key}.pairs", len(quiet)
            yield f"{key}.noisy", len(members) - len(quiet)
        if quiet:
            stp = [m["stp_makespan"] for m in quiet]
            yield f"{key}.mean", geometric_mean(stp)
            yield f"{key}.best", max(stp)
            yield f"{key}.worst", min(stp)
            yield f"{key}.turnarounds", geometric_mean([m["stp"] for m in quiet])
            yield f"{key}.antt", geometric_mean([m["antt"] for m in quiet])


def geometric_mean(values):
    """Returns the geometric mean of positive numbers."""
    return math.exp(sum(math.log(v) for v in values) / len(values))


def better_ways(data):
    """Of KernelMerge: in how many pairs each way that was chosen gains more than 5 %."""
    ways = ("merge", "horizontal", "vertical", "green", "streams")
    better = dict.fromkeys(ways, 0)
    for pair in data.get("pairs", []):
        way = (pair.get("tuned_way") or "").split("=")[0].split(" ")[0]
        if (pair.get("tuned") or 0) > 1.05:
            better[way] = better.get(way, 0) + 1
    for way, count in better.items():
        yield f"better.{way}", count
