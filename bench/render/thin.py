# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Makes a large result smaller: drops what no page and no picture shows."""
import json

from . import page, pictures
from .kept import Kept
from .values import Broken, load_json, read_file

LARGE = 100000  # bytes; smaller results are kept whole


def drop(name, data):
    """Drops from a table's data. doc/measuring.md lists what."""
    data.pop("samples", None)
    if name == "merge":
        data.pop("kernels", None)
        for row in data.get("overhead", []):
            row.pop("claims", None)
            row.pop("shared_claims", None)
        for pair in data.get("pairs", []):
            curve = pictures.merge_curve(pair)
            pair["curve"] = {"part": [part for part, _ in curve], "ms": [ms for _, ms in curve]}
            pair.pop("ways", None)


def text_of(data):
    """Returns data as JSON, with a line for each member of an array: changes are easy to read."""
    members = []
    for key, value in data.items():
        if isinstance(value, list) and value:
            lines = ",\n".join(f"\t\t{json.dumps(member)}" for member in value)
            members.append(f"\t{json.dumps(key)}: [\n{lines}\n\t]")
        else:
            members.append(f"\t{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def shown(root, folder, name):
    """Returns what pages show of a table."""
    kept = Kept(root, folder)
    made = pictures.of_tables(kept).get(name)
    return page.section(name, kept), made


def thin(root, folder, name):
    """Makes TABLE.json smaller if it is large. Returns the sizes before and after in bytes, or
    None. A table that would then be shown otherwise stays as it is, which is an error."""
    path = f"{folder}/{name}.json"
    text = read_file(path)
    if len(text) <= LARGE:
        return None
    before = shown(root, folder, name)
    data = load_json(text, path)
    drop(name, data)
    page.write(path, text_of(data))
    if shown(root, folder, name) != before:
        page.write(path, text)
        raise Broken(f"{path}: pages need what thin drops; it is as it was")
    return len(text), len(text_of(data))
