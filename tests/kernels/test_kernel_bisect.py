"""Bisection with git on a repository of a few files; one of them holds the metric of a commit's kernel."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_linux import files_below, make_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import Dumbbell
from dumbbell import kernels
from dumbbell.cli.bisect import BisectOptions, _CommitRunner, _Experiment, _Tests, bisect_all
from dumbbell.cli.console import Console
from dumbbell.errors import DumbbellError, KernelError
from dumbbell.kernels.bisection import Checkout, Found, Skipped, Step, Verdict, bisect
from dumbbell.testing.scripts import find_scripts
from dumbbell.testing.selftests import Options


def git(at: Path, *arguments: str) -> str:
    names = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(at), *arguments]
    return subprocess.run(command, env=os.environ | names, capture_output=True, text=True, check=True).stdout.strip()


def history(at: Path, figures: Sequence[Sequence[float] | None]) -> list[str]:
    """Create a repository with one commit per element; None is a commit that does not build."""
    at.mkdir(parents=True)
    git(at, "init", "-q", "-b", "main")
    (at / "Documentation").mkdir()
    (at / "Documentation/a.txt").write_text("bulk")
    commits = []
    for number, figure in enumerate(figures):
        (at / "figure.json").write_text(json.dumps(figure))
        (at / "number").write_text(str(number))
        git(at, "add", "-A")
        git(at, "commit", "-qm", f"commit {number}")
        commits.append(git(at, "rev-parse", "HEAD"))
    return commits


class Bench:
    """Measures the checked-out commit, and records the measured commits and steps."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.measured: list[str] = []
        self.steps: list[Step] = []

    def measure(self, commit: str) -> Sequence[float]:
        self.measured.append(commit)
        assert git(self.tree, "rev-parse", "HEAD") == commit
        figures: list[float] | None = json.loads((self.tree / "figure.json").read_text())
        if figures is None:
            raise Skipped("it does not build")
        return figures


def search(
    at: Path, figures: Sequence[Sequence[float] | None], *, threshold: float | None = None, good: int = 0, bad: int = -1
) -> tuple[list[str], Found, Bench]:
    commits = history(at / "linux", figures)
    bench = Bench(at / "tree")
    found = bisect(
        Checkout(at / "linux", at / "tree"), commits[good], commits[bad], bench.measure,
        threshold=threshold, on_line=bench.steps.append,
    )  # fmt: skip
    return commits, found, bench


def test_the_first_commit_beyond_the_midpoint_is_found(tmp_path: Path) -> None:
    commits, found, bench = search(tmp_path, [[40], [41], [40], [39], [20], [21], [20], [20]])
    assert found.first_bad == commits[4]
    assert found.candidates == (commits[4],)
    assert found.threshold == 30
    assert (found.good.figure, found.bad.figure) == (40, 20)
    assert "figure.json" in found.stat
    assert "commit 4" in found.stat
    assert found.log.splitlines()[-1] == f"# first bad commit: [{commits[4]}] commit 4"
    assert len(bench.measured) <= 2 + 3
    assert [step.commit for step in bench.steps] == bench.measured
    assert bench.steps[2:] == list(found.steps)


def test_a_rising_metric_is_found_too(tmp_path: Path) -> None:
    commits, found, _ = search(tmp_path, [[1], [1], [5], [5]])
    assert found.first_bad == commits[2]


def test_a_threshold_separates_good_from_bad(tmp_path: Path) -> None:
    figures = [[40], [33], [33], [20], [20]]
    assert search(tmp_path / "a", figures)[1].first_bad != search(tmp_path / "b", figures, threshold=35)[1].first_bad
    with pytest.raises(KernelError, match=r"--threshold 45 is not between the good commit's 40 .* bad one's 20"):
        search(tmp_path / "c", figures, threshold=45)


def test_a_commit_that_does_not_build_is_skipped(tmp_path: Path) -> None:
    commits, found, _ = search(tmp_path, [[4], [4], [4], None, [4], [1], [1], [1]])
    assert found.first_bad == commits[5]
    skipped = [step for step in found.steps if step.verdict is Verdict.SKIP]
    assert [(step.commit, step.figure, step.why) for step in skipped] == [(commits[3], None, "it does not build")]


