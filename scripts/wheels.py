"""Builds what a release publishes, in dist/.

    python scripts/wheels.py [--architecture aarch64] [--no-source] [--for-tests]

Wheels of `dumbbell` (from its source distribution) and `dumbbell-kernel`, with the tags that auditwheel confirms.
`scripts/kernel_package.py` makes the kernel's; `--no-source` omits its source package, 150 MB.

`--for-tests` makes only this platform's wheels, in target/wheels/tested, from the simulator and the kernel that exist
already: it compiles and downloads nothing more.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "target" / "wheels"
TESTED = WORK / "tested"
TOOLS = WORK / "tools"
GLIBC = "manylinux_2_17"
"""The oldest C library that Rust's standard library supports."""


def main() -> int:
    """Build everything; prints the files with their sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--architecture", choices=["x86_64", "aarch64"], default=platform.machine())
    parser.add_argument("--no-source", action="store_true", help="don't write the kernel's source package")
    parser.add_argument("--for-tests", action="store_true", help="make this platform's wheels quickly, for the tests")
    options = parser.parse_args()
    if options.for_tests:
        for_tests()
        return 0
    made = published(options.architecture, source=not options.no_source)
    for path in made:
        sys.stdout.write(f"{path.stat().st_size / 1e6:6.1f} MB  {path.relative_to(ROOT)}\n")
    return 0


def published(architecture: str, *, source: bool) -> list[Path]:
    """Build what a release publishes for one architecture."""
    install_tools()
    DIST.mkdir(exist_ok=True)
    for old in [*DIST.glob("dumbbell-*.tar.gz"), *DIST.glob(f"dumbbell-*_{architecture}.whl")]:
        old.unlink()
    made = dumbbell(architecture)
    if architecture != "x86_64":
        sys.stderr.write(f"wheels: no dumbbell-kernel for {architecture}: User-Mode Linux needs x86-64\n")
        return made
    import kernel_package  # noqa: PLC0415 — needs the checkout's environment

    return made + kernel_package.build(source=source)


def for_tests() -> None:
    """Pack the checkout's simulator and the stored kernel, if there is one, into this platform's wheels."""
    import kernel_package  # noqa: PLC0415 — needs the checkout's environment

    shutil.rmtree(TESTED, ignore_errors=True)
    TESTED.mkdir(parents=True)
    hatch("wheel", ROOT, TESTED, python=sys.executable)
    kernel_package.build_for_tests(TESTED)


def install_tools() -> None:
    """Install zig, cargo-zigbuild, auditwheel and hatchling, as locked."""
    lock = ROOT / "requirements-wheels.lock"
    stamp = TOOLS / "made-from"
    if stamp.is_file() and stamp.read_bytes() == lock.read_bytes():
        return
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(TOOLS)], check=True)
    python = str(TOOLS / "bin" / "python")
    sync = [uv, "pip", "sync", "--quiet", "--python", python, "--require-hashes", str(lock)]
    subprocess.run(sync, check=True)
    shutil.copyfile(lock, stamp)


def dumbbell(architecture: str) -> list[Path]:
    """The source distribution, and the wheel that is built from it."""
    hatch("sdist", ROOT, DIST)
    (source,) = DIST.glob("dumbbell-*.tar.gz")
    sources = unpacked(source)
    wheel = hatch(
        "wheel", sources, DIST, DUMBBELL_WHEEL=f"{GLIBC}_{architecture}", CARGO_TARGET_DIR=str(ROOT / "target")
    )
    if (confirmed := confirmed_tag(wheel)) != f"{GLIBC}_{architecture}":
        raise SystemExit(f"{wheel.name}: auditwheel finds {confirmed}, not {GLIBC}_{architecture}")
    return [source, wheel]


def unpacked(source: Path) -> Path:
    """The source distribution in a folder that stays: only changed files get a new time, for cargo."""
    fresh, kept = WORK / "fresh", WORK / "source"
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(source) as archive:
        archive.extractall(fresh, filter="data")
    (top,) = fresh.iterdir()
    new = {path.relative_to(top) for path in top.rglob("*") if path.is_file()}
    for path in [path for path in kept.rglob("*") if path.is_file() and path.relative_to(kept) not in new]:
        path.unlink()
    for file in sorted(new):
        target = kept / file
        if not target.is_file() or target.read_bytes() != (top / file).read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(top / file, target)
    shutil.rmtree(fresh)
    return kept


def hatch(kind: str, folder: Path, out: Path, *, python: str = "", **environment: str) -> Path:
    """Build a distribution with hatchling; returns the file."""
    command = [python or str(TOOLS / "bin" / "python"), "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    path = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Constant times in the archive: equal sources give an equal file.
    fixed = {"PATH": path, "SOURCE_DATE_EPOCH": "1767225600"}
    done = subprocess.run(command, cwd=folder, env=os.environ | fixed | environment, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if done.returncode:
        raise SystemExit(f"hatchling failed for {kind} of {folder}: {done.stdout}")
    return out / Path(done.stdout.strip().splitlines()[-1]).name


def confirmed_tag(wheel: Path) -> str:
    """The oldest platform that the programs and libraries in a wheel really need, by auditwheel."""
    command = [str(TOOLS / "bin" / "auditwheel"), "show", str(wheel)]
    shown = subprocess.run(command, check=True, text=True, capture_output=True).stdout
    found = re.search(r'platform\s+tag:\s+"(\w+)"', shown)
    if not found:
        raise SystemExit(f"{wheel.name}: {shown}")
    return found.group(1)


if __name__ == "__main__":
    sys.exit(main())
