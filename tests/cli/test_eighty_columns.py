"""No command breaks a word on a terminal of 80 columns: every word is one that it prints on a wide terminal."""

import fcntl
import json
import os
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from conftest import COMMAND, Dumbbell

ESCAPE = re.compile(r"\x1b\][^\x1b]*\x1b\\|\x1b\[[0-9;?]*[A-Za-z]")
BETWEEN = re.compile(r"[\s│─]+")
MEASURED = re.compile(r"[-+\d.,:s×%()/]+")
"""Times and speeds differ between two runs of a command."""

EXPERIMENT = """
title = "two"
duration = "1s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
name = "first-group"
cc = "cubic"
[[flows]]
name = "second-group"
cc = "bbr"
"""
SWEEP = """
experiment = "two.toml"
seeds = "1..2"
{}
[[axes]]
"path.bottleneck.qdisc" = ["pfifo limit 20", "pfifo limit 100"]
[[axes]]
"path.rtt" = ["10ms", "40ms"]
"""
COMMANDS = (
    "--help", "run --help", "list queues", "list scenarios", "list metrics", "explain bbr", "kernel list",
    "run two.toml --out {new}", "stats run --every 200ms", "compare run other", "compare first second",
)  # fmt: skip


def shown(arguments: list[str], folder: Path, columns: int) -> str:
    """What a command prints on a terminal."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65_536):
            printed += piece
    except OSError:
        pass  # The last process with the terminal has ended.
    process.wait(timeout=60)
    os.close(ours)
    return ESCAPE.sub("", printed.decode())


def words(text: str) -> list[str]:
    return [word for word in BETWEEN.split(text) if word and not MEASURED.fullmatch(word)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("eighty")
    (made / "two.toml").write_text(EXPERIMENT)
    (made / "first.toml").write_text(SWEEP.format(""))
    (made / "second.toml").write_text(SWEEP.format('set = { "flows.0.cc" = "reno" }'))
    for arguments in (
        ["run", "two.toml", "--out", "run"],
        ["run", "two.toml", "--set", "path.rtt=40ms", "--out", "other"],
        ["sweep", "first.toml", "--out", "first"],
        ["sweep", "second.toml", "--out", "second"],
    ):
        subprocess.run([COMMAND, *arguments], cwd=made, check=True, capture_output=True, timeout=120)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_broken(folder: Path, command: str) -> None:
    narrow, wide = (shown(command.format(new=f"new-{columns}").split(), folder, columns) for columns in (80, 300))
    known = {*words(wide), "new-80", *NARROW_ONLY}
    assert wide.strip()
    assert [word for word in words(narrow) if word not in known] == []


NARROW_ONLY = words(
    "112 columns are needed for spreads and intervals; --json and the page have them "
    "the numbers of both arms; --json has"
)
"""What only a narrow terminal shows."""


@pytest.mark.slow
def test_two_sweeps_are_compared_point_by_point(folder: Path, dumbbell: Dumbbell) -> None:
    done = dumbbell("compare", folder / "first", folder / "second", "--json")
    assert done.returncode == 1
    made = json.loads(done.stdout)
    assert made["answer"] == "changed"
    assert made["cases"][0]["name"] == "path.bottleneck.qdisc = pfifo limit 20, path.rtt = 10ms"
    assert len(made["cases"]) == 4
    assert all("flows.0.cc: cubic and reno" in " ".join(case["warnings"]) for case in made["cases"])
    same = dumbbell("compare", folder / "first", folder / "first")
    assert (same.returncode, "is in both arms" in same.stderr) == (2, True)
    mixed = dumbbell("compare", folder / "first", folder / "run")
    assert (mixed.returncode, "not a sweep" in mixed.stderr) == (2, True)
    page = dumbbell("compare", folder / "first", folder / "second", "-o", "x.html")
    assert (page.returncode, "keeps metrics of whole runs only" in page.stderr) == (2, True)
