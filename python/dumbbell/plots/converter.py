"""The rendering process: Vega-Lite in, SVG, PNG or PDF out.

vl-convert aborts its process on input that it can't draw, and limits neither time nor memory. So it runs in this
process, a separate program that `plots.render` starts. It imports nothing else from Dumbbell, to start quickly.

A request is a line of JSON (`form`, `version`, `scale`, `bytes`) followed by that many bytes of JSON; a response is a
line of JSON (`bytes`, or `error`) followed by that many bytes.
"""

import json
import os
import resource
import signal
import sys
from typing import Any, BinaryIO

import vl_convert

PATIENCE_S = 300
"""Time limit, enforced by the kernel's alarm. A figure takes seconds, more on a loaded host."""
MEMORY_BYTES = 4 << 30
"""Twice what the largest allowed figure needs (4000 pixels wide at scale 8)."""


def main() -> None:
    """Serve requests until the peer closes the pipe."""
    # ^C at the terminal ends rendering at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(os.dup(1), "wb") as answers:
        # Keep library output out of the responses.
        os.dup2(2, 1)
        while head := sys.stdin.buffer.readline():
            request = json.loads(head)
            signal.alarm(PATIENCE_S)
            _answer(answers, request, json.loads(sys.stdin.buffer.read(request["bytes"])))
            signal.alarm(0)


def _answer(answers: BinaryIO, request: dict[str, Any], spec: dict[str, Any]) -> None:
    try:
        drawn, head = _drawn(spec, request), {}
    except ValueError as error:
        drawn, head = b"", {"error": str(error)}
    answers.write(json.dumps(head | {"bytes": len(drawn)}).encode() + b"\n" + drawn)
    answers.flush()


def _drawn(spec: dict[str, Any], request: dict[str, Any]) -> bytes:
    version = request["version"]
    if request["form"] == "svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=version)).encode()
    if request["form"] == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=request["scale"]))
    return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))


if __name__ == "__main__":
    main()
