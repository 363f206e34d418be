"""Compare the simulator with the kernel on random experiments, and write how many are equivalent.

    python validation/random_comparison.py [--seed N] [--experiments 200] [--most-pairs 80] [--minutes M]
        [--only NUMBER]... [--kernel NAME] [-o validation/random.md]

`random_experiments` draws them, `equivalence` judges. An experiment gets pairs of runs (the same seed on both engines)
until its answer is known, the limit of pairs is reached or the time is over. `--seed` defaults to today's date, so that
every day has other experiments. Runs are cached. `random-reasons.toml` says why experiments differ. Exit status: 1 if
one differs without a reason.
"""

import argparse
import datetime
import json
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import figures
from equivalence import LOOKS, Answer, Judged, answer_of, judge
from random_experiments import drawn, text_of
from run_cache import CACHE_FILE, Outcome, run_all, show_progress
from runs import Job

from dumbbell.spec import Case

ENGINES = ("kernel", "sim")
REASONS = Path(__file__).with_name("random-reasons.toml")
GOOD_SHARE = 0.97


@dataclass
class Compared:
    """One experiment and what is known about it."""

    number: int
    case: Case
    pairs: int = 0
    found: list[Judged] = field(default_factory=list)
    refused: str = ""
    """Why an engine can't run it."""
    invalid: dict[str, list[str]] = field(default_factory=dict)
    """Why runs are invalid, by engine."""

    @property
    def title(self) -> str:
        """Unique in a seed."""
        return str(self.case.experiment.title)

    @property
    def answer(self) -> str:
        """The answer, or why there is none."""
        if self.refused:
            return "refused"
        if self.invalid:
            return "invalid" if len(self.invalid) == len(ENGINES) else "valid on one engine only"
        return str(answer_of(self.found)) if self.found else str(Answer.NOT_KNOWN)

    @property
    def is_open(self) -> bool:
        """Do more pairs help?"""
        return self.answer == Answer.NOT_KNOWN


def main() -> int:
    """Draw, run, judge, write the page."""
    options = _options()
    numbers = options.only or range(options.experiments)
    compared = [Compared(number, drawn(options.seed, number)) for number in numbers]
    began = time.monotonic()
    until = began + 60 * options.minutes if options.minutes else None
    run_until_known(compared, options.most_pairs, options.jobs, until, options.kernel)
    reasons = _reasons(options.seed)
    text = page(options.seed, compared, reasons, time.monotonic() - began, options.kernel)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
        figures.write_figures(
            options.output.stem, {"seed": options.seed, "experiments": len(compared), "answers": counts(compared)}
        )
    else:
        sys.stdout.write(text)
    return 1 if any(each.answer not in _FINE and each.number not in reasons for each in compared) else 0


_FINE = (Answer.EQUIVALENT, Answer.NOT_KNOWN, "refused", "invalid")


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=int(f"{datetime.datetime.now(tz=datetime.UTC):%Y%m%d}"))
    arguments.add_argument("--experiments", type=int, default=200)
    arguments.add_argument("--most-pairs", type=int, default=LOOKS[-1])
    arguments.add_argument("--minutes", type=float)
    arguments.add_argument("--only", type=int, action="append", metavar="NUMBER")
    arguments.add_argument("--jobs", type=int)
    arguments.add_argument("--kernel", metavar="NAME")
    arguments.add_argument("-o", "--output", type=Path)
    return arguments.parse_args()


def run_until_known(
    compared: Sequence[Compared],
    most_pairs: int,
    cores: int | None,
    until: float | None = None,
    kernel: str | None = None,
) -> None:
    """Add pairs to every experiment whose answer is not known; at the end of the time no further look begins."""
    for pairs in (look for look in LOOKS if look <= most_pairs):
        todo = [each for each in compared if each.is_open]
        if not todo or (until is not None and time.monotonic() > until):
            return
        print(f"{pairs} pairs, {len(todo)} experiments", file=sys.stderr)
        jobs = [
            Job(each.title, each.case, engine, seed, kernel if engine == "kernel" else None)
            for each in todo
            for seed in range(1, pairs + 1)
            for engine in ENGINES
        ]
        errors: dict[str, str] = {}
        outcomes = run_all(jobs, cores, CACHE_FILE, show_progress, errors)
        for each in todo:
            if each.title in errors:
                each.refused = errors[each.title]
            else:
                _judge(
                    each,
                    {
                        engine: [outcomes[each.title, engine, seed] for seed in range(1, pairs + 1)]
                        for engine in ENGINES
                    },
                )


def _judge(each: Compared, runs: dict[str, list[Outcome]]) -> None:
    each.pairs = len(runs["sim"])
    reasons = {engine: [why for run in of for why in run.invalid] for engine, of in runs.items()}
    each.invalid = {engine: list(dict.fromkeys(why)) for engine, why in reasons.items() if why}
    each.found = judge([run.measures for run in runs["kernel"]], [run.measures for run in runs["sim"]])


def counts(compared: Iterable[Compared]) -> dict[str, int]:
    """Experiments by answer, the most frequent first."""
    return dict(Counter(each.answer for each in compared).most_common())


def page(
    seed: int, compared: Sequence[Compared], reasons: dict[int, str], wall_s: float, kernel: str | None = None
) -> str:
    """The page as Markdown."""
    kinds = (Answer.DIFFERENT, "valid on one engine only", Answer.NOT_KNOWN, "invalid", "refused")
    total = len(compared)
    shares = [(answer, count, f"{count / total:.1%}") for answer, count in counts(compared).items()]
    return figures.page_of(
        "random",
        seed=seed,
        total=total,
        kernel=kernel,
        most_pairs=max((each.pairs for each in compared), default=0),
        pairs=sum(each.pairs for each in compared),
        answers=figures.table("answer | >experiments | >share", shares),
        good_share=GOOD_SHARE,
        wall_s=wall_s,
        sections={str(kind): _experiments([each for each in compared if each.answer == kind]) for kind in kinds},
        reasons=reasons,
    )


def _experiments(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """What the page says of each, the largest difference first."""
    return [
        {
            "number": each.number,
            "experiment": in_a_line(each.case),
            "problems": [each.refused] if each.refused else [f"{on}: {why[0]}" for on, why in each.invalid.items()],
            "rows": figures.table(
                f"metric, {each.pairs} pairs | >kernel | >sim | >difference | interval | >allowed",
                [_row(one) for one in each.found if one.answer is not Answer.EQUIVALENT],
            ) if each.found else "",
        }
        for each in sorted(compared, key=lambda one: -one.found[0].excess if one.found else 0.0)
    ]  # fmt: skip


def _row(one: Judged) -> tuple[str, ...]:
    interval = "none" if one.within is None else f"{one.within[0]:+.3g} … {one.within[1]:+.3g}"
    mark = " **different**" if one.answer is Answer.DIFFERENT else ""
    numbers = (f"{one.kernel:.4g}", f"{one.sim:.4g}", f"{one.centre:+.3g}")
    return (f"{one.metric}{mark}", *numbers, interval, f"{one.allowed:.3g}")


def in_a_line(case: Case) -> str:
    document = tomllib.loads(text_of(case))
    document.pop("title")
    return json.dumps(document).replace('"', "").replace("`", "'")


def _reasons(seed: int) -> dict[int, str]:
    """Why experiments of this seed differ, by number."""
    if not REASONS.exists():
        return {}
    listed = tomllib.loads(REASONS.read_text(encoding="utf-8")).get("reasons", [])
    return {number: each["why"] for each in listed if each["seed"] == seed for number in each["numbers"]}


if __name__ == "__main__":
    sys.exit(main())
