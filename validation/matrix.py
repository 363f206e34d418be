"""Compare the simulator with the kernel in every experiment of `matrix/` and in six scenarios.

    python validation/matrix.py [PART-OF-A-NAME...] [--seeds 5] [--most-seeds 20] [--jobs N] [--fresh]
        [-o docs/results/fidelity.md]

The kernel is the reference; `dumbbell.analysis.difference` has the tolerances. Results of earlier runs with the same
engines are reused, except with `--fresh`. Exit status: 1 if a case differs and `matrix/reasons.toml` gives no reason.
`fidelity` writes the page; `-o` also writes `results/fidelity.json`.
"""

import argparse
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import fidelity
import figures
from coverage import controllers_of, queues_of
from run_cache import CACHE_FILE, Outcome, run_all, show_progress
from runs import Job
from verdicts import Compared

from dumbbell.analysis.difference import Row, Verdict, compare, one_sided, standard_error, tolerance_of
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
    options = arguments.parse_args()
    selected = [
        each for each in experiments() if not options.names or any(name in title_of(*each) for name in options.names)
    ]
    began = time.perf_counter()
    most = max(options.seeds, options.max_seeds)
    cases = compared(selected, options.seeds, most, options.jobs, None if options.fresh else CACHE_FILE)
    text = fidelity.section(cases, time.perf_counter() - began)
    if options.output:
        figures.fill(options.output, "study of validation", text)
        figures.write_figures("fidelity", fidelity.figures(cases))
    else:
        sys.stdout.write(text)
    return 0 if all(case.verdict is not Verdict.DIFFERS or case.reason for case in cases) else 1


def experiments() -> list[tuple[str, Case]]:
    """Every case of every file, with the file's name."""
    files = [file for file in sorted(MATRIX.glob("*.toml")) if file != REASONS]
    return [(file.stem, case) for file in (*map(find, SCENARIOS), *files) for case in load(file)]


def title_of(theme: str, case: Case) -> str:
    """The title of a case: file and name."""
    return f"{theme}: {case.name}" if case.name else theme


def compared(
    selected: Sequence[tuple[str, Case]], seeds: int, most: int, cores: int | None = None, cache: Path | None = None
) -> list[Compared]:
    """Run all of them on both engines and compare the means.

    Cases whose means are not precise enough run again on twice as many seeds, up to `most`.
    """
    known = reasons()
    outcomes: dict[tuple[str, str, int], Outcome] = {}
    done: dict[str, Compared] = {}
    while seeds <= most and (imprecise := [each for each in selected if not _precise(done.get(title_of(*each)))]):
        jobs = _jobs(imprecise, seeds)
        outcomes |= run_all([job for job in jobs if job.which not in outcomes], cores, cache, show_progress)
        for theme, case in imprecise:
            title = title_of(theme, case)
            mine = [job for job in jobs if job.title == title]
            runs = {engine: [outcomes[job.which] for job in mine if job.engine == engine] for engine in ENGINES}
            done[title] = _compared(theme, title, case, runs, known.get(title))
        seeds *= 2
    return [done[title_of(*each)] for each in selected]


def _jobs(selected: Sequence[tuple[str, Case]], seeds: int) -> list[Job]:
    """The same seeds on both engines: a seed gives netem the same random numbers on both, so runs compare in pairs."""
    return [
        Job(title_of(theme, case), case, engine, seed)
        for theme, case in selected
        for engine in ENGINES
        for seed in range(1, seeds + 1)
    ]


def _precise(case: Compared | None) -> bool:
    """Are two standard errors of every difference within its tolerance?

    Depends on the precision of the means, not on their difference, so that no case is repeated until it agrees.
    """
    return case is not None and all(_precise_row(row) for row in case.judged)


def _precise_row(row: Row) -> bool:
    tolerance = tolerance_of(row.metric)
    if tolerance is None:
        return True
    in_pairs = len(row.first.values) == len(row.second.values)
    error = standard_error(row.first, row.second, "paired" if in_pairs else "welch") or 0.0
    return 2 * error <= tolerance.allowed(row.first.mean)


def reasons() -> dict[str, str]:
    """Why a case differs, by title."""
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return {title: reason["why"] for reason in listed["reasons"] for title in reason["cases"]}


REASONS = MATRIX / "reasons.toml"


def _compared(theme: str, title: str, case: Case, runs: dict[str, list[Outcome]], reason: str | None) -> Compared:
    kernel, sim = ([run.measures for run in runs[engine]] for engine in ENGINES)
    invalid = [f"{engine}: {why}" for engine in ENGINES for run in runs[engine] for why in run.invalid]
    return Compared(
        theme,
        title,
        controllers_of(case),
        queues_of(case),
        compare(kernel, sim, method="paired"),
        one_sided(kernel, sim),
        list(dict.fromkeys(invalid)),
        {engine: len(runs[engine]) for engine in ENGINES},
        {engine: sum(run.wall_s for run in runs[engine]) for engine in ENGINES},
        reason,
    )


if __name__ == "__main__":
    sys.exit(main())
