"""A result made before a correction that changed its numbers says so when it is opened."""

import json
from pathlib import Path

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
    assert measure(folder, text).run.manifest["corrections"] == corrections.names()
    if not knows_corrections:
        file = folder / "run" / "run.json"
        manifest = json.loads(file.read_text())
        manifest.pop("corrections")
        file.write_text(json.dumps(manifest))
    found: list[str] = result.load(folder / "run").manifest["warnings"]
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
