"""Writes python/dumbbell/spec/model.py: a frozen dataclass for each table of an experiment, made of the declared keys.

    python scripts/model.py [--check]

`--check` writes nothing and fails if the file is out of date.
"""

import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

HEAD = '''"""The tables of an experiment as frozen values, in bits per second, nanoseconds and bytes.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dumbbell.spec.qdisc import Qdisc
'''


def main() -> int:
    """Write the file, or compare it."""
    file = ROOT / "python" / "dumbbell" / "spec" / "model.py"
    text = f"{HEAD}\n\n{_sim.declarations()['dataclasses']}"
    return write_or_check({file: text}, "scripts/model.py")


if __name__ == "__main__":
    sys.exit(main())
