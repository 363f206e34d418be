"""`import` and `export` as commands, and every analysis, figure and report of imported runs."""

import contextlib
import json
import math
import subprocess
from pathlib import Path

import polars as pl
import pytest

from conftest import COMMAND, Dumbbell
from dumbbell.analysis.bottleneck import flow_loss, group_loss, one_way_delays, queue_delay_cdf, rtt_cdf
from dumbbell.analysis.flows import convergence_s
from dumbbell.analysis.states import durations, phases
from dumbbell.analysis.summary import measures, summary
from dumbbell.analysis.time_series import group_throughput, loss, retransmit_rate, throughput
from dumbbell.errors import ResultError
from dumbbell.importers import Options, import_files
from dumbbell.importers.stamps import FORMS
from dumbbell.plots import PANELS, available, catalogue, draw
from dumbbell.reports.page import page
from dumbbell.results.result import Run, load
from importers.packets import capture
from importers.samples import SAMPLES

LOGS = Path(__file__).parents[2] / "examples" / "logs"
PAIR = [LOGS / "iperf3-bbr.txt", LOGS / "iperf3-cubic.txt"]


@pytest.mark.slow
def test_a_pair_of_logs_is_imported_as_a_run_of_two_flows(dumbbell: Dumbbell, tmp_path: Path) -> None:
    done = dumbbell("import", *PAIR, "--out", "pair", "--json")
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
    assert dumbbell("import", "pair.jsonl", "--out", "again").returncode == 0


@pytest.mark.slow
def test_a_log_is_read_from_standard_input(tmp_path: Path) -> None:
    """A pipe has no length and no name and can be read once; one sample has an RTT and a window, and no rate."""

    def import_text(text: str, *names: str) -> subprocess.CompletedProcess[str]:
        command = [str(COMMAND), "import", *names, "--out", "run", "--json"]
        return subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, check=False)

    done = import_text((LOGS / "ss-tin-bbr.txt").read_text(), "-")
    assert done.returncode == 0, done.stderr
    (flow,) = json.loads(done.stdout)["flows"]
    assert (flow["rtt_ms"]["mean"], flow["cwnd_packets"]["max"]) == (pytest.approx(0.669), 190)
    assert (flow["throughput_mbps"], flow["bytes"]) == (None, None)
    assert load(tmp_path / "run").manifest["import"]["files"][0]["file"] == "stdin"
    assert import_text("what\n", "-").stderr.startswith("dumbbell: stdin: line 1: unknown log format")
    assert import_text("", "-", "-").stderr.startswith("dumbbell: standard input can be read only once")


