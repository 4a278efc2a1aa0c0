# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""doc/status.md: a row for each requirement, whose states follow from doc/status.facts.

doc/status.in.md is the page without the rows, and <!--requirements--> is the place of these.
"""
import os
import re

from .page import quoted
from .parts import head_of, row_of
from .values import Broken, read_file

COUNTS = {"F": 14, "A": 13, "K": 13, "P": 11, "G": 10, "X": 9}
PLACE = "<!--requirements-->"


class Fact:
    """A row of doc/status.facts. Its figures have marks as in README.md."""

    def __init__(self, line, where):
        fields = line.split("\t")
        if len(fields) != 5:
            raise Broken(f"{where}: {len(fields)} fields with tabs between: 5 are expected")
        none_is_empty = ["" if field == "-" else field for field in fields]
        self.id, self.capability, tests, self.figures, self.missing = none_is_empty
        self.tests = tests.split(",") if tests else []
        self.where = where
        self.is_begun = self.missing != "all"

    def on_virtual_gpu(self):
        """The state on the virtual GPU."""
        if not self.is_begun:
            return "not yet"
        if not self.tests:
            return "no evidence"
        return "tested in part" if self.missing else "tested"

    def on_gpu(self, kept):
        """The state on a GPU: the age of the oldest table with its figures."""
        if not self.is_begun:
            return "not yet"
        names = {name for name in quoted(self.figures) if kept.is_of_gpu(name)}
        if not names:
            return "no evidence"
        if names - set(kept.tables):
            return "not measured"
        age = "measured with earlier forms" if names & set(kept.stale) else "measured"
        return f"{age} {min(kept.tables[name].about['day'] for name in names)}"

    def row(self, kept):
        """The row of the page."""
        evidence = [", ".join(f"`{test}`" for test in self.tests)]
        if not quoted(self.figures) - set(kept.tables):
            evidence.append(self.figures)
        return row_of([self.id, self.capability, self.on_virtual_gpu(), self.on_gpu(kept),
                       "; ".join(text for text in evidence if text),
                       self.missing if self.is_begun else ""])


def read_facts(path):
    """Returns the facts of a file. Each requirement has one, in the order of the ids."""
    facts = [Fact(line, f"{path}:{number}")
             for number, line in enumerate(read_file(path).splitlines(), 1)
             if line and not line.startswith("#")]
    wanted = [f"{letter}{n}" for letter, count in COUNTS.items() for n in range(1, count + 1)]
    for fact, name in zip(facts, wanted):
        if fact.id != name:
            raise Broken(f"{fact.where}: {fact.id}: the requirement {name} is expected here")
    if len(facts) != len(wanted):
        raise Broken(f"{path}:1: {len(facts)} requirements: {len(wanted)} are expected")
    return facts


class Tests:
    """The tests of a source tree, by what its meson.build files say, without a build."""

    def __init__(self, root):
        self.words = set()  # of all files of tests
        self.quoted = set()  # test names, and prefixes of test names such as 'cli-'
        # parts of test names and of file names; some tests are named after files
        self.parts = set()
        for folder, _, files in os.walk(f"{root}/tests"):
            for name in files:
                self.parts.update(re.split("[-_.]", name))
                try:
                    text = read_file(f"{folder}/{name}")
                except UnicodeDecodeError:
                    continue
                self.words.update(re.findall(r"[A-Za-z0-9_-]+", text))
                if name == "meson.build":
                    self.quoted.update(re.findall(r"'([A-Za-z0-9_-]+)'", text))
        for name in self.quoted:
            self.parts.update(re.split("[-_]", name))

    def has(self, test):
        """Whether TEST or TEST:CASE may exist. tests/style/faults.sh asks a build. A folder that
        ./run dist made has no meson.build, and knows no tests."""
        if not self.quoted:
            return True
        name, _, case = test.partition(":")
        begins = any(name.startswith(q) and q[-1] in "-_" for q in self.quoted)
        known = name in self.quoted or (begins and set(re.split("[-_]", name)) <= self.parts)
        return known and (not case or case in self.words)


def page(root, kept):
    """Returns the text of doc/status.md, before its figures are renewed, and a list of faults.
    None: the tree has no doc/status.in.md."""
    template, path = f"{root}/doc/status.in.md", f"{root}/doc/status.facts"
    if not os.path.exists(template):
        return None, []
    facts, tests = read_facts(path), Tests(root)
    faults = [f"{fact.where}: no such test: {test}"
              for fact in facts for test in fact.tests if not tests.has(test)]
    rows = head_of(["id", "capability", "virtual GPU", "GPU", "evidence", "missing"])
    rows += [fact.row(kept) for fact in facts]
    text = read_file(template)
    if text.count(PLACE) != 1:
        raise Broken(f"{template}:1: {text.count(PLACE)} times {PLACE}: one is expected")
    return text.replace(PLACE, "\n".join(rows)), faults
