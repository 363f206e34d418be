"""Write a figure as SVG, PNG, PDF, JSON, or an HTML page that needs no network.

Vega-Lite copies encoding titles into expressions for screen readers and escapes only quotes: a backslash or a newline
in a title breaks or continues the expression. `described` removes both.

One process serves all figures of a command or a server; the first figure starts it. `converter` is its program.
"""

import atexit
import contextlib
import hashlib
import html
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import altair as alt

from dumbbell.control_characters import json_text, visible_json, visible_line
from dumbbell.errors import OutputError
from dumbbell.late import vl_convert
from dumbbell.publish import write
from dumbbell.publish.cache import cache_folder

__all__ = ["SUFFIXES", "described", "image_bytes", "library", "save", "script_json", "svg", "version"]


BACKSLASH = "\u2216"
"""U+2216, which resembles a backslash."""
CHANNELS = ("color", "stroke", "fill", "shape")
SYMBOL_PX = 44.0
"""A legend's symbol and the gap to the next entry."""
CHARACTER_PX = 7.0
"""Width of a label character at 12 px."""
LABEL_MAX_PX = 200
COLUMNS_MAX = 6
DEFAULT_PX = 760.0
NO_PARTS = ("data", "datasets", "config", "params")
"""Keys whose values are data, not parts of the description."""


