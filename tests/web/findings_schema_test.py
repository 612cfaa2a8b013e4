#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --json writes is what docs/findings.schema.json promises; and the schema refuses what breaks the promise.

findings_schema_test.py --samples PROGRAM. Uses jsonschema where Python has it, else the checker below, which knows the
keywords the schema uses; a keyword it does not know is an error."""

import argparse
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TYPES = {
    "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str), "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
SILENT = {"$schema", "title", "description", "$defs"}


class Mismatch(Exception):
    pass


def refuse(where, why):
    raise Mismatch(f"{where or 'document'}: {why}")


def check_object(value, schema, root, where):
    for name in schema.get("required", []):
        if name not in value:
            refuse(where, f"{name} is missing")
    known = schema.get("properties", {})
    for name, member in value.items():
        inner = known.get(name, schema.get("additionalProperties", True))
        if inner is not True:
            check(member, inner, root, f"{where}.{name}")


def check_array(value, schema, root, where):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        refuse(where, f"{len(value)} items")
    for i, item in enumerate(value):
        check(item, schema.get("items", {}), root, f"{where}[{i}]")


def check(value, schema, root, where=""):
    if "$ref" in schema:
        return check(value, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, where)
    unknown = set(schema) - SILENT - {"type", "enum", "const", "required", "properties", "additionalProperties", "items",
                                      "minItems", "maxItems", "minimum", "maximum", "minLength", "pattern"}
    if unknown:
        raise AssertionError(f"the checker does not know {unknown}")
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        refuse(where, f"{value!r} is no {' or '.join(kinds)}")
    if "const" in schema and value != schema["const"] or value not in schema.get("enum", [value]):
        refuse(where, f"{value!r} is not allowed")
    if isinstance(value, dict):
        check_object(value, schema, root, where)
    elif isinstance(value, list):
        check_array(value, schema, root, where)
    elif isinstance(value, str):
        if len(value) < schema.get("minLength", 0) or not re.search(schema.get("pattern", ""), value):
            refuse(where, f"{value!r}")
    elif isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        refuse(where, f"{value} is out of range")
    return None


def checkers():
    """Each as a function that raises Mismatch."""
    found = {"own": check_whole}
    try:
        import jsonschema
    except ImportError:
        print("jsonschema is not installed: only the checker of this file is used")
        return found

    def with_library(document, schema):
        try:
            jsonschema.Draft202012Validator(schema).validate(document)
        except jsonschema.ValidationError as error:
            raise Mismatch(str(error)) from error

    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found["jsonschema"] = with_library
    return found


def check_whole(document, schema):
    check(document, schema, schema)


with open(os.path.join(ROOT, "docs/findings.schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)
ARGUMENTS = argparse.Namespace(samples=None)


class FindingsSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.checkers = checkers()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "findings.json")
            subprocess.run([ARGUMENTS.samples, "findings", path], check=True)
            with open(path, encoding="utf-8") as written:
                cls.document = json.load(written)

    def test_what_is_written_is_valid(self):
        for name, checker in self.checkers.items():
            with self.subTest(name):
                checker(self.document, SCHEMA)

    def test_an_empty_diagnosis_is_valid(self):
        document = copy.deepcopy(self.document)
        document["findings"] = document["not_checked"] = document["steps"] = []
        for checker in self.checkers.values():
            checker(document, SCHEMA)

    def test_unknown_fields_are_allowed(self):
        document = copy.deepcopy(self.document)
        document["later"] = document["findings"][0]["later"] = {"x": 1}
        for checker in self.checkers.values():
            checker(document, SCHEMA)

    def test_broken_promises_are_refused(self):
        def change(path, value):
            document = copy.deepcopy(self.document)
            at = document
            for key in path[:-1]:
                at = at[key]
            if value is None:
                del at[path[-1]]
            else:
                at[path[-1]] = value
            return document

        finding = ["findings", 0]
        broken = {
            "version": change(["version"], 2),
            "missing member": change(finding + ["recoverable_ns_per_step"], None),
            "time as a fraction": change(finding + ["recoverable_ns_per_step"], 1.5),
            "time as text": change(finding + ["worst_step_ns"], "81 ms"),
            "severity": change(finding + ["severity"], "fatal"),
            "cause with blanks": change(finding + ["cause"], "Slow device"),
            "rank -1": change(finding + ["scope", "ranks"], [-1]),
            "empty id": change(finding + ["id"], ""),
            "one step": change(["job", "steps"], [101]),
            "share above one": change(["data_quality", "unknown_time_share"], 1.2),
            "breakdown without waiting": change(["step_time", "breakdown_ns", "comm_wait"], None),
            "evidence without source": change(finding + ["evidence", 0, "source"], None),
        }
        for name, checker in self.checkers.items():
            for why, document in broken.items():
                with self.subTest(f"{name}: {why}"), self.assertRaises(Mismatch):
                    checker(document, SCHEMA)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
