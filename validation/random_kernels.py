"""Compare versions of Linux in random experiments, and write the section `## Random experiments` of a page.

    python validation/random_kernels.py 6.1 6.12 7.3 [--seed 1] [--experiments 20] [--minutes M]
        [-o docs/results/linux-6.1-6.12-7.3.md]

`random_experiments` draws them, `equivalence` judges: pairs of runs (the same seed on two neighbouring versions) say
whether all metrics are within their tolerance. With fewer pairs than it needs the answer is "not known". An experiment
runs on every kernel before the next one begins, so that a run that is stopped by `--minutes` has whole rows.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from equivalence import LOOKS, Answer, Judged, answer_of, judge
from figures import fill, page_of, table
from random_comparison import in_a_line
from random_experiments import drawn
from run_cache import Outcome

from dumbbell.analysis.summary import measures
from dumbbell.engines import KernelEngine, Request
from dumbbell.errors import DumbbellError
from dumbbell.results import result
from dumbbell.spec import Case

PAIRS = LOOKS[0]


@dataclass
class Row:
    """One experiment on all kernels."""

    number: int
    case: Case
    found: list[list[Judged]]
    """For each pair of neighbouring versions, the worst metric first."""
    invalid: list[str]
    refused: str = ""


def main() -> None:
    """Draw, run, judge, write the section."""
    options = _options()
    began, rows = time.monotonic(), []
    with ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.experiments):
            if options.minutes and time.monotonic() - began > 60 * options.minutes:
                break
            rows.append(row(number, drawn(options.seed, number), options.kernels, pool))
            print(number, [str(answer_of(each)) for each in rows[-1].found], rows[-1].refused, file=sys.stderr)
    text = section(options, rows)
    if options.output:
        fill(options.output, "study of random-kernels", text)
    else:
        sys.stdout.write(text)


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernels", nargs="+", metavar="KERNEL")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--experiments", type=int, default=20)
    arguments.add_argument("--minutes", type=float)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("-o", "--output", type=Path)
    return arguments.parse_args()


def row(number: int, case: Case, kernels: Sequence[str], pool: ThreadPoolExecutor) -> Row:
    """An experiment on all kernels, `PAIRS` seeds each."""
    jobs = [(name, seed) for name in kernels for seed in range(1, PAIRS + 1)]
    try:
        made = dict(zip(jobs, pool.map(lambda job: run(case, *job), jobs), strict=True))
    except DumbbellError as error:
        return Row(number, case, [], [], str(error))
    runs = {name: [made[name, seed] for seed in range(1, PAIRS + 1)] for name in kernels}
    invalid = [f"{name}: {why}" for name, of in runs.items() for why in {why for each in of for why in each.invalid}]
    return Row(
        number,
        case,
        [judge([each.measures for each in runs[a]], [each.measures for each in runs[b]]) for a, b in pairwise(kernels)],
        sorted(invalid),
    )


def run(case: Case, kernel: str, seed: int) -> Outcome:
    """One run."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = KernelEngine(kernel).run(Request("random", case, seed, Path(temporary) / "run"), lambda _: None)
        loaded = result.load(folder)
        return Outcome(measures(loaded), list(loaded.manifest["invalid"]), time.perf_counter() - began)


def section(options: argparse.Namespace, rows: Sequence[Row]) -> str:
    """The section as Markdown."""
    both = list(pairwise(options.kernels))
    refused = sum(not each.found for each in rows)
    counts = []
    for number, pair in enumerate(both):
        answers = [answer_of(each.found[number]) for each in rows if each.found]
        counts.append((", ".join(pair), *map(answers.count, Answer), refused))
    differing = list(_differing(both, rows))
    numbers = {row[0] for row in differing}
    return page_of(
        "random-kernels",
        kernels=" ".join(options.kernels),
        total=len(rows),
        seed=options.seed,
        pairs=PAIRS,
        answers=table(" | ".join(["versions", *(f">{answer}" for answer in Answer), ">refused"]), counts),
        bad=[each for each in rows if each.invalid or each.refused],
        differing=table(">experiment | versions | metric | >first | >second | interval | >allowed", differing),
        experiments={each.number: in_a_line(each.case) for each in rows if each.number in numbers},
    )


def _differing(both: Sequence[tuple[str, str]], rows: Sequence[Row]) -> Iterator[Sequence[object]]:
    """The metrics that differ."""
    for each in rows:
        for pair, found in zip(both, each.found, strict=bool(each.found)):
            for one in found:
                if one.answer is Answer.DIFFERENT and one.outside:
                    means = (f"{one.kernel:.4g}", f"{one.sim:.4g}")
                    interval = f"{one.outside[0]:+.3g} … {one.outside[1]:+.3g}"
                    yield each.number, ", ".join(pair), f"`{one.metric}`", *means, interval, f"{one.allowed:.3g}"


if __name__ == "__main__":
    try:
        main()
    except DumbbellError as error:
        sys.exit(str(error))
