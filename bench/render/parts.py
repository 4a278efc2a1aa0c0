# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The parts of a table in doc/results.md. tables.py says which table has which."""
import re
import textwrap

from .printed import SUITE, WAY
from .template import fill, find


def wrapped(text, width=100):
    """Returns the lines of a paragraph."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def row_of(cells):
    """Returns a row of a Markdown table."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def head_of(headings):
    """Returns the first two lines of a Markdown table."""
    return [row_of(headings), "|" + " --- |" * len(headings)]


class Each:
    """Columns of a grid, one for each member of a list in the table's data, in its order.

    In a row, the member of row[within] with the same name fills the cell; a row without one failed.
    """

    def __init__(self, names, within, cell, key="name"):
        self.names, self.within, self.cell, self.key = names, within, cell, key

    def headings(self, data):
        return [str(member[self.key]) for member in find(data, self.names) or []]

    def cells(self, row, data):
        members = {str(m[self.key]): fill(self.cell, m) for m in find(row, self.within) or []}
        return [members.get(name, "failed") for name in self.headings(data)]


class Rows:
    """Rows of a grid: the members at path, `*` for those of the data itself, or what a function
    makes of the table. Cells are the grid's, or their own. having: only members that have this."""

    def __init__(self, path, cells=None, having=None):
        self.path, self.cells, self.having = path, cells, having

    def members(self, table):
        if callable(self.path):
            members = self.path(table)
        elif self.path == "*":
            members = [member for member in table.data.values() if isinstance(member, dict)]
        else:
            members = find(table.data, self.path) or []
        members = [members] if isinstance(members, dict) else members
        return [m for m in members if not self.having or find(m, self.having) is not None]


class Grid:
    """A table of Markdown. A column is (heading, template of its cells), with a third member only
    if the data has what that path names, or an Each. below: a second row after each first one."""

    def __init__(self, columns, *rows, below=None):
        self.columns, self.rows, self.below = columns, rows, below

    def lines(self, table):
        data = table.data
        columns = [column for column in self.columns if isinstance(column, Each) or
                   len(column) < 3 or find(data, column[2]) is not None]
        lines = []
        for rows in self.rows:
            cells = rows.cells or [c if isinstance(c, Each) else c[1] for c in columns]
            for member in rows.members(table):
                lines.append(self._line(cells, member, data))
                if self.below:
                    lines.append(self._line(self.below, member, data))
        headings = []
        for column in columns:
            headings += column.headings(data) if isinstance(column, Each) else [column[0]]
        return head_of(headings) + lines if lines else []

    @staticmethod
    def _line(cells, member, data):
        texts = []
        for cell in cells:
            texts += cell.cells(member, data) if isinstance(cell, Each) else [fill(cell, member)]
        return row_of(texts)


class Say:
    """A sentence that is there only if a figure is neither missing nor 0, and no list is empty."""

    def __init__(self, text, when):
        self.text, self.when = text, when

    def lines(self, table):
        value = find(table.figures, self.when) or find(table.data, self.when)
        return wrapped(fill(self.text, _AllOf(table))) if value else []


class Wrong:
    """Says how many results were wrong: the sum at path."""

    def __init__(self, path):
        self.path = path

    def lines(self, table):
        wrong = _sum(find(table.data, self.path))
        return [f"**{wrong} results were wrong.**" if wrong else "No result was wrong."]


def _sum(value):
    return sum(map(_sum, value)) if isinstance(value, list) else value or 0


class _AllOf(dict):
    """A table's data, and its figures by name, for templates."""

    def __init__(self, table):
        super().__init__(table.data)
        self.update(table.figures)


class Table:
    """A section of doc/results.md. reading: how to read it."""

    def __init__(self, title, reading, *parts):
        self.title, self.reading, self.parts = title, reading, parts

    def how_to_read(self, table):
        """Returns the first sentence."""
        return fill(self.reading, _AllOf(table))

    def blocks(self, table):
        """Returns the parts as lists of lines."""
        for part in self.parts:
            if isinstance(part, str):
                yield wrapped(fill(part, _AllOf(table)))
            elif hasattr(part, "lines"):
                yield part.lines(table)
            else:
                yield part(table)


# ---- tests on a device ----

SUMS = re.compile(r"(the same|not|refused|same|failed|wrong|hang|differs|seed|programs|correct|"
                  r"compared|sums).*\d|\d.*(the same|refused|same|failed|wrong|hang|correct|"
                  r"compared|sums)")
PROGRAM = re.compile(r"[a-z]+-[^ ]+ +[a-z]+ +[\d.-]+ +[\d.-]+ ")


class _Checks:
    """What tests printed: their sums, the reasons of refusals, and the first of what failed."""

    MOST = 20  # lines of a kind

    def lines(self, table):
        blocks = [self._failed(table), self._ways(table.lines), self._suites(table.lines)]
        failures, sums = [], []
        for line in table.lines:
            if re.match(r"FAIL|hang|differs|FAILED|round", line) and len(failures) < self.MOST:
                failures.append(line)
            elif PROGRAM.match(line):
                continue
            elif re.match(r"(As on a GPU|Stopped by): ", line):
                sums.append(f"- {line}")
            elif not re.search(r": ok \d+ wrong", line) and not line.startswith("|") and \
                    SUMS.search(line) and len(sums) < self.MOST:
                sums.append(f"- {line}")
        blocks += [sums, ["```", *failures, "```"] if failures else []]
        return [line for block in blocks if block for line in ["", *block]][1:]

    @staticmethod
    def _failed(table):
        status = table.about.get("status", "0")
        return [] if status in ("", "0") else [f"**It failed** (exit status {status})."]

    @staticmethod
    def _ways(lines):
        """WAY: ok N wrong N hang N refused N"""
        rows = [row_of(match.groups()) for match in map(WAY.match, lines) if match]
        return rows and head_of(["way", "the same", "wrong", "hang", "refused"]) + rows

    @staticmethod
    def _suites(lines):
        """A suite a row, | SUITE | N | N ... |. The rows of several parts are added."""
        head, sums = [], {}
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if SUITE.match(line):
                counts = [int(cell) for cell in cells[1:]]
                before = sums.get(cells[0], [0] * len(counts))
                sums[cells[0]] = [a + b for a, b in zip(before, counts)]
            elif line.startswith("|") and not sums:
                head.append(line)
        return head + [row_of([name, *map(str, counts)]) for name, counts in sums.items()]


CHECKS = _Checks()
