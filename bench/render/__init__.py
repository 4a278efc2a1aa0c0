# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The parts of render.py, the command beside this folder.

| module | content |
| --- | --- |
| values.py | files, and numbers as they were written |
| printed.py | reads what scripts and tests print as text |
| template.py | templates of cells and sentences |
| measured.py | one table that bench/results.sh kept, and its figures by name |
| kept.py | the folder of results: tables that are kept, missing or stale |
| parts.py | the parts that a table of doc/results.md has |
| tables.py | the tables: title, how to read each, columns |
| page.py | doc/results.md, and the figures of README.md |
| status.py | the rows of doc/status.md |
| pictures.py | SVGs |
| order.py | the tables to measure next |
| thin.py | makes a large result smaller |

Each module imports only modules above it.
"""
