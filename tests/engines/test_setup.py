"""What the agent sets up is what tc sets up: the kernel's dumps are equal, byte for byte.

Two hosts of one guest get the same commands, one by the machine's tc (iproute2 6.1 or later), one by the agent.
"""

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dumbbell import _sim
from dumbbell.engines import KernelEngine, Request
from dumbbell.errors import Wrong
from dumbbell.results import result
from dumbbell.spec import parse
from dumbbell.spec.units import GRAMMAR, POLICE
from engines.dumps import BY_AGENT, Dump, dumps, without

pytestmark = pytest.mark.kernel

MTU = 1514
CASES = 60
"""Devices of one guest."""

ELSEWHERE = {"dualpi2", "gred", "hfsc", POLICE}
"""Kinds that Linux 6.12 lacks, that several commands set up, or that tc has as an action only."""
NOT_TC = {"netem": {"every", "seed"}, "cake": {"nat", "nonat"}}
"""Options that only the simulator, a later tc or a kernel with connection tracking has."""
NEEDED = {
    "tbf": {"rate": "rate 10mbit", "burst": "burst 5kb", "limit": "limit 60kb"},
    "red": {"limit": "limit 400000", "avpkt": "avpkt 1000"},
    "choke": {"limit": "limit 400", "bandwidth": "bandwidth 20mbit"},
    "ets": {"bands": "bands 16"},
    "htb class": {"rate": "rate 10mbit"},
    POLICE: {"rate": "rate 10mbit", "burst": "burst 20kb"},
}
COUNTS = {
    "mpu": 256, "overhead": 256, "ecn_prob": 99, "alpha": 32, "beta": 32, "bands": 16, "priomap": 1, "burst": 200,
    "strict": 4,
}  # fmt: skip
"""The largest sensible number of an option, where it is not a thousand."""

UP_TO_16_BITS = {"mpu", "overhead"}

TIMES = st.one_of(
    st.integers(1, 2_000_000).map("{}us".format), st.integers(1, 2_000).map("{}ms".format), st.just("1s"), st.just("0s")
)
RATES = st.one_of(
    st.integers(1, 900_000).map("{}kbit".format), st.integers(1, 90).map("{}gbit".format), st.just("12345bps")
)
SIZES = st.one_of(st.integers(300, 1_000_000).map(str), st.integers(1, 3_000).map("{}kb".format))
SHARES = st.integers(0, 10_000).map(lambda number: f"{number / 100:g}%")


def word(kind: str, option: str) -> st.SearchStrategy[str]:
    """An argument of this kind."""
    if option in UP_TO_16_BITS and kind == "size":
        return st.integers(300, 60_000).map(str)
    plain = {"time": TIMES, "rate": RATES, "size": SIZES, "share": SHARES}
    if kind in plain:
        return plain[kind]
    if kind == "packets":
        return st.integers(1, 20_000).map(str)
    if kind == "fraction":
        return st.integers(1, 100).map(lambda number: f"{number / 100:g}")
    if kind == "value/mask":
        return st.tuples(st.integers(0, 3), st.integers(1, 3)).map(lambda pair: f"0x{pair[0]:x}/0x{pair[1]:x}")
    if kind == "class number":
        return st.integers(0, 65_535).map("{:x}".format)
    if kind == "count":
        return st.integers(0, COUNTS.get(option, 1_000)).map(str)
    return st.sampled_from([choice for choice in kind.split("|") if choice != "uniform"])


@st.composite
def option_words(draw: st.DrawFn, option: str, arguments: tuple[str, ...]) -> str:
    """An option with its arguments; those that may be left out are left out from some place on."""
    optional = [argument for argument in arguments if argument.endswith("?")]
    kept = len(arguments) - len(optional) + draw(st.integers(0, len(optional)))
    return " ".join([option, *(draw(word(argument.rstrip("?"), option)) for argument in arguments[:kept])])


@st.composite
def options(draw: st.DrawFn, kind: str, known: dict[str, tuple[str, ...]]) -> str:
    """Options of a kind in any order, with those that it needs."""
    allowed = sorted(set(known) - NOT_TC.get(kind, set()))
    names = draw(st.lists(st.sampled_from(allowed), unique=True, max_size=5)) if allowed else []
    written = {name: draw(option_words(name, known[name])) for name in names}
    needed = NEEDED.get(kind, {})
    if "latency" in written:
        needed = {name: text for name, text in needed.items() if name != "limit"}
        written.pop("limit", None)
    return " ".join((needed | written).values())


