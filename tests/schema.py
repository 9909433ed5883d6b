# SPDX-License-Identifier: Apache-2.0
#
# Checks a JSON value against one of the schemas in formats/ (standard library only). Knows the part of JSON
# Schema those use and refuses any other keyword, so that nothing in a schema is silently unchecked.

import json
import re

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "enum", "const", "properties", "required",
    "additionalProperties", "items", "pattern", "minimum", "maximum", "minItems", "maxItems", "anyOf", "oneOf",
}


def _is(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def complaints(value, schema, root=None, at="$"):
    """What is wrong with value, one text per fact."""
    root = root if root is not None else schema
    out = []
    unknown = set(schema) - KNOWN
    if unknown:
        return [f"{at}: the checker does not know {sorted(unknown)}"]
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        out += complaints(value, target, root, at)
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(_is(value, k) for k in kinds):
            return out + [f"{at}: {value!r:.60} is not of type {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{at}: {value!r:.60} is not one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        out.append(f"{at}: {value!r:.60} is not {schema['const']!r}")
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        out.append(f"{at}: {value!r:.60} does not match {schema['pattern']}")
    if _is(value, "number"):
        if "minimum" in schema and value < schema["minimum"]:
            out.append(f"{at}: {value} < {schema['minimum']}")
        if "maximum" in schema and value > schema["maximum"]:
            out.append(f"{at}: {value} > {schema['maximum']}")
    if isinstance(value, dict):
        out += [f"{at}: '{k}' is missing" for k in schema.get("required", []) if k not in value]
        known = schema.get("properties", {})
        for k, v in value.items():
            if k in known:
                out += complaints(v, known[k], root, f"{at}.{k}")
            elif schema.get("additionalProperties") is False:
                out.append(f"{at}: '{k}' is not in the schema")
            elif isinstance(schema.get("additionalProperties"), dict):
                out += complaints(v, schema["additionalProperties"], root, f"{at}.{k}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            out.append(f"{at}: fewer than {schema['minItems']} members")
        if len(value) > schema.get("maxItems", len(value)):
            out.append(f"{at}: more than {schema['maxItems']} members")
        if "items" in schema:
            for i, v in enumerate(value):
                out += complaints(v, schema["items"], root, f"{at}[{i}]")
    for key, enough in (("anyOf", lambda n: n >= 1), ("oneOf", lambda n: n == 1)):
        if key in schema and not enough(sum(not complaints(value, s, root, at) for s in schema[key])):
            out.append(f"{at}: matches not {key}")
    return out


def check(value, path):
    """Complaints about value by the schema in a file."""
    with open(path) as f:
        return complaints(value, json.load(f))
