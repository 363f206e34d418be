"""Plans of experiments: hosts, devices, qdiscs, flows, changes."""

import re
import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest

from dumbbell.errors import DumbbellError, ExperimentError, PlanError
from dumbbell.plan import Plan, make
from dumbbell.spec import load, parse, published, scenarios
from dumbbell.spec.attachments import read_attachments
from dumbbell.spec.units import duration_ns, rate_bps

FILE = Path("mine.toml")
FLOW = '[[flows]]\ncc = "cubic"\n'


def experiment(
    *, rtt: str = "20ms", path: str = "", bottleneck: str = 'rate = "10mbit"', rest: str = FLOW, duration: str = "10s"
) -> str:
    return f'duration = "{duration}"\n[path]\nrtt = "{rtt}"\n{path}\n[path.bottleneck]\n{bottleneck}\n{rest}'


def plan_of(text: str, file: Path = FILE, seed: int = 1) -> Plan:
    case = parse(text, file)[0]
    return make(case.experiment, read_attachments(case), seed)


def lines(plan: Plan) -> list[str]:
    return [f"[{command.host}] {command.line}" for command in plan.setup]


ALL = [
    (name, case.name) for name, file in scenarios().items() for case in load(file)[: 1 if name in published() else None]
]
"""Of published results the first case only: `test_published_scenarios` plans the others."""
VARIED = {
    "plain": experiment(),
    "two links and loss": experiment(
        path='delay = "5ms"\njitter = "1ms"\nloss = "1%"',
        rest='[[path.links]]\nname = "wifi"\nwhere = "before"\nrate = "20mbit"\ndelay = "2ms"\nloss = "1%"\n'
        '[[path.links]]\nname = "lan"\nqdisc = "codel"\nrate = "1gbit"\n' + FLOW,
    ),
    "reverse": experiment(rest='[path.reverse]\nrate = "1mbit"\nqdisc = "pfifo limit 10"\nloss = "1%"\n' + FLOW),
    "access": experiment(
        rest=FLOW + 'access = { rate = "5mbit", delay = "10ms", loss = "1%" }\n[[flows]]\ncc = "bbr"\necn = "classic"\n'
        '[[flows]]\ncc = "bbr"\ninitial_window = 3\ndelayed_ack = false\n[[flows]]\nkind = "udp"\nrate = "1mbit"\n'
    ),
    "hosts' disciplines": experiment(
        rest=FLOW
        + 'host_qdisc = "fq maxrate 5mbit"\naccess = { delay = "1ms" }\n[[flows]]\ncc = "bbr"\nhost_qdisc = "fq"\n'
    ),
    "routes": experiment(
        rest=FLOW + 'access = { delay = "1ms" }\n[[flows]]\ncc = "bbr"\ndirection = "reverse"\n'
        '[[path.links]]\nname = "b"\nrate = "5mbit"\ndelay = "1ms"\n'
        '[[changes]]\nat = "2s"\ngroup = "cubic"\nroute = ["b"]\n'
        '[[changes]]\nat = "3s"\ngroup = "bbr"\nroute = ["bottleneck"]\n'
    ),
    "changes": experiment(
        path='loss = "1%"',
        rest=FLOW + '[[changes]]\nat = "2s"\nrate = "1mbit"\nloss = "2%"\n[[changes]]\nat = "1s"\nrtt = "50ms"\n'
        "[tcp]\nsysctl = { 'net.ipv4.tcp_early_retrans' = 3 }\necn = 'classic'\nslow_start_after_idle = false\n",
    ),
}
EXPERIMENTS = [pytest.param(text, FILE, "", id=name) for name, text in VARIED.items()] + [
    pytest.param(scenarios()[name].read_text(), scenarios()[name], case, id=f"{name}: {case}") for name, case in ALL
]