def refused(*lines: str) -> bool:
    """Do tc or Linux refuse the last command, after others that they and the simulator accept?"""
    return _outcome(*lines) == "refused"


def simulated(*lines: str) -> bool:
    """Does the simulator accept the last command, too?"""
    return _outcome(*lines) == "accepted"


def _outcome(*lines: str) -> str:
    tree = _sim.TcTree(MTU, 1000, {})
    for line in lines[:-1]:
        tree.execute(line.split())
    try:
        tree.execute(lines[-1].split())
    except Wrong as error:
        return "lacking" if error.is_lacking else "refused"
    return "accepted"


@st.composite
def qdisc(draw: st.DrawFn, kind: str) -> list[str]:
    """A discipline, and a change of it if the simulator knows that the kernel makes it."""
    known = GRAMMAR[kind]
    line = f"qdisc add dev {{dev}} root handle 1: {kind} {draw(options(kind, known))}"
    if refused(line):
        line = f"qdisc add dev {{dev}} root handle 1: {kind} {' '.join(NEEDED.get(kind, {}).values())}"
    change = f"qdisc change dev {{dev}} root handle 1: {kind} {draw(options(kind, known))}"
    return [line, change] if simulated(line) and not refused(line, change) and draw(st.booleans()) else [line]


@st.composite
def police(draw: st.DrawFn) -> str:
    """A policer that drops, or none."""
    if draw(st.booleans()):
        return ""
    text = draw(options(POLICE, {name: words for name, words in _sim.POLICE_ACTION.items() if name != "drop"}))
    action = f" action police {text}{draw(st.sampled_from([' drop', '']))}"
    line = "filter add dev {dev} parent 1: protocol ip prio 1 matchall flowid 1:1"
    return "" if refused("qdisc add dev {dev} root handle 1: prio", line + action) else action


@st.composite
def filter_words(draw: st.DrawFn, number: int) -> str:
    """A filter to one of two classes."""
    port, mark, bits = draw(st.integers(0, 65_535)), draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 32))
    target = f"{draw(st.sampled_from(['flowid', 'classid']))} 1:{draw(st.integers(1, 2))}"
    transport, end = draw(st.sampled_from(["tcp", "udp"])), draw(st.sampled_from(["src", "dst"]))
    matches = draw(
        st.sampled_from(
            [
                f"handle {mark % 1000 + 1} fw",
                f"handle {mark % 1000 + 1}/0x{mark:x} fw",
                "matchall",
                f"u32 match ip {end[0]}port {port} 0xffff",
                f"u32 match ip sport {port} ff00 match ip dport {port} 0xffff match ip protocol 6 0xff",
                f"u32 match ip {end} 10.1.2.0/{bits} match ip tos {port % 256:#x} 0xfc",
                "flower",
                f"flower ip_proto {transport} {end}_port {port}",
                f"flower {end}_ip 10.1.2.0/{bits} ip_proto {transport} src_port {port} dst_port {port}",
                f"route {draw(st.sampled_from(['to', 'from']))} {port % 256}",
                f"route from {port % 256} to {mark % 256:#x}",
                f"handle ::{mark % 4095 + 1:x} u32 match ip dport {port} 0xffff",
                f"handle {mark % 1000 + 1} matchall",
                f"handle {mark % 1000 + 1:#x} flower",
            ]
        )
    )
    return f"filter add dev {{dev}} parent 1: protocol ip prio {number} {matches} {target}{draw(police())}"


