"""Where the command speaks: results on standard output, everything else on standard error."""

import json
import sys
from typing import Any

from rich.console import Console

__all__ = ["err", "out", "print_json"]

out = Console(highlight=False, soft_wrap=False)
err = Console(stderr=True, highlight=False)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
