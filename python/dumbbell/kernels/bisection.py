"""Find the commit that changed a metric with `git bisect`, judging each commit by a measurement.

`git bisect` chooses the commits, in a private checkout. The caller's function measures a checked-out commit: it returns
one figure per seed, or raises `Skipped` with the reason. Runs in virtual time repeat bit for bit, so one measurement
per commit is enough.

The checkout is a separate repository that borrows the user's objects (alternates): no worktree is registered, no ref is
created and no hook runs. The user's repository stays unchanged. Files that a build doesn't need are not checked out.

```text
<home>/lock, tree/        the checkout
       build/             tree of links, and objects: see `build`
       kernels/<commit>/  the kernel of each commit
```
"""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import fmean

from dumbbell.errors import KernelError
from dumbbell.kernels import process, tree

__all__ = [
    "Checkout",
    "Found",
    "Measure",
    "Skipped",
    "Step",
    "Verdict",
    "bisect",
]


class Checkout:
    """The private repository at `folder`, borrowing from the user's at `repository`."""

    def __init__(self, repository: Path, folder: Path) -> None:
        """Create it, or reuse an existing one. Raises KernelError if `repository` isn't a git repository."""
        process.require_git()
        self.repository, self.folder = repository, folder
        try:
            common = process.output(["git", "-C", str(repository), "rev-parse", "--git-common-dir"]).strip()
        except KernelError as problem:
            raise KernelError(f"{repository}: not a git repository") from problem
        self._user_git = (repository / common).resolve()
        if not (folder / ".git/ready").is_file():
            self._make()

    def resolve(self, revision: str) -> str:
        """The commit of a revision in the user's repository. Raises KernelError if it is unknown."""
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        try:
            return process.output(["git", "-C", str(self.repository), *arguments]).strip()
        except KernelError as problem:
            raise KernelError(f"{self.repository}: unknown commit '{revision}'") from problem

    def switch(self, commit: str) -> None:
        """Check out a commit. Unchanged files keep their times, so that builds are incremental."""
        self.git("checkout", "-q", "--detach", "--force", commit)

    def subject(self, commit: str) -> str:
        """The first line of the commit's message."""
        return self.git("show", "-s", "--format=%s", commit).strip()

    def is_ancestor(self, first: str, second: str) -> bool:
        """Is `first` an ancestor of `second`?"""
        return self.git("merge-base", first, second, fine=(0, 1)).strip() == first

    def git(self, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        """Output of git in the private repository. Raises KernelError unless the exit status is in `fine`."""
        quiet = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]
        return process.output(["git", "-C", str(self.folder), *quiet, *arguments], fine=fine)

    def remove(self) -> None:
        """Delete the checkout."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.git("init", "-q")
        ours = self.folder / ".git"
        (ours / "objects/info/alternates").write_text(f"{self._user_git / 'objects'}\n", encoding="utf-8")
        if (self._user_git / "shallow").is_file():
            shutil.copyfile(self._user_git / "shallow", ours / "shallow")
        (ours / "info").mkdir(exist_ok=True)
        (ours / "info/sparse-checkout").write_text("".join(f"{line}\n" for line in _SPARSE), encoding="utf-8")
        self.git("config", "core.sparseCheckout", "true")
        (ours / "ready").touch()


_SPARSE = [
    "/*",
    *(f"!{p if p.count('/') == 0 else p.replace('*/', '**/', 1).replace('/*.', '/**/*.')}" for p in tree.BULK),
]
"""The files that `tree` excludes, as git sparse-checkout patterns."""


class Skipped(Exception):
    """A commit that can't be tested: it doesn't build, or no run completes."""


class Verdict(StrEnum):
    """The judgement of a commit, in git's terms."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True)
class Step:
    """One tested commit."""

    commit: str
    subject: str
    verdict: Verdict
    figure: float | None
    """The mean over the seeds; None for a skipped commit."""
    why: str = ""
    """The reason for skipping."""


@dataclass(frozen=True)
class Found:
    """The result."""

    first_bad: str | None
    """None if only skipped commits remain."""
    candidates: tuple[str, ...]
    """The first bad commit, or all candidates."""
    good: Step
    bad: Step
    threshold: float
    steps: tuple[Step, ...]
    stat: str
    """The first bad commit's message and diffstat."""
    log: str
    """Output of `git bisect log`, which can be replayed."""


