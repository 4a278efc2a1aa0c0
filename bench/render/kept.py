# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The folder of results: which tables are kept in it, which are missing, and which are stale."""
import os
import re
import subprocess

from .measured import Measured
from .template import find
from .values import Broken, read_file


class Row:
    """A row of bench/results.tables: how a table is measured."""

    def __init__(self, line):
        self.name, self.kind, limit, self.needs, self.line = re.split(r"\t+", line, maxsplit=4)
        self.limit_s = int(limit)


class Kept:
    """What is kept of the tables of bench/results.tables, in their order.

    tables: those that are measured, by name. missing: the names of the others. stale: those that
    were measured with other forms than the passes of this tree emit. pictures: the text of SVGs.
    """

    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.rows = {}
        for line in read_file(f"{root}/bench/results.tables").splitlines():
            if line.strip() and not line.startswith("#"):
                row = Row(line)
                self.rows[row.name] = row
        self.names = list(self.rows)
        self._digests = {}
        measured = [n for n in self.names if os.path.exists(f"{folder}/{n}.about")]
        self.missing = [n for n in self.names if n not in measured]
        self.tables = {name: Measured(folder, name) for name in measured}
        self.stale = [n for n, t in self.tables.items() if t.about.get("digest") != self.digest(n)]
        self.pictures = {}

    def digest(self, name):
        """The digest of the forms that count for a table. It is the same for most."""
        kind = name if name in ("tasks", "as-tasks", "orders") else "kernels"
        if kind not in self._digests:
            self._digests[kind] = subprocess.run(
                ["sh", f"{self.root}/bench/digest.sh", self.root, name], check=True,
                stdout=subprocess.PIPE, text=True).stdout.strip()
        return self._digests[kind]

    def is_of_gpu(self, name):
        """Whether a table is measured on a GPU."""
        return name not in self.rows or self.rows[name].needs not in ("VIRTUAL", "PTXAS")

    def figure(self, name, path):
        """The figure of a table that is measured, as pages name it."""
        value = find(self.tables[name].figures, path)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Broken(f"{name} has no such figure: bench/results.sh figures {name} lists them; "
                         "without the mark it is one that was typed in")
        return value
