"""The one verb of this room: files in, a result folder out, whole or not at all."""

from collections.abc import Sequence
from pathlib import Path

from dumbbell import result
from dumbbell.errors import ImportProblem
from dumbbell.importers import flent, ours
from dumbbell.importers.formats import recognise
from dumbbell.importers.merge import Whole, merged, visibly
from dumbbell.importers.model import Log, Options
from dumbbell.importers.ours import Ours
from dumbbell.importers.source import STDIN, Source, open_source
from dumbbell.importers.ss_fields import EXTRA
from dumbbell.manifest import RUN
from dumbbell.publish import staged
from dumbbell.result import KNOWN, TABLES
from dumbbell.stored import manifest_problem, table_problem

__all__ = ["import_files", "read_log", "read_run"]


def import_files(files: Sequence[Path], out: Path, options: Options, command: str = "") -> Path:
    """Read the files and write the folder; returns it.

    Raises `ImportProblem` for a file that can't be read as what it looks like, `OutputError` for the folder.
    """
    whole = read_run(files, options, command)
    with staged(out) as folder:
        result.write(folder, whole.birth, whole.tables, {"flows": EXTRA})
    return out


def read_run(files: Sequence[Path], options: Options, command: str = "") -> Whole:
    """The same without writing."""
    if not files:
        raise ImportProblem("no file to import")
    if files.count(STDIN) > 1:
        raise ImportProblem("standard input can be read once only", value=str(STDIN), right="name it once")
    opened = [_opened(file) for file in files]
    for file, each in zip(files, opened, strict=True):
        if not isinstance(each, Source):
            if len(files) > 1:
                right = "import it alone; several runs are put side by side by stats, report and compare"
                raise ImportProblem("a whole run of Dumbbell's, beside other files", file=str(files[0]), right=right)
            whole = _again(*each)
            _check(whole, file)
            return whole
    sources = [each for each in opened if isinstance(each, Source)]
    whole = visibly(merged(sources, [read_log(source, options) for source in sources], options, command))
    _check(whole, sources[0].path)
    return whole


def read_log(source: Source, options: Options) -> Log:
    """One file's log. Raises `ImportProblem`, always with the file's name."""
    try:
        return recognise(source, options.format).read(source, options)
    except ImportProblem as problem:
        raise problem.within(str(source.path)) from None


def _opened(file: Path) -> Source | tuple[Ours, list[Source]]:
    """A file of another program, or a run that `export` wrote."""
    if file.is_dir():
        if not ours.is_folder(file):
            right = "a file, or a folder that dumbbell export wrote"
            raise ImportProblem("a folder that is no export of ours", file=str(file), right=right)
        return ours.read_folder(file)
    source = open_source(file)
    if ours.looks_jsonl(source):
        return ours.read_jsonl(source), [source]
    if flent.is_ours(source):
        return ours.from_flent(source.document[ours.CARRIER], source), [source]
    return source


def _check(whole: Whole, file: Path) -> None:
    """Would the result be read again? An import writes none that a reader calls damaged."""
    problem = manifest_problem(whole.birth, RUN)
    for name, columns in TABLES.items():
        problem = problem or table_problem(whole.tables[name], columns, KNOWN[name])
    if problem:
        raise ImportProblem(f"no result can hold it: {problem}", file=str(file))


def _again(run: Ours, sources: Sequence[Source]) -> Whole:
    files = [
        {"file": str(each.path), "sha256": each.sha256, "size_bytes": each.size_bytes, "format": run.format}
        for each in sources
    ]
    history = run.birth.get("imported")
    return Whole(run.birth | {"imported": [*(history if isinstance(history, list) else []), files]}, run.tables)
