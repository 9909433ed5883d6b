#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The members of a finding in its table (lib/model/finding_json.c), which writes and reads them, are those of its schema
# (formats/chain.schema.json), which readers outside go by; and what the table may leave out is not required there.

import json
import re
import sys

sys.path.insert(0, "tests")
import tap  # noqa: E402

with open("formats/chain.schema.json") as f:
    root = json.load(f)
item = lambda key: root["properties"][key]["items"]  # noqa: E731
SCHEMAS = {
    "finding": root,
    "finding_victim": root["properties"]["victim"],
    "finding_culprit": root["properties"]["culprit"],
    "finding_coverage": root["properties"]["coverage"],
    "finding_symptom": item("symptom"),
    "finding_site": item("sites"),
    "finding_moment": item("timeline"),
    "finding_event": item("timeline")["properties"]["event"],
    "finding_fix": item("recommendations"),
    "finding_without": item("counterfactual"),
    "finding_evidence": item("evidence"),
}

with open("lib/model/finding_json.c") as f:
    tables = dict(re.findall(r"^#define S (\w+)\n(.*?)^#undef S", f.read(), re.M | re.S))
tap.same(sorted(tables), sorted(SCHEMAS), "a table for each object")
for name, schema in SCHEMAS.items():
    # MEMBER("key", TYPE, absent, field); MEMBER_IF(flag, "key", TYPE, absent, field, map)
    rows = re.findall(r'\bMEMBER(?:_OF|_IF)?\((?:\w+,\s*)?"(\w+)",\s*(\w+),\s*(\w+)', tables.get(name, ""))
    keys = {key for key, _, _ in rows} | ({"schema"} if name == "finding" else set())
    tap.same(sorted(keys), sorted(schema["properties"]), f"{name}: the members of the schema")
    left_out = {key for key, _, absent in rows if absent == "LEFT_OUT"}
    tap.none(left_out & set(schema["required"]), f"{name}: what is required is never left out")
    nulls = {key for key, _, absent in rows if absent == "NULL"}
    tap.none((k for k in nulls if "null" not in schema["properties"][k].get("type", [])), f"{name}: what may be null says so")
tap.done_testing()
