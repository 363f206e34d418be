"""Writes docs/schemas: JSON schemas of experiment and sweep files, made of `crates/experiment/src/keys`.

    python scripts/schemas.py [--check]

A schema has keys, types, choices and simple bounds. The command alone checks rules of several keys and tc's grammar.
`--check` writes nothing and fails if a schema is out of date.
"""

import json
import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

FOLDER = ROOT / "docs" / "schemas"


def main() -> int:
    """Write both schemas, or compare them."""
    made = _sim.declarations()
    schemas = {"experiment.json": made["schema"], "sweep.json": made["sweep_schema"]}
    texts = {
        FOLDER / name: json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
        for name, text in schemas.items()
    }
    return write_or_check(texts, "scripts/schemas.py")


if __name__ == "__main__":
    sys.exit(main())
