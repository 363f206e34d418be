"""The simulator as an engine: result folders, validity, reproducibility."""

import hashlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell import _sim
from dumbbell.analysis.summary import measures
from dumbbell.engines import KernelEngine, Request, Simulator, sim
from dumbbell.engines.run_manifest import judge_flows
from dumbbell.errors import EngineError, ExperimentError, OutputError, PlanError
from dumbbell.plan import Plan, Queue
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.results.result import Run
from dumbbell.spec import Case, load, parse, published, read, scenarios
from engines.measured import CUBIC, experiment, table_hashes

QUIET = '[[flows]]\nkind = "udp"\nrate = "800kbit"\npacket = 1000\nname = "quiet"\n'
LOUD = '[[flows]]\nkind = "udp"\nrate = "20mbit"\npacket = 1200\nname = "loud"\n'


def case_of(text: str, folder: Path) -> Case:
    return parse(text, folder / "mine.toml")[0]


def run(folder: Path, text: str, *, seed: int = 1, name: str = "run", **more: Any) -> Run:
    request = Request("mine", case_of(text, folder), seed, folder / name, **more)
    return result.load(Simulator().run(request, lambda _seconds: None))


def test_a_folder_has_every_column_and_a_manifest(tmp_path: Path) -> None:
    got = run(tmp_path, experiment(CUBIC + QUIET))
    for name, columns in TABLES.items():
        assert pl.read_parquet_schema(got.folder / f"{name}.parquet") == columns
    manifest = got.manifest
    assert (manifest["engine"], manifest["valid"], manifest["seed"], manifest["title"]) == ("sim", True, 1, "mine")
    assert manifest["simulator"] == {
        "version": _sim.VERSION,
        "sha256": hashlib.sha256(Path(_sim.__file__).read_bytes()).hexdigest(),
    }
    assert manifest["simulated"]["events"] > 0 < manifest["simulated"]["packets"]
    assert set(manifest["phases_s"]) == {"plan", "simulate", "decode"}
    assert manifest["wall_s"] >= sum(manifest["phases_s"].values())
    assert "[router] tc qdisc add dev right root handle 1: htb default 1" in manifest["commands"]
    assert [(queue["name"], queue["kind"], queue["under_test"]) for queue in manifest["queues"]] == [
        ("bottleneck-shaper", "htb", False),
        ("bottleneck", "pfifo", True),
        ("reverse-netem", "netem", False),
    ]


SHORT_NS = 3 * 10**9


@pytest.mark.slow(keep="bbr-draft")
@pytest.mark.parametrize("name", sorted(scenarios()))
def test_a_run_in_memory_equals_the_one_read_from_a_folder(tmp_path: Path, name: str) -> None:
    """For every built-in scenario that the simulator supports, cut to three seconds of each flow."""
    case = load(scenarios()[name])[0]
    short = max(SHORT_NS, *(group.start + SHORT_NS for group in case.experiment.flows))
    if case.experiment.duration > short:
        case = read(case.experiment.document() | {"duration": f"{short}ns"}, case.file, folder=case.folder)[0]
    request = Request(name, case, 7, tmp_path / "run")
    try:
        in_memory = Simulator().simulate(request)
    except (ExperimentError, PlanError) as refusal:
        with pytest.raises(type(refusal), match=re.escape(str(refusal))):
            Simulator().run(request, lambda _seconds: None)
        return
    assert not request.out.exists()
    from_folder = result.load(Simulator().run(request, lambda _seconds: None))
    for table in TABLES:
        assert getattr(in_memory, table).schema == getattr(from_folder, table).schema
        assert getattr(in_memory, table).equals(getattr(from_folder, table))
    assert in_memory.folder == from_folder.folder
    assert measures(in_memory) == measures(from_folder)
    clocks = {"wall_s": None, "phases_s": None}
    assert in_memory.manifest | clocks == from_folder.manifest | clocks
    assert in_memory.manifest.keys() == from_folder.manifest.keys()


def test_a_run_in_memory_can_capture_packets(tmp_path: Path) -> None:
    request = Request("mine", case_of(experiment(QUIET), tmp_path), 1, tmp_path / "run", capture=tmp_path / "p.pcap")
    Simulator().simulate(request)
    assert [path.name for path in tmp_path.iterdir()] == ["p.pcap"]


