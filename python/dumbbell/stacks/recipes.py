"""How the tool of each registry makes a driver: cargo, go, pip, apt-get."""

import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from ctypes.util import find_library
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.errors import KernelError, StackError, ToolMissing
from dumbbell.kernels.process import Progress, Tool, output, stream
from dumbbell.stacks.store import DRIVER, Stack

__all__ = ["RECIPES", "Bench", "Recipe"]

TAIL = 6
"""Lines of a failed tool that its error shows."""


@dataclass(frozen=True)
class Bench:
    """Where a driver is made."""

    stack: Stack
    sources: Path
    """A copy of our driver's sources."""
    work: Path
    """For what the tools make."""
    log: Path
    jobs: int
    progress: Progress

    def run(
        self, *command: str, count: Callable[[str], bool], total: int = 0, phase: str = "build", **env: str
    ) -> None:
        """Run a tool in the sources' folder; lines that `count` accepts are its progress.

        Raises StackError with its last lines.
        """
        lines: list[str] = []
        done = 0

        def on_line(line: str) -> None:
            nonlocal done
            lines.append(line)
            if count(line):
                done += 1
                self.progress(phase, done, max(done, total) if total else 0)

        self.progress(phase, 0, total)
        environment = {name: value for name, value in os.environ.items() if name not in DISTURBING} | env
        try:
            stream(command, log=self.log, cwd=self.sources, env=environment, on_line=on_line)
        except KernelError as error:
            how = str(error).partition("; full log:")[0]
            tail = [line for line in lines if line.strip()][-TAIL:]
            raise StackError("\n  ".join([f"{self.stack.name}: {how}; full log: {self.log}", *tail])) from error


@dataclass(frozen=True)
class Recipe:
    """The tools of a registry, and what they do."""

    tools: tuple[Tool, ...]
    make: Callable[[Bench, Path], None]
    """Puts the driver into a folder."""
    also: Mapping[str, tuple[Tool, ...]] = field(default_factory=dict)
    """Tools that single stacks need as well."""
    version: Sequence[str] = ()
    """The command that prints the first tool's version."""


TARGET = "x86_64-unknown-linux-gnu"
DISTURBING = frozenset(
    "RUSTFLAGS CARGO_BUILD_TARGET CARGO_TARGET_DIR CARGO_BUILD_RUSTFLAGS GOOS GOARCH CFLAGS CXXFLAGS LDFLAGS PYTHONPATH"
    " PIP_TARGET PIP_USER LD_PRELOAD LD_LIBRARY_PATH".split()
)
"""Variables of the user that would change what is built."""


def _with_cargo(bench: Bench, result: Path) -> None:
    if bench.stack.name == "quiche" and not _has_libclang():
        raise ToolMissing("libclang", "to read BoringSSL's headers", "libclang-dev")
    fetch = ["cargo", "fetch", "--locked", "--target", TARGET]
    bench.run(*fetch, count=lambda line: line.lstrip().startswith("Downloaded "), phase="download")
    tree = ["cargo", "tree", "--locked", "--offline", "--prefix", "none", "--edges", "normal,build", "--target", TARGET]
    packages = {line.removesuffix(" (*)") for line in output(tree, cwd=bench.sources).splitlines() if line}
    target = bench.work / "target"
    command = ["cargo", "build", "--release", "--locked", "--offline", "--jobs", str(bench.jobs)]
    bench.run(
        *command,
        count=lambda line: line.lstrip().startswith("Compiling "),
        total=len(packages),
        CARGO_TARGET_DIR=str(target),
    )
    shutil.copy2(target / "release" / DRIVER, result / DRIVER)


def _has_libclang() -> bool:
    """Does a library exist where bindgen looks for it?"""
    places = list(Path("/usr/lib").glob("llvm-*/lib/libclang*.so*"))
    return bool(os.environ.get("LIBCLANG_PATH") or find_library("clang") or places)


def _with_go(bench: Bench, result: Path) -> None:
    bench.run("go", "mod", "download", count=lambda _: False, phase="download")
    folder = output(["go", "list", "-m", "-f", "{{.Dir}}", bench.stack.package], cwd=bench.sources).strip()
    edited = bench.work / "module"
    _copy_edited(Path(folder), edited, bench.sources / "edits.json")
    output(["go", "mod", "edit", f"-replace={bench.stack.package}={edited}"], cwd=bench.sources)
    made = bench.work / DRIVER
    command = ["go", "build", "-v", "-trimpath", "-ldflags=-s -w", f"-p={bench.jobs}", "-o", str(made), "."]
    bench.run(*command, count=lambda line: bool(re.fullmatch(r"[\w./-]+", line)), CGO_ENABLED="0")
    shutil.copy2(made, result / DRIVER)


