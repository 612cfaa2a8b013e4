# SPDX-License-Identifier: Apache-2.0
"""The flags of a build folder's compile_commands.json that say what a file means: language level, macros, include
paths.

What only says how it is compiled (warnings, optimisation, precompiled headers) is left out, so that another compiler
can use them.
"""

import json
import os
import shlex


def read_flags(build):
    """{absolute path of a source file: its flags}"""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return {os.path.normpath(entry["file"]): _meaning(shlex.split(entry["command"])) for entry in json.load(file)}


def _meaning(words):
    flags = []
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-isystem", "-I", "-D"):
            flags += [word, words[at + 1]]
            at += 1
        elif word.startswith(("-I", "-D", "-std=", "-m")):
            flags.append(word)
        at += 1
    return flags


def union(flag_lists):
    """All flags of several files, for a header that has none of its own. Keeps the order, drops what repeats."""
    seen = []
    for flags in flag_lists:
        at = 0
        while at < len(flags):
            width = 2 if flags[at] in ("-isystem", "-I", "-D") else 1
            item = tuple(flags[at : at + width])
            if item not in seen:
                seen.append(item)
            at += width
    return [word for item in seen for word in item]
