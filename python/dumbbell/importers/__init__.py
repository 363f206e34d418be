"""Import logs of other programs as runs: the format of each file recognised; a result folder complete or not at all.

Values that a log lacks are null, rounding is recorded, and unknown input is an error with its line. `dumbbell.analysis`
interprets the numbers; `dumbbell.exporters` writes them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dumbbell import _sim
from dumbbell.errors import ImportProblem
from dumbbell.importers import (
    capture,
    dumbbell_export,
    flent,
    fping,
    iperf2,
    iperf3_json,
    iperf3_text,
    ping,
    qlog,
    ss,
    tc,
    tcp_probe,
    timing,
    wget,
)
from dumbbell.importers.dumbbell_export import DumbbellExport
from dumbbell.importers.log_model import Log, Options
from dumbbell.importers.log_source import STDIN, Source, open_source
from dumbbell.importers.merge import ImportedRun, escaped_run, merged
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.reader import TABLES, table_problem
from dumbbell.results.tables import KNOWN

__all__ = ["FORMATS", "Format", "Options", "import_files", "read_log", "read_run", "recognise"]


@dataclass(frozen=True)
class Format:
    """A format: how to recognise it, and how to read it."""

    key: str
    """Its name for `--format`."""
    name: str
    detect: Callable[[Source], bool]
    read: Callable[[Source, Options], Log]


def _format(key: str, module: Any) -> Format:
    """The format of a module with `NAME`, `detect` and `read`."""
    return Format(key, module.NAME, module.detect, module.read)


FORMATS = (
    _format("iperf3", iperf3_text),
    _format("iperf3-json", iperf3_json),
    _format("iperf2", iperf2),
    _format("ss", ss),
    _format("ping", ping),
    _format("fping", fping),
    _format("tcp_probe", tcp_probe),
    Format("tc", tc.TEXT, tc.detect_text, tc.read_text),
    Format("tc-json", tc.JSON, tc.detect_json, tc.read_json),
    _format("flent", flent),
    _format("time", timing),
    _format("wget", wget),
    _format("qlog", qlog),
    _format("pcap", capture),
)
"""All formats, in the manual's order."""


def recognise(source: Source, requested: str | None) -> tuple[Format, Source]:
    """The file's format, and the file, whose lines may have had times before them.

    Raises `ImportProblem` when the format is unknown or ambiguous.
    """
    known = ", ".join(each.key for each in FORMATS)
    if source.is_head:
        return next(each for each in FORMATS if each.key == "qlog"), source  # `open_qlog` has recognised it.
    parted = source.without_prefixes
    if requested is not None:
        for each in FORMATS:
            if each.key == requested:
                return each, parted if parted and not each.detect(source) and each.detect(parted) else source
        source.fail("unknown format", place="--format", value=requested, right=f"choose from: {known}")
    if not source.data or source.data.isspace():
        source.fail("empty file")
    for candidate in filter(None, (source, parted)):
        found = [each for each in FORMATS if each.detect(candidate)]
        if len(found) == 1:
            return found[0], candidate
        if found:
            names = " and ".join(each.key for each in found)
            source.fail(f"matches several formats: {names}", right="one log per file, or choose with --format")
    if source.detect_json:
        _ = source.document  # Truncated JSON gets a more specific error.
    what = "; ".join(f"{each.key} ({each.name})" for each in FORMATS)
    return source.fail("unknown log format", line=1, right=f"one of these, or --format: {what}")


def import_files(files: Sequence[Path], out: Path, options: Options, command: str = "") -> Path:
    """Read the files and write the folder; returns it.

    Raises `ImportProblem` for a file that can't be read in its format, `OutputError` for the folder.
    """
    run = read_run(files, options, command)
    with staged(out) as folder:
        result.write(folder, run.manifest, run.tables, {"flows": {**EXTRA, **qlog.EXTRA}})
    return out


def read_run(files: Sequence[Path], options: Options, command: str = "") -> ImportedRun:
    """Read the files without writing."""
    if not files:
        raise ImportProblem("no files to import")
    if files.count(STDIN) > 1:
        raise ImportProblem("standard input can be read only once", value=str(STDIN), right="give - once")
    opened = [_opened(file, options.format) for file in files]
    for file, each in zip(files, opened, strict=True):
        if not isinstance(each, Source):
            if len(files) > 1:
                right = "import it alone; stats, report and compare take several results"
                raise ImportProblem(
                    "a complete Dumbbell run together with other files", file=str(files[0]), right=right
                )
            run = _exported_run(*each)
            _check(run, file)
            return run
    sources = [each for each in opened if isinstance(each, Source)]
    run = escaped_run(merged(sources, [read_log(source, options) for source in sources], options, command))
    _check(run, sources[0].path)
    return run


def read_log(source: Source, options: Options) -> Log:
    """One file's log. Raises `ImportProblem` with the file's name."""
    try:
        format_, source = recognise(source, options.format)
        log = format_.read(source, options)
    except ImportProblem as problem:
        raise problem.within(str(source.path)) from None
    if source.commands and "command" not in log.facts:
        log = replace(log, facts={**log.facts, "command": source.commands[0]})
    return log


def _opened(file: Path, format_: str | None) -> Source | tuple[DumbbellExport, list[Source]]:
    """A file of another program, or a run written by `dumbbell export`."""
    if format_ in (None, "qlog") and (in_pieces := qlog.open_qlog(file)) is not None:
        return in_pieces
    if file.is_dir():
        if not dumbbell_export.is_folder(file):
            right = "a file, or a folder written by dumbbell export"
            raise ImportProblem("a folder that dumbbell export didn't write", file=str(file), right=right)
        return dumbbell_export.read_folder(file)
    source = open_source(file)
    if dumbbell_export.detect_jsonl(source):
        return dumbbell_export.read_jsonl(source), [source]
    if flent.is_ours(source):
        return dumbbell_export.from_flent(source.document[dumbbell_export.CARRIER], source), [source]
    return source


def _check(run: ImportedRun, file: Path) -> None:
    """Check that the result can be loaded again."""
    problem = _sim.manifest_problem(run.manifest)
    for name, columns in TABLES.items():
        problem = problem or table_problem(run.tables[name], columns, KNOWN[name])
    if problem:
        raise ImportProblem(f"not representable in a result: {problem}", file=str(file))


def _exported_run(run: DumbbellExport, sources: Sequence[Source]) -> ImportedRun:
    files = [
        {"file": str(each.path), "sha256": each.sha256, "size_bytes": each.size_bytes, "format": run.format}
        for each in sources
    ]
    history = run.manifest.get("imported")
    return ImportedRun(
        run.manifest | {"imported": [*(history if isinstance(history, list) else []), files]}, run.tables
    )
