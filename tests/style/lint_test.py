# SPDX-License-Identifier: Apache-2.0
"""Each style rule fires on a small tree that breaks it, and stays silent on one that does not."""

import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools", "lint"))
import check_headers  # noqa: E402
import check_layers  # noqa: E402
import check_sizes  # noqa: E402
import check_source  # noqa: E402
import compile_flags  # noqa: E402
import result_cache  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
TABLE = """
| level | module | owns | may include |
|---|---|---|---|
| 0 | `base` | errors | - |
| 1 | `trace` | events | base |
| 2 | `cli` | commands | all |

| library | headers | adapter | why |
|---|---|---|---|
| fast | `fast.h` | `src/base/reader.cc` | speed |
"""


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Layers(Tree):
    def setUp(self):
        super().setUp()
        self.write("ARCHITECTURE.md", TABLE)
        for module in ("base", "trace", "cli"):
            self.write(f"src/{module}/CMakeLists.txt", f"headway_module({module})\n")
        self.write("src/base/reader.cc", '#include <fast.h>\n#include "base/reader.h"\n')
        self.write("src/trace/event.h", '#include "base/result.h"\n#include "trace/other.h"\n')
        self.write("src/cli/main.cc", '#include "trace/event.h"\n')

    def test_a_clean_tree_passes(self):
        self.assertEqual(check_layers.check(self.root), [])

    def expect(self, words):
        mistakes = check_layers.check(self.root)
        self.assertTrue(any(words in mistake for mistake in mistakes), mistakes)

    def test_an_upward_include_is_found(self):
        self.write("src/base/up.h", '#include "trace/event.h"\n')
        self.expect("src/base/up.h: base may not include trace")

    def test_an_include_without_a_module_or_of_an_unknown_one_is_found(self):
        self.write("src/trace/a.cc", '#include "event.h"\n')
        self.expect("must start with its module")
        self.write("src/trace/a.cc", '#include "model/x.h"\n')
        self.expect("model is not a module")

    def test_a_dependency_of_the_build_is_held_to_the_table(self):
        self.write("src/base/CMakeLists.txt", "headway_module(base DEPS trace\n  LIBS fmt::fmt)\n")
        self.expect("base may not depend on trace")
        self.write("src/trace/CMakeLists.txt", "headway_module(trace LIBS fmt DEPS base)\n")
        self.assertEqual(len(check_layers.check(self.root)), 1)

    def test_a_folder_without_row_and_a_row_without_folder_are_found(self):
        self.write("src/plan/plan.h", "")
        self.expect("src/plan: no row")
        self.write("ARCHITECTURE.md", TABLE.replace("| 2 | `cli`", "| 2 | `live` | x | base |\n| 3 | `cli`"))
        self.expect("module live has a row but no folder")

    def test_a_row_that_names_a_later_one_is_found(self):
        self.write("ARCHITECTURE.md", TABLE.replace("errors | - |", "errors | trace |"))
        self.expect("base may include trace, which is not a row above it")

    def test_a_library_outside_its_adapter_or_in_a_header_is_found(self):
        self.write("src/trace/b.cc", "#include <fast.h>\n")
        self.expect("src/trace/b.cc: fast is used in src/base/reader.cc only")
        self.write("src/base/reader.h", "#include <fast.h>\n")
        self.expect("src/base/reader.h: fast may be included by .cc files only")


class Headers(Tree):
    def test_a_header_is_proven_only_by_a_source_that_includes_it_first(self):
        self.write("src/base/a.h", "")
        self.write("src/base/a.cc", '// text\n#include "base/a.h"\n#include <vector>\n')
        self.assertTrue(check_headers.proven_by_the_build(self.root, "src/base/a.h"))
        self.write("src/base/a.cc", '#include <vector>\n#include "base/a.h"\n')
        self.assertFalse(check_headers.proven_by_the_build(self.root, "src/base/a.h"))
        self.write("src/base/a.cc", '#include "base/b.h"\n#include "base/a.h"\n')
        self.assertFalse(check_headers.proven_by_the_build(self.root, "src/base/a.h"))
        os.remove(os.path.join(self.root, "src/base/a.cc"))
        self.assertFalse(check_headers.proven_by_the_build(self.root, "src/base/a.h"))


class Sizes(Tree):
    def long_file(self, lines):
        self.write("src/base/long.cc", "// line\n" * lines)

    def test_the_limit(self):
        self.long_file(400)
        self.assertEqual(check_sizes.check(self.root), [])
        self.long_file(401)
        self.assertIn("401 lines", check_sizes.check(self.root)[0])

    def test_the_list_only_shrinks(self):
        self.write(check_sizes.LIST, "src/base/long.cc 450\n")
        self.long_file(450)
        self.assertEqual(check_sizes.check(self.root), [])
        self.long_file(451)
        self.assertEqual(len(check_sizes.check(self.root)), 1)
        self.long_file(420)
        self.assertIn("--shrink", check_sizes.check(self.root)[0])
        check_sizes.shrink(self.root)
        self.assertEqual(check_sizes.read_list(self.root), {"src/base/long.cc": 420})
        self.long_file(10)
        check_sizes.shrink(self.root)
        self.assertEqual(check_sizes.check(self.root) + list(check_sizes.read_list(self.root)), [])