def described(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The description as plain data."""
    spec: dict[str, Any] = chart.to_dict()
    _make_plain(spec, encoding=False)
    _fit_legend(spec)
    return spec


def _fit_legend(spec: dict[str, Any]) -> None:
    """Set as many legend columns as the width holds.

    A page does the same with `usermeta`: an `entry` is that many pixels wide, with at most `columns` columns.
    """
    entries = [len(str(name)) for name in _legend_names(spec)]
    legend = spec.get("config", {}).get("legend")
    if not entries or legend is None:
        return
    entry = SYMBOL_PX + min(max(entries) * CHARACTER_PX, legend.get("labelLimit", LABEL_MAX_PX))
    most = legend.get("columns", COLUMNS_MAX)
    legend["columns"] = max(1, min(int(_width(spec) // entry), most))
    spec.setdefault("usermeta", {}).update(entry=entry, columns=most)


def _legend_names(part: Any) -> Iterator[str]:
    """All names in legends: the domains of colour, stroke and fill scales."""
    if isinstance(part, list):
        for each in part:
            yield from _legend_names(each)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in CHANNELS and isinstance(value, dict) and value.get("legend", True) is not None:
                yield from (name for name in (value.get("scale") or {}).get("domain", []) if isinstance(name, str))
            elif key not in NO_PARTS:
                yield from _legend_names(value)


def _width(spec: dict[str, Any]) -> float:
    """Width of the first panel."""
    inner = (spec.get("vconcat") or spec.get("concat") or [spec])[0]
    return float(inner.get("width") or spec.get("width") or DEFAULT_PX)


def _make_plain(part: Any, *, encoding: bool) -> None:
    if isinstance(part, list):
        for each in part:
            _make_plain(each, encoding=encoding)
    elif isinstance(part, dict):
        for key, value in part.items():
            if encoding and key == "title":
                part[key] = _plain(value)
            elif key not in NO_PARTS:
                _make_plain(value, encoding=encoding or key == "encoding")


def _plain(title: Any) -> Any:
    if isinstance(title, list):
        return [_plain(each) for each in title]
    return visible_line(title).replace("\\", BACKSLASH) if isinstance(title, str) else title


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
    script: str = vl_convert.javascript_bundle(None, version())  # type: ignore[arg-type]  # the stub lacks None
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise AssertionError("Vega's script contains an end tag")
    return script


POLL_S = 0.1
"""Polars installs signal handlers that restart system calls; ^C only interrupts between short waits."""
MESSAGE_MAX = 300
"""Characters to quote from the output of a failed process."""


def image_bytes(spec: dict[str, Any], form: str, scale: float = 1.0) -> bytes:
    """The figure as `svg`, `png` or `pdf`, with control characters in its text made visible.

    Raises `OutputError` when it can't be rendered, including when the process crashes.
    """
    return _drawer.draw(visible_json(spec).encode(), form, scale)


class _ProcessEnded(Exception):
    """The process has ended."""


class _Drawer:
    """The process. It renders one figure at a time, and is started again after a crash or in a forked process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        """The library's output; both processes share its file offset."""
        self._owner = 0
        atexit.register(self.close)

    def draw(self, spec: bytes, form: str, scale: float) -> bytes:
        """See `image_bytes`."""
        parameters = {"form": form, "version": version(), "scale": scale, "bytes": len(spec)}
        with self._lock:
            process = self._running()
            try:
                head, drawn = _request(process, json.dumps(parameters).encode() + b"\n" + spec)
            except _ProcessEnded:
                raise OutputError(self._exit_message(process)) from None
            except BaseException:
                # ^C: drop the process, because a partial response would corrupt the next.
                self.close()
                raise
        if "error" in head:
            raise OutputError(f"can't draw the figure: {head['error'][:MESSAGE_MAX]}")
        return drawn

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()
        if self._output is not None:
            self._output.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.close()
            # -P: don't import from the script's folder.
            self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — closed with the process
            command = [sys.executable, "-P", str(Path(__file__).with_name("converter.py"))]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._output, bufsize=0
            )
            self._owner = os.getpid()
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        assert self._output is not None
        self._output.seek(0)
        self._output.truncate()
        return self._process

    def _exit_message(self, process: "subprocess.Popen[bytes]") -> str:
        status = process.wait()
        assert self._output is not None
        self._output.seek(0)
        lines = [line for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
        self.close()
        output = f": {' '.join(lines[:2])[:MESSAGE_MAX]}" if lines else ""
        if status == -signal.SIGALRM:
            return "can't draw the figure: rendering timed out; draw a smaller one"
        how = f"signal {-status} ({signal.Signals(-status).name})" if status < 0 else f"status {status}"
        return f"can't draw the figure: the rendering process ended with {how}{output}"


def _request(process: "subprocess.Popen[bytes]", request: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of the response, and its bytes. Raises `_ProcessEnded`."""
    assert process.stdin is not None
    assert process.stdout is not None
    rest = memoryview(request)
    while rest:
        if select.select([], [process.stdin], [], POLL_S)[1]:
            try:
                rest = rest[os.write(process.stdin.fileno(), rest) :]
            except BrokenPipeError:
                raise _ProcessEnded from None
    answer = bytearray()
    while b"\n" not in answer:
        answer += _more(process.stdout)
    head, _, drawn = bytes(answer).partition(b"\n")
    header: dict[str, Any] = json.loads(head)
    parts, received = [drawn], len(drawn)
    while received < header["bytes"]:
        parts.append(_more(process.stdout))
        received += len(parts[-1])
    return header, b"".join(parts)


def _more(stream: IO[bytes]) -> bytes:
    while not select.select([stream], [], [], POLL_S)[0]:
        pass
    if not (piece := os.read(stream.fileno(), 1 << 16)):
        raise _ProcessEnded
    return piece


_drawer = _Drawer()


SUFFIXES = (".svg", ".png", ".pdf", ".html", ".json")
PNG_SCALE = 2.0
"""PNG pixels per figure pixel: 760 wide on 19 cm of paper are 200 dpi."""


def save(chart: alt.TopLevelMixin, path: Path, scale: float = PNG_SCALE) -> None:
    """Write the figure in the format of the path's suffix; `scale` is for PNG.

    Raises `OutputError` for another suffix or a path that can't be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise OutputError(f"{path}: unknown figure format '{suffix}'; choose one of {' '.join(SUFFIXES)}")
    write(path, _bytes(chart, suffix, scale))


def svg(chart: alt.TopLevelMixin) -> str:
    """The figure as SVG."""
    return image_bytes(described(chart), "svg").decode()


def script_json(value: object) -> str:
    """JSON for a `<script>` element: no text in it, such as a flow's name from an untrusted file, can end the element.

    Control characters in its text are made visible.
    """
    return visible_json(value).translate(_ESCAPES)


_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ margin: 1rem; background: #fff; }} #figure svg {{ touch-action: pan-y pinch-zoom; }}</style>
</head>
<body>
<div id="figure"></div>
<script>{library}</script>
<script>vegaEmbed("#figure", {spec}, {options});</script>
</body>
</html>
"""

OPTIONS = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
"""Options for `vegaEmbed`: no button that sends the data to a web site."""


def _bytes(chart: alt.TopLevelMixin, suffix: str, scale: float) -> bytes:
    spec = described(chart)
    if suffix in (".svg", ".png", ".pdf"):
        return image_bytes(spec, suffix[1:], scale)
    if suffix == ".json":
        return (json_text(spec) + "\n").encode()
    page = _PAGE.format(
        title=html.escape(visible_line(_title(spec))),
        library=library(),
        spec=script_json(spec),
        options=script_json(OPTIONS),
    )
    return page.encode()


def _title(spec: dict[str, object]) -> str:
    title = spec.get("title")
    return str(title.get("text", "")) if isinstance(title, dict) else "Dumbbell"
