"""Writes the tables of keys in docs/experiment.md and docs/sweeps.md, and of columns and metrics in docs/result.md.

    python scripts/reference.py [--check]

They are made of `crates/experiment/src/keys`, and of `columns.rs` and `names.rs` in `crates/metrics/src`. A table
stands between `<!-- keys of NAME -->`, `<!-- columns of NAME -->` or `<!-- metrics of all -->`, and `<!-- end -->`.
`--check` writes nothing and fails if one is out of date.
"""

import re
import sys
from pathlib import Path

from generated import ROOT, write_or_check

from dumbbell import _sim
from dumbbell.analysis.names import listed
from dumbbell.results.tables import COLUMNS

PAGES = tuple(ROOT / "docs" / name for name in ("experiment.md", "sweeps.md", "result.md"))
BLOCK = re.compile(r"<!-- (keys|columns|metrics) of (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def updated(page: Path) -> str:
    """The page with every table as the declarations have it."""
    tables = _sim.declarations()["reference"]

    def block(found: re.Match[str]) -> str:
        made = {"keys": tables.get, "columns": columns, "metrics": metrics}
        table = made[found[1]](found[2])
        return f"<!-- {found[1]} of {found[2]} -->\n{table}<!-- end -->"

    return BLOCK.sub(block, page.read_text(encoding="utf-8"))


def columns(table: str) -> str:
    """The columns of a result's table."""
    head = "| column | type | unit | source and meaning |\n| --- | --- | --- | --- |\n"
    rows = (f"| `{each.name}` | {each.kind} | {each.unit} | {each.about} |\n" for each in COLUMNS[table])
    return head + "".join(rows)


def metrics(_of: str) -> str:
    """All metrics."""
    head = "| name | unit | numbers | meaning |\n| --- | --- | --- | --- |\n"
    rows = (
        f"| `{each['name']}` | {each['unit']} | {'spread' if each['parts'] else ''} | {each['about']} |\n"
        for each in listed()
    )
    return head + "".join(rows)


if __name__ == "__main__":
    sys.exit(write_or_check({page: updated(page) for page in PAGES}, "python scripts/reference.py"))
