"""Flows of a real QUIC stack, beside Linux's TCP, in a guest and on this host."""

import json
from pathlib import Path

import pytest

from dumbbell import stacks
from dumbbell.engines import HostEngine, KernelEngine, Request, Simulator
from dumbbell.engines.base import Permissions
from dumbbell.errors import ExperimentError, StackError, ToolMissing
from dumbbell.results import result
from dumbbell.results.reader import TABLES
from dumbbell.spec import parse
from engines.measured import CUBIC, experiment, measure
from engines.on_host import host_engine_error, plain
from engines.test_datagrams import blast

STACK = "aioquic"
QUIC = f'[[flows]]\nkind = "quic"\nstack = "{STACK}"\ncc = "cubic"\n'


@pytest.fixture(scope="module")
def built() -> None:
    """The stack that is built soonest."""
    try:
        stacks.build(STACK)
    except (StackError, ToolMissing) as error:
        pytest.skip(f"no stack is built: {error}")


@pytest.mark.kernel
@pytest.mark.usefixtures("built")
def test_a_quic_flow_shares_a_queue_with_tcp_and_repeats_bit_for_bit(tmp_path: Path) -> None:
    text = experiment(QUIC + CUBIC, duration="6s")
    first, second = measure(tmp_path, text, name="one"), measure(tmp_path, text, name="again")
    assert first.problems == []
    flow, tcp = first.run.manifest.flows
    assert (flow.name, flow.kind, flow.cc, flow.stack) == (
        "aioquic-cubic", "quic", "cubic", f"aioquic {stacks.named(STACK).version}",
    )  # fmt: skip
    assert (tcp.kind, tcp.stack) == ("tcp", None)
    assert (flow.bytes_received or 0) + (tcp.bytes_received or 0) > 0.85 * 6 * 10e6 / 8
    rows = first.run.flows.filter(flow=flow.name)
    assert rows["bytes_received"].max() == flow.bytes_received
    # The queue that both wait in: 100 packets at 10 Mbit/s are 121 ms.
    assert 20e6 < rows["one_way_delay_ns"].max() < 160e6  # type: ignore[operator]
    # What the stack says: its window, and the delay that the packets have.
    assert rows["cwnd_bytes"].drop_nulls().len() > 0.9 * len(rows)
    assert rows["rtt_ns"].max() > rows["one_way_delay_ns"].max()  # type: ignore[operator]
    assert flow.retransmits is not None
    assert 0 < (flow.seen or {})["handshake_s"] < 0.2
    assert any("computing takes no virtual time" in warning for warning in first.run.manifest.warnings)
    for table in TABLES:
        paths = [outcome.run.folder / f"{table}.parquet" for outcome in (first, second)]
        assert paths[0].read_bytes() == paths[1].read_bytes(), table


@pytest.mark.kernel
@pytest.mark.usefixtures("built")
def test_sized_quic_flows_complete_and_end_the_experiment(tmp_path: Path) -> None:
    group = QUIC + 'count = 2\nbytes = "400kB"\nstart = "500ms"\nstagger = "100ms"\n'
    outcome = measure(tmp_path, experiment(group, duration="20s"))
    assert outcome.problems == []
    assert [flow.name for flow in outcome.run.manifest.flows] == ["aioquic-cubic-1", "aioquic-cubic-2"]
    for number, flow in enumerate(outcome.run.manifest.flows):
        assert flow.start_s == pytest.approx(0.5 + 0.1 * number)
        assert flow.completed
        assert 400e3 * 8 / 10e6 < flow.fct_s < 2  # type: ignore[operator]
        assert 400e3 < flow.bytes_received < 440e3  # type: ignore[operator]
    assert outcome.run.manifest.duration_s < 3


