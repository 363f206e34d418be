"""The summary that `stats --json` prints: its keys, and its nulls."""

import json
import sys
from pathlib import Path
from types import FrameType

import pytest

from dumbbell.analysis.summary import summary
from dumbbell.results import result
from synthetic import NS, Bench, Flow, alternating, with_flow, with_manifest

KEYS = [
    *("run", "engine", "seed", "valid", "warnings", "wall_s", "duration_s", "flows", "groups"),
    *("queue", "queues", "ping_ms", "one_way_delay_ms", "utilization", "jain", "cycle"),
]
SPREAD = ["mean", "min", "p50", "p95", "p99", "max"]


def test_the_contract() -> None:
    bench = Bench(
        [
            Flow("bbr-1", "bbr", rate_bps=30e6, cc="bbr", retransmit_rate=0.02),
            Flow("page", "web", rate_bps=10e6, bytes_asked=12_500_000, fct_s=10.0),
        ],
        manifest={"valid": False, "invalid": ["a packet died"], "warnings": ["short"]},
    )
    found = summary(bench.make(Path("some/folder")))
    assert list(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["run"] == "some/folder"
    assert found["valid"] is False
    assert found["warnings"] == ["invalid: a packet died", "short"]
    bulk, page = found["flows"]
    common = (
        ["throughput_mbps", "goodput_mbps", "bytes"],
        [
            *("response_s", "no_data_share", "retransmits", "retransmit_rate", "rtt_ms", "cwnd_packets"),
            *("lost_datagrams", "jitter_ms", "one_way_delay_ms", "handshake_ms"),
        ],
    )
    assert list(bulk) == ["name", "group", "cc", *common[0], *common[1]]
    assert list(page) == ["name", "group", "cc", *common[0], "fct_s", "fct_goodput_mbps", *common[1]]
    assert (bulk["throughput_mbps"], bulk["bytes"]) == (pytest.approx(30), 37_500_000)
    assert bulk["retransmit_rate"] == pytest.approx(0.02, rel=0.01)
    assert list(bulk["rtt_ms"]) == list(bulk["cwnd_packets"]) == list(found["ping_ms"]) == SPREAD
    assert page["fct_s"] == 10
    assert page["fct_goodput_mbps"] == pytest.approx(10)
    rates = {name: (group["throughput_mbps"], group["share"]) for name, group in found["groups"].items()}
    assert rates == {"bbr": (pytest.approx(30), pytest.approx(0.75)), "web": (pytest.approx(10), pytest.approx(0.25))}
    assert found["groups"]["web"]["fct_s"] == dict.fromkeys(SPREAD, 10)
    assert found["groups"]["bbr"]["fct_s"] == dict.fromkeys(SPREAD)
    assert list(found["queue"]) == ["packets", "delay_ms", "drops", "marks", "loss_rate"]
    assert found["utilization"] == pytest.approx(1)
    assert found["jain"] == 1
    assert found["cycle"] is None


def test_a_cycle_is_reported() -> None:
    assert summary(alternating(60, 10, 0.1).make())["cycle"] == {
        "period_s": pytest.approx(10, abs=0.2),
        "half_period_s": pytest.approx(5, abs=0.1),
        "strength": pytest.approx(1, abs=0.02),
        "kind": "alternating",
        "correlation": pytest.approx(-1, abs=0.02),
        "second_leads": pytest.approx(0.5, abs=0.02),
        "probe_rtt_s": None,
    }


def test_a_run_without_anything_is_all_null() -> None:
    found = summary(Bench([]).make())
    assert found["flows"] == []
    assert found["groups"] == {}
    assert found["jain"] is None
    json.dumps(found, allow_nan=False)


def test_nulls_of_an_import_stay_null() -> None:
    run = Bench([Flow("a", "a")]).make()
    run = with_manifest(run, engine="import")
    run = with_flow(run, 0, retransmits=None, data_segs_out=None, stop_s=None, start_s=None)
    flow = summary(run)["flows"][0]
    assert (flow["retransmits"], flow["retransmit_rate"]) == (None, None)
    assert flow["throughput_mbps"] == pytest.approx(10)


def test_a_folder_reads_back_the_same(tmp_path: Path) -> None:
    bench = alternating(12, 4, 0.1)
    folder = bench.make_folder(tmp_path / "run")
    assert summary(result.load(folder)) == summary(bench.make(folder))


def test_a_window() -> None:
    found = summary(alternating(20, 20, 0.1).make(), (0, 10 * NS))
    assert found["groups"]["bbr"]["share"] == pytest.approx(68 / 76)
    assert found["flows"][0]["throughput_mbps"] == pytest.approx(34)
    assert found["queue"]["drops"] == 1000


def test_no_python_runs_for_each_sample() -> None:
    run = alternating(120, 10, 0.01).make()
    assert run.flows.height == 4 * 12_001
    assert _calls(run) < run.flows.height / 10


def _calls(run: result.Run) -> int:
    """The number of function calls of the summary."""
    calls = 0

    def count(_frame: FrameType | None, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        summary(run)
    finally:
        sys.setprofile(None)
    return calls