def plan_of_case(text: str, file: Path, name: str) -> Plan:
    case = next(case for case in parse(text, file) if case.name == name)
    return make(case.experiment, read_attachments(case), 1)


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_no_argument_of_a_command_contains_white_space(text: str, file: Path, name: str) -> None:
    """The agent joins words with spaces for `tc -batch`; a sysctl is written by itself."""
    plan = plan_of_case(text, file, name)
    for command in [*plan.setup, *(change.step for change in plan.changes)]:
        arguments = command.argv[:-1] if command.argv[0] == "sysctl" else command.argv
        assert all(argument and not re.search(r"\s", argument) for argument in arguments), command
        assert command.argv[0] in ("ip", "tc", "ethtool", "sysctl")
        assert command.host == "" or command.host in plan.hosts


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_every_referenced_device_exists_in_its_host(text: str, file: Path, name: str) -> None:
    plan = plan_of_case(text, file, name)
    devices = {(host, "lo") for host in plan.hosts}
    for command in plan.setup:
        if command.argv[:3] == ["ip", "link", "add"]:
            arguments = list(command.argv)
            left, right = arguments[3], arguments[arguments.index("name") + 1]
            first, second = (arguments[index + 1] for index, argument in enumerate(arguments) if argument == "netns")
            devices |= {(first, left), (second, right)}
    for command in [*plan.setup, *(change.step for change in plan.changes)]:
        arguments = list(command.argv)
        if arguments[0] == "ethtool":
            assert (command.host, arguments[2]) in devices
        for index, argument in enumerate(arguments[:-1]):
            if argument == "dev":
                assert (command.host, arguments[index + 1]) in devices, command
    for queue in plan.queues:
        assert (queue.host, queue.device) in devices
    for flow in plan.flows:
        assert {flow.sender, flow.receiver} <= set(plan.hosts)


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_a_queue_under_test_is_on_a_router_unless_from_a_script(text: str, file: Path, name: str) -> None:
    plan = plan_of_case(text, file, name)
    ends = {flow.sender for flow in plan.flows} | {flow.receiver for flow in plan.flows}
    under_test = [queue for queue in plan.queues if queue.under_test]
    assert under_test
    for queue in under_test:
        assert queue.name.startswith("tc-") or queue.host not in ends
    assert plan.bottleneck is None or plan.bottleneck in {queue.name for queue in plan.queues}


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_a_queue_under_test_has_no_netem_on_its_device(text: str, file: Path, name: str) -> None:
    plan = plan_of_case(text, file, name)
    delayed = {(q.host, q.device) for q in plan.queues if q.text.startswith("netem") and not q.name.startswith("tc-")}
    tested = {(q.host, q.device) for q in plan.queues if q.under_test and not q.name.startswith("tc-")}
    assert not delayed & tested


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_a_netem_s_limit_fits_the_bdp_in_small_packets(text: str, file: Path, name: str) -> None:
    plan = plan_of_case(text, file, name)
    fastest = max((rate for queue in plan.queues for _, rate in queue.rates), default=0)
    for queue in plan.queues:
        arguments = queue.text.split()
        if arguments[0] == "netem" and not queue.name.startswith(("tc-", "access")):
            delay_ns = duration_ns(arguments[arguments.index("delay") + 1]) if "delay" in arguments else 0
            assert int(arguments[arguments.index("limit") + 1]) >= min(fastest, 10**10) * delay_ns / (8e9 * 100)


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_changes_are_in_order_of_time(text: str, file: Path, name: str) -> None:
    times = [change.at_ns for change in plan_of_case(text, file, name).changes]
    assert times == sorted(times)


@pytest.mark.parametrize("groups", [1, 2, 300])
def test_addresses_are_unique_for_any_number_of_groups(groups: int) -> None:
    access = FLOW + 'access = { rate = "5mbit", delay = "10ms" }\n'
    plan = plan_of(experiment(rest=access * groups))
    added = [command.argv[3] for command in plan.setup if command.argv[:3] == ["ip", "addr", "add"]]
    assert len(added) == len(set(added)) >= 6 * groups
    assert all(ip_address(address.partition("/")[0]).is_private for address in added)
    macs = [
        argument
        for command in plan.setup
        if command.argv[:2] == ["ip", "link"]
        for argument in command.argv
        if argument.startswith("02:")
    ]
    assert len(macs) == len(set(macs)) == len(added)
    assert len({flow.sender for flow in plan.flows}) == groups


