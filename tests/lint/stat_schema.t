#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# formats/stat.schema.json says of the tables of ingero-stat what their columns do (lib/report/report_columns.h): every member, what
# it can be, which are always there. Descriptions are the file's own. `tests/lint/stat_schema.t --write` brings it up to date.

import json
import os
import subprocess
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

FILE = "formats/stat.schema.json"
TOOL = os.environ.get("BUILD", "build") + "/tests/tools/stat_schema"


def described(new, old, where):
    """What the columns say of an object, with what the file alone says: descriptions, and members only code knows."""
    properties = {}
    for name, value in new["properties"].items():
        before = old["properties"].get(name)
        if value is None:
            if before is None:
                sys.exit(f"{FILE}: {where}.{name} is not described, and its columns cannot say what it is")
            value = before
        elif "items" in value:
            items = before["items"] if before else {"properties": {}}
            value = {**value, "items": described(value["items"], items, f"{where}.{name}")}
        if before and "description" in before:
            value = {**value, "description": before["description"]}
        properties[name] = value
    return {**new, "properties": properties}


def differences(new, old, where):
    """What two objects do not say alike, a line each; the order of members is not asked for."""
    if not isinstance(new, dict) or not isinstance(old, dict):
        new, old = (sorted(x, key=str) if isinstance(x, list) else x for x in (new, old))
        return [f"{where}: {json.dumps(new)}, in the file {json.dumps(old)}"] if new != old else []
    return [line for key in {**new, **old} for line in differences(new.get(key), old.get(key), f"{where}.{key}")]


schema = json.load(open(FILE))
told = json.loads(subprocess.run([TOOL], check=True, capture_output=True).stdout)
for table, new in told.items():
    at = schema["properties"]["by"]["properties"]["rows"] if table == "rows" else schema["properties"][table]
    old, at["items"] = at["items"], described(new, at["items"], table)
    if "--write" not in sys.argv[1:]:
        tap.none(differences(at["items"], old, table), f"{table}: the schema says what the columns say")
if "--write" in sys.argv[1:]:
    with open(FILE, "w") as f:
        json.dump(schema, f, indent=1, ensure_ascii=False)
        f.write("\n")
else:
    tap.done_testing()
