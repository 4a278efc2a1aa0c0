# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Which tables to measure next, within a time."""
from .page import quoted
from .values import read_file


class Due:
    """A table that is missing or stale."""

    def __init__(self, kept, name, pages):
        row, table = kept.rows[name], kept.tables.get(name)
        self.name = name
        self.day = table.about["day"] if table else ""
        self.seconds = int(table.about["seconds"]) if table else row.limit_s
        self.page = next((i for i, (_, names) in enumerate(pages) if name in names), len(pages))
        page = f", quoted by {pages[self.page][0]}" if self.page < len(pages) else ""
        needs = f", needs {row.needs}" if row.needs != "-" else ""
        age = f"measured on {self.day}" if table else "never measured, its limit"
        self.why = age + page + needs


def due(kept, pages):
    """pages: names of pages, and their paths (empty: it is not read).

    Returns the tables that are missing or stale, in the order to measure them: those that the
    first page quotes, then those of the second, then others; of these, missing ones, then the
    oldest."""
    pages = [(page, quoted(read_file(path))) for page, path in pages.items() if path]
    names = [name for name in kept.names if name in kept.missing or name in kept.stale]
    return sorted((Due(kept, name, pages) for name in names), key=lambda d: (d.page, d.day))


def within(tables, seconds):
    """Returns the first tables that fit in a time. A table that does not is left out."""
    chosen = []
    for table in tables:
        if table.seconds <= seconds:
            chosen.append(table)
            seconds -= table.seconds
    return chosen
