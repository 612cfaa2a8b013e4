#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Type-checks the page, runs its unit tests, and opens made-up reports in headless Chromium.

run_page_tests.py --work DIR --samples PROGRAM unit|browser [--screenshots DIR]

Exits with 77, saying why, where node, npm, their packages or Chromium cannot be had."""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SKIPPED = 77
KINDS = ("diagnosis", "healthy", "thousand", "hostile", "other")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def program(*names):
    return next((found for found in map(shutil.which, names) if found), None)


def toolchain():
    node, npm = program("node", "nodejs"), program("npm")
    if not node or not npm:
        skip("there is no node with npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip().lstrip("v")
    if int(version.split(".")[0]) < 18:
        skip(f"node is {version}, 18 or newer is needed")
    return node, npm


def install(work, npm):
    """A copy of web/ with all its packages, those for tests too; installed anew only when the lock file changes."""
    web = os.path.join(work, "web")
    modules = os.path.join(web, "node_modules")
    os.makedirs(web, exist_ok=True)
    for name in ("src", "test"):
        shutil.rmtree(os.path.join(web, name), ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, "web", name), os.path.join(web, name))
    for name in ("build.mjs", "package.json", "package-lock.json", "tsconfig.json", ".npmrc"):
        shutil.copy(os.path.join(ROOT, "web", name), web)
    with open(os.path.join(web, "package-lock.json"), "rb") as lock:
        stamp = os.path.join(modules, f".headway-{hashlib.sha256(lock.read()).hexdigest()}")
    if not os.path.exists(stamp):
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--prefer-offline", "--loglevel=error"],
            cwd=web, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            skip(f"npm could not get the packages: {(done.stderr or done.stdout).strip().splitlines()[:1]}")
        with open(stamp, "w", encoding="utf-8"):
            pass
    return web


def run(command, cwd):
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, cwd=cwd, check=False).returncode


def unit(web, node):
    failed = run([node, "node_modules/typescript/bin/tsc", "--noEmit"], web)
    failed |= run([node, "build.mjs", "--tests"], web)
    tests = sorted(f"dist/test/{name}" for name in os.listdir(os.path.join(web, "dist/test")))
    return failed | run([node, "--test", *tests], web)


def browser(web, node, arguments):
    chromium = program("chromium", "chromium-browser", "google-chrome")
    if not chromium:
        skip("there is no Chromium")
    reports = os.path.join(arguments.work, "reports")
    os.makedirs(reports, exist_ok=True)
    for kind in KINDS:
        done = subprocess.run([arguments.samples, kind, os.path.join(reports, f"{kind}.html")], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            skip(done.stderr.strip())
    command = [node, os.path.join(ROOT, "tests/web/page_test.mjs"), "--node-modules", os.path.join(web, "node_modules"),
               "--chromium", chromium, "--reports", reports]
    if arguments.screenshots:
        command += ["--screenshots", os.path.abspath(arguments.screenshots)]
    return run(command, web)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("unit", "browser"))
    parser.add_argument("--work", required=True)
    parser.add_argument("--samples")
    parser.add_argument("--screenshots", default=os.environ.get("HEADWAY_SCREENSHOTS"))
    arguments = parser.parse_args()
    node, npm = toolchain()
    web = install(os.path.join(arguments.work, arguments.what), npm)
    return 1 if (unit(web, node) if arguments.what == "unit" else browser(web, node, arguments)) else 0


if __name__ == "__main__":
    sys.exit(main())