def _copy_edited(module: Path, copy: Path, edits: Path) -> None:
    """A copy of a module with the edits of `edits.json`: by file the old text, the new one, how often it is there.

    Raises StackError if the module has other text.
    """
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(module, copy, ignore=shutil.ignore_patterns("*_test.go"))
    for path in [copy, *copy.rglob("*")]:  # The tool's own copy is read-only.
        path.chmod(path.stat().st_mode | 0o200)
    for name, changes in json.loads(edits.read_text(encoding="utf-8")).items():
        text = (copy / name).read_text(encoding="utf-8")
        for change in changes:
            if text.count(change["old"]) != change["times"]:
                raise StackError(f"{module / name}: does not have {change['old']!r} {change['times']} times")
            text = text.replace(change["old"], change["new"])
        (copy / name).write_text(text, encoding="utf-8")


def _with_pip(bench: Bench, result: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise StackError(
            f"{bench.stack.name}: {sys.executable} has no pip, which installs it; run: {sys.executable} -m ensurepip"
        )
    made = bench.work / "lib"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--no-input", "--only-binary", ":all:", "--target", str(made)]
    requirements = bench.sources / "requirements.txt"
    needed = sum("==" in line for line in requirements.read_text(encoding="utf-8").splitlines())
    bench.run(
        *command, "--requirement", str(requirements),
        count=lambda line: line.startswith("Collecting "), total=needed, PYTHONDONTWRITEBYTECODE="",
    )  # fmt: skip
    shutil.copytree(made, result / "lib")
    shutil.copy2(bench.sources / f"{DRIVER}.py", result / f"{DRIVER}.py")


def _with_apt(bench: Bench, result: Path) -> None:
    packages = (bench.sources / "packages.txt").read_text(encoding="ascii").split()
    before = {path: path.stat().st_mtime_ns for path in bench.sources.glob("*.deb")}
    bench.run(
        "apt-get",
        "download",
        *packages,
        count=lambda line: line.startswith("Get:"),
        total=len(packages),
        phase="download",
    )
    archives = sorted(path for path in bench.sources.glob("*.deb") if path not in before)
    for archive in archives:
        name, version = output(["dpkg-deb", "--show", "--showformat", "${Package} ${Version}", str(archive)]).split()
        if name == bench.stack.package and not version.startswith(f"{bench.stack.version}+"):
            raise StackError(
                f"{name}: this distribution has version {version}; the driver is for {bench.stack.version} of Debian 12"
            )
        output(["dpkg-deb", "--extract", str(archive), str(result)])
    shutil.rmtree(result / "usr" / "share", ignore_errors=True)
    shutil.rmtree(result / "lib", ignore_errors=True)
    library = result / "usr" / "lib" / "preload.so"
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library), "preload.c"]
    bench.run(*command, count=lambda _: False)
    shutil.copy2(bench.sources / DRIVER, result / DRIVER)
    _check_libraries(bench, result)


def _check_libraries(bench: Bench, result: Path) -> None:
    """Raises StackError if the host lacks a library of a program."""
    ours = {"LD_LIBRARY_PATH": ":".join(str(path) for path in (result / "usr" / "lib").glob("*-linux-gnu"))}
    for program in sorted((result / "usr").glob("*bin/*")):
        lacking = re.findall(r"(\S+) => not found", output(["ldd", str(program)], env=ours, fine=(0, 1)))
        if lacking:
            raise StackError(f"{bench.stack.name}: {program.name} needs {', '.join(lacking)}, which this host lacks")


CARGO = Tool("cargo", "to build a stack in Rust", "cargo")
CMAKE = Tool("cmake", "to build BoringSSL", "cmake")
CXX = Tool("g++", "to build BoringSSL", "g++")
RECIPES: dict[str, Recipe] = {
    "crates": Recipe(
        (CARGO, Tool("cc", "to link a program", "gcc")),
        _with_cargo,
        {"quiche": (CMAKE, CXX), "tquic": (CMAKE, CXX)},
        ("cargo", "--version"),
    ),
    "go": Recipe((Tool("go", "to build a stack in Go", "golang"),), _with_go, version=("go", "version")),
    "pypi": Recipe((), _with_pip, version=(sys.executable, "--version")),
    "debian": Recipe(
        (
            Tool("apt-get", "to download the distribution's packages", "apt"),
            Tool("dpkg-deb", "to unpack the distribution's packages", "dpkg"),
            Tool("gcc", "to compile a library that its programs preload", "gcc"),
        ),
        _with_apt,
        version=("apt-get", "--version"),
    ),
}
"""By registry."""
