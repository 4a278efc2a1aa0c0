# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Pictures of tables, as SVG."""
import math
import re
import statistics
from xml.sax.saxutils import escape

from .printed import opaque_runs
from .template import find
from .values import Broken, load_json


def _nice(value):
    """A number as short as it can be: 0.25, 1."""
    return f"{value:g}"


class _Axis:
    """A vertical axis from 0, that ends a little above the largest value, at a multiple of 0.1."""

    def __init__(self, values, top, height, limit=math.inf):
        self.most = min(math.ceil(max([1.0, *values]) * 10.5) / 10, limit)
        self.top, self.height = top, height

    def y(self, value):
        return self.top + self.height * (1 - min(value, self.most) / self.most)

    def values(self, step):
        """The values that are named beside the axis."""
        return [k * step for k in range(int((self.most + 1e-9) / step) + 1)]


# ---- figures 10 and 11 of "Adaptive simultaneous multi-tenancy" ----

COLOURS = {
    "mps": "#adb5bd", "mps-priority": "#868e96", "workers": "#74c0fc", "greedy": "#1971c2",
    "greedy+profile": "#0b3d66", "greedy+predict": "#d9480f", "whole-25": "#b2f2bb",
    "whole-50": "#51cf66", "whole-75": "#2b8a3e", "mixed-75": "#e8590c",
}
BAR, GAP, LEFT, TOP, PLOT, BOTTOM = 9.0, 16.0, 34.0, 30.0, 200.0, 46.0


def share(data):
    """Bars of each pair's STP, one for each arrangement. The line at 1 is one program after the
    other. Pairs with a program of low utilisation come first."""
    names = [name for name in COLOURS if name in [s["name"] for s in data["summary"]]]
    groups = [[pair for pair in data["pairs"] if pair["class"] == which]
              for which in ("low", "high", None)]
    stp = [a["stp_makespan"] for pair in data["pairs"] for a in pair["arrangements"]
           if a["name"] in names]
    axis = _Axis(stp, TOP, PLOT)
    width = max(LEFT + len(data["pairs"]) * (len(names) * BAR + GAP) + len(groups) * GAP,
                LEFT + len(names) * 100)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} "
           f"{TOP + PLOT + BOTTOM:.0f}' font-family='sans-serif' font-size='9' fill='#495057'>",
           f"<title>STP of pairs of programs, on {escape(data['device'])}</title>"]
    for value in axis.values(1 if axis.most > 3 else 0.5 if axis.most > 1.5 else 0.25):
        out += [f"<text x='{LEFT - 6:.1f}' y='{axis.y(value) + 3:.1f}' text-anchor='end'>"
                f"{value:.2f}</text>",
                f"<path d='M{LEFT - 3:.1f} {axis.y(value):.1f}H{width - 8:.1f}' "
                f"stroke='{'#212529' if abs(value - 1) < 1e-9 else '#dee2e6'}'/>"]
    for i, name in enumerate(names):
        out += [f"<rect x='{LEFT + 100 * i:.1f}' y='8' width='9' height='9' "
                f"fill='{COLOURS[name]}'/>",
                f"<text x='{LEFT + 100 * i + 13:.1f}' y='16'>{name}</text>"]
    x = LEFT
    for group in groups:
        begin = x
        for pair in group:
            out += _share_bars(pair, names, axis, x)
            x += len(names) * BAR + GAP
        if group and group[0]["class"]:
            out.append(f"<text x='{begin:.1f}' y='{TOP + PLOT + 38:.1f}'>{group[0]['class']} "
                       "utilisation</text>")
        x += GAP if group else 0
    return "\n".join([*out, "</svg>", ""])


def _share_bars(pair, names, axis, x):
    """One pair's bars, and its name below them."""
    by_name = {a["name"]: a for a in pair["arrangements"]}
    for i, name in enumerate(names):
        if name in by_name:
            stp, y = by_name[name]["stp_makespan"], axis.y(by_name[name]["stp_makespan"])
            yield (f"<rect x='{x + i * BAR:.1f}' y='{y:.1f}' width='{BAR - 1:.1f}' "
                   f"height='{axis.y(0) - y:.1f}' fill='{COLOURS[name]}'>"
                   f"<title>{name}: {stp:.3f}, ANTT {by_name[name]['antt']:.2f}</title></rect>")
    for i, which in enumerate(("first", "second")):
        yield (f"<text x='{x + len(names) * BAR / 2:.1f}' y='{TOP + PLOT + 12 + i * 11:.1f}' "
               f"text-anchor='middle'>{escape(pair[which])}</text>")


