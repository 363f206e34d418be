"""Writes docs/schemas: JSON schemas of experiment and sweep files, made of what checks these files.

    python scripts/schemas.py [--check]

A schema has keys, types, choices and simple bounds. The command alone checks rules of several keys and tc's grammar.
`--check` writes nothing and fails if a schema is out of date.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from generated import ROOT, write_or_check
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dumbbell import _sim
from dumbbell.spec import sweep_keys

FOLDER = ROOT / "docs" / "schemas"
DRAFT = "http://json-schema.org/draft-07/schema#"

TEXT: JsonSchemaValue = {"type": "string"}
TABLE: JsonSchemaValue = {"type": "object"}
ANY: JsonSchemaValue = {}


WRITTEN: dict[Any, JsonSchemaValue] = {
    sweep_keys._metric: {**TEXT, "examples": ["groups.bbr.share"]},
    sweep_keys._half_width: {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {**TEXT, "examples": ["5%"]}]},
    sweep_keys._texts: {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
    sweep_keys._name_or_table: {"type": ["string", "object"]},
    sweep_keys._settings: TABLE,
}
"""The schema of a value in a sweep file, by the parser that reads it."""


class Written(GenerateJsonSchema):
    """Schemas of the values in files, before parsing."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """The schema of the parser's input; validators of a table do not change its keys' types."""
        function = schema["function"]["function"]
        written = WRITTEN.get(function)
        if written is not None:
            return dict(written)
        return self.generate_inner(schema["schema"]) if known(function) else dict(TEXT)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """The schema without the default, which is a parsed value."""
        return self.generate_inner(schema["schema"])


def known(function: Callable[..., Any]) -> bool:
    """True for a validator of a model, not of a key."""
    return "." in getattr(function, "__qualname__", "")


def experiment() -> JsonSchemaValue:
    """The schema of `experiment.toml`, made of the declarations in `crates/experiment/src/keys`."""
    made: JsonSchemaValue = json.loads(_sim.declarations()["schema"])
    return made


def sweep() -> JsonSchemaValue:
    """The schema of a sweep file."""
    schema = sweep_keys.Keys.model_json_schema(schema_generator=Written)
    schema["properties"]["seeds"] = ANY
    return finished(schema, "Dumbbell sweep")


def finished(schema: JsonSchemaValue, title: str) -> JsonSchemaValue:
    """The schema with its header, in draft 7, which TOML editors support."""
    text = json.dumps(schema).replace("#/$defs/", "#/definitions/")
    made = json.loads(text)
    made["definitions"] = dict(sorted(made.pop("$defs", {}).items()))
    for each in walk(made):
        if each.get("type") == "object" or "properties" in each:
            each.pop("title", None)
        if isinstance(each.get("title"), str):
            del each["title"]
        if isinstance(each.get("description"), str):
            each["description"] = " ".join(each["description"].split())
        if isinstance(each.get("anyOf"), list):
            each["anyOf"] = [one for one in each["anyOf"] if one != {"type": "null"}]
            if len(each["anyOf"]) == 1:
                each.update(each.pop("anyOf")[0])
    return {"$schema": DRAFT, "title": title, **made}


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    """Every table in a schema."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            inside = value.values() if key in ("properties", "definitions") and isinstance(value, dict) else [value]
            for each in inside:
                yield from walk(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from walk(each)


def main() -> int:
    """Write both schemas, or compare them."""
    schemas = {"experiment.json": experiment(), "sweep.json": sweep()}
    texts = {FOLDER / name: json.dumps(each, indent=2, ensure_ascii=False) + "\n" for name, each in schemas.items()}
    return write_or_check(texts, "scripts/schemas.py")


if __name__ == "__main__":
    sys.exit(main())
