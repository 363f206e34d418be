"""Conditions inferred from logs, compared with the actual ones; and conditions that logs don't reveal."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.iperf3_log import iperf3_text
from dumbbell.analysis.conditions import Condition, conditions
from dumbbell.analysis.proposed_settings import facts, settings
from dumbbell.analysis.summary import measures
from dumbbell.engines import Request, Simulator
from dumbbell.importers import Options, import_files
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import find, load, parse
from importers.packets import capture
from importers.samples import IPERF3, SAMPLES, SS
from synthetic import Bench, Flow

LOGS = Path(__file__).parents[2] / "examples" / "logs"
EXPERIMENT = """
duration = "{duration}"
sample = "100ms"
[path]
rtt = "20ms"
loss = "1%"
mtu = {mtu}
offloads = {offloads}
[path.bottleneck]
rate = "{rate}"
qdisc = "pfifo limit 1000"
[[flows]]
cc = "{cc}"
"""


def simulated(folder: Path, mtu: int, *, offloads: bool = False, cc: str = "cubic", rate: str = "100mbit") -> Run:
    text = EXPERIMENT.format(duration="40s", mtu=mtu, offloads=str(offloads).lower(), rate=rate, cc=cc)
    case = parse(text, folder / "experiment.toml")[0]
    Simulator().run(Request("experiment", case, 1, folder / "run"), lambda _: None)
    return result.load(folder / "run")


def imported(folder: Path, *logs: str | bytes, **options: Any) -> Run:
    files = [folder / f"log-{number}" for number in range(len(logs))]
    for file, log in zip(files, logs, strict=True):
        file.write_bytes(log if isinstance(log, bytes) else log.encode())
    return result.load(import_files(files, folder / "imported", Options(**options)))


def by_name(run: Run) -> dict[str, Condition]:
    return {each.name: each for each in conditions(run)}


def proposed(log: Run, run: Run) -> list[str]:
    return [each.option for each in settings(facts(log), facts(run), run.manifest, measures(run))]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Run:
    files = [LOGS / "iperf3-bbr.txt", LOGS / "iperf3-cubic.txt"]
    return result.load(import_files(files, tmp_path_factory.mktemp("pair") / "run", Options()))


def test_the_real_pair_was_taken_with_an_mtu_of_4200_and_offloads(pair: Run) -> None:
    found = by_name(pair)
    assert found["mss_bytes"].value == 4148
    assert found["mss_bytes"].low == pytest.approx(4147.3, abs=0.1)
    assert found["mss_bytes"].high == pytest.approx(4149.0, abs=0.1)
    assert found["mtu_bytes"].value == 4200
    assert found["mss_bytes"].evidence.endswith("the smallest window of bbr is 4 segments, BBR's minimum")
    assert found["duration_s"].value == 60
    assert found["offloads"].value == 1
    assert "multiples of 15, 62,220 bytes: 23 of 60 intervals, 4 expected" in found["offloads"].evidence
    for name in ("base_rtt_ms", "receive_window_bytes", "send_buffer_bytes", "bottleneck_mbps", "start_offset_s"):
        assert found[name].value is None
        assert found[name].evidence.startswith("unknown from this log: "), name


@pytest.mark.parametrize("mtu", [1400, 1500, 4200, 9000])
def test_the_mtu_of_a_simulated_run_is_found_in_its_iperf3_log(mtu: int, tmp_path: Path) -> None:
    run = simulated(tmp_path, mtu)
    log = imported(tmp_path, iperf3_text(run, "cubic", 0.5))
    found = by_name(log)
    assert found["mtu_bytes"].value == mtu
    assert found["offloads"].value is None
    # Equal conditions need no setting; different ones exactly those that differ.
    assert proposed(log, run) == []
    other = run.replaced(manifest=run.manifest | {"experiment": run.manifest["experiment"] | {"path": {"mtu": 2000}}})
    assert proposed(log, other) == [f"--set path.mtu={mtu}"]


def test_offloads_show_in_retransmissions_and_their_absence_does_not(tmp_path: Path) -> None:
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    on = simulated(tmp_path / "on", 1500, offloads=True, cc="bbr", rate="300mbit")
    off = simulated(tmp_path / "off", 1500, cc="bbr", rate="300mbit")
    logs = [
        imported(folder, iperf3_text(run, "bbr", 0.5))
        for folder, run in ((tmp_path / "on", on), (tmp_path / "off", off))
    ]
    assert [by_name(log)["offloads"].value for log in logs] == [1, None]
    assert "--set path.offloads=true" in proposed(logs[0], off)
    assert not any("offloads" in each for each in proposed(logs[1], on))


def test_a_log_of_one_case_proposes_exactly_what_differs_in_the_other(tmp_path: Path) -> None:
    runs, logs = {}, {}
    for number, case in enumerate(load(find("two-classes"), ["duration=15s"])):
        folder = tmp_path / str(number)
        Simulator().run(Request("two-classes", case, 1, folder / "run"), lambda _: None)
        runs[case.name] = result.load(folder / "run")
        logs[case.name] = imported(folder, *(iperf3_text(runs[case.name], name, 0.5) for name in ("bbr", "cubic")))
    buffers = ["--set tcp.rmem_max=6291456", "--set tcp.wmem_max=4194304"]
    assert proposed(logs["as reported"], runs["plain"]) == ["--set path.mtu=4200", *buffers]
    # The log doesn't reveal the larger buffers: no window and no rate shows their size.
    assert proposed(logs["plain"], runs["as reported"]) == ["--set path.mtu=1500"]
    assert [proposed(logs[name], runs[name]) for name in runs] == [[], []]


def test_conditions_that_a_log_records_are_exact(tmp_path: Path) -> None:
    found = by_name(imported(tmp_path, IPERF3))
    assert (found["mss_bytes"].value, found["mtu_bytes"].value) == (1448, 1500)


def test_ss_reports_what_limited_a_sender(tmp_path: Path) -> None:
    text = SS.replace("minrtt:3 newfield:9", "minrtt:3 skmem:(r0,rb131072,t0,tb87040,f0,w0,o0,bl0,d0)")
    found = by_name(imported(tmp_path, text))
    assert found["base_rtt_ms"].value == 3
    assert (found["duration_s"].value, found["duration_s"].low) == (None, 1)  # Samples of flows that live longer.
    assert (found["receive_window_bytes"].value, found["send_buffer_bytes"].value) == (64_256, None)
    assert "limited cubic for 20%" in found["receive_window_bytes"].evidence
    log = result.load(tmp_path / "imported")
    for rmem_max, options in ((64 << 20, ["--set tcp.rmem_max=128512"]), (131_072, [])):
        run = Bench([Flow("x", "x")], manifest={"experiment": {"tcp": {"rmem_max": rmem_max}}}).make()
        assert proposed(log, run) == options
    (tmp_path / "buffer").mkdir()
    found = by_name(imported(tmp_path / "buffer", text.replace("rwnd_limited", "sndbuf_limited")))
    assert (found["receive_window_bytes"].value, found["send_buffer_bytes"].value) == (None, 87_040)


def test_packets_over_the_mtu_of_the_handshake_are_offloads(tmp_path: Path) -> None:
    log = imported(tmp_path, capture())
    handshake = log.manifest.flows[0]["seen"]
    assert handshake["payload_max_bytes"] <= handshake["mss_offered_bytes"]
    assert by_name(log)["offloads"].value is None
    assert by_name(log)["mtu_bytes"].value == handshake["mss_offered_bytes"] + 40
    large = log.manifest.flows[0] | {"seen": handshake | {"payload_max_bytes": 40_000}}
    found = by_name(log.replaced(manifest=log.manifest | {"flows": [large, *log.manifest.flows[1:]]}))
    assert found["offloads"].value == 1
    assert found["mtu_bytes"].value == handshake["mss_offered_bytes"] + 40
    unseen = log.manifest.flows[0] | {"seen": handshake | {"payload_max_bytes": 40_000, "mss_offered_bytes": None}}
    found = by_name(log.replaced(manifest=log.manifest | {"flows": [unseen]}))
    assert [found[name].value for name in ("mss_bytes", "mtu_bytes", "offloads")] == [None] * 3


@pytest.mark.parametrize("name", SAMPLES)
def test_every_log_format_has_conditions_or_reasons(name: str, tmp_path: Path) -> None:
    found = conditions(imported(tmp_path, SAMPLES[name], size_bytes=61_000_000, interval_ns=10**8))
    assert len({each.name for each in found}) == len(found) == 10
    assert all(each.evidence for each in found)
    for each in found:
        if each.value is not None and each.low is not None and each.high is not None:
            assert each.low <= each.value <= each.high


def test_a_different_rtt_moves_path_rtt_by_the_difference() -> None:
    log, run = (with_base_rtt(Bench([Flow("x", "x")]), rtt) for rtt in (30.0, 20.0))
    known = imported_facts(log)
    experiment = {"path": {"rtt": "13ms", "mtu": 1500}}
    (found,) = settings(known, facts(run), run.manifest | {"experiment": experiment}, {})
    assert found.option == "--set path.rtt=23000us"
    assert "30 ms, the run's 20 ms" in found.because
    assert settings(known, facts(log), log.manifest | {"experiment": experiment}, {}) == ()


def with_base_rtt(bench: Bench, rtt_ms: float) -> Run:
    run = bench.make()
    return run.replaced(flows=run.flows.with_columns(pl.lit(round(rtt_ms * 1e6)).alias("min_rtt_ns")))


def test_smoothed_round_trip_times_only_bound_the_base_rtt() -> None:
    run = Bench([Flow("x", "x", rtt_ms=30.0)]).make()
    found = by_name(run.replaced(probes=run.probes.clear()))["base_rtt_ms"]
    assert (found.value, found.high) == (None, 30)


def imported_facts(run: Run) -> Any:
    return facts(run.replaced(manifest=run.manifest | {"engine": "import"}))


UNLIMITED = {"rmem_max": 64 << 20, "wmem_max": 64 << 20}


def level(rate_mbps: float, window_mb: float, tcp: dict[str, int] = UNLIMITED, mine_mbps: float = 4000.0) -> list[str]:
    """Settings proposed for a log with this level rate, for a run with 10 ms and 4 Gbit/s."""
    bench = Bench([Flow("x", "x", rate_bps=rate_mbps * 1e6)], duration_s=20.0, sample_s=1.0)
    tables = bench.tables()
    window = pl.lit(round(window_mb * 1e6)).alias("cwnd_bytes")
    bare = tables["flows"].with_columns(window, *(pl.lit(None).alias(name) for name in ("mss_bytes", "rtt_ns")))
    log = bench.make().replaced(flows=bare, probes=tables["probes"].clear())
    run = with_base_rtt(bench, 10.0)
    experiment = {"tcp": tcp}
    found = settings(
        imported_facts(log),
        facts(run),
        run.manifest | {"experiment": experiment},
        {"groups.x.throughput_mbps": mine_mbps},
    )
    return [each.option for each in found]


def test_linux_s_default_buffers_are_proposed_only_if_they_explain_a_level_rate() -> None:
    default_buffers = ["--set tcp.rmem_max=6291456", "--set tcp.wmem_max=4194304"]
    assert level(1600, 6.5) == default_buffers  # 2 MB in flight, with a window of three times that.
    assert level(1600, 3.9) == []  # BBR's window is twice the data in flight: its own rate is the limit.
    assert level(95, 6.5) == []  # 0.1 MB: smaller than any default buffer of Linux.
    assert level(5000, 40) == []  # 6 MB: more than those buffers allow.
    assert level(1600, 6.5, mine_mbps=1650) == []  # Nothing to explain.
    assert level(1600, 6.5, tcp={"rmem_max": 4 << 20, "wmem_max": 64 << 20}) == default_buffers[1:]