class Source(unittest.TestCase):
    def found(self, name, text):
        return [mistake for rule in check_source.RULES for mistake in rule(name, text)]

    def test_each_rule(self):
        debt = "TO" + "DO"
        home = "/ho" + "me/sam/x"
        loop = "std::unordered_map<int, std::vector<int>> by_rank;\nfor (const auto& [k, v] : by_rank) {}\n"
        cases = (
            ("a.cc", "int x;\n", "first line"),
            ("a.h", SPDX, "#pragma once"),
            ("a.cc", SPDX + "using namespace std;\n", "using namespace"),
            ("a.cc", SPDX + "out << std::endl;\n", "std::endl"),
            ("a.cc", SPDX + "int x = rand() % 6;\n", "rand()"),
            ("a.cc", SPDX + "TEST(A, DISABLED_B) {}\n", "switched-off"),
            ("a.cc", SPDX + "class StepManager {\n};\n", "suffix Manager"),
            ("stepHelper.cc", SPDX, "snake_case"),
            ("a.cc", SPDX + loop, "unordered"),
            ("a.cc", SPDX + f"// {debt}: later\n", "needs who or what"),
            ("notes.md", f"see {home}/log\n", "somebody's machine"),
            ("package-lock.json", '"resolved' + '": "https://x"\n', "download address"),
            ("tool.py", "import os\n", "first two lines"),
            ("run", "#!/bin/sh\necho\n", "first two lines"),
        )
        for name, text, words in cases:
            with self.subTest(words):
                mistakes = self.found(name, text)
                self.assertEqual(len(mistakes), 1, mistakes)
                self.assertIn(words, mistakes[0])

    def test_what_only_looks_like_a_mistake(self):
        debt = "TO" + "DO"
        texts = (
            '// No using namespace here, and no std::endl.\nconst char* k = "rand() using namespace";\n',
            "int brand(int);\nint y = brand(3);\n",
            "struct DeviceInfoRow;\nstruct Data2 {\n};\nclass Handler;\n",
            "std::unordered_map<int, int> seen;\n// unordered: only a sum is taken\nfor (auto& s : seen) {}\n",
            "std::unordered_map<int, int> seen;\nfor (int rank : ranks) seen[rank]++;\n",
            f"// {debt}(pytorch 2.12 writes no sequence number): pair by order until it does\n",
            "// a call path: /home/user/train.py(12)\nconst int ratio = a/work/b;\n",
        )
        for text in texts:
            with self.subTest(text):
                self.assertEqual(self.found("a.cc", SPDX + text), [])


class Cache(Tree):
    def test_a_changed_header_changes_the_key_of_what_includes_it(self):
        self.write("src/base/a.h", "int a;\n")
        self.write("src/base/b.h", '#include "base/a.h"\n')
        self.write("src/base/c.cc", '#include "base/b.h"\n')
        self.write("src/base/d.cc", "int d;\n")

        def keys():
            cache = result_cache.ResultCache(self.root, os.path.join(self.root, "cache"), "tool 1")
            return cache.key("src/base/c.cc"), cache.key("src/base/d.cc")

        before = keys()
        self.write("src/base/a.h", "long a;\n")
        after = keys()
        self.assertNotEqual(before[0], after[0])
        self.assertEqual(before[1], after[1])

    def test_what_failed_runs_again_and_what_passed_does_not(self):
        self.write("src/base/c.cc", "int c;\n")
        ran = []

        def run(name, _flags):
            ran.append(name)
            return "wrong" if len(ran) == 1 else ""

        for expected in (1, 0, 0):
            cache = result_cache.ResultCache(self.root, os.path.join(self.root, "cache"), "tool 1")
            self.assertEqual(result_cache.check_all(cache, 1, ["src/base/c.cc"], lambda _: (), run), expected)
        self.assertEqual(len(ran), 2)


class Flags(Tree):
    def test_meaning_is_kept_and_the_rest_dropped(self):
        command = "c++ -DA=1 -I/x -isystem /y -O2 -Wall -include /p/cmake_pch.hxx -std=c++23 -o a.o -c /s/a.cc"
        self.write("compile_commands.json", f'[{{"file": "/s/a.cc", "directory": "/b", "command": "{command}"}}]')
        flags = compile_flags.read_flags(self.root)
        self.assertEqual(flags, {"/s/a.cc": ["-DA=1", "-I/x", "-isystem", "/y", "-std=c++23"]})
        self.assertEqual(
            compile_flags.union([["-isystem", "/y", "-DA=1"], ["-isystem", "/y", "-I/z"]]),
            ["-isystem", "/y", "-DA=1", "-I/z"])


if __name__ == "__main__":
    unittest.main()
