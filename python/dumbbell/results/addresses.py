"""Addresses of other people's hosts in a result that was imported: left out of what is passed on.

Reports and exports have `address-1`, `address-2`, … in their place, the same for one address throughout a result.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import polars as pl

from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run

__all__ = ["without_addresses"]

_V4 = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)"
_MAC = r"(?<![\w:])(?:[\da-fA-F]{2}[:-]){5}[\da-fA-F]{2}(?![\w:])"
_V6 = r"(?<![\w:.])(?:[\da-fA-F]{0,4}:){2,}(?:[\da-fA-F]{0,4})(?:(?:\d{1,3}\.){3}\d{1,3})?(?:%\w+)?(?![\w:])"
_ADDRESS = re.compile(f"{_MAC}|{_V6}|{_V4}")
KEPT = frozenset({"sha256", "version", "dumbbell"})
"""Keys whose text is no address."""


@dataclass
class _Masks:
    known: dict[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        return _ADDRESS.sub(self._mask, text)

    def _mask(self, match: re.Match[str]) -> str:
        address = match[0].partition("%")[0]
        if not re.fullmatch(_MAC, address):
            try:
                ip_address(address)
            except ValueError:
                return match[0]  # `13:34:34`, a version of four numbers.
        return self.name(address)

    def name(self, address: str) -> str:
        return self.known.setdefault(address.lower(), f"address-{len(self.known) + 1}")

    def values(self, value: Any, key: str = "") -> Any:
        if isinstance(value, str):
            return value if key in KEPT else self.of(value)
        if isinstance(value, Mapping):
            return {name: self.values(each, name) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.values(each, key) for each in value]
        return value


def without_addresses(run: Run) -> Run:
    """The result without addresses, if it was imported; otherwise the result."""
    if run.manifest.engine != "import":
        return run
    masks = _Masks()
    manifest = masks.values(run.manifest)
    for file in (manifest.get("import") or {}).get("files") or []:
        facts = file.get("facts")
        if isinstance(facts, dict) and isinstance(facts.get("host"), str) and "address-" not in facts["host"]:
            facts["host"] = masks.name(facts["host"])
    tables = {}
    for name in TABLES:
        table = getattr(run, name)
        for column, kind in table.schema.items():
            if kind != pl.String:
                continue
            texts = table[column].unique().drop_nulls().to_list()
            changed = {text: masks.of(text) for text in texts if masks.of(text) != text}
            if changed:
                table = table.with_columns(pl.col(column).replace(changed))
        tables[name] = table
    return run.replaced(manifest=manifest, **tables)
