"""What scripts rely on: `format`, exit statuses, names of metrics, `list`, NO_COLOR."""

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import COMMAND, Dumbbell
from dumbbell.analysis import names
from dumbbell.analysis.expect import metric, units_of
from dumbbell.analysis.summary import measures
from dumbbell.cli.console import Console
from dumbbell.cli.runs import RunResults
from dumbbell.engines import Request, Simulator
from dumbbell.errors import ExitStatus
from dumbbell.results.parquet import write_table
from dumbbell.spec import parse
from engines.measured import CUBIC
from engines.measured import experiment as text_of
from synthetic import Bench, Flow
from warm import Warm

EXPERIMENT = """
duration = "2s"
[path]
rtt = "20ms"
[path.bottleneck]
rate = "10mbit"
qdisc = "fq_codel"
[[flows]]
name = "bulk"
cc = "cubic"
[[flows]]
name = "short"
cc = "cubic"
count = 3
bytes = "50kB"
[[probes]]
"""


def experiment(folder: Path, *expect: str) -> Path:
    file = folder / "x.toml"
    file.write_text(f"expect = {json.dumps(expect)}\n{EXPERIMENT}")
    return file


def leaves(value: Any, shown: str = "") -> dict[str, Any]:
    """Every value by its dotted name."""
    if isinstance(value, dict):
        return {key: leaf for name, each in value.items() for key, leaf in leaves(each, f"{shown}.{name}").items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {key: leaf for each in value for key, leaf in leaves(each, f"{shown}.{each['name']}").items()}
    return {shown.lstrip("."): value}


@pytest.fixture(scope="module")
def run(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("contract")
    command = [COMMAND, "run", experiment(folder), "--out", folder / "run", "--seeds", "2", "--json"]
    done = warm.run([str(each) for each in command], folder, dict(os.environ))
    assert done.returncode == ExitStatus.DONE, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_shape_before_a_run_is_that_of_its_result(run: dict[str, Any]) -> None:
    flows = [(flow["name"], flow["group"], flow["name"] != "bulk") for flow in run["flows"]]
    shape = leaves(names.shape(flows, list(run["queues"])))
    # The cycle of these flows is unknown.
    mine = {name for name in leaves(run) if name not in ("format", "cycle")}
    assert mine == {name for name in shape if not name.startswith("cycle.")}


def test_a_group_has_sums_and_spreads_of_its_flows(run: dict[str, Any]) -> None:
    short = [flow for flow in run["flows"] if flow["group"] == "short"]
    group = run["groups"]["short"]
    assert group["bytes"] == sum(flow["bytes"] for flow in short) == 150_000
    assert group["retransmits"] == sum(flow["retransmits"] for flow in short)
    assert group["goodput_mbps"] == pytest.approx(sum(flow["goodput_mbps"] for flow in short))
    assert group["fct_s"]["max"] == max(flow["fct_s"] for flow in short)
    assert group["rtt_ms"]["min"] == min(flow["rtt_ms"]["min"] for flow in short)
    assert group["rtt_ms"]["p95"] == pytest.approx(sum(flow["rtt_ms"]["p95"] for flow in short) / 3)
    # A sized flow's own rate is not its share of the window.
    for flow in short:
        assert flow["fct_goodput_mbps"] == pytest.approx(0.4 / flow["fct_s"])
        assert flow["goodput_mbps"] == pytest.approx(0.4 / 2)


def test_the_queue_under_test_is_among_the_queues(run: dict[str, Any]) -> None:
    assert run["queue"] in run["queues"].values()
    assert run["queue"]["delay_ms"]["min"] <= run["queue"]["delay_ms"]["p50"] <= run["queue"]["delay_ms"]["p99"]


def test_every_json_has_its_format(dumbbell: Dumbbell, tmp_path: Path, run: dict[str, Any]) -> None:
    assert run["format"] == 1
    other = tmp_path / "other"
    dumbbell("run", experiment(tmp_path), "--out", other, "--seed", "3")
    for arguments in (
        ("stats", run["run"]),
        ("list", "metrics"),
        ("list", "sweeps"),
        ("compare", run["run"], other),
    ):
        assert json.loads(dumbbell(*arguments, "--json").stdout)["format"] == 1


@pytest.mark.parametrize(
    ("expect", "hint"),
    [
        ("groups.blk.share > 0.1", "bulk"),
        ("groups.bulk.shares > 0.1", "share"),
        ("queues.tail.drops < 3", "bottleneck"),
        ("queue.delay_ms < 3", "p95"),
        ("flows.bulk.fct_s < 3", "throughput_mbps"),
    ],
)
def test_a_wrong_metric_is_refused_before_the_run(dumbbell: Dumbbell, tmp_path: Path, expect: str, hint: str) -> None:
    done = dumbbell("run", experiment(tmp_path, "utilization > 0", expect), "--out", tmp_path / "run")
    assert done.returncode == ExitStatus.WRONG_REQUEST
    assert "expect.1" in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_expectation_may_use_every_kind_of_name(dumbbell: Dumbbell, tmp_path: Path) -> None:
    met = ["groups.short.fct_s.p95 < 2", "groups.short.fct_s < 2", "one_way_delay_ms.p99 > 0.5", "cycle == null"]
    met += ["flows.short-2.fct_goodput_mbps > 0.2", "groups.bulk.response_s.mean == null"]
    done = dumbbell("run", experiment(tmp_path, *met), "--out", tmp_path / "run", "--json")
    assert [each for each in json.loads(done.stdout)["expect"] if not each["passed"]] == []
    assert done.returncode == ExitStatus.DONE


def test_a_failed_expectation_is_judged_negative(dumbbell: Dumbbell, tmp_path: Path) -> None:
    done = dumbbell("run", experiment(tmp_path, "utilization > 2"), "--out", tmp_path / "run")
    assert done.returncode == ExitStatus.JUDGED_NEGATIVE


@pytest.mark.parametrize("expect", ["utilization > 2", "utilization >= 0"])
@pytest.mark.parametrize("valid", [False, True])
def test_an_invalid_run_weighs_more_than_its_expectations(expect: str, valid: bool) -> None:
    run = Bench([Flow("a", "a", rate_bps=1e6)], manifest={"valid": valid, "expect": [expect]}).make()
    status = RunResults(Path(), [run], several=False, engine="sim", wall_s=0.0).status
    negative = ExitStatus.JUDGED_NEGATIVE if expect == "utilization > 2" else ExitStatus.DONE
    assert status == (negative if valid else ExitStatus.INVALID_RUN)


def test_a_sweep_takes_every_name(dumbbell: Dumbbell, tmp_path: Path) -> None:
    experiment(tmp_path)
    sweep = tmp_path / "s.toml"
    asked = ["queues.bottleneck.packets.max", "groups.short.fct_s.p99"]
    axes = '[[axes]]\n"path.rtt" = ["10ms", "20ms"]\n'
    sweep.write_text(f'experiment = "x.toml"\nmetrics = {json.dumps(asked)}\n{axes}')
    done = dumbbell("sweep", sweep, "--out", tmp_path / "out", "--no-cache", "--json")
    assert done.returncode == ExitStatus.DONE, done.stderr
    query = f'SELECT "{asked[0]}", "{asked[1]}" FROM runs'
    rows = json.loads(dumbbell("sql", tmp_path / "out", query, "--json").stdout)["rows"]
    assert len(rows) == 2
    assert all(value > 0 for row in rows for value in row)


def test_the_top_help_and_the_documentation_list_every_status(dumbbell: Dumbbell) -> None:
    shown = " ".join(dumbbell("--help").stdout.split())
    page = (Path(__file__).parents[2] / "docs" / "stability.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE))
    assert documented == {str(status.value): status.about for status in ExitStatus}
    for status in ExitStatus:
        assert f"{status.value} {status.about.partition(':')[0]}" in shown


@pytest.mark.parametrize("what", ["scenarios", "sweeps", "figures", "metrics", "controllers", "queues"])
def test_list_prints_the_same_names_as_json(dumbbell: Dumbbell, what: str) -> None:
    entries = json.loads(dumbbell("list", what, "--json").stdout)[what]
    shown = dumbbell("list", what).stdout
    assert entries
    assert [each["name"] for each in entries if each["name"] not in shown] == []


def test_what_cannot_be_listed_is_refused_with_a_suggestion(dumbbell: Dumbbell) -> None:
    done = dumbbell("list", "metrcs")
    assert done.returncode == ExitStatus.WRONG_REQUEST
    assert "metrics" in done.stderr


def test_a_source_may_state_every_metric_in_its_declared_unit() -> None:
    for each in names.listed():
        assert next(iter(units_of(each["name"]))) == each["unit"], each["name"]
        metric(names.shape([("FLOW", "GROUP", True)], ["QUEUE"]), each["name"])


@pytest.mark.parametrize(("value", "coloured"), [("1", False), (None, True)])
def test_no_color_is_obeyed(monkeypatch: pytest.MonkeyPatch, value: str | None, coloured: bool) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    console = Console()
    console.file = io.StringIO()
    console.print("text", style="red")
    assert ("\x1b[" in console.file.getvalue()) is coloured


def test_each_group_has_its_rtt_without_queues(tmp_path: Path, dumbbell: Dumbbell) -> None:
    file = tmp_path / "two.toml"
    file.write_text(text_of(CUBIC + '[[flows]]\ncc = "reno"\naccess = { delay = "7ms" }\n', duration="300ms"))
    groups = json.loads(dumbbell("run", str(file), "--json").stdout)["groups"]
    assert {name: group["base_rtt_ms"] for name, group in groups.items()} == {"cubic": 20, "reno": 27}
    assert "# RTT without queues: cubic 20 ms, reno 27 ms" in dumbbell("plan", str(file)).stdout


@pytest.mark.parametrize("count", [1, 2])
def test_a_groups_first_flow_has_one_name_for_any_count(tmp_path: Path, dumbbell: Dumbbell, count: int) -> None:
    file = tmp_path / "count.toml"
    expected = 'expect = ["flows.cubic-1.throughput_mbps > 0.1"]'
    file.write_text(text_of(CUBIC + f"count = {count}\n", duration="300ms", top=expected))
    assert dumbbell("run", str(file)).returncode == 0
    run = Simulator().run_and_keep(
        Request("count", parse(file.read_text(), file)[0], 1, tmp_path / "run"), lambda _: None
    )
    assert measures(run, patterns=["flows.cubic-1.rtt_ms.p95"]).keys() == {"flows.cubic-1.rtt_ms.p95"}


def test_tables_state_their_format(tmp_path: Path) -> None:
    run = Simulator().run(
        Request("one", parse(text_of(duration="300ms"), Path("one.toml"))[0], 1, tmp_path / "run"), lambda _: None
    )
    assert {pl.read_parquet_metadata(file).get("dumbbell.format") for file in run.glob("*.parquet")} == {"1"}
    pl.DataFrame({"a": [1]}).pipe(write_table, tmp_path / "mine.parquet")
    assert pl.read_parquet_metadata(tmp_path / "mine.parquet")["dumbbell.format"] == "1"


def test_older_names_of_options_are_taken_with_a_warning(tmp_path: Path, dumbbell: Dumbbell) -> None:
    file = experiment(tmp_path)
    dumbbell("run", str(file), "--out", "one")
    for older, today in (("-o", "--out"), ("--out", "-o")):
        assert dumbbell("export", "one", older, f"one{older}.jsonl").returncode == 0
        done = dumbbell("import", f"one{older}.jsonl", today, f"again{today}")
        assert (done.returncode, "is now" in done.stderr) == (0, today == "-o"), done.stderr
    done = dumbbell("exec", str(file), "--on=nowhere", "--", "true", "--on", "x")
    assert "--on is now --host" in done.stderr
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "FILE"), ("upgrade", "--check", "FILE"), ("explain", "bbr"), ("schema", "sweep"), ("test", "FILE"),
        ("report", "RUN"), ("plot", "RUN", "-o", "x.svg"), ("export", "RUN", "-o", "x.jsonl"),
        ("cache", "prune", "--dry-run"), ("enable", "reno", "--dry-run", "--root", "."),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_prints_one_object(tmp_path: Path, dumbbell: Dumbbell, command: tuple[str, ...]) -> None:
    file = experiment(tmp_path, "utilization > 0.1")
    if "RUN" in command:
        dumbbell("run", str(file), "--out", "one")
    done = dumbbell(*({"FILE": str(file), "RUN": "one"}.get(word, word) for word in command), "--json")
    assert json.loads(done.stdout)["format"] == 1, done.stderr
