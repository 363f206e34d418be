"""Hashes the tables of all built-in scenarios, so that a refactoring can be checked to change no result.

    python -m studies tables [--engine sim|kernel] [--duration 20s] [--scenarios NAME …] [-o FILE] [--against FILE]

Runs every case of every built-in scenario with seed 1, at most for the given time, and writes one JSON object: the
SHA-256 of each table's values by `SCENARIO/CASE`. With `--against` it compares with such a file, written before the
change, names the cases that differ, and fails if there are any. The writer of Parquet does not matter, values do.
"""

import argparse
import hashlib
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import dumbbell as db
from dumbbell.errors import DumbbellError
from dumbbell.results.reader import TABLES
from dumbbell.spec import scenarios
from dumbbell.spec.units import duration_ns

__all__ = ["cases", "main", "shortened"]


def main(arguments: list[str]) -> int:
    """Run, write, compare; returns the exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--engine", default="sim", choices=("sim", "kernel"))
    options.add_argument("--duration", default="20s")
    options.add_argument("--scenarios", nargs="+", default=list(scenarios()))
    options.add_argument("-o", "--output", type=Path)
    options.add_argument("--against", type=Path)
    given = options.parse_args(arguments)
    hashes = {}
    for key, case in cases(given.scenarios):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{key}")
        hashes[key] = table_hashes(case, given.engine, given.duration)
    if given.output:
        given.output.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
    return compare(json.loads(given.against.read_text(encoding="utf-8")), hashes) if given.against else 0


def cases(names: Iterable[str] = ()) -> Iterator[tuple[str, db.Experiment]]:
    """Every case of these built-in scenarios, or of all, with its name."""
    for name in names or scenarios():
        for case in db.scenario(name):
            yield f"{name}/{case.only}" if case.only else name, case


def shortened(experiment: db.Experiment, longest: str) -> db.Experiment:
    """The experiment, at most this long.

    Not shorter than what it schedules: an event after the end is an error.
    """
    case = experiment.one().experiment
    last = max([0, *(change.at for change in case.changes), *(group.start for group in case.flows)])
    if case.duration <= max(duration_ns(longest), last):
        return experiment
    return experiment.set(duration=longest if duration_ns(longest) > last else f"{last // 10**9 + 1}s")


def table_hashes(experiment: db.Experiment, engine: str, longest: str) -> dict[str, str]:
    """The hash of each table of one run; the error instead, if the engine can't run it."""
    try:
        run = db.run(shortened(experiment, longest), engine, seed=1)
    except DumbbellError as error:
        return {"error": str(error)}
    hashes = {}
    for name in TABLES:
        values = io.BytesIO()
        getattr(run, name).write_csv(values)
        hashes[name] = hashlib.sha256(values.getvalue()).hexdigest()
    return hashes


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> int:
    """Print the cases that differ; returns the exit status."""
    differing = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    for key in differing:
        tables = [name for name in TABLES if before.get(key, {}).get(name) != after.get(key, {}).get(name)]
        sys.stdout.write(f"{key}: {', '.join(tables)} differ\n")
    sys.stdout.write(f"{len(after) - len(differing)} of {len(after)} cases have the same tables\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
