"""The matrix: every experiment of `matrix/` on the kernel and on the simulator, compared.

    python conformance/matrix.py [PART-OF-A-NAME...] [--seeds 5] [--jobs N] [--fresh] [-o docs/fidelity.md]

The kernel is the reference; tolerances are those of `dumbbell.analysis.difference`. What was run before with the same
engines is not run again (`--fresh`: it is). Exit status 1 when a case lies outside without a reason in
`matrix/reasons.toml`. How it is told is `fidelity`'s.
"""

import argparse
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fidelity
from laboratory import KEPT, Job, Outcome, run_all

from dumbbell.analysis import Row, Verdict, compare, one_sided
from dumbbell.spec import Case, load

MATRIX = Path(__file__).parent / "matrix"
ENGINES = ("kernel", "sim")


@dataclass(frozen=True)
class Compared:
    """One experiment on both engines."""

    theme: str
    """The file's name."""
    title: str
    rows: list[Row]
    one_sided: list[str]
    invalid: list[str]
    wall_s: dict[str, float]
    """Of one run, by engine."""
    reason: str | None
    """Why it lies outside, where somebody wrote it down."""

    @property
    def judged(self) -> list[Row]:
        """The rows that have a tolerance."""
        return [row for row in self.rows if row.verdict is not Verdict.SHOWN]

    @property
    def excess(self) -> float:
        """How many times its tolerance the worst metric is off."""
        return float("inf") if self.one_sided else max((row.excess for row in self.judged), default=0.0)

    @property
    def verdict(self) -> Verdict:
        """The worst of its rows'."""
        verdicts = {row.verdict for row in self.judged}
        if self.one_sided or self.invalid or Verdict.DIFFERS in verdicts:
            return Verdict.DIFFERS
        return Verdict.CHANCE if Verdict.CHANCE in verdicts else Verdict.AGREES


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--jobs", type=int)
    arguments.add_argument("--fresh", action="store_true")
    arguments.add_argument("-o", "--output", type=Path)
    asked = arguments.parse_args()
    wanted = [each for each in experiments() if not asked.names or any(name in title_of(*each) for name in asked.names)]
    began = time.perf_counter()
    cases = compared(wanted, asked.seeds, asked.jobs, None if asked.fresh else KEPT)
    text = fidelity.page(cases, asked.seeds, time.perf_counter() - began)
    if asked.output:
        asked.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0 if all(case.verdict is not Verdict.DIFFERS or case.reason for case in cases) else 1


def experiments() -> list[tuple[str, Case]]:
    """Every case of every file, with the file's name."""
    return [(file.stem, case) for file in sorted(MATRIX.glob("*.toml")) if file != REASONS for case in load(file)]


def title_of(theme: str, case: Case) -> str:
    """What a case is called: file and name."""
    return f"{theme}: {case.name}"


def compared(
    wanted: Sequence[tuple[str, Case]], seeds: int, cores: int | None = None, kept: Path | None = None
) -> list[Compared]:
    """Run all of them on both engines and compare the means."""
    jobs = [
        Job(title_of(theme, case), case, engine, seed)
        for theme, case in wanted
        for engine in ENGINES
        for seed in range(1, seeds + 1)
    ]
    outcomes = run_all(jobs, cores, kept, _tell)
    told = reasons()
    return [
        _compared(
            theme,
            title_of(theme, case),
            {
                engine: [outcomes[title_of(theme, case), engine, seed] for seed in range(1, seeds + 1)]
                for engine in ENGINES
            },
            told.get(title_of(theme, case)),
        )
        for theme, case in wanted
    ]


def reasons() -> dict[str, str]:
    """Why a case lies outside, by title: what is known of the mechanism."""
    told = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return {title: reason["why"] for reason in told["reasons"] for title in reason["cases"]}


REASONS = MATRIX / "reasons.toml"


def _compared(theme: str, title: str, runs: dict[str, list[Outcome]], reason: str | None) -> Compared:
    there, here = ([run.measures for run in runs[engine]] for engine in ENGINES)
    invalid = [f"{engine}: {why}" for engine in ENGINES for run in runs[engine] for why in run.invalid]
    wall_s = {engine: sum(run.wall_s for run in runs[engine]) / len(runs[engine]) for engine in ENGINES}
    return Compared(
        theme, title, compare(there, here), one_sided(there, here), list(dict.fromkeys(invalid)), wall_s, reason
    )


def _tell(done: int, of: int) -> None:
    print(f"\r{done}/{of} runs", end="" if done < of else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
