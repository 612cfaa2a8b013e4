# SPDX-License-Identifier: Apache-2.0
"""Which files the style tests look at: all that git would commit; in an export without git, all but build output."""

import os
import subprocess

SKIPPED_FOLDERS = {".git", "build", "node_modules", "dist", ".venv", ".headway", "__pycache__"}


def repository_files(root):
    """Paths relative to root, sorted; files that exist only."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
    else:
        names = list(_walk(root))
    return sorted(name for name in set(names) if name and os.path.isfile(os.path.join(root, name)))


def _walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def cxx_files(root):
    return [name for name in repository_files(root) if name.endswith((".cc", ".h"))]


def read(root, name):
    """The file's text; empty where it has vanished since it was listed (somebody is at work)."""
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""
