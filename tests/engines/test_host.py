"""The host engine: what it refuses, what it records about the host, and a run if this host allows it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell.engines import HostEngine, Request
from dumbbell.engines.base import Permissions
from dumbbell.engines.capability_probe import ProbeResult, Worker, missing, start_worker
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.recordings import RecordingOptions
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case, parse
from engines.on_host import host_engine_error, plain

UNKNOWN = "Error: Specified qdisc kind is unknown.\nCommand failed -:1"
POLICED = plain(qdisc="police rate 10mbit burst 20kb").replace('rate = "10mbit"\n', "")


@pytest.fixture
def host_engine() -> None:
    if reason := host_engine_error():
        pytest.skip(reason)


def planned(text: str) -> tuple[Case, Plan]:
    case = parse(text, Path("experiment.toml"))[0]
    return case, plan_case(case, 1)


def run(text: str, folder: Path, options: RecordingOptions | None = None, capture: Path | None = None) -> Run:
    case, _ = planned(text)
    request = Request("experiment", case, 1, folder / "run", capture=capture, recordings=options or RecordingOptions())
    return result.load(HostEngine(Permissions(host=True)).run(request, lambda _seconds: None))


def missing_error(text: str, *kinds: str) -> str:
    case, plan = planned(text)
    refused = {what: UNKNOWN if what in kinds else None for what in tried(plan)}
    assert set(kinds) <= set(refused)
    error = missing(ProbeResult(refused, ["cubic"], ["cubic"], large_buffers=True), plan, case, "6.18")
    return str(error) if error else ""


def tried(plan: Plan) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads(plan.trial())["commands"]
    return found


def test_an_experiment_without_delay_needs_no_netem() -> None:
    _, plan = planned(plain())
    assert set(tried(plan)) == {"htb", "pfifo"}


def test_a_change_of_the_rtt_needs_a_netem() -> None:
    _, plan = planned(plain(rest='[[flows]]\ncc = "cubic"\n[[changes]]\nat = "100ms"\nrtt = "10ms"\n'))
    assert "netem" in tried(plan)
    assert [change.step.argv[1] for change in plan.changes] == ["qdisc"]


@pytest.mark.parametrize(
    ("text", "kinds", "message"),
    [
        (plain(), (), ""),
        (plain(), ("htb",), "no htb, needed by path.bottleneck.rate"),
        (plain().replace("0ms", "20ms"), ("netem",), "no netem, needed by path.rtt = 20ms"),
        (
            plain().replace('"0ms"', '"20ms"\nloss = "1%"\ndelay = "5ms"'), ("netem",),
            "no netem, needed by path.forward_delay = 5ms and path.loss = 1% and path.rtt = 20ms",
        ),
        (
            plain(rest='[[path.links]]\nname = "air"\nwhere = "before"\ndelay = "2ms"\n[[flows]]\ncc = "cubic"\n'),
            ("netem",), "no netem, needed by path.links.air.delay = 2ms",
        ),
        (
            plain(rest='[[flows]]\ncc = "cubic"\nname = "a"\naccess = { delay = "3ms" }\n'),
            ("netem",), "no netem, needed by flows.0.access.delay = 3ms",
        ),
        (
            plain(qdisc="fq_codel limit 100"), ("fq_codel", "htb"),
            'no fq_codel, needed by path.bottleneck.qdisc = "fq_codel limit 100"; no htb, needed by '
            "path.bottleneck.rate; use --engine kernel, which has them all, or a kernel with "
            "CONFIG_NET_SCH_FQ_CODEL and CONFIG_NET_SCH_HTB",
        ),
        (POLICED, ("prio", "filter matchall with police"), 'no prio, needed by path.bottleneck.qdisc = "police'),
    ],
)  # fmt: skip
def test_missing_kernel_features_are_reported_with_the_keys_that_need_them(
    text: str, kinds: tuple[str, ...], message: str
) -> None:
    assert message in missing_error(text, *kinds)
    assert bool(message) == bool(missing_error(text, *kinds))


def test_a_filter_on_a_missing_qdisc_is_not_reported() -> None:
    assert "filter" not in missing_error(POLICED, "prio", "filter matchall with police")
    assert "CONFIG_NET_CLS_MATCHALL and CONFIG_NET_ACT_POLICE" in missing_error(POLICED, "filter matchall with police")


def test_other_errors_of_tc_are_reported() -> None:
    case, plan = planned(plain())
    probed = ProbeResult({"pfifo": "Error: Exclusivity flag on.", "htb": None}, [], [], large_buffers=True)
    assert "no pfifo" in str(missing(probed, plan, case, "6"))
    assert "(tc: Exclusivity flag on)" in str(missing(probed, plan, case, "6"))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (plain(rest='[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n"net.ipv4.tcp_mem" = "1 2 3"\n'), RecordingOptions(),
         "tcp.sysctl.net.ipv4.tcp_mem: this sysctl is system-wide"),
        (plain(rest='[[flows]]\ncc = "cubic"\ncc_parameters = { hystart = 0 }\n'), RecordingOptions(),
         "flows.0.cc_parameters: controller parameters are system-wide"),
        (plain(rest='[[flows]]\ncc = "cubic"\n[[programs]]\nname = "a"\non = "sender"\nrun = "true"\n'),
         RecordingOptions(),
         "programs.0.run: the host engine runs no programs"),
        (plain(), RecordingOptions(trace=("tcp:tcp_probe",)), "--trace-event: trace events are system-wide"),
        (plain().replace('duration = "1s"', 'duration = "1s"\ntrace = "events"'), RecordingOptions(),
         "this engine can't record every change"),
    ],
)  # fmt: skip
def test_system_wide_settings_are_refused_by_name(
    text: str, options: RecordingOptions, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ExperimentError, match=r"or --engine (kernel|sim)") as refused:
        run(text, tmp_path, options)
    assert message in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("host_engine")
def test_a_missing_controller_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"flows\.0\.cc: this kernel .* has no congestion control with this name"):
        run(plain(rest='[[flows]]\ncc = "nosuch"\n'), tmp_path)


@pytest.mark.usefixtures("host_engine")
def test_a_run_records_its_host_and_leaves_nothing_else(tmp_path: Path) -> None:
    rest = '[[flows]]\ncc = "cubic"\n[[flows]]\ncc = "reno"\n[tcp]\necn = "classic"\n'
    got = run(
        plain(rest=rest), tmp_path, RecordingOptions(sockets_ns=10**8, counters_ns=10**8), tmp_path / "packets.pcap"
    )
    manifest = got.manifest
    assert (manifest["engine"], manifest["kernel"]["release"]) == ("host", os.uname().release)
    assert manifest["clock"].startswith("real (CLOCK_MONOTONIC)")
    machine = manifest["machine"]
    assert machine["timers"] >= 100
    assert 0 <= machine["late_p50_s"] <= machine["late_p99_s"] <= machine["late_max_s"]
    assert len(machine["cores"]) >= 1
    assert [line for line in manifest["commands"] if "sysctl" in line and not line.startswith("[")] == []
    assert {flow["cc"] for flow in manifest["flows"]} == {"cubic", "reno"}
    assert all(flow["connected"] for flow in manifest["flows"])
    assert got.queues.filter(got.queues["queue"] == "bottleneck")["sent_packets"].max() is not None
    assert sum(flow["bytes_received"] for flow in manifest["flows"]) > 500_000
    assert (tmp_path / "packets.pcap").stat().st_size > 10_000
    assert {"sockets.parquet", "counters.parquet"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.pcap", "run"]


@pytest.mark.usefixtures("host_engine")
def test_a_refused_command_is_in_the_error(tmp_path: Path) -> None:
    text = plain(rest='[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n"net.ipv4.tcp_nosuch" = "1"\n')
    with pytest.raises(ExperimentError, match=r"net\.ipv4\.tcp_nosuch does not exist in a host"):
        run(text, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("host_engine")
def test_a_run_that_exceeds_its_limit_is_stopped(tmp_path: Path) -> None:
    case, _ = planned(plain("60s"))
    with pytest.raises(EngineError, match="was still running after 1 s"):
        HostEngine(Permissions(host=True), wall_limit_s=1).run(
            Request("experiment", case, 1, tmp_path / "run"), lambda _seconds: None
        )
    assert list(tmp_path.iterdir()) == []


def test_without_namespaces_the_error_states_the_remedy(tmp_path: Path) -> None:
    """A process in a user namespace that may create no further namespaces."""
    if reason := host_engine_error():
        pytest.skip(reason)
    (tmp_path / "trial.json").write_text('{"commands": {}, "controllers": []}')
    script = (
        "import sys\nfrom pathlib import Path\n"
        "Path('/proc/sys/user/max_user_namespaces').write_text('0')\n"
        "Path('/proc/sys/user/max_net_namespaces').write_text('0')\n"
        "from dumbbell.host.agent import agent\n"
        "from dumbbell.engines.capability_probe import Worker, start_worker\n"
        "start_worker(Worker(agent(), 'try', Path(sys.argv[1]), 30))\n"
    )
    # The limits belong to the new user namespace.
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert "PlanError: the engine 'host' needs network namespaces, which this host does not allow" in done.stderr
    assert "--engine kernel, which needs neither" in done.stderr


def test_an_agent_that_exits_early_is_an_error_with_its_output(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho help me\nexit 3\n")
    agent.chmod(0o755)
    with pytest.raises(EngineError, match=r"killed before the experiment ended.*\n.*help me"):
        start_worker(Worker(agent, "worker", tmp_path, 10))


@pytest.mark.usefixtures("host_engine")
def test_the_command_line_accepts_the_engine(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(plain("500ms"))
    done = dumbbell("run", "experiment.toml", "--engine", "host", "--out", "out", "--json")
    message = json.loads(done.stdout)
    assert message["engine"] == "host"
    assert "--engine host" in json.loads((tmp_path / "out" / "run.json").read_text())["command"]
    wrong = dumbbell("run", "experiment.toml", "--engine", "host", "--kernel", "x")
    assert wrong.returncode == 2
    assert "--kernel: the engine 'host' uses the running kernel" in wrong.stderr
    assert "available: sim, kernel, host" in dumbbell("run", "experiment.toml", "--engine", "ns3").stderr
