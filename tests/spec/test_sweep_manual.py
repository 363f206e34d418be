"""`docs/sweeps.md`: its description of the sweep file matches the code, and its examples are valid."""

import re
from pathlib import Path

import pytest

from dumbbell import _sim
from dumbbell.spec.axes import UNITS
from dumbbell.spec.sweep import load_sweep, parse_sweep
from dumbbell.sweeps.checks import check_metrics

TABLES = ("Sweep", "Until", "Refine", "Validation", "Map")
KEYS = {key for table in TABLES for key in _sim.keys_by_table()[table]}
MANUAL = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
SECTION = MANUAL.split("## The sweep file")[1].split("\n## ")[0]
EXAMPLES = re.findall(r"```toml\n(.*?)```", SECTION, re.S)
TWO_GROUPS = """
duration = "60s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 50"
[[flows]]
cc = "bbr"
[[flows]]
cc = "cubic"
"""


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_valid_with_existing_metrics(number: int, tmp_path: Path) -> None:
    (tmp_path / "two-groups.toml").write_text(TWO_GROUPS)
    check_metrics(parse_sweep(EXAMPLES[number], tmp_path / "mine.toml"))


def test_the_first_example_has_the_stated_number_of_runs(tmp_path: Path) -> None:
    (tmp_path / "two-groups.toml").write_text(TWO_GROUPS)
    sweep = parse_sweep(EXAMPLES[0], tmp_path / "mine.toml")
    assert (sweep.counted.least, sweep.counted_runs.least) == (18, 54)


def test_the_ranges_match_their_comments() -> None:
    rtt, rate = (axes[0] for axes in parse_sweep(EXAMPLES[1], Path("mine.toml")).axes)
    assert rtt.numbers == (5, 15, 25, 35, 45)
    assert rate.numbers == (1, 10, 100, 1000)


def test_the_manual_names_every_key() -> None:
    names = set(re.findall(r"\w+", " ".join([*re.findall(r"`+([^`\n]+)`+", SECTION), *EXAMPLES])))
    assert KEYS - names == set()


def test_the_manual_names_every_unit_of_a_column() -> None:
    assert {suffix for suffix in UNITS if f"_{suffix}`" not in SECTION} == set()


@pytest.mark.parametrize("line", re.findall(r"^dumbbell sweep (.*)$", SECTION, re.M))
def test_every_command_of_the_manual_names_a_valid_sweep(line: str) -> None:
    name, *settings = re.findall(r"--set ('[^']*'|\S+)|^(\S+)", line)
    assert load_sweep(name[1], [setting[0].strip("'") for setting in settings]).seeds
