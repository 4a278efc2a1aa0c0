# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: python3 bench/render.py render
       python3 bench/render.py stale
       python3 bench/render.py next [SECONDS]
       python3 bench/render.py figures TABLE
       python3 bench/render.py failures FILE
       python3 bench/render.py thin TABLE
       python3 bench/render.py picture share|merge|opaque FILE...

Makes pages of what bench/results.sh measured, and uses nothing but Python's own library.
render: doc/results.md, its pictures, and the figures of README.md and doc/status.md. The variables
RESULTS, PAGE, README and STATUS name another folder and other pages; with RESULTS alone, it makes
none of these pages. stale: lists the tables that were measured with other forms than the passes of
this tree emit. next: the tables to measure next, within so many seconds (default: 1800), each with
its seconds: first those that README.md quotes, then those of doc/status.md. figures: what pages may
name of a table. failures: how many runs failed, of a JSON file. thin: drops what no page
shows of a result above 100 kB. picture: prints an SVG of what `heddle bench` printed; FILE is - for
standard input.
"""
import os
import signal
import sys

sys.dont_write_bytecode = True  # the folder may be a source tree
from render import order, page, pictures, status, thin  # noqa: E402
from render.kept import Kept  # noqa: E402
from render.measured import Measured  # noqa: E402
from render.values import Broken, load_json, read_file  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.environ.get("RESULTS") or f"{ROOT}/doc/results"


def where(variable, default):
    """The page that a variable names. Empty: it is not made."""
    return os.environ.get(variable) or ("" if os.environ.get("RESULTS") else f"{ROOT}/{default}")


def render():
    """Makes the pages. Faults of README.md and doc/status.md are reported at the end."""
    kept = Kept(ROOT, RESULTS)
    path = where("PAGE", "doc/results.md")
    kept.pictures = pictures.of_tables(kept)
    text = page.results(kept)
    if path:
        page.write(path, text)
        for name, svg in kept.pictures.items():
            page.write(os.path.join(os.path.dirname(path), "results", f"{name}.svg"), svg)
    faults = []
    for path, text in pages_with_marks(kept, faults):
        marks = page.Marks(kept, path)
        page.write(path, marks.renew(text))
        faults += marks.faults
    if faults:
        raise Broken("\n".join(faults))


def pages_with_marks(kept, faults):
    """Lists README.md and doc/status.md, each with its text. Adds to faults what is wrong."""
    readme, path = where("README", "README.md"), where("STATUS", "doc/status.md")
    if readme and os.path.exists(readme):
        yield readme, read_file(readme)
    text, wrong = status.page(ROOT, kept) if path else (None, [])
    faults += wrong
    if text or (path and os.path.exists(path)):
        yield path, text or read_file(path)


def stale():
    """Lists the tables of other forms."""
    kept = Kept(ROOT, RESULTS)
    for name in kept.stale:
        print(f"{name}: measured with forms {kept.tables[name].about.get('digest', '')}, "
              f"the passes emit {kept.digest(name)}")


def next_tables(seconds="1800"):
    """Lists the tables to measure next."""
    if not seconds.isdigit():
        raise Broken(f"next {seconds}: a number of seconds")
    kept = Kept(ROOT, RESULTS)
    pages = {"README.md": where("README", "README.md"),
             "doc/status.md": where("STATUS", "doc/status.md")}
    tables = order.within(order.due(kept, pages), int(seconds))
    for table in tables:
        print(f"{table.name}: {table.seconds} s, {table.why}")
    print(f"sum: {sum(table.seconds for table in tables)} s of {seconds}")


def figures(name):
    """Lists the figures of a table."""
    if not os.path.exists(f"{RESULTS}/{name}.about"):
        names = Kept(ROOT, RESULTS).tables
        raise Broken(f"figures wants a table that is measured: {' '.join(names)}")
    for path, value in Measured(RESULTS, name).figures.items():
        print(f"{path}\t{'' if value is None else value}")


def failures(path):
    """Prints how many runs failed. Fails if the file is no JSON."""
    print(load_json(read_file(path), path).get("failures", 0))


def thin_table(name):
    """Drops what no page shows of a large result."""
    sizes = thin.thin(ROOT, RESULTS, name)
    if sizes:
        print(f"{name}: {sizes[0]} bytes are {sizes[1]} now, without what no page shows")


def picture(kind, *paths):
    """Prints the SVG of some files."""
    if kind not in ("share", "merge", "opaque"):
        raise Broken(f"picture of {kind}: share, merge or opaque")
    texts = [sys.stdin.read() if path == "-" else read_file(path) for path in paths]
    print(pictures.draw(kind, texts), end="")


COMMANDS = {"render": (render, 0, 0), "stale": (stale, 0, 0), "next": (next_tables, 0, 1),
            "figures": (figures, 1, 1), "failures": (failures, 1, 1), "thin": (thin_table, 1, 1),
            "picture": (picture, 2, 1000)}


def main(arguments):
    """Runs a command. Returns the exit status."""
    command, least, most = COMMANDS.get(arguments[0] if arguments else "", (None, 0, 0))
    if not command or not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        command(*arguments[1:])
    except Broken as error:
        print(f"bench/render.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # head, say, may stop reading early
    sys.exit(main(sys.argv[1:]))
