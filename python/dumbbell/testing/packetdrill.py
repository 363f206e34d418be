"""Finds the user's packetdrill, and checks in a guest that it is one.

packetdrill is in no package registry, so Dumbbell can't install it.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.testing.guest import Ended, Program

__all__ = ["check", "find", "probe"]

SOURCE = (
    "its source is the folder gtests/net/packetdrill of the GitHub repository google/packetdrill; "
    "take a revision whose tcp_info fits the kernel: from before July 2025 for Linux up to 6.15, "
    "from July 2025 from 6.16 on, from 2026 for kernels with AccECN"
)
OPTION = "--packetdrill"


def find(named: Path | None) -> Path:
    """The binary: the named one, else the one on the search path. Raises `ExperimentError`."""
    if named is None:
        found = shutil.which("packetdrill")
        if found is None:
            raise ExperimentError(
                "packetdrill runs .pkt scripts and was not found", key=OPTION, right=f"name its file; {SOURCE}"
            )
        return Path(found).resolve()
    if not named.is_file():
        raise ExperimentError("no such file", key=OPTION, value=str(named), right=f"name packetdrill's file; {SOURCE}")
    if not os.access(named, os.X_OK):
        raise ExperimentError("not executable", key=OPTION, value=str(named), right="chmod +x makes it executable")
    return named.resolve()


ARGUMENTS = (
    "--ip_version=ipv4 --local_ip=192.168.0.1 --gateway_ip=192.168.0.1 --netmask_ip=255.255.0.0 --remote_ip=192.0.2.1"
)
PROBE = f"""cd /tmp
echo ' 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3' > right.pkt
echo ' 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = -1' > wrong.pkt
for script in right wrong; do "$1" {ARGUMENTS} $script.pkt; echo "$script $?"; done
"""
"""A script whose expectation is met and one whose expectation is not: only a packetdrill tells them apart."""


def probe(binary: Path, shown: list[str]) -> Program:
    """The program that tries the binary; `check` judges its end."""
    return Program(("sh", "-c", PROBE, "sh", str(binary)), Path("/"), shown, own_network=True)


def check(binary: Path, run: Callable[[Program], Ended], shown: list[str]) -> None:
    """Check that the binary is packetdrill and works on a kernel, on which `run` runs it. Raises `ExperimentError`."""
    ended = run(probe(binary, shown))
    text = ended.output.decode(errors="replace")
    statuses = dict(re.findall(r"^(right|wrong) (\d+)$", text, re.MULTILINE))
    if statuses.get("right") == "0" and statuses.get("wrong", "0") != "0" and re.search(r"^wrong\.pkt:1: ", text, re.M):
        return
    words = [line for line in text.splitlines() if not re.fullmatch(r"(right|wrong) \d+", line)]
    printed = f"it printed: {words[0]}" if words else "it printed nothing"
    raise ExperimentError(
        f"{binary} is not packetdrill, or does not run in a guest: of a right and a wrong script it judged "
        f"{_judged(statuses)}; {printed}", key=OPTION, right=SOURCE,
    )  # fmt: skip


def _judged(statuses: dict[str, str]) -> str:
    passed = [name for name, status in statuses.items() if status == "0"]
    return {0: "none as right", 1: f"the {passed[0]} one as right" if passed else "", 2: "both as right"}[len(passed)]