Measure = Callable[[str], Sequence[float]]


def bisect(
    checkout: Checkout,
    good: str,
    bad: str,
    measure: Measure,
    *,
    threshold: float | None,
    on_line: Callable[[Step], None],
) -> Found:
    """Find the first commit after `good` whose figure is on `bad`'s side of the threshold.

    The default threshold is half-way between the figures of the two ends. `on_line` is called with every tested commit,
    the two ends first. Raises KernelError if the ends are in the wrong order, can't be measured, or differ by no more
    than their seeds.
    """
    first, last = checkout.resolve(good), checkout.resolve(bad)
    _check_order(checkout, (good, first), (bad, last))
    ends = []
    for revision, commit, verdict in ((good, first, Verdict.GOOD), (bad, last, Verdict.BAD)):
        figures = _end(checkout, revision, commit, measure)
        ends.append((Step(commit, checkout.subject(commit), verdict, fmean(figures)), figures))
        on_line(ends[-1][0])
    (start, start_figures), (end, end_figures) = ends
    if max(min(start_figures), min(end_figures)) <= min(max(start_figures), max(end_figures)):
        raise KernelError(_no_difference(good, start_figures, bad, end_figures))
    line = _line(start, end, threshold)
    steps = _search(checkout, start, end, measure, line, on_line)
    return _ended(checkout, start, end, line, steps)


def _search(
    checkout: Checkout, start: Step, end: Step, measure: Measure, line: float, on_line: Callable[[Step], None]
) -> tuple[Step, ...]:
    """Test the commits that git chooses until it finishes."""
    rises = _known(end) > _known(start)
    checkout.git("bisect", "reset", fine=(0, 1, 128))
    output = checkout.git("bisect", "start", "--no-checkout", end.commit, start.commit)
    steps: list[Step] = []
    while not _OVER.search(output):
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
        on_line(step)
        # Status 2: only skipped commits remain.
        output = checkout.git("bisect", step.verdict, commit, fine=(0, 2))
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
        raise KernelError(
            f"'{good[0]}' and '{bad[0]}' are the same commit, {good[1][:12]}; give two commits, the good one first"
        )
    if checkout.is_ancestor(good[1], bad[1]):
        return
    if checkout.is_ancestor(bad[1], good[1]):
        raise KernelError(
            f"'{bad[0]}' is an ancestor of '{good[0]}'; give the earlier commit as --good, "
            "whichever of the two has the better figure"
        )
    raise KernelError(
        f"'{good[0]}' is not in the history of '{bad[0]}'; give an ancestor of the bad commit as --good, "
        "for example the output of git merge-base"
    )


def _end(checkout: Checkout, revision: str, commit: str, measure: Measure) -> Sequence[float]:
    checkout.switch(commit)
    try:
        return measure(commit)
    except Skipped as skipped:
        raise KernelError(
            f"'{revision}' ({commit[:12]}) can't be measured: {skipped}; choose a commit that builds and runs"
        ) from skipped


def _no_difference(good: str, first: Sequence[float], bad: str, last: Sequence[float]) -> str:
    shown = [", ".join(f"{figure:.6g}" for figure in figures) for figures in (first, last)]
    if len(first) == 1 and first == last:
        return f"'{good}' and '{bad}' have the same figure, {shown[0]}, so there is no change to find"
    return (
        f"'{good}' ({shown[0]}) and '{bad}' ({shown[1]}) differ by no more than their seeds; "
        "choose a metric, an experiment or commits that differ more"
    )


def _line(start: Step, end: Step, threshold: float | None) -> float:
    low, high = sorted((_known(start), _known(end)))
    if threshold is None:
        return (low + high) / 2
    if not low <= threshold < high:
        raise KernelError(
            f"--threshold {threshold:g} is not between the good commit's {_known(start):.6g} "
            f"and the bad one's {_known(end):.6g}"
        )
    return threshold


def _known(step: Step) -> float:
    assert step.figure is not None
    return step.figure


_OVER = re.compile(r"is the first '?bad'? commit|only 'skip'ped commits left")
