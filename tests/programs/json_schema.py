#!/usr/bin/env python3
"""json_schema.py SCHEMA: holds each JSON value on standard input, one a line, against a schema.

Knows the part of JSON Schema that the schemas beside these tests use; a word it does not know is an error,
so that nothing in a schema is ever silently unchecked.
"""
import json
import re
import sys

TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
}
KNOWN = {"$defs", "$ref", "additionalProperties", "anyOf", "const", "enum", "items", "maximum", "minLength",
         "minimum", "pattern", "properties", "required", "type"}


def is_type(value, name):
    if name in ("integer", "number"):
        kinds = int if name == "integer" else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def resolve(schema, root):
    while "$ref" in schema:
        part = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            part = part[step]
        schema = part
    return schema


def object_faults(value, schema, root, where):
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where}: {name} is missing"
    for name, member in value.items():
        if name in properties:
            yield from faults(member, properties[name], root, f"{where}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{where}: {name} is not expected"


def scalar_faults(value, schema, where):
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: {value!r} does not match {schema['pattern']}"
        if len(value) < schema.get("minLength", 0):
            yield f"{where}: too short"
    if is_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{where}: {value} is out of range"


def faults(value, schema, root, where="$"):
    schema = resolve(schema, root)
    unknown = set(schema) - KNOWN
    if unknown:
        raise SystemExit(f"the schema uses {sorted(unknown)}, which is not checked here")
    if "anyOf" in schema:
        found = [list(faults(value, choice, root, where)) for choice in schema["anyOf"]]
        if all(found):
            yield from min(found, key=len)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        yield f"{where}: {value!r} is no {' or '.join(names)}"
        return
    yield from scalar_faults(value, schema, where)
    if isinstance(value, dict):
        yield from object_faults(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], root, f"{where}[{number}]")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    lines = 0
    bad = []
    for line in sys.stdin:
        lines += 1
        bad += faults(json.loads(line), schema, schema)
    for fault in bad:
        print(fault)
    if lines == 0:
        print("nothing to check")
    return 1 if bad or lines == 0 else 0


sys.exit(main())
