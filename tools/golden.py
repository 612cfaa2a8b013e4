#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden cases: tests/golden/AREA/NAME.case, each input, command and expected output in one text file.

    # What is true in this case, and why the answer is right.
    file: rank0.json            (optional, repeated: a file made in $TMP; its lines follow, indented by two spaces)
      {"traceEvents": []}
    run: diagnose $DATA/some/job --section findings
    exit: 1                     (optional; of the last run, the ones before it must exit 0)
    error: words on stderr      (optional, repeated)
    ----
    the expected output
    ~ a line that matches this regular expression, whole
    !~ no line of the output may contain a match of this

$DATA is the folder of outside data (HEADWAY_SHARED_DATA, else ../shared/data; a case that needs it is skipped where it
is absent), $FIXTURES is tests/fixtures, $TMP an empty folder of the case's own. Commands run in the source root. In
the output these folders read $DATA, $FIXTURES, $TMP. An expected line that begins with ~ or !~ itself is written with
a backslash before it.

Exit status: 0 right, 1 wrong, 2 a case is malformed, 77 all that was asked for was skipped.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FOLDER = os.path.join("tests", "golden")
SEPARATOR = "----"
TIMEOUT_S = 600


class CaseError(Exception):
    """The case file itself is wrong."""


class Case:
    def __init__(self, path):
        self.path = path
        self.comment_seen = False
        self.files = []  # (name, text)
        self.runs = []  # argument strings, unexpanded
        self.exit = 0
        self.errors = []
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, separator, tail = text.partition(f"\n{SEPARATOR}\n")
        if not separator:
            raise CaseError(f"{path}: no line {SEPARATOR} between the command and the expected output")
        self.head = head
        self._parse(head.splitlines())
        lines = tail.splitlines()
        self.forbidden = [line[2:].strip() for line in lines if line.startswith("!~")]
        self.expected = [line for line in lines if not line.startswith("!~")]

    def _parse(self, lines):
        for number, line in enumerate(lines, 1):
            key, _, value = line.partition(":")
            value = value.strip()
            if line.startswith("  ") and self.files:
                self.files[-1][1].append(line[2:])
            elif line.startswith("#"):
                self.comment_seen = True
            elif not line.strip():
                continue
            elif key == "file" and value and "/" not in value:
                self.files.append((value, []))
            elif key == "run":
                self.runs.append(value)
            elif key == "exit" and value.isdigit():
                self.exit = int(value)
            elif key == "error" and value:
                self.errors.append(value)
            else:
                raise CaseError(f"{self.path}:{number}: not a comment, file:, run:, exit: or error: line: {line!r}")
        if not self.comment_seen:
            raise CaseError(f"{self.path}: a case begins with a comment: what is true in it, why the answer is right")
        if not self.runs:
            raise CaseError(f"{self.path}: no run: line")

    @property
    def name(self):
        return os.path.relpath(self.path, os.path.join(ROOT, FOLDER))[: -len(".case")]

    def write(self, expected):
        lines = expected + [f"!~ {pattern}" for pattern in self.forbidden]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.head + f"\n{SEPARATOR}\n" + "".join(line + "\n" for line in lines))


def data_folder():
    return os.path.abspath(os.environ.get("HEADWAY_SHARED_DATA") or os.path.join(ROOT, "..", "shared", "data"))


def run_case(case, program, keep):
    """(output lines, complaints); (None, [reason]) where the case cannot run here."""
    places = {"DATA": data_folder(), "FIXTURES": os.path.join(ROOT, "tests", "fixtures")}
    if any("$DATA" in run for run in case.runs) and not os.path.isdir(places["DATA"]):
        return None, ["needs the outside data, which is not here (HEADWAY_SHARED_DATA or ../shared/data)"]
    places["TMP"] = tempfile.mkdtemp(prefix="headway-golden-")
    try:
        return _run_in(case, program, places)
    finally:
        if keep:
            print(f"{case.name}: files kept in {places['TMP']}")
        else:
            shutil.rmtree(places["TMP"], ignore_errors=True)


