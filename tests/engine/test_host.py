"""The host engine: what it refuses and why, what it says of its machine, and a run of it where this machine lets us."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Dumbbell
from dumbbell import result
from dumbbell.engine import HostEngine, Request
from dumbbell.engine.host_trial import Tried, missing, trials
from dumbbell.engine.host_worker import Worker, employ
from dumbbell.engine.permissions import Permissions
from dumbbell.errors import EngineError, ExperimentError
from dumbbell.plan import Plan, plan_case
from dumbbell.plan.inside import Inside
from dumbbell.result import Run
from dumbbell.spec import Case, parse
from engine.host_lab import plain, why_not

UNKNOWN = "Error: Specified qdisc kind is unknown.\nCommand failed -:1"
POLICED = plain(qdisc="police rate 10mbit burst 20kb").replace('rate = "10mbit"\n', "")


@pytest.fixture
def on_this_machine() -> None:
    if reason := why_not():
        pytest.skip(reason)


def planned(text: str) -> tuple[Case, Plan]:
    case = parse(text, Path("experiment.toml"))[0]
    return case, plan_case(case, 1)


def run(text: str, folder: Path, inside: Inside | None = None, capture: Path | None = None) -> Run:
    case, _ = planned(text)
    request = Request("experiment", case, 1, folder / "run", capture=capture, inside=inside or Inside())
    return result.load(HostEngine(Permissions(host=True)).run(request, lambda _seconds: None))


def lacking(text: str, *kinds: str) -> str:
    case, plan = planned(text)
    refused = {what: UNKNOWN if what in kinds else None for what in trials(plan)}
    assert set(kinds) <= set(refused)
    error = missing(Tried(refused, ["cubic"], ["cubic"], large_buffers=True), plan, case, "6.18")
    return str(error) if error else ""


def test_an_experiment_without_delay_needs_no_netem() -> None:
    _, plan = planned(plain())
    assert set(trials(plan)) == {"htb", "pfifo"}


def test_a_change_of_the_rtt_brings_the_netem_that_it_changes() -> None:
    _, plan = planned(plain(rest='[[flows]]\ncc = "cubic"\n[[changes]]\nat = "100ms"\nrtt = "10ms"\n'))
    assert "netem" in trials(plan)
    assert [change.command.argv[1] for change in plan.changes] == ["qdisc"]


@pytest.mark.parametrize(
    ("text", "kinds", "told"),
    [
        (plain(), (), ""),
        (plain(), ("htb",), "no htb, which path.bottleneck.rate needs"),
        (plain().replace("0ms", "20ms"), ("netem",), "no netem, which path.rtt = 20ms needs"),
        (
            plain().replace('"0ms"', '"20ms"\nloss = "1%"\ndelay = "5ms"'), ("netem",),
            "no netem, which path.delay = 5ms and path.loss = 1% and path.rtt = 20ms need",
        ),
        (
            plain(rest='[[path.links]]\nname = "air"\nwhere = "before"\ndelay = "2ms"\n[[flows]]\ncc = "cubic"\n'),
            ("netem",), "no netem, which path.links.air.delay = 2ms needs",
        ),
        (
            plain(rest='[[flows]]\ncc = "cubic"\nname = "a"\naccess = { delay = "3ms" }\n'),
            ("netem",), "no netem, which flows.0.access.delay = 3ms needs",
        ),
        (
            plain(qdisc="fq_codel limit 100"), ("fq_codel", "htb"),
            "no htb, which path.bottleneck.rate needs; no fq_codel, which path.bottleneck.qdisc = "
            '"fq_codel limit 100" needs; run it with --engine kernel, which has them all, or on a kernel with '
            "CONFIG_NET_SCH_HTB and CONFIG_NET_SCH_FQ_CODEL",
        ),
        (POLICED, ("prio", "filter matchall with police"), 'no prio, which path.bottleneck.qdisc = "police'),
    ],
)  # fmt: skip
def test_what_a_kernel_lacks_is_told_with_who_needs_it(text: str, kinds: tuple[str, ...], told: str) -> None:
    assert told in lacking(text, *kinds)
    assert bool(told) == bool(lacking(text, *kinds))


def test_a_filter_on_a_missing_discipline_is_not_told_beside_it() -> None:
    assert "filter" not in lacking(POLICED, "prio", "filter matchall with police")
    assert "CONFIG_NET_CLS_MATCHALL and CONFIG_NET_ACT_POLICE" in lacking(POLICED, "filter matchall with police")


def test_what_tc_itself_says_is_told_where_it_is_not_that_the_kind_is_unknown() -> None:
    case, plan = planned(plain())
    tried = Tried({"pfifo": "Error: Exclusivity flag on.", "htb": None}, [], [], large_buffers=True)
    assert "no pfifo" in str(missing(tried, plan, case, "6"))
    assert "(tc: Exclusivity flag on)" in str(missing(tried, plan, case, "6"))


@pytest.mark.parametrize(
    ("text", "inside", "told"),
    [
        (plain(rest='[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n"net.ipv4.tcp_mem" = "1 2 3"\n'), Inside(),
         "tcp.sysctl.net.ipv4.tcp_mem: this machine has one setting of that name for all its programs"),
        (plain(rest='[[flows]]\ncc = "cubic"\ncc_parameters = { hystart = 0 }\n'), Inside(),
         "flows.0.cc_parameters: a parameter of a controller is the whole machine's"),
        (plain(rest='[[flows]]\ncc = "cubic"\n[[programs]]\nname = "a"\non = "sender"\nrun = "true"\n'), Inside(),
         "programs.0.run: this engine runs no programs"),
        (plain(), Inside(trace=("tcp:tcp_probe",)), "--trace: trace events are the whole machine's"),
        (plain().replace('duration = "1s"', 'duration = "1s"\ntrace = "events"'), Inside(),
         "a kernel shows its flows when it is asked"),
    ],
)  # fmt: skip
def test_what_would_reach_beyond_its_hosts_is_refused_by_name(
    text: str, inside: Inside, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ExperimentError, match=r"or --engine (kernel|sim)") as refused:
        run(text, tmp_path, inside)
    assert told in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("on_this_machine")
def test_a_controller_that_the_kernel_has_not_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"flows\.0\.cc: this kernel .* has no congestion control of this name"):
        run(plain(rest='[[flows]]\ncc = "nosuch"\n'), tmp_path)


@pytest.mark.usefixtures("on_this_machine")
def test_a_run_measures_says_where_it_ran_and_leaves_nothing_else(tmp_path: Path) -> None:
    rest = '[[flows]]\ncc = "cubic"\n[[flows]]\ncc = "reno"\n[tcp]\necn = true\n'
    got = run(plain(rest=rest), tmp_path, Inside(sockets_ns=10**8, counters_ns=10**8), tmp_path / "packets.pcap")
    birth = got.birth
    assert (birth["engine"], birth["kernel"]["release"]) == ("host", os.uname().release)
    assert birth["clock"].startswith("real (CLOCK_MONOTONIC)")
    machine = birth["machine"]
    assert machine["timers"] >= 100
    assert 0 <= machine["late_p50_s"] <= machine["late_p99_s"] <= machine["late_max_s"]
    assert len(machine["cores"]) >= 1
    assert [line for line in birth["commands"] if "sysctl" in line and not line.startswith("[")] == []
    assert {flow["cc"] for flow in birth["flows"]} == {"cubic", "reno"}
    assert all(flow["connected"] for flow in birth["flows"])
    assert got.queues.filter(got.queues["queue"] == "bottleneck")["sent_packets"].max() is not None
    assert sum(flow["bytes_received"] for flow in birth["flows"]) > 500_000
    assert (tmp_path / "packets.pcap").stat().st_size > 10_000
    assert {"sockets.parquet", "counters.parquet"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.pcap", "run"]


@pytest.mark.usefixtures("on_this_machine")
def test_a_refused_command_names_itself(tmp_path: Path) -> None:
    text = plain(rest='[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n"net.ipv4.tcp_nosuch" = "1"\n')
    with pytest.raises(ExperimentError, match=r"a host has no net\.ipv4\.tcp_nosuch"):
        run(text, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("on_this_machine")
def test_a_run_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    case, _ = planned(plain("60s"))
    with pytest.raises(EngineError, match="was still running after 1 s"):
        HostEngine(Permissions(host=True), wall_limit_s=1).run(
            Request("experiment", case, 1, tmp_path / "run"), lambda _seconds: None
        )
    assert list(tmp_path.iterdir()) == []


def test_without_namespaces_it_says_who_may_have_them(tmp_path: Path) -> None:
    """A process that has only its own user and no more namespaces to give."""
    if reason := why_not():
        pytest.skip(reason)
    (tmp_path / "trial.json").write_text('{"commands": {}, "controllers": []}')
    script = (
        "import sys\nfrom pathlib import Path\n"
        "Path('/proc/sys/user/max_user_namespaces').write_text('0')\n"
        "Path('/proc/sys/user/max_net_namespaces').write_text('0')\n"
        "from dumbbell.machine.agent import agent\nfrom dumbbell.engine.host_worker import Worker, employ\n"
        "employ(Worker(agent(), 'try', Path(sys.argv[1]), 30))\n"
    )
    # The limits are of the new user namespace's own, not the machine's.
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert "PlanError: the engine 'host' makes networks of its own, and this machine lets nobody do that" in done.stderr
    assert "--engine kernel, which needs neither" in done.stderr


def test_an_agent_that_dies_at_once_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho help me\nexit 3\n")
    agent.chmod(0o755)
    with pytest.raises(EngineError, match=r"killed before the end, not by Dumbbell.*\n.*help me"):
        employ(Worker(agent, "worker", tmp_path, 10))


@pytest.mark.usefixtures("on_this_machine")
def test_the_command_knows_the_engine(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(plain("500ms"))
    done = dumbbell("run", "experiment.toml", "--engine", "host", "--out", "out", "--json")
    told = json.loads(done.stdout)
    assert told["engine"] == "host"
    assert "--engine host" in json.loads((tmp_path / "out" / "run.json").read_text())["command"]
    wrong = dumbbell("run", "experiment.toml", "--engine", "host", "--kernel", "x")
    assert wrong.returncode == 2
    assert "--kernel: this machine has one kernel, the one that runs" in wrong.stderr
    assert "there is: sim, kernel, host" in dumbbell("run", "experiment.toml", "--engine", "ns3").stderr
