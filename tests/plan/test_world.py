"""The simulator's plan: reviewed for small experiments, and accepted for any."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.errors import ExperimentError, PlanError
from dumbbell.plan import Plan, make, plan_case
from dumbbell.plan.recordings import Place, tap
from dumbbell.spec import load, parse, published, scenarios
from dumbbell.spec.attachments import read_attachments

FOLDER = Path(__file__).parent / "worlds"
UPDATE = os.environ.get("DUMBBELL_UPDATE_SNAPSHOTS") == "1"
HEAD = 'duration = "2s"\n[path]\nrtt = "20ms"\n[path.bottleneck]\nrate = "10mbit"\n'
CUBIC = '[[flows]]\ncc = "cubic"\n'


def world(
    flows: str = CUBIC,
    *,
    path: str = "",
    qdisc: str = "pfifo limit 100",
    rate: str = 'rate = "10mbit"',
    rtt: str = "20ms",
    top: str = "",
    accepted: bool = True,
) -> dict[str, Any]:
    text = (
        f'duration = "2s"\n{top}\n[path]\nrtt = "{rtt}"\n{path}\n[path.bottleneck]\n{rate}\nqdisc = "{qdisc}"\n{flows}'
    )
    case = parse(text, Path("mine.toml"))[0]
    return as_world(make(case.experiment, read_attachments(case), 1), 1, accepted=accepted)


def as_world(plan: Plan, seed: int, capture: Place | None = None, *, accepted: bool = True) -> dict[str, Any]:
    """The simulator's plan, which it accepts."""
    simulated = plan.for_simulator(seed, capture)
    if accepted:
        _sim.check(simulated)
    world: dict[str, Any] = simulated.values()
    return world


def planned(flows: str) -> Plan:
    return plan_case(parse(HEAD + flows, Path("mine.toml"))[0], 1)


