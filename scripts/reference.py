"""Writes the tables of keys in docs/experiment.md, made from the declarations in `crates/experiment/src/keys`.

    python scripts/reference.py [--check]

A table stands between `<!-- keys of NAME -->` and `<!-- end -->`. `--check` writes nothing and fails if one is out of
date.
"""

import re
import sys

from generated import ROOT, write_or_check

from dumbbell import _sim

PAGE = ROOT / "docs" / "experiment.md"
BLOCK = re.compile(r"<!-- keys of (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def page() -> str:
    """The page with every table as the declarations have it."""
    tables = _sim.declarations()["reference"]

    def block(found: re.Match[str]) -> str:
        return f"<!-- keys of {found[1]} -->\n{tables[found[1]]}<!-- end -->"

    return BLOCK.sub(block, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(write_or_check({PAGE: page()}, "python scripts/reference.py"))