@pytest.mark.kernel
def test_a_program_s_own_qlog_goes_to_its_flow_and_a_bad_one_is_a_warning(tmp_path: Path) -> None:
    log: list[dict[str, object]] = [
        {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"vantage_point": {"type": "server"}}}
    ]
    log += [{"time": 0, "name": "transport:packet_sent", "data": {"header": {"packet_type": "initial"}}}]
    log += [
        {"time": time, "name": "recovery:metrics_updated", "data": {"congestion_window": 1000 + time}}
        for time in (1, 500)
    ]
    text = "".join(f"\\x1e{json.dumps(each)}\\n" for each in log)
    write = f"client.sendto(b'x', address); open('good.sqlog', 'w').write('{text}'); open('bad.sqlog', 'w').write('{{')"
    for pattern, warned in (
        ("good.sqlog", ""),
        ("bad.sqlog", "program 'blast': programs/blast/bad.sqlog"),
        ("*.x", "no qlog '*.x'"),
    ):
        programs = blast(20, bursts=10, pause=0.1, connect=write, more=f'qlog = "{pattern}"')
        outcome = measure(tmp_path, experiment(programs), name=pattern.replace("*", "any"))
        assert outcome.problems == []
        assert warned in " ".join(outcome.run.manifest.warnings)
        rows = outcome.run.flows.filter(flow="blast")
        assert rows["cwnd_bytes"].drop_nulls().unique().sort().to_list() == ([] if warned else [1001, 1500])


@pytest.mark.skipif(bool(host_engine_error()), reason=host_engine_error())
@pytest.mark.usefixtures("built")
def test_the_same_flows_on_this_host(tmp_path: Path) -> None:
    case = parse(plain("2s", rest=QUIC + 'stop = "1500ms"\n' + CUBIC), Path("experiment.toml"))[0]
    request = Request("experiment", case, 1, tmp_path / "run")
    run = result.load(HostEngine(Permissions(host=True)).run(request, lambda _seconds: None))
    flow = run.manifest.flows[0]
    assert (flow.kind, flow.error) == ("quic", None)
    assert flow.stop_s == pytest.approx(1.5, abs=0.5)
    assert (flow.bytes_received or 0) > 50_000
    assert not any("virtual time" in warning for warning in run.manifest.warnings)


DYING = """
import socket, sys, time
if sys.argv[1] == "client":
    time.sleep(60)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
host, port = sys.argv[3].split(":")
server.bind((host, int(port)))
time.sleep(0.5)
sys.exit("no more memory")
"""


@pytest.mark.kernel
def test_a_server_that_dies_makes_the_run_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = stacks.Built(stacks.named(STACK), tmp_path / "stack")
    monkeypatch.setattr("dumbbell.engines.programs.find", lambda _name: built)
    built.folder.mkdir()
    (built.folder / "driver.py").write_text(DYING)
    outcome = measure(tmp_path, experiment(QUIC + CUBIC, duration="2s"))
    assert any("'aioquic-cubic-server' exited with status 1" in each for each in outcome.problems)
    assert any("no more memory" in each for each in outcome.problems)
    assert outcome.run.manifest.flows[0].error == "its server exited"


@pytest.mark.kernel
def test_a_stack_that_is_not_built_is_an_error_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.engines.programs.find", lambda _name: None)
    case = parse(experiment(QUIC), Path("x.toml"))[0]
    with pytest.raises(ExperimentError, match=r"x.toml: flows\.0\.stack: this QUIC stack is not built.*stack build"):
        KernelEngine().check(Request("x", case, 1, tmp_path / "out"))


def test_the_simulator_says_what_to_use(tmp_path: Path) -> None:
    case = parse(experiment(CUBIC + QUIC), Path("x.toml"))[0]
    with pytest.raises(ExperimentError, match=r"flows\.1\.kind: the simulator has no QUIC stacks.*--engine kernel"):
        Simulator().check(Request("x", case, 1, tmp_path / "out"))


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ('stack = "lsquic"', r"flows\.0\.stack: .*got 'lsquic'"),
        ('cc = "cubic"', r"flows\.0\.stack: a QUIC flow without a stack; one of quinn, "),
        ('stack = "quinn"\ncc = "vegas"', r"flows\.0\.cc: quinn has no controller 'vegas'.*one of cubic, reno, bbr"),
        ('stack = "quinn"\nrate = "1mbit"', r"'rate' has no effect on a QUIC flow"),
        ('stack = "quinn"\ncount = 65', r"65 QUIC flows, each of which is two programs.*at most 64"),
    ],
)
def test_a_wrong_group_says_what_there_is(group: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        parse(experiment(f'[[flows]]\nkind = "quic"\n{group}\n'), Path("x.toml"))
