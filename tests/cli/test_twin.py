"""`dumbbell fit` and `dumbbell predict`: files, JSON, exit statuses."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.spec import load
from twin.recorded import capture, document

JITTER = {"delay": "15ms", "jitter": "10ms"}
"""A path that no model has: late packets look lost."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capture(tmp_path_factory.mktemp("fit") / "recording.pcap", document(duration="5s"))


def test_fit_writes_an_experiment_that_predict_reads(dumbbell: Dumbbell, recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "path.toml"
    done = dumbbell("fit", recording, "--cc-recorded", "cubic", "-o", path, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["file"] == str(path)
    assert found["refused"] is None
    assert found["path"]["rate_mbps"]["value"] == pytest.approx(10, rel=0.001)
    assert found["recordings"][0]["cc_known"] == "as given"
    assert next(model["name"] for model in found["models"] if model["passes"]) == "drop-tail"
    assert load(path)
    assert "10 Mbit/s" in path.read_text()
    done = dumbbell("predict", path, "--cc", "reno,tahoe", "--size", "1MB", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    reno = answer["predictions"]["sim"]["reno"]
    low, high = reno["intervals"]["completion_s"]
    assert low <= reno["completion_s"] <= high < 2
    assert answer["predictions"]["sim"]["tahoe"] is None
    assert "tahoe" in answer["reasons"]["sim.tahoe"]


def test_predict_fits_a_recording_itself(dumbbell: Dumbbell, recording: Path) -> None:
    done = dumbbell("predict", recording, "--cc-recorded", "cubic", "--cc", "reno")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("reno gets ")


@pytest.mark.slow
def test_a_refusal_has_its_reason_and_exit_status_5(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = capture(tmp_path / "odd.pcap", document(rate="40mbit", qdisc="bfifo limit 400000", path=JITTER))
    path = tmp_path / "path.toml"
    done = dumbbell("fit", file, "--cc-recorded", "cubic", "-o", path)
    assert done.returncode == 5, done.stdout
    assert "Refused: replayed on the nearest model" in done.stdout
    assert not path.exists()
    done = dumbbell("predict", file, "--cc-recorded", "cubic", "--cc", "bbr", "--json")
    assert done.returncode == 5
    answer = json.loads(done.stdout)
    assert answer["predictions"] is None
    assert answer["refused"].startswith("replayed on the nearest model")
    assert "BBR" in answer["advice"]


def test_wrong_requests_are_named(dumbbell: Dumbbell, recording: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "other.toml").write_text(
        'duration = "1s"\n[path]\nrtt = "10ms"\n[path.bottleneck]\nrate = "1mbit"\n[[flows]]\ncc = "bbr"\n'
    )
    wrong = [
        (("fit", tmp_path / "empty.pcap"), "empty file"),
        (("fit", recording, "--cc-recorded", "tahoe"), "no such controller, so it can't replay the recording"),
        (("fit", recording, recording, recording, "--cc-recorded", "cubic,bbr"), "2 controllers for 3 recordings"),
        (("fit", recording, "--cc-recorded", "cubic", "--flow", "443"), "no connection matches, got '443'"),
        (("predict", recording, "--cc", ","), "names no controller"),
        (("predict", recording, "--cc", "bbr", "--engine", "host"), "no engine for predictions"),
        (("predict", tmp_path / "other.toml", "--cc", "bbr"), "the experiment has no group 'recorded'"),
        (("predict", tmp_path / "other.toml", recording, "--cc", "bbr"), "an experiment together with other files"),
    ]
    for arguments, message in wrong:
        done = dumbbell(*arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr, done.stderr
