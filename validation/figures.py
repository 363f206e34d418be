"""What validation shares with the studies: figures as JSON, sections of pages, hashes of builds."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from studies.study import build, fill, parser, table, write, write_figures

__all__ = ["build", "fill", "parser", "table", "write", "write_figures"]
