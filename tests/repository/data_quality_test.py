# SPDX-License-Identifier: Apache-2.0
"""Every problem that a reader may count is in docs/data-quality.md and says, there and in the report, what was done."""

import os
import re
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
KINDS = {"kNote": "note", "kGuessed": "guessed", "kRepaired": "repaired", "kDropped": "dropped"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def documented():
    """{name: (kind, what was done)} of the tables."""
    rows = re.findall(r"^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) \| (\w+) \| .*? \| (.*?) ?\|$", read("docs/data-quality.md"),
                      re.M)
    return {name: (kind, done.replace("`", "")) for names, kind, done in rows for name in re.findall("`([^`]+)`", names)}


def counted():
    """{(name, kind)} of every name that the code adds to an ImportLog, as far as it stands in the call."""
    found = set()
    for module in ("trace", "pattern", "cli"):
        for folder, _, files in os.walk(os.path.join(ROOT, "src", module)):
            for name in files:
                if not name.endswith(".cc") or name.endswith("_test.cc"):
                    continue
                for kind, rest in re.findall(r"ProblemKind::(k\w+),([^;]*);", read(folder, name)):
                    found |= {(literal, KINDS[kind]) for literal in re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', rest)}
    return found


class DataQuality(unittest.TestCase):
    maxDiff = None

    def test_what_the_code_counts_is_documented(self):
        tables = documented()
        names = counted()
        self.assertGreater(len(names), 40)
        self.assertEqual([], sorted((name, kind) for name, kind in names if tables.get(name, ("",))[0] != kind))

    def test_the_report_says_what_was_done_in_the_words_of_the_documentation(self):
        texts = dict(re.findall(r'^\{"([^"]+)", "((?:[^"\\]|\\.)*)"\},$', read("src/trace/data/problems.inc"), re.M))
        texts = {name: re.sub(r"\\(.)", r"\1", text) for name, text in texts.items()}
        self.assertEqual({name: done for name, (_, done) in documented().items()}, texts)
        self.assertNotIn("", texts.values())


if __name__ == "__main__":
    unittest.main()
