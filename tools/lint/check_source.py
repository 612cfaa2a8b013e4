#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of CONTRIBUTING.md that one file's text shows: each RULES entry is a function (name, text) -> mistakes."""

import argparse
import gzip
import os
import re
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source_files import read, repository_files  # noqa: E402

SPDX = "SPDX-License-Identifier: Apache-2.0"
BANNED_SUFFIXES = ("Manager", "Handler", "Helper", "Util", "Utils", "Data", "Info", "Impl", "Wrapper", "Processor")
TEXT_ENDINGS = (".cc", ".h", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".toml", ".yaml", ".yml", ".ts", ".tsx",
                ".mjs", ".js", ".css", ".html", ".case")
# Assembled, so that this file does not trip over itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:wo" + r"rk|ro" + r"ot|home/(?!user\b|me\b|alice\b)\w+)/")
LOCK_ADDRESS = re.compile(r'"resolved":\s*"http')
DEBT = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(.*)")


def is_cxx(name):
    return name.endswith((".cc", ".h"))


def code_of(text):
    """The text with the contents of comments and string literals blanked, its lines kept."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)

    def blank(match):
        found = match.group(0)
        filler = '""' if '"' in found[:2] and not found.startswith("/") else " "
        return filler + "\n" * found.count("\n")

    return pattern.sub(blank, text)


def lines_matching(text, pattern):
    return [number for number, line in enumerate(text.splitlines(), 1) if re.search(pattern, line)]


def licence_line(name, text):
    if is_cxx(name) and not text.startswith(f"// {SPDX}\n"):
        yield f"{name}:1: the first line must be // {SPDX}"
    elif (name.endswith((".py", ".sh", ".cmake")) or name.endswith("CMakeLists.txt") or text.startswith("#!")) and (
        f"{SPDX}" not in "\n".join(text.splitlines()[:2])
    ):
        yield f"{name}:1: one of the first two lines must be # {SPDX}"


def header_guard(name, text):
    if name.endswith(".h") and "#pragma once" not in text:
        yield f"{name}:1: a header needs #pragma once"


def banned_code(name, text):
    if not is_cxx(name):
        return
    code = code_of(text)
    for pattern, why in (
        (r"\busing\s+namespace\b", "no using namespace: name what you use"),
        (r"\bstd::endl\b", "no std::endl: write '\\n'"),
        (r"(?<![\w.])(std::)?s?rand\s*\(", "no rand(): a seeded engine of <random>, so that runs repeat"),
        (r"\bDISABLED_\w+", "no switched-off tests"),
    ):
        for number in lines_matching(code, pattern):
            yield f"{name}:{number}: {why}"


def banned_names(name, text):
    if not is_cxx(name):
        return
    for match in re.finditer(r"^\s*(?:class|struct|enum class)\s+(\w+)\b(?!\s*;)", code_of(text), re.M):
        for suffix in BANNED_SUFFIXES:
            if match.group(1).endswith(suffix):
                line = text[: match.start()].count("\n") + 1
                yield f"{name}:{line}: {match.group(1)}: the suffix {suffix} says nothing; name what it is"
    stem = os.path.basename(name).rsplit(".", 1)[0]
    if not re.fullmatch(r"[a-z0-9_]+", stem):
        yield f"{name}:1: file names are snake_case"


def unordered_iteration(name, text):
    """A loop over an unordered container says why its order cannot show: `// unordered: REASON` on or above it."""
    if not is_cxx(name):
        return
    code = code_of(text)
    declared = set(re.findall(r"\bunordered_(?:multi)?(?:map|set)<[^;{}()]*>\s*&?\s*(\w+)\s*[;={,)]", code))
    if not declared:
        return
    lines = text.splitlines()
    names = "|".join(sorted(declared))
    loop = re.compile(r"\bfor\s*\([^;]*:\s*\*?(?:\w+(?:\.|->))*(" + names + r")\s*\)")
    for number, line in enumerate(code.splitlines(), 1):
        near = lines[max(0, number - 2) : number]
        if loop.search(line) and not any("unordered:" in one for one in near):
            yield f"{name}:{number}: the order of an unordered container: sort, or say // unordered: REASON"


def debts(name, text):
    if not name.endswith(TEXT_ENDINGS) or name.endswith((".md", ".json", ".txt")):
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = DEBT.search(line)
        if match and not re.match(r"\([^)]+\): .{15,}", match.group(2)):
            yield f"{name}:{number}: {match.group(1)} needs who or what it waits for and why: (what): text"


def machine_paths(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = MACHINE_PATH.search(line)
        if match:
            yield f"{name}:{number}: a path of somebody's machine ({line[match.start() : match.start() + 40]!r})"
        if LOCK_ADDRESS.search(line):
            yield f"{name}:{number}: a download address in a lock file (npm's omit-lockfile-registry-resolved=true)"


def host_name(name, text):
    host = socket.gethostname()
    if len(host) < 5 or host in ("localhost", "debian", "ubuntu", "headway"):
        return
    for number in lines_matching(text, r"(?<![\w-])" + re.escape(host) + r"(?![\w-])"):
        yield f"{name}:{number}: the name of this machine"


RULES = (licence_line, header_guard, banned_code, banned_names, unordered_iteration, debts, machine_paths, host_name)


def text_of(root, name):
    """The text to look at; of a gzip file its content (an example's trace may hold paths), of a binary file nothing."""
    if name.endswith(".gz"):
        with open(os.path.join(root, name), "rb") as file:
            try:
                return gzip.decompress(file.read()).decode("utf-8", errors="replace")
            except (OSError, EOFError):  # a fixture that is damaged on purpose
                return ""
    text = read(root, name)
    return "" if "\0" in text else text


def check(root):
    mistakes = []
    for name in repository_files(root):
        text = text_of(root, name)
        for rule in RULES if not name.endswith(".gz") else (machine_paths, host_name):
            mistakes.extend(rule(name, text))
    return mistakes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    mistakes = check(parser.parse_args().root)
    print("\n".join(mistakes) if mistakes else "every file keeps the rules")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
