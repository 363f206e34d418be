"""The shown figure, data, experiment or report as a file.

`dumbbell.plots` makes the figures, `dumbbell.exporters` and `dumbbell.results.result` the data, `dumbbell.reports` the
reports, as for the command.
"""

import io
import zipfile
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dumbbell.engines.requests import plain
from dumbbell.errors import ResultError
from dumbbell.exporters import export_run
from dumbbell.plots import available, figure, save
from dumbbell.reports.page import page
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case
from dumbbell.web.live_figures import PANELS, case_of, simulated
from dumbbell.web.page_limits import Limits
from dumbbell.web.work_folder import WorkFolder

__all__ = ["Download", "File", "made"]

What = Literal["figure.svg", "figure.png", "figure.pdf", "data.csv", "data.parquet", "experiment.toml", "report.html"]
TYPES = {
    "svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf", "toml": "application/toml; charset=utf-8",
    "html": "text/html; charset=utf-8", "zip": "application/zip",
}  # fmt: skip
NAME_MAX = 60
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can say: the same run gives the same bytes."""


class Download(BaseModel):
    """What a page wants."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: What
    toml: str
    seed: int = Field(default=1, ge=0, le=2**32 - 1)
    panels: tuple[str, ...] = Field(default=PANELS, max_length=20)
    job: str | None = Field(default=None, max_length=64)
    """A run on the kernel, instead of the simulator's."""


@dataclass(frozen=True)
class File:
    """A file to save."""

    name: str
    kind: str
    content: bytes


def made(wanted: Download, on_kernel: Run | None, work_folder: WorkFolder, limits: Limits) -> File:
    """The file. Raises `DumbbellError` for a text that is no experiment, and whatever running it raises."""
    what, _, form = wanted.what.partition(".")
    case = case_of(wanted.toml)
    stem = _stem(case, wanted.seed, on_kernel)
    if what == "experiment":
        return _file(stem, form, wanted.toml.encode())
    run = on_kernel or simulated(case, wanted.seed, limits.patience())
    if what == "report":
        return _file(stem, form, page([run]).encode())
    if what == "data":
        return _file(f"{stem}-{form}", "zip", _zipped(run, form, f"{stem}-{form}", work_folder))
    panels = available(run, wanted.panels)
    if not panels:
        raise ResultError("none of these figures can be drawn of this run")
    place = work_folder.new(f"{stem}.{form}")
    try:
        save(figure(run, panels), place)
        return _file(stem, form, place.read_bytes())
    finally:
        place.unlink(missing_ok=True)


def _file(stem: str, form: str, content: bytes) -> File:
    return File(f"{stem}.{form}", TYPES[form], content)


def _stem(case: Case, seed: int, on_kernel: Run | None) -> str:
    """`bbr-and-cubic-seed1-kernel`: who finds it again in a week knows what it is."""
    title = plain(case.experiment.title.lower())[:NAME_MAX].strip("-.") or "experiment"
    return f"{title}-seed{seed}" + ("-kernel" if on_kernel else "")


def _zipped(run: Run, form: str, name: str, work_folder: WorkFolder) -> bytes:
    """A folder as one file: CSV as `dumbbell export` has it, or the result folder itself."""
    folder = work_folder.new(name)
    if form == "csv":
        export_run(run, folder, "csv")
    else:
        folder.mkdir()
        result.write(folder, run.manifest, run.frames)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(f"{name}/{file.name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
            file.unlink()
    folder.rmdir()
    return packed.getvalue()