def test_skipped_commits_next_to_the_change_are_all_candidates(tmp_path: Path) -> None:
    commits, found, _ = search(tmp_path, [[4], [4], None, None, [1], [1]])
    assert found.first_bad is None
    assert set(found.candidates) == set(commits[2:5])
    assert found.stat == ""


def test_adjacent_commits_need_no_step(tmp_path: Path) -> None:
    commits, found, bench = search(tmp_path, [[4], [1]])
    assert (found.first_bad, found.steps, len(bench.measured)) == (commits[1], (), 2)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ([[4], [5], [4]], "have the same figure, 4, so there is no change to find"),
        ([[4, 6], [1, 1], [5, 9]], "differ by no more than their seeds"),
        ([None, [4], [1]], r"can't be measured: it does not build; choose a commit that builds"),
    ],
)
def test_indistinguishable_ends_are_refused(
    tmp_path: Path, figures: Sequence[Sequence[float] | None], message: str
) -> None:
    with pytest.raises(KernelError, match=message):
        search(tmp_path, figures)


def test_ends_in_the_wrong_order_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"is an ancestor of .*; give the earlier commit as --good"):
        search(tmp_path / "a", [[4], [1]], good=1, bad=0)
    with pytest.raises(KernelError, match="are the same commit"):
        search(tmp_path / "b", [[4], [1]], good=1, bad=1)
    commits = history(tmp_path / "c", [[4], [1]])
    git(tmp_path / "c", "checkout", "-q", "--orphan", "unrelated")
    git(tmp_path / "c", "commit", "-qm", "unrelated")
    checkout = Checkout(tmp_path / "c", tmp_path / "tree")
    with pytest.raises(KernelError, match="'unrelated' is not in the history of"):
        bisect(checkout, "unrelated", commits[1], lambda _: [1.0], threshold=None, on_line=lambda _: None)


def test_the_user_s_repository_is_not_changed(tmp_path: Path) -> None:
    commits = history(tmp_path / "linux", [[4], [4], [1], [1]])
    (tmp_path / "linux/number").write_text("unsaved work")
    (tmp_path / "linux/.git/hooks/post-checkout").write_text("#!/bin/sh\ntouch hooked\n")
    (tmp_path / "linux/.git/hooks/post-checkout").chmod(0o755)
    before = {file: (tmp_path / "linux" / file).read_bytes() for file in files_below(tmp_path / "linux")}
    checkout = Checkout(tmp_path / "linux", tmp_path / "tree")
    bench = Bench(tmp_path / "tree")
    bisect(checkout, "main~3", "main", bench.measure, threshold=None, on_line=bench.steps.append)
    assert bench.measured[0] == commits[0]
    assert not (tmp_path / "tree/Documentation/a.txt").exists()
    assert not (tmp_path / "tree/hooked").exists()
    checkout.remove()
    assert not (tmp_path / "tree").exists()
    assert {file: (tmp_path / "linux" / file).read_bytes() for file in files_below(tmp_path / "linux")} == before


