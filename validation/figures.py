"""The figures of a validation run as JSON, in `results/`: docs/claims.toml compares the pages with them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["write"]

FOLDER = Path(__file__).parent / "results"


def write(name: str, figures: Mapping[str, Any]) -> None:
    """Write `results/NAME.json`."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
