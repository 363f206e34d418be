"""Smaller experiments: without a part, shorter, rounder; each is an experiment of its own."""

from pathlib import Path
from typing import Any

from dumbbell.search.shrink import canonical, smaller

FILE = Path("mine.toml")
EXPERIMENT: dict[str, Any] = {
    "duration": "40s",
    "path": {
        "rtt": "21.7ms", "loss": "1.23%",
        "bottleneck": {"rate": "8.46mbit", "qdisc": "pfifo limit 437"},
        "reverse": {"slot": "0ms 12.3ms"},
    },
    "flows": [{"cc": "bbr", "count": 3}, {"name": "cross", "cc": "cubic", "start": "1.26s"}],
    "changes": [{"at": "10s", "rate": "2mbit"}],
}  # fmt: skip


def steps() -> dict[str, dict[str, Any]]:
    return dict(smaller(canonical(EXPERIMENT, FILE), FILE))


def test_every_part_that_can_be_left_out_is() -> None:
    found = steps()
    for what in (
        "changes",
        "path.loss",
        "path.reverse",
        "path.bottleneck.qdisc",
        "flows.0",
        "flows.1",
        "flows.1.start",
    ):
        assert f"without {what}" in found
    assert "changes" not in found["without changes"]
    assert [group["cc"] for group in found["without flows.0"]["flows"]] == ["cubic"]


def test_what_an_experiment_needs_stays() -> None:
    for made in steps().values():
        assert {"duration", "path", "flows"} <= set(made)
        assert made["path"]["rtt"]
        assert all(group["cc"] for group in made["flows"])


def test_numbers_become_rounder_and_the_run_shorter_but_not_below_its_changes() -> None:
    found = steps()
    assert found["path.rtt = 20ms"]["path"]["rtt"] == "20ms"
    assert found["path.rtt = 22ms"]["path"]["rtt"] == "22ms"
    assert found["path.bottleneck.qdisc = pfifo limit 400"]["path"]["bottleneck"]["qdisc"] == "pfifo limit 400"
    assert found["path.reverse.slot = 0ms 10ms"]["path"]["reverse"] == {"slot": "0ms 10ms"}
    assert found["without flows.0.count"]["flows"][0] == {"cc": "bbr"}
    assert found["duration = 20s"]["duration"] == "20s"
    assert found["duration = 10s"]["duration"] == "10s"


def test_the_smallest_experiment_has_nothing_smaller() -> None:
    smallest = {"duration": "5s", "path": {"rtt": "20ms", "bottleneck": {"rate": "8mbit"}}, "flows": [{"cc": "bbr"}]}
    assert list(smaller(canonical(smallest, FILE), FILE)) == []