@pytest.mark.slow
def test_a_malformed_log_is_an_error_of_one_line(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(SAMPLES["ss"].replace("Time:", "When:"))
    done = dumbbell("import", "log", "--out", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dumbbell: log: line 1: not a line of ss, got 'When: 1700000000.5'; the unmodified output of ss -tin, "
        f"or a time: {FORMS}\n"
    )
    assert not (tmp_path / "run").exists()
    assert "--interval" in dumbbell("import", "log", "--out", "run", "--interval", "fast").stderr
    assert "no-such" in dumbbell("import", "no-such", "--out", "run").stderr


@pytest.fixture(params=[*SAMPLES, "pcap"])
def any_run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """A run of each kind of log."""
    (tmp_path / "log").write_bytes(capture() if request.param == "pcap" else SAMPLES[request.param].encode())
    return load(import_files([tmp_path / "log"], tmp_path / "run", Options(size_bytes=61_000_000)))


@pytest.mark.slow(keep="iperf3")
def test_figures_and_reports_work_on_every_log(any_run: Run) -> None:
    available_panels = available(any_run, tuple(PANELS))
    assert len(available_panels) < len(PANELS)
    assert any_run.manifest["import"]["files"][0]["sha256"] in page([any_run])
    for entry in catalogue():
        metric = "jain" if entry.name == "box" else None
        if entry.name in available_panels:
            spec = draw([any_run], entry.name, metric=metric).to_dict()
            # Where nothing was lost, no loss is drawn.
            lossless = entry.name == "loss" and not any(flow.retransmits for flow in any_run.manifest.flows)
            assert lossless or any(text.count("\n") > 1 for text in spec["datasets"].values()), entry.name
            assert "None" not in json.dumps(spec["title"])
        else:
            with contextlib.suppress(ResultError):  # Only an error about missing data is allowed.
                draw([any_run], entry.name, metric=metric)
    for name in PANELS.keys() - set(available_panels):
        with pytest.raises(ResultError, match=r"logs|fewer than two"):
            draw([any_run], name)


@pytest.mark.slow(keep="iperf3")
def test_results_of_every_log_are_finite_or_omitted(any_run: Run) -> None:
    step_ns = 100_000_000
    for numbers in (flow_loss, group_loss, retransmit_rate, loss, throughput, group_throughput):
        table = numbers(any_run, step_ns)
        assert not any(column.is_nan().any() for column in table.select(pl.col(pl.Float64)).iter_columns())
    for distribution in (rtt_cdf, one_way_delays, queue_delay_cdf):
        shares = distribution(any_run)["share"]
        assert shares.is_between(0, 1).all()
    assert (phases(any_run)["stop_ns"] >= phases(any_run)["start_ns"]).all()
    assert durations(any_run).height <= phases(any_run).height
    assert all(math.isfinite(value) for value in measures(any_run).values())
    counted = {flow["name"]: flow["throughput_mbps"] for flow in summary(any_run)["flows"]}
    unknown = throughput(any_run, step_ns).filter(pl.col("throughput_bps").is_null())["flow"].unique().to_list()
    assert all(counted[name] is None for name in unknown)
    convergence_s(any_run)


def test_without_a_threshold_slow_start_is_unknown(tmp_path: Path) -> None:
    run = load(import_files(PAIR[1:], tmp_path / "run", Options(mss_bytes=1448)))
    assert run.flows["cwnd_packets"].null_count() < run.flows.height
    assert phases(run).is_empty()
    once = run.flows.with_columns(ssthresh_packets=pl.when(pl.int_range(pl.len()) == 5).then(1).cast(pl.UInt32))
    assert phases(run.replaced(flows=once))["phase"].to_list() == ["avoidance"]


@pytest.mark.slow
def test_two_imports_are_compared(dumbbell: Dumbbell, tmp_path: Path) -> None:
    for name in ("first", "second"):
        import_files(PAIR, tmp_path / name, Options())
    done = dumbbell("compare", "first", "second", "-o", "page.html", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["agrees"], found["first"]["seeds"]) == (None, [])
    assert (
        "first and second: imported or fetched; whether both have the same experiment is unknown" in found["warnings"]
    )
    assert "cwnd, kB" in (tmp_path / "page.html").read_text()
    (tmp_path / "side").mkdir()
    for name in ("first", "second"):
        (tmp_path / name).rename(tmp_path / "side" / name)
    import_files(PAIR, tmp_path / "third", Options())
    assert "were imported from the same logs" in dumbbell("compare", "third", "side").stderr


def test_several_imports_share_a_figure(tmp_path: Path) -> None:
    runs = [load(import_files([path], tmp_path / path.stem, Options())) for path in PAIR]
    for name, metric in (("throughput", None), ("cwnd", None), ("box", "groups.bbr.throughput_mbps")):
        spec = draw(runs if metric is None else runs[:1], name, metric=metric).to_dict()
        assert "seed" not in str(spec["title"]["subtitle"])
    assert "cwnd, kB" in json.dumps(draw(runs, "cwnd").to_dict())
    text = page(runs)
    assert text.count('class="figure"') == 3, "one of each, and one of both on one axis"
    assert "All runs on one time axis" in text