def test_every_host_has_a_route_to_every_sender() -> None:
    """The receiver has a route to each sender's network, or the sender is a neighbour."""
    plan = plan_of(VARIED["access"])
    for sender in {flow.sender for flow in plan.flows}:
        routes = [line for line in lines(plan) if line.startswith("[receiver] ip route")]
        network = next(line.split()[4] for line in lines(plan) if line.startswith(f"[{sender}] ip addr add")).rsplit(
            ".", 1
        )[0]
        assert any(f" {network}." in route for route in routes), sender


def test_the_shaper_sends_one_packet_at_a_time() -> None:
    commands = lines(plan_of(experiment(bottleneck='rate = "80mbit"\nqdisc = "bfifo limit 225000"')))
    assert [line for line in commands if " tc " in line and "netem" not in line] == [
        "[router] tc qdisc add dev right root handle 1: htb default 1",
        "[router] tc class add dev right parent 1: classid 1:1 htb rate 80mbit burst 1514 cburst 1514 quantum 1514",
        "[router] tc qdisc add dev right parent 1:1 handle 10: bfifo limit 225000",
    ]


def test_a_discipline_with_its_own_rate_gets_no_shaper() -> None:
    plan = plan_of(experiment(bottleneck='qdisc = "cake bandwidth 10mbit"'))
    assert "[router] tc qdisc add dev right root handle 10: cake bandwidth 10mbit" in lines(plan)
    assert not any("htb" in line for line in lines(plan))
    assert next(queue for queue in plan.queues if queue.name == "bottleneck").rates == [(0, 10_000_000)]


def test_the_rtt_is_on_the_reverse_path_unless_it_is_divided() -> None:
    def delays(**parts: str) -> dict[str, str]:
        queues = plan_of(experiment(**parts)).queues
        return {q.name: q.text.split("delay ")[1].split()[0] for q in queues if "delay" in q.text}

    assert delays() == {"reverse-netem": "20ms"}
    assert delays(path='delay = "5ms"') == {"path-netem": "5ms", "reverse-netem": "15ms"}
    assert delays(rest='[path.reverse]\ndelay = "8ms"\n' + FLOW) == {"path-netem": "12ms", "reverse-netem": "8ms"}


def test_offloads_are_off_by_default() -> None:
    off = [line for line in lines(plan_of(experiment())) if "ethtool" in line]
    on = [line for line in lines(plan_of(experiment(path="offloads = true"))) if "ethtool" in line]
    assert off
    assert all(line.endswith("tso off gso off gro off") for line in off)
    assert all(line.endswith("tso on gso on gro on") for line in on)


@pytest.mark.parametrize("offloads", [True, False])
def test_a_warning_about_offloads_is_given_only_if_they_are_on(offloads: bool) -> None:
    script = 'interface = "eth0"\ncommands = "tc qdisc add dev eth0 root netem loss 1%"\n'
    text = f'duration = "1s"\n[path]\nrtt = "1ms"\noffloads = {str(offloads).lower()}\n'
    text += f'[path.bottleneck]\nrate = "1gbit"\n[path.tc]\n{script}[[flows]]\ncc = "reno"\n'
    warning, loss = plan_of(text).warnings
    assert "sender's own device" in warning
    assert "write path.loss" in loss
    assert ("offloads" in warning) == offloads


