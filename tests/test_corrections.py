"""A result made before a correction that changed its numbers says so when it is opened."""

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell.results import corrections, result
from engines import measured
from engines.measured import CUBIC, experiment, measure

UDP = '[[flows]]\nkind = "udp"\nrate = "2mbit"\non = "100ms"\noff = "100ms"\n'


@pytest.fixture(autouse=True)
def _on_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "chosen", "sim")


def opened(folder: Path, text: str, *, knows_corrections: bool) -> list[str]:
    """The warnings of a result whose Dumbbell had every correction, or none."""
    assert measure(folder, text).run.manifest.corrections == corrections.names()
    if not knows_corrections:
        file = folder / "run" / "run.json"
        manifest = json.loads(file.read_text())
        manifest.pop("corrections")
        file.write_text(json.dumps(manifest))
    found: list[str] = result.load(folder / "run").manifest.warnings
    return [warning for warning in found if "correction" in warning]


def test_an_old_result_of_a_udp_flow_with_pauses_says_what_was_wrong(tmp_path: Path) -> None:
    (warning,) = opened(tmp_path, experiment(UDP), knows_corrections=False)
    assert warning.startswith("made before a correction: UDP flows ignored on, off")
    assert warning.endswith("repeat the run")


def test_an_old_result_that_no_correction_touches_says_nothing(tmp_path: Path) -> None:
    assert opened(tmp_path, experiment(CUBIC), knows_corrections=False) == []


def test_a_new_result_says_nothing(tmp_path: Path) -> None:
    assert opened(tmp_path, experiment(UDP), knows_corrections=True) == []


def test_names_are_distinct() -> None:
    assert len(set(corrections.names())) == len(corrections.CORRECTIONS)


@pytest.mark.parametrize(
    ("document", "engine", "named"),
    [
        ({"path": {"rtt": "0ms"}}, "sim", ["zero-rtt"]),
        ({"path": {"rtt": "0.5ms"}}, "sim", []),
        ({"path": {"rtt": "0ms"}}, "kernel", []),
        ({"flows": [{"kind": "udp", "packet": "8900b"}]}, "sim", ["udp-fragments"]),
        ({"flows": [{"kind": "udp", "packet": 8900}], "path": {"mtu": 9000}}, "sim", []),
        ({"path": {"bottleneck": {"qdisc": "netem corrupt 1%"}}}, "sim", ["netem-corrupt"]),
        ({"path": {"bottleneck": {"qdisc": "red limit 1MB avpkt 1000 adaptive"}}}, "sim", ["red-adaptive"]),
        ({"flows": [{"cc": "cdg"}]}, "sim", ["syn-samples"]),
        (
            {"flows": [{"cc": "cubic", "host_qdisc": "tbf rate 10mbit burst 32kbit limit 1MB"}]},
            "sim",
            ["splitting-shapers"],
        ),
        ({"flows": [{"cc": "cubic", "host_qdisc": "fq"}]}, "sim", []),
    ],
)
def test_a_correction_is_named_for_the_experiments_that_it_touches(
    document: dict[str, Any], engine: str, named: list[str]
) -> None:
    assert [each.name for each in corrections.CORRECTIONS if each.touches(document, engine)] == named
