# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Files and numbers of measurements."""
import json


class Broken(Exception):
    """A file cannot be read, or is not what it should be."""


class Number(float):
    """A number that remembers how it was written: 1.50 stays 1.50."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self):
        return self.text


def load_json(text, where):
    """Returns the value of a text that comes from `where`."""
    try:
        return json.loads(text, parse_float=Number)
    except ValueError as error:
        raise Broken(f"{where}: no JSON: {error}") from error


def read_file(path):
    """Returns the text of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Broken(f"{path}: {error.strerror}") from error
