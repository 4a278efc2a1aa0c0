# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""usage: completions.py BUILD FOLDER

Tests completions in the installed shells: bash and zsh on a pseudo-terminal, by typing a line and TAB;
fish with its "complete -C". FOLDER is an empty folder for the test.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

BUILD, FOLDER = sys.argv[1:3]
DONE = "\x1b[0mready\x1b[0m"  # printed by the shell; differs from its echo of the typed command

# Each case: the typed text, the words that completion must offer or insert, and those that it must not.
CASES = [
    ("heddle ver", ["version"], []),
    ("heddle be", ["bench"], [r"bench\\ preempt"]),
    ("heddle bench ", ["preempt"], ["only-a-file"]),
    ("heddle ptx p", ["print", "preempt"], ["check"]),
    ("heddle run -p ", ["high", "normal", "low"], ["only-a-file"]),
    ("heddle run --device=c", ["cpu", "cuda"], []),
    ("heddle run --soc", ["--socket"], []),
    ("heddle run --socket only", ["only-a-file"], []),
    ("heddle run -p low zzz-pro", ["zzz-program"], []),
    ("heddle run -- zzz-program --wei", [], ["--weight"]),
    ("heddle ptx check only", ["only-a-file"], []),
    ("heddle help do", ["doctor"], []),
    ("heddle ptx print two.ptx -k ", ["k_first", "k_second"], ["only-a-file", "--arch", "not_one"]),
    ("heddle ptx preempt two.ptx --kernel k_s", ["k_second"], ["k_first"]),
    ("heddled --pol", ["--policy"], []),
    ("heddled --policy ", ["hpf", "ffs", "none"], ["only-a-file"]),
    ("heddled --log=d", ["debug"], []),
]


def read(fd, until, limit=30):
    """Returns the output up to the pattern, or what came until the timeout."""
    got, end = b"", time.time() + limit
    while time.time() < end and not until(got.decode(errors="replace")):
        if select.select([fd], [], [], 0.2)[0]:
            try:
                got += os.read(fd, 65536)
            except OSError:
                break
    return got.decode(errors="replace")


def plain(text):
    """Removes the escape sequences that move the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x07\x08]", "", text)


class Typed:
    """A shell on a terminal. After each line, clears it and waits for a sign of life."""

    def __init__(self, argv, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(env)
            os.chdir(FOLDER)
            os.execvp(argv[0], argv)

    def say(self, text):
        os.write(self.fd, text.encode())
        os.write(self.fd, b"printf '\\033[0mready\\033[0m'\r")
        out = read(self.fd, lambda s: DONE in s)
        assert DONE in out, "no answer: " + out

    def offers(self, line, wanted):
        """Presses TAB once, and twice more if that does not show everything: lists come with the second TAB."""
        os.write(self.fd, line.encode() + b"\t")
        found = lambda s: wanted and all(w in plain(s) for w in wanted)
        got = read(self.fd, found, 3)
        if not found(got):
            os.write(self.fd, b"\t\t")
            got += read(self.fd, lambda s: found(got + s) or "possibilities" in s, 10 if wanted else 2)
        if "possibilities" in got:
            os.write(self.fd, b"n")
        os.write(self.fd, b"\x15")
        self.say("")
        return plain(got)

    def end(self):
        os.write(self.fd, b"\x15exit\r")
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def bash():
    rc = os.path.join(FOLDER, "rc")
    with open(rc, "w", encoding="utf-8") as f:
        for common in ("/usr/share/bash-completion/bash_completion",):
            f.write(f"[ ! -f {common} ] || . {common}\n")
        f.write(f". {BUILD}/completions/heddle\n. {BUILD}/completions/heddled\nPS1='$ '\n"
                "bind 'set bell-style none' 'set enable-bracketed-paste off'\n")
    shell = Typed(["bash", "--noprofile", "--rcfile", rc, "-i"], {"TERM": "dumb"})
    shell.say("")
    return shell


def zsh():
    shell = Typed(["zsh", "-f", "-i"], {"TERM": "vt100", "PS1": "$ "})
    shell.say("unsetopt beep prompt_sp; fpath=(%s/completions $fpath); autoload -U compinit; "
              "compinit -u -d %s/dump\r" % (BUILD, FOLDER))
    return shell


class Fish:
    """fish lists the completions itself."""

    def offers(self, line, _):
        out = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source {BUILD}/completions/heddle.fish; source {BUILD}/completions/heddled.fish; "
             f"complete -C '{line}'"],
            cwd=FOLDER, capture_output=True, text=True, check=True).stdout
        return out

    def end(self):
        pass


def main():
    os.environ["PATH"] = f"{FOLDER}/bin:{BUILD}:" + os.environ["PATH"]
    os.environ.update(HOME=FOLDER, XDG_CONFIG_HOME=FOLDER, XDG_DATA_HOME=FOLDER, LC_ALL="C.UTF-8")
    os.mkdir(f"{FOLDER}/bin")
    with open(f"{FOLDER}/bin/zzz-program", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n")
    os.chmod(f"{FOLDER}/bin/zzz-program", 0o755)
    open(f"{FOLDER}/only-a-file", "w", encoding="utf-8").close()
    with open(f"{FOLDER}/two.ptx", "w", encoding="utf-8") as f:
        f.write(".version 8.0\n.target sm_80\n.address_size 64\n.func not_one()\n{\n\tret;\n}\n"
                ".visible .entry k_first()\n{\n\tret;\n}\n"
                ".visible .entry k_second()\n{\n\tret;\n}\n")
    wrong, ran = 0, []
    for name, start in (("bash", bash), ("zsh", zsh), ("fish", Fish)):
        if not shutil.which(name):
            print(f"{name} is not here")
            continue
        shell = start()
        for line, wanted, unwanted in CASES:
            got = shell.offers(line, wanted)
            behind = got.replace(line, "", 1) if name != "fish" else got
            for w in wanted:
                # The terminal output of a shell that completes in place has only the added
                # characters, not the whole word.
                if w not in got and not any(w in line_ for line_ in got.splitlines()):
                    print(f"{name}: '{line}' TAB does not offer {w}: {got!r}")
                    wrong += 1
            for w in unwanted:
                if re.search(w, behind):
                    print(f"{name}: '{line}' TAB offers {w}: {got!r}")
                    wrong += 1
        shell.end()
        ran.append(name)
    print("tried in:", *ran)
    sys.exit(1 if wrong else 0 if ran else 77)


main()