@st.composite
def classes(draw: st.DrawFn) -> list[str]:
    """Two classes, each with its options, a discipline below one, and filters."""
    kind = draw(st.sampled_from(sorted(set(_sim.CLASSES) - ELSEWHERE)))
    known, owner = _sim.CLASSES[kind], f"{kind} class"
    root = f"qdisc add dev {{dev}} root handle 1: {kind} {draw(options(kind, GRAMMAR[kind]))}"
    if not simulated(root):
        root = f"qdisc add dev {{dev}} root handle 1: {kind} {' '.join(NEEDED.get(kind, {}).values())}"
    verb = "change" if kind == "ets" else "add"  # The bands of ets are its classes.
    lines, plain = [root], ""
    for minor in (2, 1):
        place = f"class {verb} dev {{dev}} parent 1: classid 1:{minor} {kind}"
        line, plain = f"{place} {draw(options(owner, known))}", f"{place} {NEEDED.get(owner, {}).get('rate', '')}"
        usable = [each for each in (line, plain) if not refused(root, each)]  # An ets may have one band only.
        lines += usable[:1]
    change = f"class change dev {{dev}} parent 1: classid 1:1 {kind} {draw(options(owner, known))}"
    lines += [] if refused(root, plain, change) else [change]
    lines.append("qdisc add dev {dev} parent 1:1 handle 11: pfifo limit 7")
    return lines + [draw(filter_words(number)) for number in range(1, 1 + draw(st.integers(0, 3)))]


@st.composite
def gred(draw: st.DrawFn) -> list[str]:
    """A gred with up to three virtual queues."""
    flags = st.sampled_from(["", " ecn", " ecn harddrop"])
    count, grio, common = draw(st.integers(1, 16)), draw(st.sampled_from(["", " grio"])), draw(flags)
    limit = draw(st.sampled_from(["", " limit 60kb", " limit 1000000"]))
    setup = f"setup DPs {count} default {draw(st.integers(0, count - 1))}{grio}{limit}{common}"
    numbers = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    lines = [f"qdisc add dev {{dev}} root handle 1: gred {setup}"]
    for number in numbers:
        low = draw(st.integers(1_000, 90_000))
        high, average = draw(st.integers(low + 1, 300_000)), draw(st.integers(300, 1_500))
        sizes = f"limit {draw(SIZES)} min {low} max {high} avpkt {average}"
        rest = f"prio {draw(st.integers(1, 15))} probability {draw(word('fraction', 'probability'))}"
        line = f"qdisc change dev {{dev}} root handle 1: gred DP {number} {sizes} {rest}{common or draw(flags)}"
        lines += [] if refused(*lines, line) else [line]
    return lines


KINDS = sorted(set(GRAMMAR) - ELSEWHERE)
CASE = st.one_of(*(qdisc(kind) for kind in KINDS), gred(), classes(), classes(), classes())


# Shrinking would boot hundreds of guests; a difference names its case.
@pytest.mark.slow
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.lists(CASE, min_size=CASES, max_size=CASES))
def test_the_agent_sets_up_what_tc_sets_up(tmp_path_factory: pytest.TempPathFactory, cases: list[list[str]]) -> None:
    by_tc, by_agent, end = dumps(tmp_path_factory.mktemp("dumps"), cases)
    _expect_no_program(end)
    _expect_equal(by_tc, by_agent, cases)


@pytest.mark.slow
def test_every_option_is_set(tmp_path: Path) -> None:
    """Each option once, alone if it can be, else with what it needs."""
    root, change = "qdisc add dev {dev} root handle 1:", "qdisc change dev {dev} root handle 1:"
    cases = [[f"{root} {kind} {' '.join(NEEDED.get(kind, {}).values())}"] for kind in KINDS]
    for kind in KINDS:
        for option in sorted(set(GRAMMAR[kind]) - NOT_TC.get(kind, set())):
            cases.append([f"qdisc add dev {{dev}} root handle 1: {kind} {_alone(kind, option)}"])
    for option in sorted(_sim.CLASSES["htb"]):
        line = f"class add dev {{dev}} parent 1: classid 1:1 htb {_alone('htb class', option, _sim.CLASSES['htb'])}"
        cases.append(["qdisc add dev {dev} root handle 1: htb default 1", line])
    for option in sorted(_sim.POLICE_ACTION):
        words = _alone(POLICE, option, _sim.POLICE_ACTION) + (" mtu 2000" if option == "peakrate" else "")
        action = f"matchall flowid 1:1 action police {words}"
        cases.append(["qdisc add dev {dev} root handle 1: prio", f"filter add dev {{dev}} parent 1: {action}"])
    cases += [
        [f"{root} gred setup DPs 3 default 1{words}{flags}", f"{change} gred DP 1 {GRED_QUEUE}{flags}"]
        for words, flags in GREDS
    ]
    cases += [[f"{root} ets {words}"] for words in ("strict 1 quanta 500 600", "bands 0 strict 3 quanta 193")]
    ets = f"{root} ets bands 4 strict 1 quanta 3000"
    cases += [[ets, f"class change dev {{dev}} parent 1: classid 1:2 ets{words}"] for words in ("", " quantum 900")]
    cases += [[f"qdisc add dev {{dev}} root handle 1: stab {words} pfifo limit 9"] for words in STABS]
    cases += [
        [f"{root} hfsc default 1a", f"class add dev {{dev}} parent 1: classid 1:1a hfsc {words}"] for words in CURVES
    ]
    by_tc, by_agent, end = dumps(tmp_path, cases)
    _expect_no_program(end)
    _expect_equal(by_tc, by_agent, cases)


