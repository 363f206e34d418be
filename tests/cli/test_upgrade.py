"""`dumbbell upgrade` and the warning of older spellings."""

from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.errors import ExperimentError
from dumbbell.spec import load, parse

OLD = """# a lossy link
duration = "2s"  # short
trace = "samples"
[path]
rtt = "20ms"
delay = "5ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
kind = "udp"
rate = "1mbit"
packet = 500  # bytes
on = "1s"
off = "100ms"
"""
NEW = (
    OLD.replace("trace =", "record =")
    .replace("delay =", "forward_delay =")
    .replace("packet =", "payload =")
    .replace("\non =", "\non_time =")
    .replace("\noff =", "\noff_time =")
)


def test_an_older_file_is_rewritten_and_means_the_same(tmp_path: Path, dumbbell: Dumbbell) -> None:
    file = tmp_path / "old.toml"
    file.write_text(OLD)
    with pytest.warns(FutureWarning, match=r"'flows\.0\.packet' is now 'flows\.0\.payload'.*dumbbell upgrade"):
        before = load(file)
    assert dumbbell("upgrade", "--check", str(file)).returncode == 1
    assert file.read_text() == OLD
    assert dumbbell("upgrade", str(file)).returncode == 0
    assert file.read_text() == NEW
    assert load(file)[0].experiment == before[0].experiment
    assert "up to date" in dumbbell("upgrade", "--check", str(file)).stdout


def test_one_wrong_file_leaves_all_as_they_were(tmp_path: Path, dumbbell: Dumbbell) -> None:
    good, wrong = tmp_path / "good.toml", tmp_path / "wrong.toml"
    good.write_text(OLD)
    wrong.write_text("packet = [")
    done = dumbbell("upgrade", str(good), str(wrong))
    assert done.returncode == 2
    assert "wrong.toml" in done.stderr
    assert good.read_text() == OLD


def test_a_newer_format_says_what_reads_it() -> None:
    assert parse("format = 1\n" + NEW, Path("mine.toml"))
    with pytest.raises(ExperimentError, match="newer than this Dumbbell") as caught:
        parse("format = 2\n" + NEW, Path("mine.toml"))
    assert caught.value.key == "format"
