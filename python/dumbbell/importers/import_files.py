"""Import files: logs in, a result folder out, complete or not at all."""

from collections.abc import Sequence
from pathlib import Path

from dumbbell.errors import ImportProblem
from dumbbell.importers import dumbbell_export, flent
from dumbbell.importers.dumbbell_export import DumbbellExport
from dumbbell.importers.formats import recognise
from dumbbell.importers.log_model import Log, Options
from dumbbell.importers.log_source import STDIN, Source, open_source
from dumbbell.importers.merge import ImportedRun, escaped_run, merged
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.publish import staged
from dumbbell.results import result
from dumbbell.results.declared import KNOWN
from dumbbell.results.manifest_schema import RUN
from dumbbell.results.reader import manifest_problem, table_problem
from dumbbell.results.table_schema import TABLES

__all__ = ["import_files", "read_log", "read_run"]


def import_files(files: Sequence[Path], out: Path, options: Options, command: str = "") -> Path:
    """Read the files and write the folder; returns it.

    Raises `ImportProblem` for a file that can't be read in its format, `OutputError` for the folder.
    """
    run = read_run(files, options, command)
    with staged(out) as folder:
        result.write(folder, run.manifest, run.tables, {"flows": EXTRA})
    return out


def read_run(files: Sequence[Path], options: Options, command: str = "") -> ImportedRun:
    """Read the files without writing."""
    if not files:
        raise ImportProblem("no files to import")
    if files.count(STDIN) > 1:
        raise ImportProblem("standard input can be read only once", value=str(STDIN), right="give - once")
    opened = [_opened(file) for file in files]
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
        return recognise(source, options.format).read(source, options)
    except ImportProblem as problem:
        raise problem.within(str(source.path)) from None


def _opened(file: Path) -> Source | tuple[DumbbellExport, list[Source]]:
    """A file of another program, or a run written by `dumbbell export`."""
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
    problem = manifest_problem(run.manifest, RUN)
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