def test_what_packets_pass_on_arrival_is_what_tc_sets_up(tmp_path: Path) -> None:
    redirect = "action mirred egress redirect dev lo"
    cases = [
        ["qdisc add dev {dev} handle ffff: ingress", f"filter add dev {{dev}} parent ffff: protocol {words} {redirect}"]
        for words in (
            "ip prio 1 u32 match u32 0 0",
            "ip prio 1 u32 match u32 0x0a000000 0xff000000 at 12",
            "all prio 2 matchall",
            "ip prio 1 flower ip_proto tcp dst_port 5201",
        )
    ]
    cases += [
        ["qdisc add dev {dev} clsact", f"filter add dev {{dev}} {block} protocol all prio 1 matchall {redirect}"]
        for block in ("ingress", "egress")
    ]
    cases.append([cases[0][0], "filter add dev {dev} parent ffff: protocol all prio 1 matchall "
                  "action mirred egress mirror dev lo"])  # fmt: skip
    by_tc, by_agent, end = dumps(tmp_path, cases)
    _expect_no_program(end)
    _expect_equal(by_tc, by_agent, cases)


STABS = (
    "overhead 24", "overhead -10 linklayer ethernet", "linklayer atm overhead 10", "linklayer adsl mpu 96 mtu 9000",
    "mpu 64", "mpu 64 tsize 128 mtu 65536", "mtu 2000",
)  # fmt: skip
CURVES = (
    "ls m2 5mbit", "sc rate 5mbit ul m2 9mbit", "rt m1 9mbit d 10ms m2 5mbit ls m2 1mbit",
    "rt umax 1500 dmax 10ms rate 800kbit", "rt umax 1500 dmax 10ms rate 8mbit", "sc umax 2kb dmax 30ms rate 3mbit",
)  # fmt: skip
GRED_QUEUE = "limit 60000 min 10000 max 30000 avpkt 1000 prio 3 probability 0.03 burst 20 bandwidth 20mbit"
GREDS = [("", ""), (" grio", ""), (" limit 60kb", ""), ("", " ecn"), (" grio", " ecn harddrop")]
"""Words of gred's setup, and flags, which a virtual queue must repeat."""
EXAMPLES = {
    "time": "3ms", "rate": "30mbit", "size": "3000", "packets": "70", "count": "7", "share": "20%",
    "class number": "1a", "fraction": "0.05", "value/mask": "0x1/0x3",
}  # fmt: skip
SPECIAL = {
    "choke": {"burst": "burst 100"},
    "red": {"limit": "limit 300000", "nodrop": "nodrop ecn", "burst": "burst 100"},
    "tbf": {"latency": "latency 20ms", "peakrate": "peakrate 50gbit mtu 3000"},
    "netem": {
        "distribution": "delay 10ms 2ms distribution pareto", "gap": "delay 5ms reorder 25% gap 5",
        "reorder": "delay 5ms reorder 25% 50%", "ecn": "loss 1% ecn", "packets": "slot 5ms packets 16",
        "bytes": "slot 5ms 7ms bytes 5000", "loss": "loss gemodel 1% 10% 70% 0.1%",
        "drop": "drop state 1% 20% 5% 60% 2%", "delay": "delay 10ms 2ms 25%",
    },
    "fq": {"buckets": "buckets 512"},
    "sfq": {
        "redflowlimit": "redflowlimit 100000", "divisor": "divisor 512",
        "min": "redflowlimit 100000 min 8000", "max": "redflowlimit 100000 max 60000",
    },
    "prio": {"priomap": "priomap 1 2 2 0"},
    "ets": {"quanta": "strict 1 quanta 500 600", "priomap": "priomap 1 15"},
}  # fmt: skip
SFQ_RED = ("avpkt", "burst", "probability", "ecn", "harddrop")


