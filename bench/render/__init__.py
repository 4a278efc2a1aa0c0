# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""The parts of render.py, the command beside this folder.

measured.py reads a table that bench/results.sh kept and finds its figures by name. printed.py reads
what the scripts and tests print. tables.py describes each table of doc/results.md. page.py makes
the pages, status.py the rows of doc/status.md, pictures.py the SVGs, and order.py the list of
tables to measure next.
"""
