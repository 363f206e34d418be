"""Writes the types of the tables of experiment and sweep files and of manifests, made of the declared keys.

    python scripts/model.py [--check]

`--check` writes nothing and fails if the file is out of date.
"""

import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

HEAD = '''"""Attributes of `_sim.Keys`, the tables of experiments and sweeps, in bits per second, nanoseconds and bytes.

`scripts/model.py` makes this file of the keys declared in `crates/experiment/src/keys`; only type checkers read it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, type_check_only

from dumbbell._sim import Keys, Qdisc
from dumbbell.spec.axes import Axis

'''


MANIFESTS = '''"""Attributes of `_sim.Record`, the objects of manifests.

`scripts/model.py` makes this file of the keys declared in `crates/dumbbell/src/manifest/keys.rs`; only type checkers
read it.
"""

from typing import Any, type_check_only

from dumbbell._sim import Record

'''


def main() -> int:
    """Write the files, or compare them."""
    package = ROOT / "python" / "dumbbell"
    texts = {
        package / "spec" / "keys.pyi": HEAD + _sim.declarations()["classes"],
        package / "results" / "keys.pyi": MANIFESTS + _sim.manifest_classes().rstrip() + "\n",
    }
    return write_or_check(texts, "scripts/model.py")


if __name__ == "__main__":
    sys.exit(main())