def _alone(kind: str, option: str, known: dict[str, Any] | None = None) -> str:
    if special := SPECIAL.get(kind, {}).get(option):
        text = special
    else:
        arguments = (known or GRAMMAR[kind])[option]
        words = [EXAMPLES.get(argument.rstrip("?"), argument.rstrip("?").split("|")[0]) for argument in arguments]
        text = " ".join([option, *words])
    if kind == "sfq" and option in SFQ_RED:
        text = f"redflowlimit 100000 {text}" if option != "burst" else "redflowlimit 100000 burst 30"
    needed = {name: words for name, words in NEEDED.get(kind, {}).items() if name != option}
    if option in ("latency", "buffer", "maxburst"):
        needed.pop("limit" if option == "latency" else "burst", None)
    return " ".join([*needed.values(), text])


def _expect_no_program(end: dict[str, Any]) -> None:
    lines = [line for program in end["machine_programs"] for line in program["commands"]]
    left_to_tc = [line for line in lines if line.startswith(f"[{BY_AGENT}]")]
    assert left_to_tc == []


def _expect_equal(by_tc: Dump, by_agent: Dump, cases: list[list[str]]) -> None:
    ours = {key for key in by_tc if key[1].startswith("t")}
    assert ours == {key for key in by_agent if key[1].startswith("t")}
    assert {device for _, device in ours} == {f"t{number}" for number in range(len(cases))}
    different = [key for key in sorted(ours) if list(map(_settings, by_tc[key])) != list(map(_settings, by_agent[key]))]
    if different:
        lines = cases[int(different[0][1][1:])]
        texts = [" ".join(_settings(body).hex() for body in dump[different[0]]) for dump in (by_tc, by_agent)]
        pytest.fail(f"{len(different)} differ; the first: {lines}\ntc    {texts[0]}\nagent {texts[1]}", pytrace=False)


NETEM_OPTIONS_BYTES = 24
NETEM_SEED = 14


def _settings(body: bytes) -> bytes:
    """Without statistics, times and netem's seed, which Linux draws if none is given."""

    def dropped(path: tuple[int, ...]) -> bool:
        # TCA_STATS, TCA_XSTATS, TCA_STATS2; of a policer TCA_ACT_STATS and TCA_POLICE_TM.
        of_action = len(path) >= 4 and path[3:] in ((4,), (2, 6))
        return path in ((3,), (4,), (7,)) or of_action

    is_netem = body[24:30] == b"netem\0"
    if not is_netem:
        return without(body, dropped)
    start = body.index(b"netem\0") + 8
    (length,) = struct.unpack_from("H", body, start)
    options = body[start + 4 + NETEM_OPTIONS_BYTES : start + length]
    return body[: start + 4 + NETEM_OPTIONS_BYTES] + without(options, lambda path: path == (NETEM_SEED,), header=0)


SCRIPT = """
duration = "20ms"
[path]
rtt = "1ms"
[path.tc]
interface = "eth0"
commands = \"\"\"
tc qdisc add dev eth0 root handle 1: prio
tc filter add dev eth0 parent 1: protocol {protocol} prio 1 matchall flowid 1:1
\"\"\"
[[flows]]
cc = "cubic"
"""


@pytest.mark.parametrize(("protocol", "is_left"), [("ip", False), ("ipv6", True)])
def test_a_command_left_to_tc_is_reported_with_its_version(tmp_path: Path, protocol: str, is_left: bool) -> None:
    (case,) = parse(SCRIPT.format(protocol=protocol), tmp_path / "script.toml")
    run = result.load(KernelEngine().run(Request("script", case, 1, tmp_path / "run"), lambda _: None))
    used, warnings = run.manifest.machine_programs, " ".join(run.manifest.warnings)
    assert [program["program"] for program in used] == (["tc"] if is_left else [])
    assert ("the result depends on 'tc'" in warnings) == is_left
    if is_left:
        (tc,) = used
        assert "iproute2" in tc["version"]
        assert tc["commands"] == ["[sender] tc filter add dev right parent 1: protocol ipv6 prio 1 matchall flowid 1:1"]
        assert len(tc["sha256"]) == 64
