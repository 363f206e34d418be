"""Builds what is written in Rust and puts it into the package: the agent, and the simulator as an extension."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # Run by hand, to build without packing.
    BuildHookInterface = object  # type: ignore[assignment,misc]


ROOT = Path(__file__).parent
PACKAGE = ROOT / "python" / "dumbbell"
TARGET = f"{os.uname().machine}-unknown-linux-gnu"


class NativeHook(BuildHookInterface):
    """Runs cargo before the package is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark the wheel as belonging to this platform."""
        del version
        build()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def build() -> None:
    """Build both, each with what it needs; quick when nothing changed."""
    # Static, so that it runs in a guest that has no libraries yet.
    static = {"RUSTFLAGS": "-C target-feature=+crt-static"}
    _cargo("--release", "-p", "dumbbell-agent", "--target", TARGET, **static)
    _install(ROOT / "target" / TARGET / "release" / "dumbbell-agent", PACKAGE / "bin" / "dumbbell-agent")
    _cargo("--profile", "wheel", "-p", "dumbbell-python")
    _install(ROOT / "target" / "wheel" / "lib_sim.so", PACKAGE / "_sim.abi3.so")


def _cargo(*words: str, **environment: str) -> None:
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    command = [cargo, "build", "--quiet", "--locked", "--target-dir", "target", *words]
    subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=True)


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
