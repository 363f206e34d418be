"""What validation shares with the studies: figures as JSON, sections of pages, hashes of builds."""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from studies.study import build, fill, parser, rendered, table, write_figures

__all__ = ["build", "fill", "page_of", "parser", "table", "write_figures"]


def page_of(name: str, **values: Any) -> str:
    """The page or section that the template `NAME.jinja` makes of values."""
    return rendered(Path(__file__).with_name(f"{name}.jinja"), **values).rstrip() + "\n"
