#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""What ptxas makes of products and sums without a rounding modifier, in a kernel and in forms of it.

usage: contract.py ARCH FORM PLAIN[:KERNEL]...

ptxas notes which line of the PTX each of its instructions comes from, and nvdisasm says so (-gp). A sum
of which an fma has come is fused; if one of its products has no instruction of its own any more, with
that one. A sum of the form is known by its operation and its registers, less the prefix that kernels'
have. With KERNEL, forms have another entry. Every copy of a sum has to be fused as it is in the kernel:
prints those that are not, and how many of which there are. PTXAS and NVDISASM, or those on the PATH.
"""
import os
import re
import subprocess
import sys
import tempfile

PTXAS = os.environ.get("PTXAS", "ptxas")
NVDISASM = os.environ.get("NVDISASM", "nvdisasm")
STATEMENT = re.compile(
    r"^\s*(?:\{\s*)?(?:@!?%\S+\s+)?(mul|add|sub)((?:\.(?:ftz|sat|rn))*)"
    r"\.(f32|f64|f16|f16x2|bf16|bf16x2)\s+(\S+?)\s*,(.*?);"
)
# NAME finds the name in an instruction like "@!P0 FFMA.FTZ R2, ...". CONSTANT finds an HFMA2 whose
# factors are zeros: ptxas uses it to load a constant.
NAME = re.compile(r"^(?:@!?U?P\w+ )?([FDH](?:ADD|MUL|FMA)\w*)")
CONSTANT = re.compile(r"-RZ, RZ, ")
# ONE finds a sum that is written as x * 1 + y: bf16 has only fused instructions, and for f16 they
# are as fast as sums.
ONE = re.compile(r", 1, ")


def instructions(arch, path):
    """Instructions on fractions, by line of the PTX."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = folder + "/x.cubin"
        made = subprocess.run(
            [PTXAS, "-lineinfo", "-arch=" + arch, path, "-o", cubin], capture_output=True, text=True, check=False
        )
        if made.returncode:
            sys.exit(f"{path}: {made.stdout[:500]}{made.stderr[:500]}")
        text = subprocess.run([NVDISASM, "-gp", "-c", cubin], capture_output=True, text=True, check=True).stdout
    by_line, line = {}, 0
    for row in text.splitlines():
        at = re.search(r'//## File "\.nv_debug_ptx_txt", line (\d+)', row)
        if at:
            line = int(at[1])
            continue
        code = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*)", row)
        if code and NAME.match(code[1]) and not CONSTANT.search(code[1]):
            by_line.setdefault(line, []).append(code[1])
    return by_line


def register(text):
    return re.sub(r"^%(?:hd_\d+_)?", "%", text.strip().lstrip("-"))


def sums(arch, path, kernel):
    """{(entry, operation, registers): {what became of it: [lines]}}"""
    by_line, found, products, entry = instructions(arch, path), {}, {}, ""
    with open(path, errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            begins = re.search(r"\.(?:entry|func)\s*(?:\(.*?\))?\s*([\w$]+)", line)
            entry = begins[1] if begins else entry
            s = STATEMENT.match(line)
            if not s:
                continue
            operation, mods, kind = s[1], s[2], s[3]
            registers = [register(r) for r in [s[4]] + s[5].split(",")]
            if operation == "mul":
                products[registers[0]] = number
                continue
            if "rn" in mods or number not in by_line or (kernel and entry != kernel):
                continue
            became = set()
            for code in by_line[number]:
                if "FMA" in NAME.match(code)[1] and not ("16" in kind and ONE.search(code)):
                    gone = {r for r in registers[1:] if r in products and products[r] not in by_line}
                    became.add("fused " + " ".join(sorted(gone)))
                else:
                    became.add("added")
            key = (entry, operation + mods + "." + kind, *registers)
            found.setdefault(key, {}).setdefault(frozenset(became), []).append(number)
    return found


def alike(how, want):
    """Two products without an instruction: one is fused, the other is the same as a third."""
    return any(
        {h.split()[0] for h in how} == {h.split()[0] for h in w}
        and all(any(set(h.split()) <= set(x.split()) or set(x.split()) <= set(h.split()) for x in w) for h in how)
        for w in want
    )


def main():
    arch, form = sys.argv[1:3]
    plain, named = {}, False
    for arg in sys.argv[3:]:
        path, _, kernel = arg.partition(":")
        named |= bool(kernel)
        for key, became in sums(arch, path, kernel).items():
            for how, lines in became.items():
                plain.setdefault(key[1:] if named else key, {}).setdefault(how, []).extend(lines)
    n = differ = 0
    for key, became in sorted(sums(arch, form, "").items()):
        want = plain.get(key[1:] if named else key)
        for how, lines in became.items():
            n += len(lines)
            if want is None or alike(how, want):
                continue
            differ += len(lines)
            plainly = "; ".join(f"{', '.join(sorted(h))} in line {l[0]}" for h, l in want.items())
            print(f"  {key[1]} {', '.join(key[2:])}: {', '.join(sorted(how))} in line {lines[0]}; plain: {plainly}")
    fused = sum(any(h.startswith("fused") for h in how) for became in plain.values() for how in became)
    print(f"sums {n} plain {len(plain)} fused {fused} differ {differ}")
    sys.exit(differ > 0)


main()
