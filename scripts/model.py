"""Writes the frozen dataclasses of experiment and sweep files, made of the declared keys.

    python scripts/model.py [--check]

`--check` writes nothing and fails if a file is out of date.
"""

import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

SPEC = ROOT / "python" / "dumbbell" / "spec"
MADE = """
`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
\"\"\"

from collections.abc import Mapping{sequence}
from dataclasses import dataclass
from typing import {typing}

from dumbbell.spec.{module} import {name}
"""
EXPERIMENT = '"""The tables of an experiment as frozen values, in bits per second, nanoseconds and bytes.\n'
SWEEP = '"""The tables of a sweep file as frozen values, in nanoseconds.\n'


def main() -> int:
    """Write the files, or compare them."""
    made = _sim.declarations()
    experiment = EXPERIMENT + MADE.format(sequence="", typing="Literal", module="units", name="Qdisc")
    sweep = SWEEP + MADE.format(sequence=", Sequence", typing="Any, Literal", module="axes", name="Axis")
    texts = {
        SPEC / "model.py": f"{experiment}\n\n{made['dataclasses']}",
        SPEC / "sweep_model.py": f"{sweep}\n\n{made['sweep_dataclasses']}",
    }
    return write_or_check(texts, "scripts/model.py")


if __name__ == "__main__":
    sys.exit(main())
