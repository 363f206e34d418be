"""What every room's tests share: a kernel or a clear skip, the command as a process, dice that repeat."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dumbbell.errors import KernelError
from dumbbell.kernel import kernels
from warm import Warm

# Derandomised: a test says the same thing every time. No database: nothing is left in the checkout.
settings.register_profile(
    "dumbbell", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
# For `make fuzz`: many more examples, new ones every time.
settings.register_profile(
    "long", deadline=None, max_examples=5_000, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dumbbell"))

COMMAND = Path(sys.executable).with_name("dumbbell")

Finished = subprocess.CompletedProcess[str]
Dumbbell = Callable[..., Finished]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _why_no_kernel()
    if reason:
        skip = pytest.mark.skip(reason=reason)
        for item in items:
            if "kernel" in item.keywords and item.get_closest_marker("kernel"):
                item.add_marker(skip)


def _why_no_kernel() -> str:
    try:
        return "" if kernels() else "no kernel is built; build one with: dumbbell kernel build"
    except KernelError as error:
        return f"the kernel can't be used: {error}"


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Starts commands without waiting for their libraries."""
    with Warm() as warm:
        yield warm


@pytest.fixture
def dumbbell(tmp_path: Path, warm: Warm) -> Dumbbell:
    """Runs the command as a process in a folder of its own; keyword arguments are environment variables."""

    def run(*words: str | Path, cwd: Path | None = None, **environment: str) -> Finished:
        return warm.run(
            [str(word) for word in (COMMAND, *words)], cwd or tmp_path, os.environ | {"COLUMNS": "200"} | environment
        )

    return run


@pytest.fixture
def as_root() -> None:
    """Skips where the test needs to be root."""
    if os.geteuid() != 0:
        pytest.skip("needs root: it mounts a file system or becomes another user")
    if shutil.which("mount") is None or shutil.which("setpriv") is None:
        pytest.skip("needs mount and setpriv (package util-linux)")
