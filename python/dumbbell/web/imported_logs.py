"""A log of another program that was dropped on the page, as a result folder in the server's own.

What a log says is `dumbbell.importers`' to read. Here is what a file of anybody's may cost: it is small, and stays so
when it is unpacked.
"""

import gzip
import io
import zlib
from pathlib import Path

from dumbbell.engines.requests import plain
from dumbbell.errors import ImportProblem
from dumbbell.importers import Options, import_files
from dumbbell.web.page_limits import Limits
from dumbbell.web.work_folder import WorkFolder

__all__ = ["imported"]

NAME_MAX = 80
PIECE = 1 << 20


def imported(name: str, content: bytes, work_folder: WorkFolder, limits: Limits) -> Path:
    """The result folder. Raises `ImportProblem`, which calls the file as its owner does."""
    said = plain(name.replace("\\", "/").rsplit("/", 1)[-1])[-NAME_MAX:] or "log"
    if content[:2] == b"\x1f\x8b":
        _refuse_bomb(said, content, limits.unpacked_bytes)
    file = work_folder.new(said)
    file.write_bytes(content)
    out = work_folder.new(said.removesuffix(".gz").rsplit(".", 1)[0] or said)
    try:
        return import_files([file], out, Options(), f"dumbbell import {said} -o {out.name}")
    except ImportProblem as error:
        raise ImportProblem(
            error.problem, file=said, line=error.line, place=error.place, value=error.value, right=error.right
        ) from None
    finally:
        file.unlink()


def _refuse_bomb(name: str, content: bytes, most: int) -> None:
    """Unpack piece by piece, and no further than that. One that is damaged is the importer's to tell."""
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while piece := file.read(PIECE):
                size += len(piece)
                if size > most:
                    raise ImportProblem(
                        f"exceeds {most >> 20} MiB when unpacked", file=name, right="dumbbell import reads it"
                    )
    except (OSError, EOFError, zlib.error):
        return
