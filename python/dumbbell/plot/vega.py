"""Vega, Vega-Lite and Vega-Embed as one script for pages, bundled once and kept in the user's cache."""

import contextlib
import hashlib
import re
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import altair as alt

from dumbbell.errors import OutputError
from dumbbell.publish import cache_dir, write

__all__ = ["library", "version"]


def version() -> str:
    """The Vega-Lite that Altair writes for, as vl-convert names it: v6.4.1 is 6.4."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def library() -> str:
    """The script; it defines `vegaEmbed`. Bundling takes seconds, and gives the same every time."""
    return _kept(cache_dir() / "pages" / f"vega-{version()}-{metadata.version('vl-convert-python')}.js")


@lru_cache(maxsize=1)
def _kept(file: Path) -> str:
    """What the file keeps, or, where it is none of ours, a new script, which is kept for the next page if it can be."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        head, _, script = file.read_bytes().decode().partition("\n")
        if head == _head(script):
            return script
    script = _bundled()
    with contextlib.suppress(OSError, OutputError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, f"{_head(script)}\n{script}".encode())
    return script


def _head(script: str) -> str:
    return f"// sha256 {hashlib.sha256(script.encode()).hexdigest()}"


def _bundled() -> str:
    import vl_convert  # noqa: PLC0415 — needed once; figures are drawn in a process of its own

    script: str = vl_convert.javascript_bundle(None, version())  # type: ignore[arg-type]  # its stub forgets None
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise AssertionError("Vega's script would end its own element")
    return script