def tcp(document: dict[str, Any], number: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = document["flows"][number]["traffic"]["tcp"]
    return found


SMALL: dict[str, tuple[str, Any]] = {
    "one-cubic": (CUBIC, {}),
    "two-ways": (
        '[[flows]]\ncc = "bbr"\nstart = "1s"\nbytes = "1MB"\naccess = { rate = "5mbit", delay = "3ms", loss = "1%" }\n'
        '[path.reverse]\nrate = "1mbit"\nqdisc = "codel"\n',
        {"qdisc": "fq_codel limit 50"},
    ),
    "changes": (
        CUBIC + '[[changes]]\nat = "1s"\nrate = "2mbit"\nloss = "1%"\n[[changes]]\nat = "1500ms"\nrtt = "30ms"\n',
        {"qdisc": "red limit 100000 avpkt 1000"},
    ),
}


def as_text(document: dict[str, Any]) -> str:
    """JSON for reviewers: one entry per line, rows of numbers in one line."""
    text = json.dumps(document, indent=1)
    return re.sub(r"\[\s+((?:\d+,?\s*)+)\]", lambda row: f"[{' '.join(row[1].split())}]", text) + "\n"


def compare_snapshot(name: str, document: dict[str, Any]) -> None:
    file = FOLDER / f"{name}.json"
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(as_text(document), encoding="utf-8")
    assert as_text(document) == file.read_text(encoding="utf-8"), (
        "DUMBBELL_UPDATE_SNAPSHOTS=1, then review the difference"
    )


@pytest.mark.parametrize("name", SMALL)
def test_a_small_experiment_s_plan_equals_the_reviewed_snapshot(name: str) -> None:
    flows, more = SMALL[name]
    compare_snapshot(name, world(flows, **more))


@pytest.mark.parametrize("name", ["cyclic-script", "two-classes-script"])
def test_a_tc_script_s_plan_equals_the_reviewed_snapshot(name: str) -> None:
    compare_snapshot(name, as_world(plan_case(load(scenarios()[name])[0], 1), 1))


def test_every_snapshot_has_an_experiment() -> None:
    assert {file.stem for file in FOLDER.glob("*")} == {*SMALL, "cyclic-script", "two-classes-script"}


def test_the_simulator_accepts_every_scenario() -> None:
    for name in scenarios().keys() - published():
        for case in load(scenarios()[name]):
            as_world(plan_case(case, 1), 1)


def test_a_sender_s_settings_are_set_on_its_sockets() -> None:
    flows = (
        '[[flows]]\ncc = "bbr"\necn = "classic"\ninitial_window = 30\ndelayed_ack = false\nsndbuf = "100KiB"\n'
        'rcvbuf = "1000"\npacing_rate = "8mbit"\nprompt_reads = true\n' + CUBIC
    )
    document = world(flows, path="mtu = 9000\noffloads = true")
    first, second = tcp(document, 0), tcp(document, 1)
    assert {key: first["sender"][key] for key in ("mss", "initial_window", "ecn", "sndbuf", "max_pacing_rate")} == {
        "mss": 8948, "initial_window": 30, "ecn": True, "sndbuf": 204_800, "max_pacing_rate": 1_000_000,
    }  # fmt: skip
    assert (first["sender"]["gso_max_bytes"], first["sender"]["rcvbuf"], first["sender"]["quickack"]) == (
        65_536,
        None,
        False,
    )
    receiver = first["receiver"]
    assert (receiver["quickack"], receiver["prompt_reads"], receiver["rcvbuf"], receiver["ecn"]) == (
        True, True, 2_304, True,
    )  # fmt: skip
    assert (second["sender"]["ecn"], second["sender"]["initial_window"], second["receiver"]["quickack"]) == (
        False, 10, False,
    )  # fmt: skip


def test_a_controller_s_parameters_are_converted_to_its_units() -> None:
    document = tcp(
        world(CUBIC + 'cc_parameters = { beta = 512, a = "5ms", b = "8mbit", c = "word" }\n', accepted=False)
    )
    assert document["parameters"] == {"beta": 512, "a": 5_000_000, "b": 8_000_000, "c": "word"}


def test_the_simulator_refuses_an_unknown_parameter_of_a_controller() -> None:
    with pytest.raises(
        PlanError, match="no parameter 'betta'; its parameters: initial_ssthresh, fast_convergence, beta"
    ):
        world(CUBIC + "cc_parameters = { betta = 512 }\n")


def test_a_module_s_parameters_are_written_to_linux_once() -> None:
    flows = CUBIC + "count = 2\ncc_parameters = { beta = 512 }\n"
    assert [step.line for step in planned(flows).module_parameters()] == [
        "write /sys/module/tcp_cubic/parameters/beta 512"
    ]
    with pytest.raises(ExperimentError, match="two groups set cubic differently"):
        planned(flows + CUBIC).for_agent()


def test_settings_of_all_hosts_are_set_on_all_sockets() -> None:
    top = '[tcp]\necn = "classic"\nrmem_max = "1MiB"\nwmem_max = "2MiB"\nslow_start_after_idle = false\n'
    ends = tcp(world(top=top))
    for end in (ends["sender"], ends["receiver"]):
        assert (end["ecn"], end["rmem_max"], end["wmem_max"], end["slow_start_after_idle"]) == (
            True, 1 << 20, 2 << 20, False,
        )  # fmt: skip
        assert (end["gso_max_bytes"], end["mss"]) == (None, 1448)


@pytest.mark.parametrize(
    ("keys", "work"),
    [
        ("", "bulk"),
        ('bytes = "5kB"', {"sized": {"bytes": 5_000}}),
        ('on_time = "1s"\noff_time = "2s"', {"on_off": {"on": 10**9, "off": 2 * 10**9, "bytes": None}}),
        (
            'request = "100"\nresponse = "1kB"\nthink = "3ms"',
            {"exchange": {"request": 100, "response": 1000, "think": 3_000_000}},
        ),
    ],
)
def test_an_application_s_work(keys: str, work: object) -> None:
    assert tcp(world(CUBIC + keys))["work"] == work


def test_an_application_with_responses_reads_promptly() -> None:
    ends = tcp(world(CUBIC + 'request = "100"\nresponse = "1kB"'))
    assert ends["sender"]["prompt_reads"] is ends["receiver"]["prompt_reads"] is True


def test_datagrams_and_probes() -> None:
    document = world(
        '[[flows]]\nkind = "udp"\nrate = "1mbit"\npacket = 1250\nstart = "1s"\nstop = "1500ms"\n'
        '[[probes]]\nkind = "udp"\ninterval = "20ms"\nstart = "5ms"\npayload = 20\n[[probes]]\n'
    )
    flow = document["flows"][0]
    assert flow["traffic"] == {"udp": {"payload": 1250, "mtu": 1500, "interval": 10**7}}
    assert (flow["start"], flow["stop"]) == (10**9, 15 * 10**8)
    assert [(probe["name"], probe["start"], probe["interval"], probe["payload"]) for probe in document["probes"]] == [
        ("udp-1", 5_000_000, 20_000_000, 20),
        ("ping-2", 0, 100_000_000, 56),
    ]


def test_a_capture_is_taken_at_the_bottleneck() -> None:
    case = parse(f'duration = "1s"\n[path]\nrtt = "1ms"\n[path.bottleneck]\nrate = "1mbit"\n{CUBIC}', Path("x.toml"))[0]
    plan = plan_case(case, 1)
    document = as_world(plan, 1, tap(plan, None))
    location = next(queue["at"] for queue in document["queues"] if queue["name"] == "bottleneck")
    assert document["capture"] == {"at": location}
    assert as_world(plan, 1)["capture"] is None


def test_every_change_is_recorded_on_request() -> None:
    assert world(top='record = "events"')["every_change"] is True
    assert world()["every_change"] is False


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('"net.ipv4.tcp_sack" = 0', "tcp.sysctl: the simulator has no net.ipv4.tcp_sack = 0"),
        ('"net.ipv4.tcp_sack" = 0', "it has 1, as Linux does; or run it with --engine kernel"),
        ('"net.ipv4.tcp_magic" = 1', "the simulator has no net.ipv4.tcp_magic = 1"),
        ('"net.ipv4.tcp_ecn" = 7', "the simulator has no net.ipv4.tcp_ecn = 7"),
    ],
)
def test_a_setting_that_the_simulator_lacks_is_an_error(setting: str, message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        world(top=f"[tcp.sysctl]\n{setting}")
    assert message in str(raised.value)


def test_supported_settings_and_defaults_are_accepted() -> None:
    ends = tcp(
        world(
            top='[tcp.sysctl]\n"net.ipv4.tcp_sack" = 1\n"net.ipv4.tcp_fin_timeout" = 5\n"net.ipv4.tcp_ecn" = 1\n'
            '"net.ipv4.tcp_slow_start_after_idle" = 0\n"net.ipv4.tcp_min_tso_segs" = 4\n'
        )
    )
    assert (ends["sender"]["ecn"], ends["receiver"]["slow_start_after_idle"]) == (True, False)
    assert ends["sender"]["min_tso_segments"] == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"qdisc": "skbprio limit 10"},
            "path.bottleneck.qdisc: the simulator has no 'skbprio', got 'skbprio limit 10'; it has bfifo, cake,",
        ),
        (
            {"flows": CUBIC + '[[path.links]]\nname = "wifi"\nrate = "5mbit"\nqdisc = "skbprio"\n'},
            "path.links.wifi.qdisc: the simulator has no 'skbprio'",
        ),
        (
            {"flows": '[path.reverse]\nqdisc = "cake bandwidth 1mbit autorate-ingress"\n' + CUBIC},
            "path.reverse.qdisc: the simulator's cake has no 'autorate-ingress'",
        ),
        (
            {"flows": CUBIC + 'access = { qdisc = "skbprio limit 10", rate = "1mbit" }'},
            "flows.0.access.qdisc: the simulator has no 'skbprio'",
        ),
    ],
)
def test_unsupported_features_are_refused_with_key_value_and_suggestion(more: dict[str, Any], message: str) -> None:
    flows = more.pop("flows", CUBIC)
    with pytest.raises(ExperimentError) as raised:
        world(flows, **more)
    assert message in str(raised.value)
    assert str(raised.value).endswith("run it with --engine kernel")


