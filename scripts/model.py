"""Writes the frozen dataclasses of experiment and sweep files, made of the declared keys.

    python scripts/model.py [--check]

`--check` writes nothing and fails if a file is out of date.
"""

import re
import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

SPEC = ROOT / "python" / "dumbbell" / "spec"
MADE = """
`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
\"\"\"

{collections}from dataclasses import dataclass
from typing import {typing}

{imports}
"""
MAPPING = "from collections.abc import Mapping\n"
QDISC = "from dumbbell.spec.units import Qdisc"
EXPERIMENT = '"""The tables of an experiment as frozen values, in bits per second, nanoseconds and bytes.\n'
PATH = '"""The tables of a path as frozen values, in bits per second, nanoseconds and bytes.\n'
OF_PATH = ("Impairment", "Bottleneck", "Segment", "Link", "PacketFate", "Verbatim", "Path")
SEPARATOR = "\n\n\n"
NAME = re.compile(r"^class (\w+)", re.MULTILINE)
SWEEP = '"""The tables of a sweep file as frozen values, in nanoseconds.\n'


def main() -> int:
    """Write the files, or compare them."""
    made = _sim.declarations()
    tables = made["dataclasses"].removesuffix("\n").split(SEPARATOR)
    of_path = [table for table in tables if NAME.search(table)[1] in OF_PATH]  # type: ignore[index]
    rest = [table for table in tables if table not in of_path]
    path = PATH + MADE.format(collections="", typing="Literal", imports=QDISC)
    imports = f"from dumbbell.spec.path_model import Path, Segment\n{QDISC}"
    experiment = EXPERIMENT + MADE.format(collections=MAPPING, typing="Any, Literal", imports=imports)
    collections = "from collections.abc import Mapping, Sequence\n"
    imports = "from dumbbell.spec.axes import Axis"
    sweep = SWEEP + MADE.format(collections=collections, typing="Any, Literal", imports=imports)
    texts = {
        SPEC / "path_model.py": f"{path}\n\n{SEPARATOR.join(of_path)}\n",
        SPEC / "model.py": f"{experiment}\n\n{SEPARATOR.join(rest)}\n",
        SPEC / "sweep_model.py": f"{sweep}\n\n{made['sweep_dataclasses']}",
    }
    return write_or_check(texts, "scripts/model.py")


if __name__ == "__main__":
    sys.exit(main())
