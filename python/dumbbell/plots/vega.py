"""Vega, Vega-Lite and Vega-Embed as one script for pages, bundled once and cached for the user."""

import contextlib
import hashlib
import re
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import altair as alt

from dumbbell.errors import OutputError
from dumbbell.publish import write
from dumbbell.publish.cache import cache_folder

__all__ = ["library", "version"]


def version() -> str:
    """Altair's Vega-Lite version in vl-convert's form: v6.4.1 is 6.4."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def library() -> str:
    """The script, which defines `vegaEmbed`. Bundling takes seconds and is deterministic."""
    return _kept(cache_folder("pages") / f"vega-{version()}-{metadata.version('vl-convert-python')}.js")


@lru_cache(maxsize=1)
def _kept(file: Path) -> str:
    """The cached script; if the file is missing or altered, bundle a new one and cache it if possible."""
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
    import vl_convert  # noqa: PLC0415 — needed once; a separate process renders figures

    script: str = vl_convert.javascript_bundle(None, version())  # type: ignore[arg-type]  # the stub lacks None
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise AssertionError("Vega's script contains an end tag")
    return script
