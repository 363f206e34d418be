"""The drawing process: a Vega-Lite description in, SVG, PNG or PDF out.

vl-convert ends its process when it meets what it can't draw, and nothing bounds how long it draws or how much memory
it takes. Here that ends this process, which `plot.drawing` started and which is a program of its own: nothing of ours
is imported, so that it starts at once.

A request is a line of JSON (`form`, `version`, `scale`, `bytes`) and so many bytes of JSON; an answer a line of JSON
(`bytes`, or `error`) and so many bytes.
"""

import json
import os
import resource
import signal
import sys
from typing import Any, BinaryIO

import vl_convert

PATIENCE_S = 300
"""A figure takes seconds; beside other work on a machine more. Not waited for, but counted by the kernel."""
MEMORY_BYTES = 4 << 30
"""The largest figure that can be asked for, 4000 pixels wide at 8 a pixel, takes less than half."""


def main() -> None:
    """Answer until the other side closes."""
    # ^C at the terminal ends a drawing at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(os.dup(1), "wb") as answers:
        # What libraries print is no answer.
        os.dup2(2, 1)
        while head := sys.stdin.buffer.readline():
            asked = json.loads(head)
            signal.alarm(PATIENCE_S)
            _answer(answers, asked, json.loads(sys.stdin.buffer.read(asked["bytes"])))
            signal.alarm(0)


def _answer(answers: BinaryIO, asked: dict[str, Any], spec: dict[str, Any]) -> None:
    try:
        drawn, head = _drawn(spec, asked), {}
    except ValueError as error:
        drawn, head = b"", {"error": str(error)}
    answers.write(json.dumps(head | {"bytes": len(drawn)}).encode() + b"\n" + drawn)
    answers.flush()


def _drawn(spec: dict[str, Any], asked: dict[str, Any]) -> bytes:
    version = asked["version"]
    if asked["form"] == "svg":
        return str(vl_convert.vegalite_to_svg(spec, vl_version=version)).encode()
    if asked["form"] == "png":
        return bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=asked["scale"]))
    return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))


if __name__ == "__main__":
    main()
