"""Ctrl-C in every long phase: the command ends soon with status 130 and leaves a complete result or none."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import COMMAND
from dumbbell.results.result import load

PATIENCE_S = 60.0
"""An idle host needs about one second."""
LINK = """
duration = "1000s"
sample = "100ms"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "1gbit"
"""
FLOWS = '[[flows]]\ncc = "cubic"\ncount = 4\n'
RTTS = ", ".join(f"'{n}ms'" for n in range(1, 9000))
LATE = '[[flows]]\ncc = "cubic"\nstart = "900s"\n'
PHASES = {
    "parsing": (f'{LINK}{FLOWS}[[cases]]\nset = {{ "path.rtt" = [{RTTS}] }}\n', "x.toml"),
    "planning": (LINK.replace("1000s", "1s") + FLOWS.replace("4", "99000"), "x.toml"),
    "simulating": (LINK + FLOWS, ".*"),
    "a step that is longer than those before": (LINK.replace("1gbit", "100gbit") + LATE, ".*"),
    "writing": (LINK.replace("1gbit", "1mbit").replace("100ms", "1ms").replace("1000s", "200s") + FLOWS, "*.parquet"),
}
"""An experiment whose phase takes long, and the file that shows that the phase has started."""


@pytest.mark.slow(keep="parsing")
@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_ends_a_run(phase: str, tmp_path: Path) -> None:
    text, pattern = PHASES[phase]
    (tmp_path / "x.toml").write_text(text)
    status, errors = interrupt_command(["run", "x.toml", "--out", "out"], tmp_path, pattern)
    if status == 0:
        return  # A fast host finished first.
    assert status == 130, errors
    assert "Traceback" not in errors
    remaining = sorted(path.name for path in tmp_path.iterdir())
    if remaining == ["out", "x.toml"]:
        load(tmp_path / "out")  # The interrupt came after the result, which must be complete.
    else:
        assert remaining == ["x.toml"]


@pytest.mark.slow
def test_ctrl_c_ends_an_import(tmp_path: Path) -> None:
    line = b"64 bytes from 10.0.0.2: icmp_seq=%d ttl=64 time=1.0 ms\n"
    with (tmp_path / "ping.txt").open("wb") as file:
        file.write(b"PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n")
        file.writelines(line % number for number in range(1, 400_000))
    status, errors = interrupt_command(["import", "ping.txt", "--interval", "1s", "--out", "out"], tmp_path, "ping.txt")
    # Python dies of a signal that arrives after the command's end, while it frees its modules.
    assert status in (0, 130, -signal.SIGINT), errors
    remaining = sorted(path.name for path in tmp_path.iterdir())
    if remaining == ["out", "ping.txt"]:
        load(tmp_path / "out")
    else:
        assert (status, remaining) == (130, ["ping.txt"])


def interrupt_command(arguments: list[str], folder: Path, pattern: str) -> tuple[int, str]:
    """Status and stderr of a command that gets SIGINT at a random time after a file of this pattern exists."""
    after_s = random.uniform(1.0, 3.0) if (folder / pattern).exists() else random.uniform(0.0, 0.5)
    with subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not any(folder.rglob(pattern)) and time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.01)
            time.sleep(after_s)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_S)
            return process.returncode, errors
        finally:
            process.kill()
