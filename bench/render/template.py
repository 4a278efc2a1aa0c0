# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Templates of cells and sentences: "{low}, {high} ({high_alone_us:.0f})".

A field is a path into a value that was read from JSON, and after a colon its format.

Paths: `takes.threads` is a member of a member, and `steps.0` a member of an array.
`programs.*.share` is a list: the share of each program. `a/b` is one number over another;
`gain*100` is 100 times it.

Formats: those of Python for numbers (`.1f`), and
- `.0f %`: the same, with a percent sign
- `%`: percent of a part, with its sign (0.05 is +5.0 %); `%.1f`: the same with this format
- `more`: percent that a ratio is above 1 (1.05 is +5.0 %)
- `x`: times (2.0x)
- `~`: a tilde where the value is set, which marks noise; `~spread`: one where it is missing or more
  than 10 %
- `count`: the number of members
- `yes|no`: one of two texts
- `?text`: the text where the value is set; # in it is the value
A value that is missing is shown as `-`. Values of a list have commas between them.
"""
import re
import string


def find(value, path):
    """Returns what is at path in value, or None. A path with `*` gives a list."""
    factor = re.search(r"\*(\d+)$", path)
    if factor:
        number = find(value, path[:factor.start()])
        return None if number is None else number * int(factor[1])
    if "/" in path:
        over, under = (int(part) if part.isdigit() else find(value, part)
                       for part in path.split("/"))
        return over / under if over is not None and under else None
    if path == "." or value is None:
        return value
    if isinstance(value, dict) and path in value:
        return value[path]
    name, _, rest = path.partition(".")
    if name == "*":
        return [find(member, rest or ".") for member in value]
    if isinstance(value, list):
        value = value[int(name)] if name.isdigit() and int(name) < len(value) else None
    else:
        value = value.get(name) if isinstance(value, dict) else None
    return find(value, rest or ".")


def show(value, form=""):
    """Returns value as text in this format."""
    if form == "count":
        return str(len(value or []))
    if form == "~spread":
        return "~" if value is None or value > 0.1 else ""
    if form == "~":
        return "~" if value else ""
    if form.startswith("?"):
        return form[1:].replace("#", str(value)) if value else ""
    if "|" in form:
        yes, no = form.split("|")
        return yes if value else no
    if isinstance(value, list):
        return ", ".join(show(member, form) for member in value if member is not None) or "-"
    if value is None or value == "":
        return "-"
    if form == "":
        return str(value)
    if form == "x":
        return f"{value:.1f}x"
    if form == "more":
        return f"{100 * (value - 1):+.1f} %"
    if form.startswith("%"):
        return f"{100 * value:{form[1:] or '+.1f'}} %"
    if form.endswith(" %"):
        return f"{value:{form[:-2]}} %"
    return f"{value:{form}}"


class _Filler(string.Formatter):
    """Fills templates: a field's name is a path, and its format one of the above."""

    def get_field(self, field_name, args, kwargs):
        return find(args[0], field_name), field_name

    def format_field(self, value, format_spec):
        return show(value, format_spec)


def fill(template, value):
    """Returns the template with the fields of value."""
    return _Filler().vformat(template, (value,), {})
