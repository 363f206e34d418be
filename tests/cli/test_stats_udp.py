"""Loss and jitter of UDP, and response times, in `stats` and in figures, on a run of the simulator."""

import json
from pathlib import Path

import pytest

import dumbbell as db
from conftest import Dumbbell

TEXT = """
title = "voice beside a bulk flow"
duration = "4s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 40"
[[flows]]
cc = "cubic"
[[flows]]
kind = "udp"
name = "voice"
rate = "2mbit"
[[flows]]
cc = "bbr"
name = "web"
request = "400b"
response = "20kB"
think = "100ms"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("udp") / "run"
    file = out.with_suffix(".toml")
    file.write_text(TEXT)
    db.run(file, out=out)
    return out


def test_intervals_have_loss_and_jitter_of_udp_only(dumbbell: Dumbbell, folder: Path) -> None:
    flows = {
        flow["name"]: flow for flow in json.loads(dumbbell("stats", folder, "--every", "1s", "--json").stdout)["flows"]
    }
    voice = flows["voice"]["intervals"]
    assert sum(each["lost_datagrams"] for each in voice) == flows["voice"]["lost_datagrams"] > 0
    assert all(0 < each["jitter_ms"] < 20 for each in voice)
    assert {each["lost_datagrams"] for each in flows["cubic"]["intervals"]} == {None}
    assert "jitter ms" in dumbbell("stats", folder, "--every", "1s", "--flow", "voice").stdout


def test_the_summary_has_both_and_response_times(dumbbell: Dumbbell, folder: Path) -> None:
    numbers = json.loads(dumbbell("stats", folder, "--json").stdout)
    voice, web = numbers["groups"]["voice"], numbers["groups"]["web"]
    assert voice["jitter_ms"]["p50"] <= voice["jitter_ms"]["p95"] <= voice["jitter_ms"]["max"]
    assert web["response_s"]["mean"] >= 0.02
    assert web["lost_datagrams"] is None
    shown = dumbbell("stats", folder).stdout
    assert f"voice: {voice['lost_datagrams']} lost, jitter mean" in shown
    assert "web: mean" in shown


def test_figures_show_jitter_and_responses(dumbbell: Dumbbell, folder: Path, tmp_path: Path) -> None:
    for options in (("--panels", "jitter,loss"), ("--figure", "response-cdf")):
        out = tmp_path / f"{options[1]}.svg"
        assert dumbbell("plot", folder, *options, "-o", out).returncode == 0
        assert out.read_text().startswith("<svg")
