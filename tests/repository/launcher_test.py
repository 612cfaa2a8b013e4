# SPDX-License-Identifier: Apache-2.0
"""./headway, tools/build_program and tools/install_deps on a small copy of a checkout, with stand-ins for the compiler,
the package tools and the program."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

PROGRAM = '#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n'
# Stands for ninja: counts its runs, takes a while, makes the program.
NINJA = """#!/bin/sh
echo run >> "$COUNT"
sleep 0.5
echo "[1/2] Building CXX object a.o"
mkdir -p "$2/bin" && cp "$STANDIN" "$2/bin/headway" && chmod +x "$2/bin/headway"
echo "[2/2] Linking CXX executable bin/headway"
"""


class Checkout(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headway launcher ")  # a space in the path, on purpose
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.root = os.path.join(folder.name, "checkout")
        self.path = os.path.join(folder.name, "path")
        self.count = os.path.join(folder.name, "count")
        for name in ("src/base", "cmake", "web/src", "tools", "build"):
            os.makedirs(os.path.join(self.root, name))
        os.makedirs(self.path)
        for name in ("headway", "tools/common.sh", "tools/build_program", "tools/install_deps"):
            shutil.copy2(os.path.join(ROOT, name), os.path.join(self.root, name))
        for name in ("CMakeLists.txt", "CMakePresets.json", "src/base/a.cc", "src/base/a_test.cc", "web/src/page.ts"):
            self.write(os.path.join(self.root, name), "")
        self.write(os.path.join(self.root, "tools/packages.txt"), "build tool-one\nbuild tool-two sh\n")
        self.standin = os.path.join(self.folder, "program")
        self.write(self.standin, PROGRAM)
        self.tool("cmake", "exit 0\n")
        self.write(os.path.join(self.path, "ninja"), NINJA, executable=True)
        self.tool("dpkg-query", "printf installed\n")
        self.tool("apt-get", "exit 0\n")

    def write(self, path, text, executable=False):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(path, 0o755)

    def tool(self, name, script):
        self.write(os.path.join(self.path, name), "#!/bin/sh\n" + script, executable=True)

    def environment(self):
        return {**os.environ, "PATH": self.path + os.pathsep + os.environ["PATH"], "COUNT": self.count,
                "STANDIN": self.standin}

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [os.path.join(self.root, "headway"), *arguments], env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run_headway(self, *arguments, **options):
        process = self.start(*arguments, **options)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output, errors

    def builds(self):
        if not os.path.exists(self.count):
            return 0
        with open(self.count, encoding="utf-8") as file:
            return len(file.readlines())


class Launcher(Checkout):
    def test_first_start_builds_then_runs_with_the_arguments_and_status(self):
        status, output, errors = self.run_headway("diagnose", "a folder", "--json")
        self.assertEqual((status, output), (3, "diagnose\na folder\n--json\n"))
        self.assertIn("building the program", errors)

    def test_later_starts_build_nothing_and_print_nothing_of_their_own(self):
        self.run_headway("x")
        self.assertEqual(self.run_headway("x"), (3, "x\n", ""))
        self.assertEqual(self.builds(), 1)

    def test_works_from_another_folder_and_through_a_link(self):
        self.run_headway()
        self.assertEqual(self.run_headway("x", cwd="/")[1], "x\n")
        link = os.path.join(self.path, "headway")
        os.symlink(os.path.join(self.root, "headway"), link)
        done = subprocess.run([link, "y"], env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "y\n")
        done = subprocess.run(["../headway", "z"], cwd=os.path.join(self.root, "src"), capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.stdout, "z\n")
        self.assertEqual(self.builds(), 1)

    def test_a_changed_added_or_removed_source_builds_again(self):
        changes = (
            lambda: self.write(os.path.join(self.root, "src/base/a.cc"), "changed"),
            lambda: self.write(os.path.join(self.root, "src/base/b.cc"), "added"),
            lambda: os.remove(os.path.join(self.root, "src/base/b.cc")),
            lambda: self.write(os.path.join(self.root, "web/src/page.ts"), "changed"),
            lambda: self.write(os.path.join(self.root, "CMakePresets.json"), "changed"),
        )
        self.run_headway()
        for count, change in enumerate(changes, 2):
            time.sleep(0.02)  # a file's time is taken from a clock that ticks every few milliseconds
            change()
            self.run_headway()
            self.assertEqual(self.builds(), count)
        self.write(os.path.join(self.root, "src/base/a_test.cc"), "a changed test is no reason")
        self.run_headway()
        self.assertEqual(self.builds(), count)

    def test_two_first_starts_at_once_build_once(self):
        first, second = self.start("one"), self.start("two")
        outputs = [process.communicate(timeout=60) for process in (first, second)]
        self.assertEqual([output for output, _ in outputs], ["one\n", "two\n"])
        self.assertEqual(self.builds(), 1)
        self.assertTrue(any("waiting for it" in errors for _, errors in outputs))

    def test_a_failed_build_says_so_and_is_tried_again(self):
        self.tool("ninja", 'echo "[1/2] Building a"\necho "FAILED: a.o"\necho "a.cc:1: error: expected ;"\nexit 1\n')
        status, output, errors = self.run_headway()
        self.assertEqual((status, output), (4, ""))
        self.assertIn("a.cc:1: error: expected ;", errors)
        self.write(os.path.join(self.path, "ninja"), NINJA, executable=True)
        self.assertEqual(self.run_headway()[0], 3)

    def test_a_build_that_cannot_be_configured_says_why(self):
        self.tool("cmake", 'echo "CMake Error at x:1:"; echo "  headway cannot be built, missing: fmt"; exit 1\n')
        status, _, errors = self.run_headway()
        self.assertEqual(status, 4)
        self.assertIn("headway cannot be built, missing: fmt", errors)

    def test_a_later_start_takes_under_50_ms(self):
        self.run_headway()
        # As many files as the repository has.
        for index in range(600):
            self.write(os.path.join(self.root, "src/base", f"file{index}.cc"), "")
        self.run_headway()
        taken = []
        for _ in range(15):
            started = time.perf_counter()
            self.run_headway()
            taken.append(time.perf_counter() - started)
        print(f"start: median {statistics.median(taken) * 1000:.1f} ms, best {min(taken) * 1000:.1f} ms")
        self.assertLess(min(taken), 0.050)


class InstallDeps(Checkout):
    def install(self, *sets):
        done = subprocess.run(
            [os.path.join(self.root, "tools/install_deps"), *sets], env=self.environment(), capture_output=True,
            stdin=subprocess.DEVNULL, text=True, check=False)
        return done.returncode, done.stderr

    def asked(self):
        if not os.path.exists(self.count):
            return ""
        with open(self.count, encoding="utf-8") as file:
            return file.read()

    def missing(self):
        """Nothing is installed; apt-get notes what it is asked; we are root."""
        self.tool("dpkg-query", "exit 1\n")
        self.tool("apt-get", 'echo "$@" >> "$COUNT"\necho pmstatus:tool-one:50.0:Unpacking >&3\n')
        self.tool("id", "echo 0\n")

    def test_nothing_missing_asks_apt_nothing(self):
        self.tool("apt-get", 'echo "$@" >> "$COUNT"\n')
        self.assertEqual(self.install(), (0, ""))
        self.assertEqual(self.asked(), "")

    def test_installs_what_is_missing_and_not_what_is_on_the_path(self):
        self.missing()
        status, errors = self.install("build")
        self.assertEqual(status, 0, errors)
        last = self.asked().splitlines()[-1]
        self.assertTrue(last.endswith("--no-install-recommends install tool-one"), last)
        self.assertIn("installing 75 %", errors)

    def test_failure_names_the_command_to_run(self):
        self.missing()
        self.tool("apt-get", 'echo "E: Unable to locate package tool-one"; exit 100\n')
        status, errors = self.install("build")
        self.assertEqual(status, 1)
        self.assertIn("E: Unable to locate package tool-one", errors)
        self.assertIn("apt-get install --no-install-recommends tool-one", errors)

    def test_without_root_uses_sudo(self):
        self.missing()
        self.tool("id", "echo 1000\n")
        self.tool("sudo", 'echo sudo >> "$COUNT"\n[ "$1" = -n ] && shift\nexec "$@"\n')
        self.assertEqual(self.install("build")[0], 0)
        self.assertIn("sudo", self.asked())

    def test_without_root_and_sudo_says_what_to_run(self):
        self.missing()
        self.tool("id", "echo 1000\n")
        # A PATH that has no sudo: the few programs the script needs, linked.
        for name in ("bash", "sh", "dirname", "mkdir", "sort", "grep", "sed", "env", "cat", "ls", "tail"):
            target = os.path.join(self.path, name)
            if not os.path.exists(target):
                os.symlink(shutil.which(name), target)
        done = subprocess.run(
            [os.path.join(self.root, "tools/install_deps"), "build"], env={"PATH": self.path, "COUNT": self.count},
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run as root:  apt-get install --no-install-recommends tool-one", done.stderr)

    def test_a_missing_web_toolchain_is_no_failure(self):
        self.write(os.path.join(self.root, "tools/packages.txt"), "web node-one\n")
        self.missing()
        self.tool("node", "echo v12.0.0\n")
        self.tool("apt-get", "exit 100\n")
        status, errors = self.install("web")
        self.assertEqual(status, 0)
        self.assertIn("--html will not work", errors)

    def test_a_node_that_will_do_is_taken(self):
        self.write(os.path.join(self.root, "tools/packages.txt"), "web node-one\n")
        self.missing()
        self.tool("node", "echo v18.19.0\n")
        self.tool("npm", "exit 0\n")
        self.assertEqual(self.install("web"), (0, ""))


if __name__ == "__main__":
    unittest.main()