def test_arguments_that_linux_refuses_too_are_not_suggested_for_it() -> None:
    with pytest.raises(ExperimentError) as raised:
        world(qdisc="red limit 1000 avpkt 1000")
    assert "path.bottleneck.qdisc: red's burst of 0 packets is too small" in str(raised.value)
    assert raised.value.right == "the kernel refuses that too: at least 1"


SHARES = st.sampled_from(["0%", "0.1%", "1%", "33.3%", "100%"])
TIMES = st.sampled_from(["0s", "1us", "7us", "100us", "3ms", "50ms", "2s"])
RATES = st.sampled_from(["1kbit", "3mbit", "80mbit", "10gbit", "1tbit", "999bit"])
QDISCS = st.one_of(
    st.sampled_from(
        [
            "pfifo", "bfifo", "bfifo limit 1.5bdp", "pfifo limit 0.1bdp", "codel", "codel ecn target 1us interval 1us",
            "codel ce_threshold 1ms", "fq_codel", "fq_codel flows 1 quantum 1048576 memory_limit 4gb", "fq_codel noecn",
            "red limit 400000 avpkt 1000", "red limit 400000 avpkt 1514 adaptive ecn harddrop", "netem delay 5ms",
            "red limit 4000000000 avpkt 1514 min 30000 max 90000 bandwidth 1tbit", "netem rate 1mbit 20 100 5",
            "tbf rate 1mbit burst 1514 latency 50ms", "tbf rate 1mbit burst 3kb limit 1bdp peakrate 2mbit mtu 1540",
            "tbf rate 7bit burst 1 limit 1", "netem delay 1ms reorder 25% 50% gap 3 duplicate 1% corrupt 1%", "cake",
            "cake bandwidth 1mbit overhead 256 atm mpu 256 ack-filter ingress rtt 1us", "fq maxrate 1bit nopacing",
            "sfq", "fq", "pie", "htb default 10", "prio", "netem slot 5ms", "pfifo limit 4294967296",
            "bfifo limit 99999999999", "codel limit 5000000000",
        ]
    ),
    st.builds("pfifo limit {}".format, st.integers(1, 2**33)),
    st.builds("red limit {} avpkt {}".format, st.integers(0, 2**22), st.integers(0, 3000)),
)  # fmt: skip
LOSSES = st.one_of(
    st.builds("{}".format, SHARES),
    st.builds("random {} {}".format, SHARES, SHARES),
    st.builds("gemodel {} {} {}".format, SHARES, SHARES, SHARES),
    st.builds("state {} {} {} {} {}".format, SHARES, SHARES, SHARES, SHARES, SHARES),
)


