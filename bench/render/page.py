# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The pages: doc/results.md, and README.md and doc/status.md with the figures that they name."""
import os
import re

from .parts import wrapped
from .tables import TABLES
from .values import Broken

HEAD = """\
# Results

`bench/results.sh render` makes this page from `results/`; nothing here is typed. Each table is what
a command printed. The section has that command, the file with all figures, the commit, the device
and the digest of the forms that the passes emitted. `bench/results.sh DIST TABLE` measures a table
again, or the command itself, in the tree, after

    export DIST="$PWD/dist/heddle-0.1.0-x86_64" BUILD=build
    PATH="$DIST/bin:$PATH"

where `./run dist` made DIST. `~` marks noise, which is no result: a value that cannot be (ANTT
below 1, STP above the number of programs), or rounds that differ by more than 10 %.
[notebook.md](notebook.md) has measurements that were typed by hand before."""

FRESH = "## Measured with the current forms"
STALE = """\
## Measured with earlier forms

The passes of this tree emit other forms of the kernels than these tables measured. README.md and
status.md mark their figures with ‡. `bench/results.sh next` lists the tables to measure first."""


def results(kept):
    """Returns the text of doc/results.md, of what is kept (kept.py). Fresh tables come first."""
    blocks = [HEAD]
    if kept.missing:
        blocks.append("\n".join(wrapped(f"**Not measured yet**: {', '.join(kept.missing)}.")))
    if kept.tables:
        blocks.append(_runs(kept.tables.values()))
    fresh = [name for name in kept.tables if name not in kept.stale]
    for head, names in (FRESH, fresh), (STALE, kept.stale):
        blocks += [head] if names else []
        for name in names:
            blocks += section(name, kept)
    return "\n\n".join(blocks) + "\n"


def _runs(tables):
    """Says whether all tables are of one run."""
    known = {key: list(dict.fromkeys(t.about[key] for t in tables if t.about.get(key)))
             for key in ("commit", "device", "driver")}
    if max(map(len, known.values())) > 1:
        lines = ["**Not of one run**: these tables are of " + ", ".join(
            f"{len(known[key])} {key}s" for key in known) + "; each says which."]
    else:
        lines = [f"One commit, {known['commit'][0]}, on {known['device'][0]}; driver "
                 f"{known['driver'][0]}."]
    lines += [f"**{commit}** had changes that no commit has." for commit in known["commit"]
              if commit.endswith("-dirty")]
    return "\n".join(lines)


def _link(name):
    return f"[{name}](results/{name})"


def section(name, kept):
    """Returns the blocks of one table."""
    return [block for block in _blocks(name, kept) if block]


def _blocks(name, kept):
    table, about = kept.tables[name], kept.tables[name].about
    description = TABLES.get(name)
    yield f"### {description.title if description else f'`{name}`'}"
    age = f"**Measured with earlier forms ({about['day']}).** " if name in kept.stale else ""
    yield "\n".join(wrapped(age + (description.how_to_read(table) if description else "")))
    yield f"    {about.get('line', '')}"
    forms = f", forms {about['digest']}" if about.get("digest") else ""
    raw = f", raw: {_link(table.raw_file)}" if table.raw_file else ""
    yield (f"Commit {about['commit']}{forms}, {about['device']}, driver {about['driver']}, "
           f"{about['host']}; {about['day']}, {about['seconds']} s; {_link(table.file)}{raw}.")
    if (table.figures.get("failures") or 0) > 0:
        yield f"**{table.figures['failures']} of its runs failed**, and are not in it."
    if not description:
        yield "\n".join(["```", *table.lines, "```"])
        return
    for lines in description.blocks(table):
        yield "\n".join(lines)
    if table.figures.get("left"):
        yield f"**{table.figures['left']} results are missing**, for want of time."
    if name in kept.pictures:
        yield f"![{description.title}](results/{name}.svg)"


# ---- marks ----

MARK = re.compile(r"<!--([a-z-]+):([^ >]*)-->")
FIGURE = re.compile(r"(?:(?<![0-9A-Za-z])[-+])?[0-9][0-9,]*(\.[0-9]+)?[†‡]?$")


NOTE = re.compile(r"(<!--stale-->).*?(<!--/stale-->)", re.DOTALL)


class Marks:
    """Renews the figures of a page: 1.23<!--TABLE:NAME--> becomes the figure NAME of TABLE, with
    as many decimals as are there; TABLE:NAME*100 is 100 times it. Before the mark is † if TABLE
    is not measured, so that the figure was typed by hand, and ‡ if it was measured with earlier
    forms. Between <!--stale--> and <!--/stale--> is a sentence on the tables of these."""

    def __init__(self, kept, path):
        self.kept, self.path = kept, path
        self.faults = []
        self.stale = {}  # names of tables whose figures have a ‡

    def renew(self, text):
        """Returns the page's text with its figures. Adds to faults what is wrong."""
        text = "".join(self._line(line, number)
                       for number, line in enumerate(text.splitlines(keepends=True), 1))
        if self.stale and not NOTE.search(text):
            self.faults.append(f"{self.path}:1: no <!--stale--> and <!--/stale-->, for how old the "
                               "figures with a ‡ are")
        return NOTE.sub(lambda note: note[1] + self._note() + note[2], text)

    def _note(self):
        """How old the figures with a ‡ are: the days and commits of their tables."""
        runs = {}
        for name in self.stale:
            about = self.kept.tables[name].about
            runs.setdefault((about["day"], about["commit"]), []).append(name)
        text = "‡: measured with earlier versions of the rewritten kernels, " + "; ".join(
            f"{', '.join(runs[day, commit])} on {day} at commit {commit}"
            for day, commit in sorted(runs)) + "."
        return "\n" + "\n".join(wrapped(text)) if runs else ""

    def _line(self, line, number):
        out, end = "", 0
        for mark in MARK.finditer(line):
            before = line[end:mark.start()]
            figure = FIGURE.search(before)
            name = f"{mark[1]}:{mark[2]}"
            if figure:
                try:
                    new = self._figure(mark[1], mark[2], figure[0].rstrip("†‡"))
                except Broken as fault:
                    new = figure[0].rstrip("†‡") + "†"
                    self.faults.append(f"{self.path}:{number}: {name}: {fault}")
                out += before[:figure.start()] + new
            else:
                self.faults.append(f"{self.path}:{number}: {name}: no figure before this mark")
                out += before
            out += mark[0]
            end = mark.end()
        return out + line[end:]

    def _figure(self, name, path, old):
        if name not in self.kept.names:
            raise Broken(f"{name} is not in bench/results.tables")
        if name not in self.kept.tables:
            return f"{old}†"
        value = self.kept.figure(name, path)
        if name not in self.kept.stale:
            return shown(value, old)
        self.stale[name] = True
        return shown(value, old) + "‡"


def quoted(text):
    """Returns the names of the tables that a page quotes."""
    return {mark[1] for mark in MARK.finditer(text)}


def shown(value, old):
    """Returns a figure in the form of the old one."""
    decimals = len(old.partition(".")[2])
    text = f"{value:{'+' if old.startswith('+') else ''},.{decimals}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else text


def write(path, text):
    """Writes a file, unless it has this text."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
