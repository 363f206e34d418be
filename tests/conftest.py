"""Fixtures of all tests: a kernel or a skip with its reason, the command as a process, a repeatable Hypothesis."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dumbbell.errors import KernelError
from dumbbell.kernels import kernels
from warm import Warm

# A shell ignores SIGINT in background jobs, and every command that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomized, so that a test gives the same result every time. No database, so that no file is left in the checkout.
settings.register_profile(
    "dumbbell", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# For `make test-all PARTS=fuzz`: many more examples, new ones every time.
settings.register_profile(
    "long", deadline=None, max_examples=5_000, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# For `make quick` and `make test`: a fixed part of the examples; `make test-all` has all of them.
settings.register_profile("few", settings.get_profile("dumbbell"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dumbbell"))

COMMAND = Path(sys.executable).with_name("dumbbell")

Finished = subprocess.CompletedProcess[str]
Dumbbell = Callable[..., Finished]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use, before `-m` selects; skip those of a guest if there is no kernel."""
    reason = _why_no_kernel()
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
        if reason and item.get_closest_marker("kernel"):
            item.add_marker(pytest.mark.skip(reason=reason))
        _keep_one(item)


def _keep_one(item: pytest.Item) -> None:
    """`@pytest.mark.slow(keep="ID")` leaves one of a test's parameters in `make test`."""
    callspec = getattr(item, "callspec", None)
    if callspec is not None:
        item.own_markers[:] = [
            mark for mark in item.own_markers if not (mark.name == "slow" and mark.kwargs.get("keep") == callspec.id)
        ]


MAY_BE_SKIPPED_IN_CI = (
    "no npm package",
    "builds the site",
    "no kernel of Linux 7",
    "no kernel with named streams",
    "no stack is built",
    "Slurm is here",
    "entering a namespace needs root",
    "only root can become another user",
    "this user may not mount in a namespace of its own",
    "this kernel allows no bbr",
    "this host permits bbr to no user",
)
"""Prefixes of reasons to skip a test in CI. Any other skip is a failure."""

NOT_INSTALLED = Path(__file__).parent.parent / "target" / "not-installed"
"""What scripts/test-tools.sh tried to install in vain: a registry that fails is no fault of a change."""


def may_be_skipped_in_ci(reason: str, not_installed: list[str]) -> bool:
    """Tell whether a reason is listed, or names a program that could not be installed."""
    return reason.startswith(MAY_BE_SKIPPED_IN_CI) or any(program in reason.lower() for program in not_installed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI, turn a skip into a failure unless its reason is listed: a skipped test looks like a passed one."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2].removeprefix("Skipped: ")
        not_installed = NOT_INSTALLED.read_text().split() if NOT_INSTALLED.exists() else []
        if not may_be_skipped_in_ci(reason, not_installed):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped in CI, which may not be: {reason}"
    return report


def _why_no_kernel() -> str:
    try:
        return "" if kernels() else "no kernel is built; build one with: dumbbell kernel build"
    except KernelError as error:
        return f"the kernel can't be used: {error}"


@pytest.fixture(scope="session", autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for temporary files of this process and of all that it starts; nothing of Dumbbell may stay there.

    Other programs keep locks: uv one for each environment, Dask two.
    """
    tmp_path_factory.getbasetemp()  # pytest keeps its own folders for a look at failures.
    folder = Path(tempfile.mkdtemp(prefix="dumbbell-tests-"))
    folder.chmod(0o1777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder
    # `dumbbell-UID-…` holds the records of a user without a home, for the next command.
    left = [each.name for each in folder.iterdir() if re.match(r"dumbbell-(?!\d)", each.name)]
    shutil.rmtree(folder, ignore_errors=True)
    assert not left, f"left in the temporary folder: {left}"


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Start commands without waiting for their imports."""
    with Warm() as warm:
        yield warm


@pytest.fixture
def dumbbell(tmp_path: Path, warm: Warm) -> Dumbbell:
    """Run the command as a process in the test's folder; keyword arguments are environment variables."""

    def run(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Finished:
        return warm.run(
            [str(each) for each in (COMMAND, *arguments)],
            cwd or tmp_path,
            os.environ | {"COLUMNS": "200"} | environment,
        )

    return run


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without kernels for this test."""
    monkeypatch.setenv("DUMBBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DUMBBELL_KERNEL", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def as_root() -> None:
    """Skip the test unless it runs as root."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts a file system or becomes another user")
    if shutil.which("mount") is None or shutil.which("setpriv") is None:
        pytest.skip("needs mount and setpriv (package util-linux)")