def _run_in(case, program, places):
    for name, lines in case.files:
        with open(os.path.join(places["TMP"], name), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100"}
    output, errors, complaints = "", "", []
    for index, run in enumerate(case.runs):
        arguments = [_expand(word, places) for word in shlex.split(run)]
        done = subprocess.run(
            [program, *arguments], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=TIMEOUT_S, check=False,
        )
        output += done.stdout.decode("utf-8", errors="replace")
        errors += done.stderr.decode("utf-8", errors="replace")
        wanted = case.exit if index == len(case.runs) - 1 else 0
        if done.returncode != wanted:
            complaints.append(f"exit status {done.returncode}, expected {wanted}: {run}")
    output, errors = _shorten(output, places), _shorten(errors, places)
    for words in case.errors:
        if words not in errors:
            complaints.append(f"stderr does not contain {words!r}")
    if complaints and errors:
        complaints.append("stderr was:\n" + errors.rstrip())
    for pattern in case.forbidden:
        for line in output.splitlines():
            if re.search(pattern, line):
                complaints.append(f"must not appear (!~ {pattern}): {line}")
    return output.splitlines(), complaints


def _expand(word, places):
    return re.sub(r"\$(DATA|FIXTURES|TMP)\b", lambda match: places[match.group(1)], word)


def _shorten(text, places):
    for name, path in sorted(places.items(), key=lambda place: -len(place[1])):
        text = text.replace(path, f"${name}")
    return text


def matches(expected, actual):
    if expected.startswith("~"):
        return re.fullmatch(expected[1:].strip(), actual) is not None
    if expected.startswith(("\\~", "\\!~")):
        expected = expected[1:]
    return expected == actual


def as_expected(actual):
    return "\\" + actual if actual.startswith(("~", "!~", "\\~", "\\!~")) else actual


def align(expected, actual):
    """Expected lines with each pattern that holds replaced by the line it matched, and actual lines with each such line
    replaced by its pattern: what a diff and an update need. Between two plain lines that stand in both, a pattern takes
    the first line it matches."""
    literal = [as_expected(line) for line in actual]
    shown, updated = list(expected), list(literal)
    blocks = difflib.SequenceMatcher(None, expected, literal, autojunk=False).get_opcodes()
    for tag, first, last, at, end in blocks:
        for i in range(first, last) if tag == "replace" else ():
            candidates = range(at, end) if expected[i].startswith("~") else ()
            found = next((j for j in candidates if matches(expected[i], actual[j])), None)
            if found is not None:
                shown[i], updated[found] = literal[found], expected[i]
                at = found + 1
    return shown, updated


def check_case(case, program, update, keep):
    """'passed', 'failed', 'skipped' or 'updated'; prints why."""
    output, complaints = run_case(case, program, keep)
    if output is None:
        print(f"{case.name}: skipped: {complaints[0]}")
        return "skipped"
    right = len(output) == len(case.expected) and all(map(matches, case.expected, output))
    shown, updated = align(case.expected, output)
    if not right and update and not complaints:
        case.write(updated)
        print(f"{case.name}: updated")
        return "updated"
    if right and not complaints:
        return "passed"
    print(f"{case.name}: not as expected")
    for complaint in complaints:
        print(f"  {complaint}")
    actual = [as_expected(line) for line in output]
    for line in difflib.unified_diff(shown, actual, "expected", "actual", lineterm=""):
        print(line)
    return "failed"


def find_cases():
    for folder, folders, files in sorted(os.walk(os.path.join(ROOT, FOLDER))):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".case"):
                yield os.path.join(folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="files; default: all")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "dev", "bin", "headway"))
    parser.add_argument("--filter", default="", help="regular expression on AREA/NAME")
    parser.add_argument("--update", action="store_true", help="rewrite the expected output")
    parser.add_argument("--keep", action="store_true", help="keep each case's $TMP")
    arguments = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0, "updated": 0}
    for path in arguments.cases or find_cases():
        try:
            case = Case(os.path.abspath(path))
        except CaseError as error:
            print(error)
            return 2
        if re.search(arguments.filter, case.name):
            counts[check_case(case, arguments.program, arguments.update, arguments.keep)] += 1
    print(", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no case has that name")
    if counts["failed"] or not any(counts.values()):
        return 1
    return 77 if counts["skipped"] == sum(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