@pytest.mark.parametrize("rtt", ["0s", "0ms"])
def test_a_queue_in_bdp_needs_an_rtt(rtt: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        plan_of(experiment(rtt=rtt, bottleneck='rate = "10mbit"\nqdisc = "bfifo limit 1.5bdp"'))
    error = caught.value
    assert (error.key, error.value) == ("path.bottleneck.qdisc", "bfifo limit 1.5bdp")
    assert "needs both a rate and a path.rtt above zero" in error.problem
    assert error.right == "give both, or a size in bytes"


def test_a_queue_in_bdp_is_converted_to_bytes_for_tc() -> None:
    plan = plan_of(experiment(bottleneck='rate = "10mbit"\nqdisc = "bfifo limit 2bdp"'))
    assert "[router] tc qdisc add dev right parent 1:1 handle 10: bfifo limit 50000" in lines(plan)


def test_ten_thousand_flows_are_planned_or_refused_with_a_valid_interval() -> None:
    group = f"{FLOW}count = 10000\n"
    assert len(plan_of("sample = '1s'\n" + experiment(rest=group, duration="60s")).flows) == 10_000
    with pytest.raises(
        PlanError, match=r"10,000 flows and 3 queues sampled every 10 ms would give 60,.*--set sample=29ms"
    ):
        plan_of(experiment(rest=group, duration="60s"))
    assert plan_of("sample = '30ms'\n" + experiment(rest=group, duration="60s")).sample_ns == 30_000_000


def test_flows_that_never_start_do_not_hide_others() -> None:
    never_started = f'{FLOW}count = 10000\nstagger = "60s"\n'
    with pytest.raises(PlanError):
        plan_of(experiment(rest=f"{FLOW}count = 10000\n{never_started}", duration="60s"))


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(FLOW + '[[probes]]\ninterval = "1ns"\n', id="pings every nanosecond"),
        pytest.param('[[flows]]\nkind = "udp"\nrate = "1tbit"\npacket = 16\n', id="UDP packets without an interval"),
    ],
)
def test_too_many_packets_are_refused(rest: str) -> None:
    with pytest.raises(DumbbellError):
        plan_of(experiment(rest=rest))


def test_a_netem_that_will_lose_packets_may_drop() -> None:
    plan = plan_of(experiment(rest=FLOW + '[[changes]]\nat = "1s"\nloss = "5%"\n'))
    assert next(queue for queue in plan.queues if queue.name == "path-netem").may_drop


def test_a_change_of_jitter_needs_a_delay() -> None:
    with pytest.raises(DumbbellError):
        plan_of(experiment(rest=FLOW + '[[changes]]\nat = "1s"\njitter = "5ms"\n'))


def test_a_reverse_delay_longer_than_the_rtt_is_refused() -> None:
    with pytest.raises(DumbbellError):
        plan_of(experiment(rest='[path.reverse]\ndelay = "50ms"\n' + FLOW))


def test_the_delay_of_an_access_link_is_on_the_forward_path() -> None:
    plan = plan_of(experiment(rest=FLOW + 'access = { delay = "10ms" }\n'))
    assert "delay 10ms" in next(queue.text for queue in plan.queues if queue.name == "access-cubic-netem")


def test_a_host_s_discipline_is_on_the_group_s_own_host() -> None:
    plan = plan_of(experiment(rest=FLOW + 'host_qdisc = "fq"\n' + FLOW + 'host_qdisc = "bfifo limit 30000"\n' + FLOW))
    queues = {queue.name: (queue.host, queue.text) for queue in plan.queues if queue.name.startswith("host-")}
    assert queues == {"host-cubic": ("sender1", "fq"), "host-cubic-2": ("sender2", "bfifo limit 30000")}
    assert [flow.sender for flow in plan.flows] == ["sender1", "sender2", "sender"]


def test_a_host_s_discipline_and_a_script_exclude_each_other() -> None:
    script = (
        FLOW
        + 'host_qdisc = "fq"\n[path.tc]\ninterface = "eth0"\ncommands = "tc qdisc add dev eth0 root handle 1: fq"\n'
    )
    with pytest.raises(ExperimentError, match=r"'path\.tc' and a 'host_qdisc'"):
        plan_of(experiment(rest=script))


def test_a_udp_flow_has_no_size() -> None:
    with pytest.raises(ExperimentError):
        plan_of(experiment(rest='[[flows]]\nkind = "udp"\nrate = "1mbit"\nbytes = "1MB"\n'))


def test_poisson_arrivals_are_drawn_from_the_seed() -> None:
    text = "sample = '100ms'\n" + experiment(rest=FLOW + 'bytes = "10kB"\narrivals = "50/s"\n', duration="100s")
    first, repeated, other = plan_of(text), plan_of(text), plan_of(text, seed=2)
    assert first.flows == repeated.flows
    assert first.flows != other.flows
    assert len(first.flows) == pytest.approx(5000, rel=0.05)
    starts = [flow.start_ns for flow in first.flows]
    assert starts == sorted(starts)
    assert first.ends_when_done


def test_count_limits_arrivals() -> None:
    text = experiment(rest=FLOW + 'bytes = "10kB"\narrivals = "50/s"\ncount = 7\n', duration="100s")
    assert len(plan_of(text).flows) == 7


