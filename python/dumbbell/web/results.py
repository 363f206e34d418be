"""Open results: folders, sweeps, experiment files and imported logs; their routes.

The command line opens any path; a page only paths below the folder in which the server was started. `dumbbell.reports`
makes the reports.

`dumbbell.importers` reads the log. This module limits its size, compressed and unpacked: any page may send one.
"""

import contextlib
import functools
import gzip
import io
import itertools
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import polars as pl
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from dumbbell.engines.base import plain
from dumbbell.errors import DumbbellError, ExperimentError, ImportProblem, ResultError
from dumbbell.importers import Options, import_files
from dumbbell.reports.experiment_section import experiment_of, text_of
from dumbbell.reports.page import kept_here, page
from dumbbell.reports.sweep_page import sweep_page
from dumbbell.results import result
from dumbbell.sweeps import folder as sweeps
from dumbbell.sweeps.rows import experiment_at
from dumbbell.web.experiment_text import texts_of
from dumbbell.web.handlers import BINARY, Handlers, Json, Limits, WorkFolder, read_body, require_content_type

__all__ = ["REPORT_POLICY", "Opened", "ResultHandlers", "Thing", "import_log"]


FOUND_MAX = 200
"""Limit of the results found in one folder."""
DEPTH_MAX = 3
"""Depth of the search below a folder: `runs`, a day's, a result."""
THINGS_MAX = 1000


@dataclass(frozen=True)
class Thing:
    """An open result, sweep or experiment."""

    name: str
    """Its identifier in requests of a page."""
    kind: Literal["run", "sweep", "experiment"]
    title: str
    path: Path
    about: str
    """Engine and seed, number of runs, the case."""
    toml: str | None = None
    """An experiment's text."""
    playable: bool = True
    """Whether it contains an experiment that the page can show."""

    def listing(self, below: Path) -> dict[str, Any]:
        """Return its entry in the page's list."""
        shown_path = self.path.relative_to(below) if self.path.is_relative_to(below) else self.path
        return {
            "name": self.name, "kind": self.kind, "title": self.title, "path": str(shown_path), "about": self.about,
            "playable": self.playable,
        }  # fmt: skip

    def report(self, point: int | None = None, seed: int | None = None) -> str:
        """Return its report; of a sweep with kept runs, the report of one of them. Raises `ResultError`."""
        if self.kind == "run":
            return page([result.load(self.path)])
        sweep = sweeps.load(self.path)
        if point is None or seed is None:
            return sweep_page(sweep, kept=kept_here(sweep), opens=True)
        return page([result.load(self.path / sweeps.RUNS / sweeps.kept_name(point, seed))])

    def experiment(self, point: int | None = None, seed: int | None = None) -> tuple[str, int]:
        """Return the text and seed; of a sweep, those of a point's run. Raises `DumbbellError` if there are none."""
        if self.toml is not None:
            return self.toml, 1
        if self.kind == "sweep":
            return _sweep_experiment(sweeps.load(self.path), point, seed)
        run = result.load(self.path)
        if (experiment := experiment_of(run)) is None:
            raise ResultError(f"{self.path}: its manifest contains no experiment")
        return text_of(experiment), int(run.manifest.seed or 0)


