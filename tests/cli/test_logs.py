"""`import` and `export` as a person types them, and every room above them on what came in."""

import json
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.importers import Options, import_files
from dumbbell.plot import PANELS, figure
from dumbbell.report import page
from dumbbell.result import load
from importers.packets import capture
from importers.samples import SAMPLES

LOGS = Path(__file__).parents[2] / "examples" / "logs"
PAIR = [LOGS / "iperf3-bbr.txt", LOGS / "iperf3-cubic.txt"]


def test_a_pair_of_logs_becomes_a_run_of_two_flows(dumbbell: Dumbbell, tmp_path: Path) -> None:
    done = dumbbell("import", *PAIR, "-o", "pair", "--json")
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    assert [flow["retransmits"] for flow in numbers["flows"]] == [29_760, 1_024]
    assert numbers["flows"][0]["throughput_mbps"] == pytest.approx(1620, rel=0.004)
    assert (numbers["engine"], numbers["seed"], numbers["wall_s"]) == ("import", None, None)
    files = json.loads((tmp_path / "pair" / "run.json").read_text())["import"]["files"]
    assert [len(file["sha256"]) for file in files] == [64, 64]
    assert "rtt_ns" in files[0]["missing"]["flows"]
    for command in (
        ["stats", "pair"],
        ["stats", "pair", "pair"],
        ["plot", "pair", "-o", "pair.svg"],
        ["report", "pair"],
    ):
        done = dumbbell(*command)
        assert done.returncode == 0, done.stderr
    assert dumbbell("export", "pair", "-o", "pair.jsonl").returncode == 0
    assert dumbbell("import", "pair.jsonl", "-o", "again").returncode == 0


def test_what_is_wrong_is_an_error_of_one_line(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SAMPLES["ss"].replace("Time:", "When:"))
    done = dumbbell("import", "log", "-o", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dumbbell: log: line 1: no line of ss's, got 'When: 1700000000.5'; the output of ss -tin, as it is\n"
    )
    assert not (tmp_path / "run").exists()
    assert "--interval" in dumbbell("import", "log", "-o", "run", "--interval", "fast").stderr
    assert "no-such" in dumbbell("import", "no-such", "-o", "run").stderr


@pytest.mark.parametrize("name", [*SAMPLES, "pcap"])
def test_figures_and_reports_work_on_every_log(tmp_path: Path, name: str) -> None:
    (tmp_path / "log").write_bytes(capture() if name == "pcap" else SAMPLES[name].encode())
    run = load(import_files([tmp_path / "log"], tmp_path / "run", Options(size_bytes=61_000_000)))
    shown = figure(run, list(PANELS)).to_dict()
    assert 0 < len(shown["vconcat"]) < len(PANELS)
    assert "left out, as the logs don't say" in shown["title"]["subtitle"]
    assert run.birth["import"]["files"][0]["sha256"] in page([run])
