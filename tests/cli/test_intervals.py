"""`dumbbell stats --every`: intervals as iperf3 prints them, of a run and of an imported log."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from engines.measured import CUBIC, experiment
from synthetic import Bench, Flow

LOG = """iperf3 -c receiver -C bbr -t 2
Connecting to host receiver, port 5201
[  5] local 10.0.0.1 port 58206 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec    3    141 KBytes
[  5]   1.00-2.00   sec  2.00 MBytes  16.8 Mbits/sec    4    282 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  3.00 MBytes  12.6 Mbits/sec    7             sender
[  5]   0.00-2.00   sec  3.00 MBytes  12.6 Mbits/sec                  receiver
"""


@pytest.mark.parametrize("engine", ["sim", pytest.param("kernel", marks=pytest.mark.kernel)])
def test_intervals_of_a_run_add_up_to_its_totals(dumbbell: Dumbbell, tmp_path: Path, engine: str) -> None:
    (tmp_path / "mine.toml").write_text(experiment(CUBIC + CUBIC.replace("cubic", "bbr"), duration="1500ms"))
    done = dumbbell("run", "mine.toml", "--engine", engine, "--out", "result", "--json")
    totals = {flow["name"]: flow for flow in json.loads(done.stdout)["flows"]}
    shown = json.loads(dumbbell("stats", "result", "--every", "400ms", "--json").stdout)
    assert (shown["every_s"], [flow["name"] for flow in shown["flows"]]) == (0.4, [*totals])
    for flow in shown["flows"]:
        rows = flow.pop("intervals")
        assert flow == totals[flow["name"]]
        assert [row["to_s"] for row in rows] == [0.4, 0.8, 1.2, 1.5]
        for key in ("bytes", "retransmits"):
            assert sum(row[key] for row in rows) == flow[key]


def test_an_imported_log_shows_its_own_intervals(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "iperf3.txt").write_text(LOG)
    assert dumbbell("import", "iperf3.txt", "--out", "theirs").returncode == 0
    lines = [line.split() for line in dumbbell("stats", "theirs", "--every", "1s").stdout.splitlines()]
    assert lines == [
        ["bbr", "(bbr)"],
        ["seconds", "MB", "Mbit/s", "retrans", "cwnd", "kB"],
        ["0.00-1.00", "1.05", "8.39", "3", "144.4"],
        ["1.00-2.00", "2.10", "16.78", "4", "288.8"],
        ["0.00-2.00", "3.15", "12.58", "7"],
    ]


@pytest.fixture
def dumbbell_with_run(dumbbell: Dumbbell, tmp_path: Path) -> Dumbbell:
    Bench([Flow("bbr-1", "bbr"), Flow("bbr-2", "bbr"), Flow("cubic", "cubic")]).make_folder(tmp_path / "run")
    return dumbbell


def test_flows_and_groups_are_chosen_by_name(dumbbell_with_run: Dumbbell) -> None:
    shown = json.loads(
        dumbbell_with_run("stats", "run", "--every", "5s", "--flow", "bbr", "--flow", "cubic", "--json").stdout
    )
    assert [flow["name"] for flow in shown["flows"]] == ["bbr-1", "bbr-2", "cubic"]
    shown = json.loads(dumbbell_with_run("stats", "run", "--every", "5s", "--flow", "bbr-2", "--json").stdout)
    assert [flow["name"] for flow in shown["flows"]] == ["bbr-2"]


@pytest.mark.slow(keep="arguments1---every: the interval is zero")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--every", "1"), "--every: a time without a unit, got '1'"),
        (("run", "--every", "0s"), "--every: the interval is zero"),
        (("run", "--every", "1us"), "30,000,006 intervals exceed the limit of 20,000"),
        (("run", "--every", "1s", "--flow", "bbr-3"), "did you mean 'bbr-1'?"),
        (("run", "run", "--every", "1s"), "--every needs one result, not 2"),
        (("run", "--flow", "bbr"), "add --every TIME"),
        (("run", "--every", "1s", "--sockets"), "give one of them"),
    ],
)
def test_an_invalid_request_is_an_error_with_a_remedy(
    dumbbell_with_run: Dumbbell, arguments: tuple[str, ...], message: str
) -> None:
    done = dumbbell_with_run("stats", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
