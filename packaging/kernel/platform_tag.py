"""Tags the wheel of `dumbbell-kernel`: programs for the platform in DUMBBELL_WHEEL, for every Python."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    """Sets the tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Mark the wheel as platform-specific."""
        del version
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['DUMBBELL_WHEEL']}"