# ---- figure 6 of KernelMerge ----

COLUMNS, WIDTH, HEIGHT = 4, 210.0, 150.0
PLOT_LEFT, PLOT_TOP = 34.0, 26.0
PLOT_W, PLOT_H = WIDTH - PLOT_LEFT - 12, HEIGHT - PLOT_TOP - 26


def merge(data):
    """Small plots, one for each pair: over the first kernel's share of the workers the time, over
    that of one kernel after the other (the line at 1). Dashed: the best time with work stealing.
    The fastest point is filled."""
    pairs = [pair for pair in data.get("pairs", [])
             if pair.get("sequential_ms") and pair.get("tuned_way")]
    height = math.ceil(len(pairs) / COLUMNS) * HEIGHT
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {COLUMNS * WIDTH:.0f} "
           f"{height + 24:.0f}' font-family='sans-serif' font-size='9' fill='#495057'>",
           f"<title>pairs of kernels merged, on {escape(data['device'])}</title>"]
    for i, pair in enumerate(pairs):
        out += _merge_pair(pair, i % COLUMNS * WIDTH + PLOT_LEFT, i // COLUMNS * HEIGHT)
    out.append(f"<text x='10' y='{height + 14:.0f}'>time by that of one after the other (1), over "
               "the first kernel's part of the workers; dashed: stealing</text>")
    return "\n".join([*out, "</svg>", ""])


PARTITION = re.compile(r"merge partition=(\d+):(\d+)(?!.* help)")


def merge_curve(pair):
    """The points of a pair: the first kernel's share of the workers, and the time in ms. Results
    before schema 2 have no curve: its points are the ways in which no worker helps the other
    kernel."""
    if "curve" in pair:
        return list(zip(pair["curve"]["part"], pair["curve"]["ms"]))
    points = []
    for way in pair.get("ways", []):
        parts = PARTITION.match(way["way"])
        if parts and way.get("ms") and not way.get("wrong"):
            first, second = map(int, parts.groups())
            points.append((first / (first + second), way["ms"]))
    return sorted(points)


def _merge_pair(pair, left, top):
    """One pair's plot. left: where its plot begins."""
    curve, alone = merge_curve(pair), pair["sequential_ms"]
    axis = _Axis([ms / alone for _, ms in curve], top + PLOT_TOP, PLOT_H, limit=8)
    right, bottom = left + PLOT_W, top + PLOT_TOP + PLOT_H
    yield (f"<text x='{left:.1f}' y='{top + 16:.1f}' font-weight='bold'>"
           f"{escape(pair['first'])} + {escape(pair['second'])}</text>")
    yield (f"<path d='M{left:.1f} {top + PLOT_TOP:.1f}V{bottom:.1f}H{right:.1f}' fill='none' "
           "stroke='#868e96'/>")
    for value in axis.values(2 if axis.most > 4 else 0.5 if axis.most > 1.6 else 0.2):
        yield (f"<text x='{left - 4:.1f}' y='{axis.y(value) + 3:.1f}' text-anchor='end'>"
               f"{value:.1f}</text>")
    for k in range(5):
        yield (f"<text x='{left + k / 4 * PLOT_W:.1f}' y='{bottom + 13:.1f}' "
               f"text-anchor='middle'>{_nice(k / 4)}</text>")
    yield f"<path d='M{left:.1f} {axis.y(1):.1f}H{right:.1f}' stroke='#868e96'/>"
    if pair.get("steal_best"):
        yield (f"<path d='M{left:.1f} {axis.y(1 / pair['steal_best']):.1f}H{right:.1f}' "
               "stroke='#d9480f' stroke-dasharray='4 3'/>")
    if curve:
        points = [(f"{left + part * PLOT_W:.1f}", f"{axis.y(ms / alone):.1f}")
                  for part, ms in curve]
        yield ("<path fill='none' stroke='#1971c2' stroke-width='1.5' d='M" +
               "L".join(f"{x} {y}" for x, y in points) + "'/>")
        best = min(curve, key=lambda point: point[1])
        for (x, y), (part, ms) in zip(points, curve):
            is_best = (part, ms) == best
            yield (f"<circle cx='{x}' cy='{y}' r='{3 if is_best else 1.6}' "
                   f"fill='{'#1971c2' if is_best else 'white'}' stroke='#1971c2'>"
                   f"<title>{part:.3f} of the workers: {ms:.4f} ms</title></circle>")


# ---- unmodified PyTorch ----

class _Panel:
    """The runs of one way and period: p99 against the training's share of what it does alone."""

    def __init__(self, title, runs, alone):
        self.title = title
        self.points = []  # number, name, share, p99
        for number, (name, of) in enumerate(runs.items(), 1):
            steps = [run["steps"] for run in of if "steps" in run]
            if steps:
                self.points.append((number, name, statistics.median(steps) / alone,
                                    statistics.median(run["p99"] for run in of)))

    @staticmethod
    def _x(part):
        return 54 + part * 330

    @staticmethod
    def _y(ms):  # 0.5 to 128 ms
        return 24 + math.log(128 / ms) / math.log(128 / 0.5) * 300

    def draw(self):
        yield (f"<text x='8' y='14' font-weight='bold'>{escape(self.title)} ms: p99 in ms, and "
               "share of training</text>")
        for ms in (2.0 ** k for k in range(-1, 8)):
            yield f"<path d='M54 {self._y(ms):.1f}h340' stroke='#ddd'/>"
            yield f"<text x='48' y='{self._y(ms) + 4:.1f}' text-anchor='end'>{_nice(ms)}</text>"
        for k in range(5):
            yield (f"<text x='{self._x(k / 4):.1f}' y='342' text-anchor='middle'>{25 * k}%</text>")
        for pattern, colour in (r"heddle(:|$)", "#c30"), (r"heddle-mps(:|$)", "#06c"):
            line = sorted(p[2:] for p in self.points if re.match(pattern, p[1]))
            if line:
                points = " ".join(f"{self._x(part):.1f},{self._y(ms):.1f}" for part, ms in line)
                yield f"<polyline fill='none' stroke='{colour}' points='{points}'/>"
        for number, name, part, ms in self.points:
            colour = ("#06c" if name.startswith("heddle-mps") else
                      "#c30" if name.startswith("heddle") else "#333")
            x, y = self._x(part), self._y(ms)
            # Points may be close together, so each has only a number, alternately above and below
            # it. A list below the panel gives the names.
            yield f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>"
            yield (f"<text x='{x:.1f}' y='{y - 6 if number % 2 else y + 14:.1f}' "
                   f"text-anchor='middle'>{number}</text>")
            yield f"<text x='54' y='{350 + 13 * number}'>{number} {escape(name)}</text>"


def opaque(lines):
    """A panel for each way and period. heddle's settings are joined by lines, without MPS and with
    it. Lower and further right is better."""
    runs, training = opaque_runs(lines)
    steps = [value for values in training.values() for value in values]
    if not steps:
        raise Broken("opaque: no training alone")
    panels, names = {}, list(dict.fromkeys(name for name, _, _ in runs))
    for name in names:
        for (of, way, period), members in runs.items():
            panels.setdefault(f"{way} {period}", dict.fromkeys(names, []))
            if of == name:
                panels[f"{way} {period}"][name] = members
    height, columns = 362 + 13 * len(names), min(len(panels), 3)
    out = [f"<svg xmlns='http://www.w3.org/2000/svg' width='{columns * 420}' "
           f"height='{math.ceil(len(panels) / columns) * height}' font-family='sans-serif' "
           "font-size='11'>", "<rect width='100%' height='100%' fill='#fff'/>"]
    for i, (title, members) in enumerate(panels.items()):
        out.append(f"<g transform='translate({i % columns * 420} {i // columns * height})'>")
        out += _Panel(title, members, statistics.median(steps)).draw()
        out.append("</g>")
    return "\n".join([*out, "</svg>", ""])


# ---- all of them ----

def draw(kind, texts):
    """Returns the SVG of files' texts: share and merge of one JSON, opaque of lines."""
    if kind == "opaque":
        return opaque([line for text in texts for line in text.splitlines()])
    if len(texts) != 1:
        raise Broken(f"picture {kind}: {len(texts)} files, it draws one")
    data = load_json(texts[0], kind)
    try:
        return share(data) if kind == "share" else merge(data)
    except (KeyError, TypeError) as error:
        raise Broken(f"picture {kind}: not what heddle bench {kind} prints: {error}") from error


def of_tables(kept):
    """The pictures below tables that are measured, by the table's name."""
    made = {}
    for name, table in kept.tables.items():
        if name == "share" and table.data.get("pairs"):
            made[name] = share(table.data)
        elif name == "merge" and merge_curve(find(table.data, "pairs.0") or {}):
            made[name] = merge(table.data)
        elif name == "opaque" and "alone.training" in table.data:
            made[name] = opaque(table.lines)
    return made