@st.composite
def impairments(draw: st.DrawFn) -> str:
    keys = [f'delay = "{draw(TIMES)}"'] if draw(st.booleans()) else []
    keys += [f'loss = "{draw(LOSSES)}"'] if draw(st.booleans()) else []
    if keys and keys[0].startswith("delay"):
        keys += draw(
            st.lists(
                st.sampled_from(['jitter = "1ms"', 'reorder = "25% 50%"', 'duplicate = "1%"', 'corrupt = "0.1%"']),
                unique=True,
            )
        )
    return ", ".join(keys)


@st.composite
def experiments(draw: st.DrawFn) -> str:
    """An experiment file with random settings; most are valid."""
    flows = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 3)) == 0:
            flows.append(f'[[flows]]\nname = "f{number}"\nkind = "udp"\nrate = "{draw(RATES)}"\n')
            continue
        keys = draw(
            st.lists(
                st.sampled_from(
                    [
                        'start = "1s"', "count = 3", "ecn = 'classic'", "initial_window = 3", "delayed_ack = false",
                        'sndbuf = "1"', 'rcvbuf = "4GiB"', 'pacing_rate = "1kbit"', "prompt_reads = true",
                        'bytes = "1MB"', 'on_time = "1s"\noff_time = "1s"',
                        'request = "1"\nresponse = "1"', 'stop = "1500ms"',
                        f"access = {{ {draw(impairments())} }}", f'access = {{ rate = "{draw(RATES)}" }}',
                    ]
                ),
                unique_by=lambda key: key.split(" ")[0],
            )
        )  # fmt: skip
        flows.append(f'[[flows]]\nname = "f{number}"\ncc = "reno"\n' + "\n".join(keys) + "\n")
    links = [
        f'[[path.links]]\nname = "l{number}"\nwhere = "{draw(st.sampled_from(["before", "after"]))}"\n'
        f'rate = "{draw(RATES)}"\n' + draw(impairments()).replace(", ", "\n") + "\n"
        for number in range(draw(st.integers(0, 2)))
    ]
    reverse = f'[path.reverse]\nqdisc = "{draw(QDISCS)}"\nrate = "{draw(RATES)}"\n' if draw(st.booleans()) else ""
    values = {"rate": RATES, "rtt": st.just("2s"), "loss": LOSSES}
    changes = [
        f'[[changes]]\nat = "{draw(TIMES)}"\n{key} = "{draw(values[key])}"\n'
        for key in draw(st.lists(st.sampled_from(sorted(values)), max_size=3))
    ]
    path = draw(impairments()).replace(", ", "\n")
    return (
        f'duration = "2s"\n[path]\nrtt = "2s"\nmtu = {draw(st.integers(576, 9000))}\n{path}\n'
        f'offloads = {draw(st.sampled_from(["true", "false"]))}\n'
        f'[path.bottleneck]\nrate = "{draw(RATES)}"\nqdisc = "{draw(QDISCS)}"\n'
        + reverse + "".join(links) + "".join(flows) + "".join(changes)
    )  # fmt: skip


def refusal_of(text: str, seed: int) -> ExperimentError | None:
    """The simulator's error, or None if it accepts the experiment."""
    try:
        case = parse(text, Path("any.toml"))[0]
        plan = make(case.experiment, read_attachments(case), seed)
    except (ExperimentError, PlanError):
        event("no experiment")
        return None
    try:
        as_world(plan, seed)
    except ExperimentError as error:
        event("refused")
        return error
    event("accepted")
    return None


@given(experiments(), st.integers(0, 2**63 - 1))
def test_the_simulator_accepts_or_refuses_the_plan_of_any_experiment(text: str, seed: int) -> None:
    error = refusal_of(text, seed)
    if error is not None:
        assert error.key
        assert ("--engine kernel" in str(error)) != ("the kernel refuses that too" in str(error))


def test_links_with_a_rate_have_telemetry_if_the_path_has() -> None:
    access = CUBIC + 'access = { rate = "20mbit", delay = "1ms" }\n'
    document = world(access, path="telemetry = true")
    stamping = [device["root"]["config"]["kind"] for device in document["devices"] if device["telemetry"]]
    assert stamping == ["htb", "htb"], "the bottleneck and the access link, but no netem"
    assert not any(device["telemetry"] for device in world(access)["devices"])
