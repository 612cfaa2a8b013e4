# SPDX-License-Identifier: Apache-2.0
"""Remembers which files passed a slow check: an empty file named by the hash of all that the result depends on.

A C++ file's result depends on its own text, on every project header it includes, directly or not, on the flags and on
the tool. What comes from the system is taken as fixed by the tool's version.
"""

import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


class ResultCache:
    def __init__(self, root, folder, *salt):
        self.root = root
        self.folder = folder
        self.salt = "\0".join(salt)
        self.texts = {}
        os.makedirs(folder, exist_ok=True)

    def key(self, name, flags=()):
        digest = hashlib.sha256("\0".join([self.salt, name, *flags]).encode())
        for part in sorted(self._closure(name)):
            digest.update(part.encode() + b"\0" + self._text(part).encode() + b"\0")
        return digest.hexdigest()

    def has(self, key):
        return os.path.exists(os.path.join(self.folder, key))

    def add(self, key):
        with open(os.path.join(self.folder, key), "w", encoding="utf-8"):
            pass

    def _text(self, name):
        if name not in self.texts:
            with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as file:
                self.texts[name] = file.read()
        return self.texts[name]

    def _closure(self, name):
        found, queue = {name}, [name]
        while queue:
            for included in INCLUDE.findall(self._text(queue.pop())):
                path = os.path.join("src", included)
                if path not in found and os.path.isfile(os.path.join(self.root, path)):
                    found.add(path)
                    queue.append(path)
        return found


def check_all(cache, jobs, names, flags_of, run):
    """Runs run(name, flags) -> complaint or '' for each name that did not pass before; prints each complaint at once.
    Returns the number of complaints."""
    keys = {name: cache.key(name, flags_of(name)) for name in names}
    todo = [name for name in names if not cache.has(keys[name])]

    def one(name):
        complaint = run(name, flags_of(name))
        if complaint:
            print(complaint, flush=True)
        else:
            cache.add(keys[name])
        return bool(complaint)

    with ThreadPoolExecutor(jobs) as pool:
        wrong = sum(pool.map(one, todo))
    print(f"{len(names)} files, {len(names) - len(todo)} unchanged since they passed, {wrong} not right")
    return wrong