def test_both_engines_write_the_same_keys(tmp_path: Path) -> None:
    """Except for entries about the engine."""
    keys = set(run(tmp_path, experiment(QUIET)).manifest)
    assert keys - {"simulator", "simulated", "device_drops"} == set(
        "format dumbbell name case case_number title engine seed command duration_s asked_duration_s valid invalid "
        "warnings corrections too_late experiment expect source host commands flows queues bottleneck probes generator "
        "phases_s wall_s".split()
    )


def test_columns_from_the_plan_are_filled(tmp_path: Path) -> None:
    rest = LOUD + '[[changes]]\nat = "1s"\nrate = "5mbit"\n[[probes]]\nkind = "udp"\n'
    got = run(tmp_path, experiment(rest))
    assert set(got.flows["group"]) == {"loud"}
    bottleneck = got.queues.filter(pl.col("queue") == "bottleneck")
    assert set(bottleneck["under_test"]) == {True}
    rates = dict(bottleneck.select("time_ns", "rate_bps").iter_rows())
    assert (rates[990_000_000], rates[10**9], rates[1_010_000_000]) == (10_000_000, 5_000_000, 5_000_000)
    row = bottleneck.filter(pl.col("time_ns") == 500_000_000).row(0, named=True)
    assert row["backlog_bytes"] > 0
    assert row["delay_ns"] == round(row["backlog_bytes"] * 8 * 100)
    netem = got.queues.filter(pl.col("queue") == "reverse-netem")
    assert netem["rate_bps"].null_count() == netem["delay_ns"].null_count() == netem.height
    assert set(got.probes["kind"]) == {"udp"}
    assert set(got.probes["probe"]) == {"udp-1"}


def test_a_run_without_probes_has_an_empty_table_of_them(tmp_path: Path) -> None:
    assert run(tmp_path, experiment(QUIET, top="probes = []")).probes.height == 0


def test_datagrams_have_the_path_s_delay(tmp_path: Path) -> None:
    probe = '[[probes]]\nkind = "udp"\ninterval = "20ms"\nstart = "500us"\npayload = 58\n'
    got = run(tmp_path, experiment(QUIET + probe, path='delay = "5ms"'))
    forward, backward = got.probes["forward_ns"], got.probes["backward_ns"].drop_nulls()
    # netem delays of 5 ms and 15 ms; the shaper's bucket is full, so an idle link adds no delay (like htb).
    assert set(backward) == {15_000_000}
    assert forward.min() == 5_000_000
    assert got.manifest.flows[0]["bytes_received"] > 190_000