class Opened:
    """All open things, in the order in which they were opened."""

    def __init__(self, below: Path, paths: Sequence[Path] = ()) -> None:
        """Open `paths`. Raises `DumbbellError` for a path that can't be opened."""
        self.below = below.resolve()
        self._things: dict[str, Thing] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        for path in paths:
            self.add(path)

    @property
    def things(self) -> list[Thing]:
        """All open things."""
        with self._lock:
            return list(self._things.values())

    def get(self, name: str) -> Thing | None:
        """Return the thing of this name."""
        return self._things.get(name)

    def add(self, path: Path) -> list[Thing]:
        """Open a path. Returns the things in it, including those open already. Raises `DumbbellError`."""
        found = list(_things(path.resolve(), path))
        with self._lock:
            known = {(each.path, each.about): each for each in self._things.values()}
            added = []
            for each in found:
                thing = known.get((each.path, each.about))
                if thing is None:
                    if len(self._things) >= THINGS_MAX:
                        raise ResultError(f"at most {THINGS_MAX} can be open: restart dumbbell ui to open others")
                    thing = Thing(**(vars(each) | {"name": f"r{next(self._numbers)}"}))
                    self._things[thing.name] = thing
                added.append(thing)
        return added

    def add_below(self, text: str) -> list[Thing]:
        """Open a path that the user typed. Raises `ResultError` for a path outside the server's folder."""
        try:
            path = (self.below / text).resolve()
            inside = path.is_relative_to(self.below) and path.exists()
        except (OSError, ValueError, RuntimeError):
            inside = False
        if not inside or not text.strip():
            raise ResultError(f"{text}: no such file or folder below {self.below}")
        return self.add(path)


def _things(path: Path, shown_path: Path) -> Iterator[Thing]:
    """Find the things at a path. Raises `DumbbellError` if there are none."""
    if path.is_dir() and not _is_result(path):
        things = list(itertools.islice(_readable(path), FOUND_MAX))
        if not things:
            raise ResultError(f"{shown_path}: neither a result folder nor a sweep folder, and it contains none")
        yield from things
    elif path.suffix == ".toml" and (path.is_file() or not path.exists()):  # Reading a pipe would block.
        for case, text in texts_of(path):
            yield Thing("", "experiment", case.experiment.title, path, case.name, text)
    elif sweeps.is_sweep(path):
        yield _sweep(path)
    elif _is_result(path):
        yield _run(path)
    else:
        raise ResultError(f"{shown_path}: neither a result folder nor a sweep folder nor an experiment file (.toml)")


def _readable(folder: Path) -> Iterator[Thing]:
    """Find the results and sweeps in a folder. Damaged ones are skipped."""
    for each in _results(folder, DEPTH_MAX):
        with contextlib.suppress(DumbbellError):
            yield from _things(each, each)


def _is_result(path: Path) -> bool:
    return sweeps.is_sweep(path) or (path / "run.json").is_file()


def _results(folder: Path, depth: int) -> Iterator[Path]:
    """Find result folders and sweeps below a folder, in the order of names, without the kept runs of sweeps."""
    try:
        names = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError:
        return
    for each in names:
        if each.is_symlink() or not each.is_dir():
            continue  # A link may point outside the server's folder.
        if _is_result(each):
            yield each
        elif depth > 1:
            yield from _results(each, depth - 1)


def _run(path: Path) -> Thing:
    manifest = result.load_manifest(path)
    seed = "" if manifest.get("seed") is None else f", seed {manifest['seed']}"
    title = str(manifest.get("title") or manifest.get("name") or path.name)
    case = f"{manifest['case']}: " if manifest.get("case") else ""
    playable = manifest.get("experiment") is not None
    return Thing("", "run", title, path, f"{case}{manifest.get('engine', '?')}{seed}", playable=playable)


def _sweep(path: Path) -> Thing:
    sweep = sweeps.load(path)
    return Thing("", "sweep", sweep.title, path, f"{sweep.runs.height} runs")


def _sweep_experiment(sweep: sweeps.Sweep, point: int | None, seed: int | None) -> tuple[str, int]:
    at = (pl.col("point") == (-1 if point is None else point)) & (pl.col("seed") == (-1 if seed is None else seed))
    rows = sweep.runs.filter(at).rows(named=True)
    if not rows:
        raise ResultError(f"{sweep.folder}: contains no run of seed {seed} at point {point}")
    try:
        return experiment_at(sweep, rows[0]), int(rows[0]["seed"])
    except ExperimentError as error:
        raise DumbbellError(f"{sweep.folder}: its experiment can't be read: {error}") from None


FOLDER_NAME_MAX = 80
BLOCK_BYTES = 1 << 20


