"""A log of another program, imported into a result folder in the server's work folder.

`dumbbell.importers` reads the log. This module limits its size, compressed and unpacked: any page may send one.
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

__all__ = ["import_log"]

NAME_MAX = 80
BLOCK_BYTES = 1 << 20


def import_log(name: str, content: bytes, work_folder: WorkFolder, limits: Limits) -> Path:
    """Return the result folder. Raises `ImportProblem` with the name that the user gave the file."""
    file_name = plain(name.replace("\\", "/").rsplit("/", 1)[-1])[-NAME_MAX:] or "log"
    if content[:2] == b"\x1f\x8b":
        _check_unpacked_size(file_name, content, limits.unpacked_bytes)
    file = work_folder.new(file_name)
    file.write_bytes(content)
    out = work_folder.new(file_name.removesuffix(".gz").rsplit(".", 1)[0] or file_name)
    try:
        return import_files([file], out, Options(), f"dumbbell import {file_name} -o {out.name}")
    except ImportProblem as error:
        raise ImportProblem(
            error.problem, file=file_name, line=error.line, place=error.place, value=error.value, right=error.right
        ) from None
    finally:
        file.unlink()


def _check_unpacked_size(name: str, content: bytes, max_bytes: int) -> None:
    """Unpack block by block up to the limit. A damaged file passes: the importer reports it."""
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while block := file.read(BLOCK_BYTES):
                size += len(block)
                if size > max_bytes:
                    raise ImportProblem(
                        f"exceeds {max_bytes >> 20} MiB when unpacked", file=name, right="dumbbell import reads it"
                    )
    except (OSError, EOFError, zlib.error):
        return
