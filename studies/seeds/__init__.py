"""Measures all built-in scenarios with many seeds, and tests whether a change of the random numbers changed statistics.

    python -m studies seeds [--engine sim|kernel] [--duration 20s] [--seeds 20] [--only CASE…] -o FILE
    python -m studies seeds --compare BEFORE AFTER

The first form writes one JSON object: by `SCENARIO/CASE` and metric, the value of every seed (null where it has none).
The second compares two such files, metric by metric, over the cases in which any value differs: by Mann-Whitney's test
with Holm's correction over all, and by the difference of the means in units of its standard error.
"""

import fnmatch
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, variance

from scipy import stats

import dumbbell as db
from dumbbell.errors import DumbbellError
from studies.study import parser, table
from studies.tables import cases, shortened

NOT_COMPARED = ("flows.", "cycle.")
"""Single flows, which exist or not by seed, and cycles, which take longer than the run."""
LEVEL = 0.05
WORST = 10

Values = Sequence[float | None]
Measured = dict[str, dict[str, Values]]


@dataclass(frozen=True)
class Difference:
    """One metric of one case, before and after."""

    case: str
    metric: str
    before: Values
    after: Values
    p: float

    @property
    def in_errors(self) -> float:
        """The difference of the means in standard errors; not a number if there is none."""
        known = [[value for value in values if value is not None] for values in (self.before, self.after)]
        if min(map(len, known)) < 2:
            return math.nan
        error = math.sqrt(sum(variance(values) / len(values) for values in known))
        return (mean(known[1]) - mean(known[0])) / error if error else math.nan


def main(arguments: list[str]) -> int:
    """Measure or compare; returns the exit status."""
    options = parser(__doc__)
    options.add_argument("--engine", default="sim", choices=("sim", "kernel"))
    options.add_argument("--duration", default="20s")
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--only", nargs="+", default=["*"], metavar="CASE")
    options.add_argument("-o", "--output", type=Path)
    options.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    given = options.parse_args(arguments)
    if given.compare:
        return compare(*(json.loads(file.read_text(encoding="utf-8")) for file in given.compare))
    if not given.output:
        options.error("-o says where to write")
    measured: Measured = {}
    for key, case in cases():
        if any(fnmatch.fnmatchcase(key, pattern) for pattern in given.only):
            measured[key] = over_seeds(shortened(case, given.duration), given.engine, given.seeds)
    given.output.write_text(json.dumps(measured, indent=0) + "\n", encoding="utf-8")
    return 0


def over_seeds(experiment: db.Experiment, engine: str, seeds: int) -> dict[str, Values]:
    """The values of each metric, one per seed; nothing if the engine can't run the experiment."""
    try:
        runs = [db.run(experiment, engine, seed=seed).measured().values for seed in range(1, seeds + 1)]
    except DumbbellError as error:
        sys.stderr.write(f"{experiment.only}: {error}\n")
        return {}
    names = sorted({name for run in runs for name in run if not name.startswith(NOT_COMPARED)})
    return {name: [run.get(name) for run in runs] for name in names}


def compare(before: Measured, after: Measured) -> int:
    """Print what differs most; returns the exit status."""
    if before.keys() != after.keys():
        sys.stderr.write("the files have different cases\n")
        return 1
    differing = [case for case in before if before[case] != after[case]]
    found = sorted(differences(before, after, differing), key=lambda each: each.p)
    # Holm: the smallest p of m tests is compared with LEVEL / m, the next with LEVEL / (m - 1), until one is larger.
    rejected = next((rank for rank, each in enumerate(found) if each.p > LEVEL / (len(found) - rank)), len(found))
    below = sum(each.p < LEVEL for each in found)
    sys.stdout.write(
        f"{len(differing)} of {len(before)} cases differ; {len(found)} metrics of these vary or differ\n"
        f"p < {LEVEL}: {below} ({below / max(1, len(found)):.1%}); after Holm's correction: {rejected}\n\n"
    )
    rows = []
    for each in found[:WORST]:
        means = (mean(value for value in values if value is not None) for values in (each.before, each.after))
        first, second = (f"{value:.5g}" for value in means)
        rows.append((each.case, f"`{each.metric}`", first, second, f"{each.in_errors:+.2f}", f"{each.p:.2g}"))
    sys.stdout.write(table("case | metric | >before | >after | >standard errors | >p", rows) + "\n")
    furthest = max(found, key=lambda each: abs(each.in_errors) if math.isfinite(each.in_errors) else 0, default=None)
    if furthest:
        sys.stdout.write(
            f"\nThe furthest mean: {furthest.case}, `{furthest.metric}`, {furthest.in_errors:+.2f} standard errors\n"
        )
    return int(rejected > 0)


def differences(before: Measured, after: Measured, differing: Sequence[str]) -> Iterator[Difference]:
    """Every metric of these cases that has more than one value."""
    for case in differing:
        for metric in sorted(before[case].keys() | after[case].keys()):
            one, other = (
                measured[case].get(metric, [None] * len(next(iter(measured[case].values()))))
                for measured in (before, after)
            )
            # No value means a flow that did not complete: longer than any.
            ranked = [[math.inf if value is None else value for value in values] for values in (one, other)]
            if len({*ranked[0], *ranked[1]}) > 1:
                yield Difference(case, metric, one, other, float(stats.mannwhitneyu(*ranked).pvalue))
