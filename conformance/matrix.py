"""The matrix: every experiment of `matrix/` and the six scenarios, on the kernel and on the simulator, compared.

    python conformance/matrix.py [PART-OF-A-NAME...] [--seeds 5] [--most-seeds 20] [--jobs N] [--fresh]
        [-o docs/fidelity.md]

The kernel is the reference; tolerances are those of `dumbbell.analysis.difference`. What was run before with the same
engines is not run again (`--fresh`: it is). Exit status 1 when a case lies outside without a reason in
`matrix/reasons.toml`. How it is told is `fidelity`'s.
"""

import argparse
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import fidelity
from coverage import controllers_of, queues_of
from laboratory import KEPT, Outcome, run_all
from runs import Job
from verdicts import Compared

from dumbbell.analysis import Row, Verdict, compare, one_sided
from dumbbell.analysis.difference import standard_error, tolerance_of
from dumbbell.spec import Case, find, load

MATRIX = Path(__file__).parent / "matrix"
ENGINES = ("kernel", "sim")
SCENARIOS = (
    "cyclic", "two-classes", "lossy-download-plain", "lossy-lan-plain", "bufferbloat-plain", "bufferbloat-cured",
)  # fmt: skip


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--most-seeds", type=int, default=20)
    arguments.add_argument("--jobs", type=int)
    arguments.add_argument("--fresh", action="store_true")
    arguments.add_argument("-o", "--output", type=Path)
    asked = arguments.parse_args()
    wanted = [each for each in experiments() if not asked.names or any(name in title_of(*each) for name in asked.names)]
    began = time.perf_counter()
    most = max(asked.seeds, asked.most_seeds)
    cases = compared(wanted, asked.seeds, most, asked.jobs, None if asked.fresh else KEPT)
    text = fidelity.page(cases, time.perf_counter() - began)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0 if all(case.verdict is not Verdict.DIFFERS or case.reason for case in cases) else 1


def experiments() -> list[tuple[str, Case]]:
    """Every case of every file, with the file's name."""
    files = [file for file in sorted(MATRIX.glob("*.toml")) if file != REASONS]
    return [(file.stem, case) for file in (*map(find, SCENARIOS), *files) for case in load(file)]


def title_of(theme: str, case: Case) -> str:
    """What a case is called: file and name."""
    return f"{theme}: {case.name}" if case.name else theme


def compared(
    wanted: Sequence[tuple[str, Case]], seeds: int, most: int, cores: int | None = None, kept: Path | None = None
) -> list[Compared]:
    """Run all of them on both engines and compare the means.

    Those whose means are not sharp by then are run again on twice as many seeds, up to `most`.
    """
    told = reasons()
    outcomes: dict[tuple[str, str, int], Outcome] = {}
    done: dict[str, Compared] = {}
    while seeds <= most and (unsure := [each for each in wanted if not _sure(done.get(title_of(*each)))]):
        jobs = _jobs(unsure, seeds)
        outcomes |= run_all([job for job in jobs if job.which not in outcomes], cores, kept, _tell)
        for theme, case in unsure:
            title = title_of(theme, case)
            mine = [job for job in jobs if job.title == title]
            runs = {engine: [outcomes[job.which] for job in mine if job.engine == engine] for engine in ENGINES}
            done[title] = _compared(theme, title, case, runs, told.get(title))
        seeds *= 2
    return [done[title_of(*each)] for each in wanted]


def _jobs(wanted: Sequence[tuple[str, Case]], seeds: int) -> list[Job]:
    """The same seeds of each on both engines: netems throw the same dice there, so runs are compared in pairs."""
    return [
        Job(title_of(theme, case), case, engine, seed)
        for theme, case in wanted
        for engine in ENGINES
        for seed in range(1, seeds + 1)
    ]


def _sure(case: Compared | None) -> bool:
    """Would chance alone hardly move a mean beyond its tolerance?

    Asks how sharp the means are, not how they compare, so that nothing is repeated until it fits.
    """
    return case is not None and all(_sharp(row) for row in case.judged)


def _sharp(row: Row) -> bool:
    tolerance = tolerance_of(row.metric)
    if tolerance is None:
        return True
    in_pairs = len(row.first.values) == len(row.second.values)
    error = standard_error(row.first, row.second, "paired" if in_pairs else "welch") or 0.0
    return 2 * error <= tolerance.allowed(row.first.mean)


def reasons() -> dict[str, str]:
    """Why a case lies outside, by title: what is known of the mechanism."""
    told = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return {title: reason["why"] for reason in told["reasons"] for title in reason["cases"]}


REASONS = MATRIX / "reasons.toml"


def _compared(theme: str, title: str, case: Case, runs: dict[str, list[Outcome]], reason: str | None) -> Compared:
    there, here = ([run.measures for run in runs[engine]] for engine in ENGINES)
    invalid = [f"{engine}: {why}" for engine in ENGINES for run in runs[engine] for why in run.invalid]
    return Compared(
        theme,
        title,
        controllers_of(case),
        queues_of(case),
        compare(there, here, method="paired"),
        one_sided(there, here),
        list(dict.fromkeys(invalid)),
        {engine: len(runs[engine]) for engine in ENGINES},
        {engine: sum(run.wall_s for run in runs[engine]) for engine in ENGINES},
        reason,
    )


def _tell(done: int, of: int) -> None:
    print(f"\r{done}/{of} runs", end="" if done < of else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
