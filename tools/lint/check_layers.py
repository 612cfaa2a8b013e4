#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every include under src/ to the module table of ARCHITECTURE.md.

The table's rows are `| level | module | owns | may include |`, in order: a row may name only modules above it, so there
are no cycles. Also held to it: the DEPS of each module's CMakeLists.txt, that every folder under src/ has a row, and
that the table of libraries is true (`| library | adapter | … |`: its headers appear in the files the row names only).
"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source_files import cxx_files, read  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.M)
DEPS = re.compile(r"headway_module\(\s*(\w+)([^)]*)\)", re.S)
GENERATED = {"headway_version.h"}  # made at configure time, of no module
CODE = re.compile(r"`([^`]+)`")


def table_after(text, first_cells):
    """The rows (lists of cells) of the table whose header starts with these cells."""
    rows = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else None
        if cells and cells[: len(first_cells)] == first_cells:
            inside = True
        elif inside and cells is None:
            break
        elif inside and not set("".join(cells)) <= set("-: "):
            rows.append(cells)
    return rows


def read_layers(text):
    """{module: set of modules it may include}, and the mistakes in the table itself."""
    layers, mistakes = {}, []
    for cells in table_after(text, ["level", "module"]):
        module = cells[1].strip("`")
        allowed = cells[-1].replace("`", "")
        if allowed == "all":
            names = list(layers)
        else:
            names = [name.strip() for name in allowed.split(",") if name.strip() not in ("", "-")]
        for name in names:
            if name not in layers:
                mistakes.append(f"ARCHITECTURE.md: {module} may include {name}, which is not a row above it")
        layers[module] = set(names)
    if not layers:
        mistakes.append("ARCHITECTURE.md: no table that starts with | level | module |")
    return layers, mistakes


def check_includes(root, layers):
    mistakes = []
    for name in cxx_files(root):
        parts = name.split("/")
        if parts[0] != "src" or len(parts) < 3:
            continue
        module = parts[1]
        for included in INCLUDE.findall(read(root, name)):
            target = included.split("/")[0]
            if included in GENERATED:
                continue
            if "/" not in included:
                mistakes.append(f'{name}: #include "{included}" must start with its module')
            elif target not in layers:
                mistakes.append(f'{name}: #include "{included}": {target} is not a module')
            elif target != module and target not in layers.get(module, set()):
                mistakes.append(f"{name}: {module} may not include {target} ({included})")
    return mistakes


def check_folders(root, layers):
    mistakes = []
    source = os.path.join(root, "src")
    folders = [name for name in sorted(os.listdir(source)) if os.path.isdir(os.path.join(source, name))]
    for module in folders:
        if module not in layers:
            mistakes.append(f"src/{module}: no row in ARCHITECTURE.md's table of modules")
        cmake = f"src/{module}/CMakeLists.txt"
        if not os.path.isfile(os.path.join(root, cmake)):
            continue
        for name, arguments in DEPS.findall(read(root, cmake)):
            for dep in re.sub(r".*?\bDEPS\b(.*?)(\bLIBS\b.*|$)", r"\1", arguments, flags=re.S).split():
                if "DEPS" in arguments and name in layers and dep not in layers[name]:
                    mistakes.append(f"{cmake}: {name} may not depend on {dep}")
    for module in layers:
        if module not in folders:
            mistakes.append(f"ARCHITECTURE.md: module {module} has a row but no folder src/{module}")
    return mistakes


def check_libraries(root, text):
    """Rows `| library | headers | adapter | … |`: headers as `prefix`, adapters as `path` (a folder ends with /)."""
    mistakes = []
    table = table_after(text, ["library", "headers"])
    rows = [(cells[0], CODE.findall(cells[1]), CODE.findall(cells[2])) for cells in table]
    for name in cxx_files(root):
        if not name.startswith("src/") or name.endswith("_test.cc"):
            continue
        included = SYSTEM_INCLUDE.findall(read(root, name))
        for library, headers, adapters in rows:
            if not any(header.startswith(prefix) for header in included for prefix in headers):
                continue
            if name.endswith(".h"):
                mistakes.append(f"{name}: {library} may be included by .cc files only")
            elif not any(name.startswith(place) if place.endswith("/") else name == place for place in adapters):
                mistakes.append(f"{name}: {library} is used in {', '.join(adapters)} only (ARCHITECTURE.md)")
    return mistakes


def check(root):
    text = read(root, "ARCHITECTURE.md")
    layers, mistakes = read_layers(text)
    return mistakes + check_includes(root, layers) + check_folders(root, layers) + check_libraries(root, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    mistakes = check(parser.parse_args().root)
    print("\n".join(mistakes) if mistakes else "every include keeps to the module table")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
