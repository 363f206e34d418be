"""Which commit changed a figure: git's bisection, with a measurement in the place of a person's verdict.

`git bisect` chooses the commits, in a checkout of our own. What is measured, and on what, is the caller's: a function
from a commit that is checked out to figures, one a seed, or a `Skipped` with the reason. A run in virtual time repeats
bit for bit, so one measurement a commit is enough.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from dumbbell.errors import KernelError
from dumbbell.kernel.checkout import Checkout

__all__ = ["Found", "Measure", "Skipped", "Step", "Verdict", "bisect"]


class Skipped(Exception):
    """A commit that says nothing: it doesn't build, or no run comes to an end on it."""


class Verdict(StrEnum):
    """What a commit is, in git's words."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True)
class Step:
    """One commit that was tried."""

    commit: str
    subject: str
    verdict: Verdict
    figure: float | None
    """The mean over the seeds; None where the commit was skipped."""
    why: str = ""
    """Of a skipped commit."""


@dataclass(frozen=True)
class Found:
    """How it ended."""

    first_bad: str | None
    """None when only skipped commits are left."""
    candidates: tuple[str, ...]
    """The first bad commit, or all that it may be."""
    good: Step
    bad: Step
    threshold: float
    steps: tuple[Step, ...]
    stat: str
    """The first bad commit's message, and what it changed in which file."""
    log: str
    """As `git bisect log` gives it, so that a person can replay it."""


Measure = Callable[[str], Sequence[float]]


def bisect(
    checkout: Checkout, good: str, bad: str, measure: Measure, *, threshold: float | None, heard: Callable[[Step], None]
) -> Found:
    """Find the first commit after `good` whose figure is on `bad`'s side of the threshold.

    `threshold` is halfway between the two ends' figures where None is given. `heard` is told of every commit that was
    tried, the two ends first. Raises KernelError where the ends are no ends: in the wrong order, not to be measured,
    or not apart by more than their seeds are.
    """
    first, last = checkout.resolve(good), checkout.resolve(bad)
    _check_order(checkout, (good, first), (bad, last))
    ends = []
    for revision, commit, verdict in ((good, first, Verdict.GOOD), (bad, last, Verdict.BAD)):
        figures = _end(checkout, revision, commit, measure)
        ends.append((Step(commit, checkout.subject(commit), verdict, fmean(figures)), figures))
        heard(ends[-1][0])
    (start, start_figures), (end, end_figures) = ends
    if max(min(start_figures), min(end_figures)) <= min(max(start_figures), max(end_figures)):
        raise KernelError(_no_difference(good, start_figures, bad, end_figures))
    line = _line(start, end, threshold)
    steps = _walk(checkout, start, end, measure, line, heard)
    return _ended(checkout, start, end, line, steps)


def _walk(
    checkout: Checkout, start: Step, end: Step, measure: Measure, line: float, heard: Callable[[Step], None]
) -> tuple[Step, ...]:
    """Let git choose commits until it has no more."""
    rises = _known(end) > _known(start)
    checkout.git("bisect", "reset", fine=(0, 1, 128))
    said = checkout.git("bisect", "start", "--no-checkout", end.commit, start.commit)
    steps: list[Step] = []
    while not _OVER.search(said):
        commit = checkout.git("rev-parse", "--verify", "BISECT_HEAD").strip()
        checkout.switch(commit)
        subject = checkout.subject(commit)
        try:
            figure = fmean(measure(commit))
            verdict = Verdict.BAD if (figure > line) == rises else Verdict.GOOD
            step = Step(commit, subject, verdict, figure)
        except Skipped as skipped:
            step = Step(commit, subject, Verdict.SKIP, None, str(skipped))
        steps.append(step)
        heard(step)
        # Status 2: only skipped commits are left.
        said = checkout.git("bisect", step.verdict, commit, fine=(0, 2))
    return tuple(steps)


def _ended(checkout: Checkout, start: Step, end: Step, line: float, steps: tuple[Step, ...]) -> Found:
    log = checkout.git("bisect", "log")
    skipped = {step.commit for step in steps if step.verdict is Verdict.SKIP}
    bad = checkout.git("rev-parse", "--verify", "refs/bisect/bad").strip()
    goods = checkout.git("for-each-ref", "--format=%(objectname)", "refs/bisect/good-*").split()
    left = checkout.git("rev-list", bad, "--not", *goods).split()
    sure = not skipped.intersection(left)
    stat = checkout.git("show", "--stat", "--format=commit %H%nAuthor: %an <%ae>%nDate:   %ad%n%n    %s%n", bad)
    return Found(bad if sure else None, tuple(left), start, end, line, steps, stat if sure else "", log)


def _check_order(checkout: Checkout, good: tuple[str, str], bad: tuple[str, str]) -> None:
    if good[1] == bad[1]:
        raise KernelError(f"'{good[0]}' and '{bad[0]}' are one commit, {good[1][:12]}; right: two, the good one first")
    if checkout.is_ancestor(good[1], bad[1]):
        return
    if checkout.is_ancestor(bad[1], good[1]):
        raise KernelError(
            f"'{bad[0]}' comes before '{good[0]}'; right: the earlier one as --good, "
            "whichever of the two has the figure that one likes better"
        )
    raise KernelError(
        f"'{good[0]}' is not in the history of '{bad[0]}'; right: as --good a commit from which the bad one comes, "
        "such as git merge-base gives"
    )


def _end(checkout: Checkout, revision: str, commit: str, measure: Measure) -> Sequence[float]:
    checkout.switch(commit)
    try:
        return measure(commit)
    except Skipped as skipped:
        raise KernelError(
            f"'{revision}' ({commit[:12]}) can't be measured: {skipped}; right: an end that builds and runs"
        ) from skipped


def _no_difference(good: str, first: Sequence[float], bad: str, last: Sequence[float]) -> str:
    told = [", ".join(f"{figure:.6g}" for figure in figures) for figures in (first, last)]
    if len(first) == 1 and first == last:
        return f"'{good}' and '{bad}' give the same figure, {told[0]}: there is nothing to find between them"
    return (
        f"'{good}' ({told[0]}) and '{bad}' ({told[1]}) are not further apart than their seeds are; "
        "right: a metric, an experiment or two commits that differ more"
    )


def _line(start: Step, end: Step, threshold: float | None) -> float:
    low, high = sorted((_known(start), _known(end)))
    if threshold is None:
        return (low + high) / 2
    if not low <= threshold < high:
        raise KernelError(
            f"--threshold {threshold:g} does not lie between the good commit's {_known(start):.6g} "
            f"and the bad one's {_known(end):.6g}; right: a figure between them"
        )
    return threshold


def _known(step: Step) -> float:
    assert step.figure is not None
    return step.figure


_OVER = re.compile(r"is the first '?bad'? commit|only 'skip'ped commits left")
