"""The built wheels, in an environment whose PATH has no compiler: both engines run, and missing extras are named.

`make test` makes them from the checkout's build; DUMBBELL_TEST_WHEELS names another folder, such as `dist`.
"""

import os
import platform
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / os.environ.get("DUMBBELL_TEST_WHEELS", "target/wheels/tested")
PROGRAMS = ("sh", "env", "setarch", "ip", "tc", "uname")
"""The only programs on the PATH."""


@pytest.fixture(scope="module")
def wheels() -> list[Path]:
    found = sorted(FOLDER.glob(f"dumbbell*-*_{platform.machine()}.whl"))
    if not found:
        pytest.skip(f"no wheels in {FOLDER}; make them: python scripts/wheels.py --for-tests")
    return found


@pytest.fixture(scope="module")
def environment(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment with the wheels and the base packages, and no cache of kernels."""
    home = tmp_path_factory.mktemp("wheels")
    uv = str(ROOT / ".venv" / "bin" / "uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(home / "venv")], check=True)
    locked = ["--constraint", str(home / "constraints.txt")]
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    (home / "constraints.txt").write_text("".join(line.rstrip(" \\") + "\n" for line in lines if "==" in line))
    install = [uv, "pip", "install", "--quiet", "--python", str(home / "venv" / "bin" / "python"), *locked]
    subprocess.run([*install, *map(str, wheels)], check=True)
    programs = home / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
            (programs / name).symlink_to(found)
    yield {
        "PATH": f"{home / 'venv' / 'bin'}:{programs}",
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TMPDIR": str(home),
    }
    shutil.rmtree(home)


def call(environment: dict[str, str], *arguments: str, status: int = 0) -> str:
    command = [f"{environment['PATH'].partition(':')[0]}/dumbbell", *arguments]
    done = subprocess.run(
        command, cwd=environment["HOME"], env=environment, text=True, check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def test_there_is_no_compiler_on_the_path(environment: dict[str, str]) -> None:
    for name in ("gcc", "cc", "clang", "cargo", "rustc", "ld", "make"):
        assert shutil.which(name, path=environment["PATH"]) is None


@pytest.mark.slow
def test_the_simulator_runs(environment: dict[str, str]) -> None:
    assert "bbr-1" in call(environment, "run", "cyclic", "--engine", "sim", "--out", "sim")


@pytest.mark.slow
@pytest.mark.kernel
def test_the_kernel_of_the_package_is_listed_and_runs(environment: dict[str, str]) -> None:
    assert "linux-6.12" in call(environment, "kernel", "list")
    assert "bbr-1" in call(
        environment, "run", "cyclic", "--engine", "kernel", "--set", "duration=5s", "--out", "kernel"
    )


@pytest.mark.kernel
def test_the_kernel_of_the_package_can_be_the_default(environment: dict[str, str]) -> None:
    assert "default kernel: linux-6.12" in call(environment, "kernel", "default", "6.12")
    example = str(ROOT / "examples" / "tcp_target.c")
    assert "sudo apt-get install -y make" in call(environment, "kernel", "add", example, status=2)


def test_the_pages_of_controllers_are_inside(environment: dict[str, str]) -> None:
    assert "CUBIC" in call(environment, "explain", "cubic")


@pytest.mark.parametrize(("arguments", "extra"), [(("plot", "--list"), "plot"), (("ui",), "ui")])
def test_a_missing_extra_is_named_with_its_command(
    environment: dict[str, str], arguments: tuple[str, ...], extra: str
) -> None:
    assert f"pip install 'dumbbell[{extra}]'" in call(environment, *arguments, status=2)


def test_the_wheel_holds_what_the_package_needs(wheels: list[Path]) -> None:
    (wheel,) = [path for path in wheels if path.name.startswith("dumbbell-")]
    names = set(zipfile.ZipFile(wheel).namelist())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    # The checkout's build needs this machine's C library, a published one an old version.
    built_for = "manylinux_2_17" if FOLDER.name == "dist" else "linux"
    assert wheel.name == f"dumbbell-{version}-cp311-abi3-{built_for}_{platform.machine()}.whl"
    for name in (
        "_sim.abi3.so",
        "bin/dumbbell-agent",
        "web/page/index.html",
        "scenarios/cyclic.toml",
        "docs/queues/fq_codel.md",
    ):
        assert f"dumbbell/{name}" in names
    assert not [name for name in names if name.endswith(".original")]
