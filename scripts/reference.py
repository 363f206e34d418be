"""Writes the tables of keys in docs/experiment.md and docs/sweeps.md, made of `crates/experiment/src/keys`.

    python scripts/reference.py [--check]

A table stands between `<!-- keys of NAME -->` and `<!-- end -->`. `--check` writes nothing and fails if one is out of
date.
"""

import re
import sys
from pathlib import Path

from generated import ROOT, write_or_check

from dumbbell import _sim

PAGES = (ROOT / "docs" / "experiment.md", ROOT / "docs" / "sweeps.md")
BLOCK = re.compile(r"<!-- keys of (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def updated(page: Path) -> str:
    """The page with every table as the declarations have it."""
    tables = _sim.declarations()["reference"]

    def block(found: re.Match[str]) -> str:
        return f"<!-- keys of {found[1]} -->\n{tables[found[1]]}<!-- end -->"

    return BLOCK.sub(block, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(write_or_check({page: updated(page) for page in PAGES}, "python scripts/reference.py"))
