"""Writes docs/schemas: JSON schemas of experiment and sweep files, made from the models that check these files.

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

from dumbbell.spec import fields, model, programs, seen, sweep_keys, units

FOLDER = ROOT / "docs" / "schemas"
DRAFT = "http://json-schema.org/draft-07/schema#"

TEXT: JsonSchemaValue = {"type": "string"}
TABLE: JsonSchemaValue = {"type": "object"}
ANY: JsonSchemaValue = {}


def quantity(description: str, *examples: str) -> JsonSchemaValue:
    """A number with its unit."""
    return {"type": ["string", "integer", "number"], "description": description, "examples": list(examples)}


def _netem(option: str, *examples: str) -> JsonSchemaValue:
    text = f"the arguments of netem's option '{option}'; see tc-netem(8)"
    return {"type": "string", "description": text, "examples": list(examples)}


WRITTEN: dict[Any, JsonSchemaValue] = {
    units.rate_bps: quantity("a rate as tc writes it, in bits per second", "10mbit", "1.5gbit"),
    units.duration_ns: quantity("a time", "20ms", "1s", "500us"),
    fields._positive_time: quantity("a time above zero", "10s", "100ms"),
    units.size_bytes: quantity("a size; kb, mb, gb are powers of 1024, kB, MB, GB powers of 1000", "61MB", "16kb"),
    fields._name: {**TEXT, "pattern": fields.NAME.pattern.replace(r"\Z", "$").join(("^", ""))},
    fields._cc: {
        **TEXT,
        "pattern": fields.CC.pattern.replace(r"\Z", "$").join(("^", "")),
        "examples": ["bbr", "cubic"],
    },
    fields._parameters: {**TABLE, "additionalProperties": {"type": ["integer", "string"]}},
    fields._qdisc: {**TEXT, "description": "a queue discipline as tc takes it", "examples": ["fq_codel limit 1000"]},
    fields._arrivals: {**TEXT, "pattern": r"^\s*\d+\.?\d*/s\s*$", "examples": ["10/s"]},
    fields._sysctl: {**TABLE, "additionalProperties": {"type": ["integer", "string"]}},
    fields._expectation: {**TEXT, "examples": ["groups.bbr.share > 0.6"]},
    fields._metric: {**TEXT, "examples": ["groups.bbr.share"]},
    seen._figure: {"type": "number"},
    programs.command_words: {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]},
    programs._files: {
        **TABLE,
        "additionalProperties": {
            "anyOf": [
                TEXT,
                {"type": "object", "properties": {"bytes": ANY}, "required": ["bytes"], "additionalProperties": False},
            ]
        },
    },
    programs._env: {**TABLE, "additionalProperties": TEXT},
    programs._serves: {"type": ["boolean", "integer"]},
    sweep_keys._metric: {**TEXT, "examples": ["groups.bbr.share"]},
    sweep_keys._half_width: {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {**TEXT, "examples": ["5%"]}]},
    sweep_keys._texts: {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
    sweep_keys._name_or_table: {"type": ["string", "object"]},
    sweep_keys._settings: TABLE,
}
"""The schema of a value in a file, by the parser that reads it."""
WRITTEN |= {
    getattr(fields.Netem, name).__metadata__[0].func: _netem(name.lower(), *examples)
    for name, examples in {
        "Loss": ("1%", "gemodel 1% 10%"),
        "Distribution": ("normal",),
        "Reorder": ("1%",),
        "Duplicate": ("1%",),
        "Corrupt": ("0.1%",),
        "Slot": ("10ms",),
    }.items()
}


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
    """The schema of `experiment.toml`: the model, and the keys that are read before it."""
    schema = model.Experiment.model_json_schema(schema_generator=Written)
    schema["properties"]["seed"] = {"type": "integer", "minimum": 0}
    schema["properties"]["seeds"] = {
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]+(\.\.[0-9]+)?$", "examples": ["1..5"]},
            {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
        ]
    }
    schema["properties"]["cases"] = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": TEXT, "set": TABLE, "expect": {"type": "array", "items": TEXT}},
            "required": ["set"],
            "additionalProperties": False,
        },
    }
    schema["$defs"]["Verbatim"]["properties"]["commands"] = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
    # An experiment may have programs and no flows, and a case may set required keys.
    schema["required"] = ["path"]
    return finished(schema, "Dumbbell experiment")


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