def test_unexpected_drops_make_a_run_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bottleneck drops, but is declared not to be under test."""
    real = judge_flows

    def strict(plan: Plan, end: _sim.End, named: list[Queue], *more: Any) -> Any:
        unexpected = [Queue(each.name, each.host, each.device, each.handle, each.text) for each in named]
        return real(plan, end, unexpected, *more)

    monkeypatch.setattr(sim, "judge_flows", strict)
    got = run(tmp_path, experiment(LOUD))
    assert got.manifest.valid is False
    assert "packets were dropped in 'bottleneck' (pfifo limit 100), which is not under test" in got.manifest.invalid[0]
    assert len(got.manifest.invalid) == 1


def test_a_flow_that_never_connects_makes_a_run_invalid(tmp_path: Path) -> None:
    got = run(tmp_path, experiment(CUBIC, path='loss = "100%"'))
    assert got.manifest.invalid == ["flow 'cubic' never connected"]


def test_an_unfinished_sized_flow_is_a_warning(tmp_path: Path) -> None:
    got = run(tmp_path, experiment(CUBIC + 'bytes = "1GB"\n'))
    assert "flow 'cubic' not done when the experiment ended" in got.manifest.warnings


def test_an_unknown_controller_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as raised:
        run(tmp_path, experiment(CUBIC.replace("cubic", "mine")))
    assert "mine.toml: flows.0.cc: the simulator has no congestion control with this name, got 'mine'" in str(
        raised.value
    )
    assert str(raised.value).endswith("run it with --engine kernel")
    assert list(tmp_path.iterdir()) == []


def test_unsupported_options_are_reported_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as raised:
        run(tmp_path, experiment(qdisc="skbprio"))
    assert str(raised.value).startswith(
        f"{tmp_path / 'mine.toml'}: path.bottleneck.qdisc: the simulator has no 'skbprio'"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_simulator_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def simulate(*_arguments: object) -> None:
        raise EngineError("a law was broken; please report it")

    monkeypatch.setattr(_sim, "simulate", simulate)
    with pytest.raises(EngineError, match="please report it"):
        run(tmp_path, experiment())
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_progress_callback_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    def progress(_seconds: float) -> None:
        raise KeyboardInterrupt

    request = Request(
        "mine", case_of(experiment(QUIET, duration="100000s", top='sample = "10s"'), tmp_path), 1, tmp_path / "run"
    )
    with pytest.raises(KeyboardInterrupt):
        Simulator().run(request, progress)
    assert list(tmp_path.iterdir()) == []


SHORT_NS = 2 * 10**9


@pytest.mark.slow(keep="bbr-draft")
@pytest.mark.parametrize(
    "name", [name for name in sorted(scenarios().keys() - published()) if not name.startswith("lossy")]
)
def test_a_scenario_repeats_bit_for_bit(tmp_path: Path, name: str) -> None:
    case = load(scenarios()[name])[0]
    planned = case.experiment
    events = [*(change.at for change in planned.changes), *(group.start for group in planned.flows)]
    if planned.duration > (short_ns := max(SHORT_NS, *(time_ns + 10**9 for time_ns in events))):
        case = load(scenarios()[name], [f"duration={short_ns}ns"], [case.name])[0]
    folders = [Simulator().run(Request(name, case, 3, tmp_path / copy), lambda _seconds: None) for copy in ("a", "b")]
    assert table_hashes(folders[0]) == table_hashes(folders[1])
    other = Simulator().run(Request(name, case, 4, tmp_path / "c"), lambda _seconds: None)
    assert result.load(other).manifest.seed == 4


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    text = experiment(CUBIC, path='loss = "2%"')
    assert table_hashes(run(tmp_path, text, seed=1, name="a").folder) != table_hashes(
        run(tmp_path, text, seed=2, name="b").folder
    )


def test_concurrent_runs_equal_single_runs(tmp_path: Path) -> None:
    text = experiment(CUBIC + QUIET, path='loss = "1%"')
    alone = table_hashes(run(tmp_path, text, name="alone").folder)
    together: dict[int, dict[str, str]] = {}

    def run_one(number: int) -> None:
        together[number] = table_hashes(run(tmp_path, text, name=f"run-{number}").folder)

    threads = [threading.Thread(target=run_one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(together.values()) == [alone] * 4


def test_the_order_of_groups_in_a_file_changes_no_flow(tmp_path: Path) -> None:
    first = '[[flows]]\nname = "a"\ncc = "cubic"\nport = 5201\n'
    second = '[[flows]]\nname = "b"\ncc = "bbr"\nport = 5202\nstart = "100ms"\n'
    tables = [
        run(tmp_path, experiment(rest, path='loss = "1%"'), name=f"run-{number}").flows.sort("time_ns", "flow")
        for number, rest in enumerate((first + second, second + first))
    ]
    assert tables[0].equals(tables[1])


def test_every_change_is_recorded_on_request(tmp_path: Path) -> None:
    samples = run(tmp_path, experiment(CUBIC), name="samples")
    events = run(tmp_path, experiment(CUBIC, top='record = "events"'), name="events")
    assert events.flows.height > 2 * samples.flows.height
    assert events.queues["time_ns"].is_sorted()
    grid = samples.queues.filter(pl.col("queue") == "bottleneck")
    same = events.queues.filter((pl.col("queue") == "bottleneck") & pl.col("time_ns").is_in(grid["time_ns"].to_list()))
    assert same.unique("time_ns", keep="last").height == grid.height


def test_packets_are_captured_at_the_requested_device(tmp_path: Path) -> None:
    got = run(tmp_path, experiment(QUIET), capture=tmp_path / "deep" / "x.pcap")
    sent = next(queue for queue in got.manifest.queues if queue.name == "bottleneck")["sent_packets"]
    size = (tmp_path / "deep" / "x.pcap").stat().st_size
    assert 24 + sent * (16 + 42) <= size <= 24 + sent * (16 + 1514)
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["x.pcap"]


def test_a_capture_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_text("mine")
    with pytest.raises(OutputError, match=r"x\.pcap: exists already"):
        run(tmp_path, experiment(QUIET), capture=tmp_path / "x.pcap")
    assert [file.name for file in tmp_path.iterdir()] == ["x.pcap"]


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (experiment(top='record = "events"'), {}, "record: this engine can't record every change"),
    ],
)
def test_the_kernel_refuses_simulator_only_options(
    tmp_path: Path, text: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExperimentError) as raised:
        KernelEngine().run(Request("mine", case_of(text, tmp_path), 1, tmp_path / "run", **more), _ignore)
    assert message in str(raised.value)


_ignore: Callable[[float], None] = lambda _seconds: None  # noqa: E731