def test_a_trace_becomes_changes_of_rate(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("".join(f"{ms}\n" for ms in (50, 100, 110, 120, 130, 200)))
    plan = plan_of(experiment(bottleneck='rate_trace = "trace"', duration="300ms"), tmp_path / "mine.toml")
    packet = 1504 * 8 * 10
    assert next(queue for queue in plan.queues if queue.name == "bottleneck").rates == [
        (0, 2 * packet),
        (100_000_000, 4 * packet),
        (200_000_000, 2 * packet),
    ]
    rates = [command.step.argv[command.step.argv.index("rate") + 1] for command in plan.changes]
    assert [rate_bps(rate) for rate in rates] == [4 * packet, 2 * packet]


def test_a_rate_set_by_its_discipline_can_not_change() -> None:
    link = '[[path.links]]\nname = "x"\nqdisc = "tbf rate 1mbit burst 1540 limit 10000"\n'
    with pytest.raises(PlanError, match="the rate of 'x' can't change: its qdisc shapes by itself"):
        plan_of(experiment(rest=link + FLOW + '[[changes]]\nat = "1s"\nlink = "x"\nrate = "2mbit"\n'))


def test_a_title_stays_in_its_comment() -> None:
    """For every character that Python or a shell takes as the end of a line."""
    plan = plan_of(experiment())
    plain = plan.script("x").splitlines()
    for end in "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029":
        script = plan.script(f"title{end}rm -rf /;`reboot`$(reboot)")
        assert script.splitlines()[1] == "# title rm -rf /;`reboot`$(reboot)"
        assert script.splitlines()[2:] == plain[2:]


@pytest.mark.parametrize(("text", "file", "name"), EXPERIMENTS)
def test_a_shell_parses_the_script(text: str, file: Path, name: str) -> None:
    script = plan_of_case(text, file, name).script("title")
    assert subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False).stderr == ""


def test_the_script_of_marked_flows_marks_them() -> None:
    case = load(scenarios()["two-classes-script"])[0]
    script = make(case.experiment, read_attachments(case), 1).script("title")
    assert re.search(r"set-mark 10|fwmark 10|--mark 10", script)


def test_jittered_starts_depend_on_the_seed() -> None:
    text = f'{FLOW}count = 3\nstagger = "1s"\nstart_jitter = "100ms"\n'
    plans = (plan_of(experiment(rest=text), seed=seed) for seed in (1, 1, 2))
    one, repeated, other = ([flow.start_ns for flow in each.flows] for each in plans)
    assert one == repeated != other
    assert all(0 <= start - position * 10**9 <= 10**8 for position, start in enumerate(one))


def test_a_script_starts_a_group_when_another_has_completed() -> None:
    flows = '[[flows]]\nname = "last"\ncc = "cubic"\nafter = "first"\nstart = "2s"\n'
    flows += '[[flows]]\nname = "first"\ncc = "cubic"\nbytes = "1MB"\ncount = 2\n'
    written = plan_of(experiment(rest=flows)).script("x").splitlines()
    clients = [number for number, line in enumerate(written) if "iperf3 -c" in line]
    assert [written[number + 1] for number in clients[:2]] == ["flow2=$!", "flow3=$!"]
    wait = "(for flow in $flow2 $flow3; do tail --pid=$flow -f /dev/null; done; sleep 2; "
    assert written[clients[2]].startswith(wait)


def test_a_group_with_another_route_has_a_way_to_each_of_them() -> None:
    link = '[[path.links]]\nname = "b"\nrate = "5mbit"\n'
    change = '[[changes]]\nat = "1s"\ngroup = "bbr"\nroute = ["b"]\n'
    plan = plan_of(experiment(rest=FLOW.replace("cubic", "bbr") + link + change))
    assert {"fork1", "merge1", "exit", "sender1", "receiver1"} <= set(plan.hosts)
    changed = [str(each.step) for each in plan.changes]
    # Where the group joins the path, where that is, and not where it leaves it: both routes do so at the end.
    assert [line.split("]")[0] for line in changed] == ["[fork1", "[after1"]
    assert all("ip route replace 10.0." in line and "/32 via 10.0." in line for line in changed)