def test_an_interrupted_search_can_restart_in_the_same_checkout(tmp_path: Path) -> None:
    commits = history(tmp_path / "linux", [[4], [4], [4], [1], [1], [1]])
    bench = Bench(tmp_path / "tree")

    def interrupted(step: Step) -> None:
        bench.steps.append(step)
        if len(bench.steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bisect(
            Checkout(tmp_path / "linux", tmp_path / "tree"),
            "main~5",
            "main",
            bench.measure,
            threshold=None,
            on_line=interrupted,
        )
    restarted = bisect(
        Checkout(tmp_path / "linux", tmp_path / "tree"),
        "main~5",
        "main",
        bench.measure,
        threshold=None,
        on_line=bench.steps.append,
    )
    assert restarted.first_bad == commits[3]


def test_an_unknown_repository_or_commit_is_an_error(tmp_path: Path) -> None:
    history(tmp_path / "linux", [[1]])
    (tmp_path / "plain").mkdir()
    with pytest.raises(KernelError, match="plain: not a git repository"):
        Checkout(tmp_path / "plain", tmp_path / "tree")
    with pytest.raises(KernelError, match="unknown commit 'v9'"):
        Checkout(tmp_path / "linux", tmp_path / "tree").resolve("v9")


@settings(max_examples=12)
@given(data=st.data())
def test_the_changing_commit_is_always_a_candidate(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    count = data.draw(st.integers(2, 9))
    change = data.draw(st.integers(1, count - 1))
    broken = data.draw(st.sets(st.integers(1, count - 2))) if count > 2 else set()
    figures = [None if n in broken else [1.0] if n >= change else [2.0] for n in range(count)]
    commits, found, _ = search(tmp_path_factory.mktemp("history"), figures)
    assert commits[change] in found.candidates
    assert found.first_bad in (None, commits[change])
    assert broken or found.first_bad


def test_a_commit_that_does_not_compile_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    linux = make_tree(tmp_path / "linux", program="int main(void) { return nonsense; }\n")
    git(linux, "init", "-q", "-b", "main")
    git(linux, "add", "-A")
    git(linux, "commit", "-qm", "broken")
    checkout = Checkout(linux, tmp_path / "home/tree")
    commit = checkout.resolve("main")
    checkout.switch(commit)
    options = BisectOptions(linux, "main", "main", "cyclic", "jain")
    bench = _CommitRunner(
        options, _Experiment(options), None, checkout, tmp_path / "home", tmp_path / "work", Console(quiet=True)
    )
    for _ in range(2):
        with pytest.raises(Skipped, match=r"build failed: main\.c:1:25: error: 'nonsense' undeclared"):
            bench.figures(commit)
        checkout.remove()  # A second build would fail.


@pytest.mark.kernel
def test_a_commit_s_figure_is_the_number_of_tests_that_fail(tmp_path: Path) -> None:
    (tmp_path / "right.sh").write_text("exit 0\n")
    (tmp_path / "wrong.sh").write_text("exit 1\n")
    scripts = find_scripts([tmp_path / "right.sh", tmp_path / "wrong.sh"])
    options = BisectOptions(tmp_path, "a", "b", tests=scripts, test_options=Options(None))
    assert _Tests(options, Console(quiet=True)).measure(kernels.find(None), tmp_path) == [1]
    dying = replace(options, test_options=Options(None, wall_limit_s=60), tests=find_scripts([_ending_guest(tmp_path)]))
    with pytest.raises(Skipped, match="the guest failed"):
        _Tests(dying, Console(quiet=True)).measure(kernels.find(None), tmp_path)


def _ending_guest(folder: Path) -> Path:
    """A test that powers its guest off, so that there is no result."""
    script = folder / "off.sh"
    script.write_text("/usr/bin/python3 -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321fedc)'\nsleep 100\n")
    return script


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name an experiment and its --metric, or tests with --test"),
        (("cyclic",), "an experiment needs --metric, such as groups.bbr.throughput_mbps"),
        (("cyclic", "--test", "a.sh"), "--test replaces the experiment and its --metric; leave these out"),
        (("--metric", "jain", "--test", "a.sh"), "--test replaces the experiment and its --metric; leave these out"),
        (("--test", "a.sh"), "a.sh: no such file or folder"),
    ],
)
def test_an_experiment_or_tests_must_be_named(dumbbell: Dumbbell, arguments: tuple[str, ...], message: str) -> None:
    done = dumbbell("bisect", *arguments, "--source", ".", "--good", "a", "--bad", "b")
    assert done.returncode == 2
    assert done.stderr.startswith(f"dumbbell: {message}"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "groups.bbr.thruput"}, "--metric: unknown metric, got 'groups.bbr.thruput'; did you"),
        ({"scenario": "bufferbloat"}, "--case: bisect needs one case; one of: maxq 10; maxq 100"),
        ({"scenario": "bufferbloat", "case": "maxq 9"}, "--case: bisect needs one case, got 'maxq 9'; one of"),
        ({}, "plain: not a git repository"),
    ],
)
def test_invalid_arguments_are_errors_before_the_first_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str], message: str
) -> None:
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "plain").mkdir()
    plain = BisectOptions(tmp_path / "plain", "a", "b", "cyclic", "ping_ms.mean")
    with pytest.raises(DumbbellError, match=message):
        bisect_all(replace(plain, **arguments), Console(quiet=True))  # type: ignore[arg-type]
