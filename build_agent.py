"""Builds the agent, a static Linux program, and puts it into the package."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # Run by hand, to build the agent alone.
    BuildHookInterface = object  # type: ignore[assignment,misc]


ROOT = Path(__file__).parent
TARGET = f"{os.uname().machine}-unknown-linux-gnu"


class AgentHook(BuildHookInterface):
    """Runs cargo before the package is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and mark the wheel as belonging to this platform."""
        del version
        build()
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def build() -> Path:
    """Build the agent; returns where it lies in the package."""
    cargo = shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")
    # Static, so that it runs in a guest that has no libraries yet.
    environment = os.environ | {"RUSTFLAGS": "-C target-feature=+crt-static"}
    command = [cargo, "build", "--release", "--quiet", "-p", "dumbbell-agent", "--target", TARGET]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    home = ROOT / "python" / "dumbbell" / "bin"
    home.mkdir(exist_ok=True)
    new = home / ".dumbbell-agent.new"
    shutil.copy2(ROOT / "target" / TARGET / "release" / "dumbbell-agent", new)
    new.replace(home / "dumbbell-agent")
    return home / "dumbbell-agent"


if __name__ == "__main__":
    build()