def import_log(name: str, content: bytes, work_folder: WorkFolder, limits: Limits) -> Path:
    """Return the result folder. Raises `ImportProblem` with the name that the user gave the file."""
    file_name = plain(name.replace("\\", "/").rsplit("/", 1)[-1])[-FOLDER_NAME_MAX:] or "log"
    if content[:2] == b"\x1f\x8b":
        _check_unpacked_size(file_name, content, limits.unpacked_bytes)
    file = work_folder.new(file_name)
    file.write_bytes(content)
    out = work_folder.new(file_name.removesuffix(".gz").rsplit(".", 1)[0] or file_name)
    try:
        return import_files([file], out, Options(), f"dumbbell import {file_name} --out {out.name}")
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


REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-downloads allow-popups"
)
"""A report contains its scripts and evaluates code to draw. In the sandbox it has no origin, so it can't send requests
as the workbench, and the policy forbids requests to any server."""
NAME_MAX = 255
Result = TypeVar("Result")


class PathRequest(BaseModel):
    """A path that the user typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(max_length=4096)


class ResultHandlers:
    """Handles the requests for open results."""

    def __init__(self, handlers: Handlers, opened: Opened, work_folder: WorkFolder) -> None:
        self._handlers = handlers
        self._opened = opened
        self._work_folder = work_folder
        # Created on first use: it belongs to the event loop of the server.
        self._import_limiter = functools.cache(lambda: anyio.CapacityLimiter(handlers.limits.imports))

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/api/results", self.list_things),
            Route("/api/results", self.add, methods=["POST"]),
            Route("/api/results/{thing}/experiment", self.experiment),
            Route("/api/import", self.import_log, methods=["POST"]),
            Route("/results/{thing}/report", self.report),
        ]

    async def list_things(self, _request: Request) -> Response:
        """List all open things."""
        return self._things_json(self._opened.things)

    async def add(self, request: Request) -> Response:
        """Open a path below the server's folder."""
        body = await self._handlers.parse_body(request, PathRequest)
        return self._things_json(await self._run(functools.partial(self._opened.add_below, body.path)))

    async def import_log(self, request: Request) -> Response:
        """Import the log in the request's body."""
        require_content_type(request, BINARY, f"a log must be sent as {BINARY}")
        name = request.query_params.get("name", "")[:NAME_MAX]
        # Each import may use `import_bytes` of memory.
        async with self._import_limiter():
            content = await read_body(request, self._handlers.limits.import_bytes)

            def work() -> list[Thing]:
                return self._opened.add(import_log(name, content, self._work_folder, self._handlers.limits))

            return self._things_json(await self._run(work))

    async def experiment(self, request: Request) -> Response:
        """Return the experiment of a thing, or of one run of a sweep."""
        toml, seed = await self._run(functools.partial(self._thing(request).experiment, *_run_of(request)))
        return Json({"toml": toml, "seed": seed})

    async def report(self, request: Request) -> Response:
        """Return the report as a separate document."""
        text = await self._run(functools.partial(self._thing(request).report, *_run_of(request)))
        return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_POLICY, "Cache-Control": "no-store"})

    async def _run(self, work: Callable[[], Result]) -> Result:
        try:
            return await self._handlers.run_on_thread(work)
        except DumbbellError as error:
            raise HTTPException(422, str(error)) from None

    def _thing(self, request: Request) -> Thing:
        if (thing := self._opened.get(request.path_params["thing"])) is None:
            raise HTTPException(404, "no open result has this name: the server was restarted")
        return thing

    def _things_json(self, things: list[Thing]) -> Response:
        below = self._opened.below
        return Json({"below": str(below), "things": [thing.listing(below) for thing in things]})


def _run_of(request: Request) -> tuple[int | None, int | None]:
    """Return the point and the seed of a sweep's run, if the request has them."""
    return _number(request, "point"), _number(request, "seed")


def _number(request: Request, key: str) -> int | None:
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None
