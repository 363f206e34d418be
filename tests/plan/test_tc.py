"""The reader of tc commands, against the output of `tc -d -s qdisc show` and `tc class show` in a guest.

iproute2 6.1.0 and Linux 6.12 as User-Mode Linux, on a veth with an MTU of 1500. A comment above each case quotes the
output; values that the kernel does not show are from tc's source.
"""

from typing import Any

import pytest

from dumbbell.spec.units import Wrong
from plan.tc_reader import MS, Tree, change_of, config, reader

ALWAYS = 2**32 - 1
"""A probability of 1, in netem's units."""
PER_CENT = ALWAYS / 100


def link(overhead: int, *, raw: bool = False, least: int = 0, framing: str = "plain") -> dict[str, Any]:
    """The link settings of a cake."""
    return {"overhead": overhead, "raw": raw, "least": least, "framing": framing}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # qdisc pfifo 1: root refcnt 2 limit 1000p
        ("pfifo", {"kind": "pfifo", "limit": 1000}),
        # qdisc bfifo 1: root refcnt 2 limit 1514000b
        ("bfifo", {"kind": "bfifo", "limit": 1_514_000}),
        # qdisc bfifo 1: root refcnt 2 limit 1Mb
        ("bfifo limit 1mb", {"limit": 1 << 20}),
        # qdisc tbf 1: root refcnt 2 rate 80Mbit burst 1510b/1 mpu 0b lat 20ms
        ("tbf rate 80mbit burst 1514 latency 20ms", {"rate": 10**7, "burst": 1514, "limit": 201_514, "peak": None}),
        # qdisc tbf 1: root refcnt 2 rate 80Mbit burst 6550b/1 mpu 0b lat 21.8ms
        ("tbf rate 80mbit burst .05mbit limit 225000b", {"burst": 6_553, "limit": 225_000}),
        # qdisc tbf 1: root refcnt 2 rate 10Mbit burst 10Kb/1 mpu 0b peakrate 20Mbit mtu 1540b/1 mpu 0b lat 70ms
        (
            "tbf rate 10mbit burst 10kb latency 70ms peakrate 20mbit mtu 1540",
            {"burst": 10_240, "limit": 87_500 + 10_240, "peak": (2_500_000, 1540)},
        ),
        # qdisc codel 1: root refcnt 2 limit 1000p target 5ms interval 100ms
        (
            "codel",
            {"limit": 1000, "target": 5 * MS, "interval": 100 * MS, "ecn": False, "ce_threshold": None, "mtu": 1514},
        ),
        # qdisc codel 1: root refcnt 2 limit 1000p target 3ms ce_threshold 999us interval 7ms ecn
        (
            "codel target 3ms interval 7ms ecn ce_threshold 1ms",
            {"target": 3 * MS, "interval": 7 * MS, "ecn": True, "ce_threshold": MS},
        ),
        # limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64
        (
            "fq_codel",
            {"limit": 10_240, "flows": 1024, "quantum": 1514, "memory_limit": 32 << 20, "drop_batch": 64},
        ),
        # iproute2 6.17's tc/q_dualpi2.c and the kernel's dualpi2_reset_default: no guest here has them.
        (
            "dualpi2",
            {
                "limit": 10_000,
                "memory_limit": 30_280_000,
                "target": 15 * MS,
                "tupdate": 16 * MS,
                "alpha": 41,
                "beta": 819,
                "step": {"time": MS},
                "min_qlen_step": 0,
                "coupling": 2,
                "classic_protection": 10,
                "drop_on_overload": True,
                "drop_enqueue": False,
                "any_ect": False,
                "split_gso": True,
            },
        ),
        (
            "dualpi2 limit 5 memlimit 99999 step_thresh 5p min_qlen_step 2 coupling_factor 3 classic_protection 25% "
            "overflow drop_enqueue any_ect no_split_gso target 5ms tupdate 4ms alpha 0.5 beta 4",
            {
                "limit": 5,
                "memory_limit": 99_999,
                "target": 5 * MS,
                "tupdate": 4 * MS,
                "alpha": 128,
                "beta": 1024,
                "step": {"packets": 5},
                "min_qlen_step": 2,
                "coupling": 3,
                "classic_protection": 25,
                "drop_on_overload": False,
                "drop_enqueue": True,
                "any_ect": True,
                "split_gso": False,
            },
        ),
        # A sixth of max_rtt is typical: alpha = 0.1 tupdate / max_rtt², beta = 0.3 / max_rtt.
        ("dualpi2 max_rtt 120ms", {"target": 20 * MS, "tupdate": 20 * MS, "alpha": 35, "beta": 640}),
        ("dualpi2 typical_rtt 10ms", {"target": 10 * MS, "tupdate": 10 * MS, "alpha": 71, "beta": 1280}),
        ("dualpi2 overflow drop_on_overload step_thresh 500us", {"drop_on_overload": True, "step": {"time": MS // 2}}),
        # limit 5p flows 64 quantum 256 target 5ms interval 100ms memory_limit 1Mb drop_batch 64
        (
            "fq_codel quantum 100 limit 5 memory_limit 1mb flows 64 noecn",
            {"limit": 5, "flows": 64, "quantum": 256, "memory_limit": 1 << 20},
        ),
        # limit 10000p flow_limit 100p buckets 1024 orphan_mask 1023 quantum 3028b initial_quantum 15140b
        # low_rate_threshold 550Kbit refill_delay 40ms timer_slack 10us horizon 10s horizon_drop
        (
            "fq",
            {"limit": 10_000, "flow_limit": 100, "orphan_mask": 1023, "quantum": 3028, "initial_quantum": 15_140}
            | {"low_rate_threshold": 68_750, "refill_delay": 40 * MS, "timer_slack": 10_000, "horizon": 10_000 * MS}
            | {"horizon_drop": True, "pacing": True, "max_rate": None, "ce_threshold": None},
        ),
        # limit 5p flow_limit 7p buckets 64 orphan_mask 255 nopacing quantum 256b initial_quantum 9000b maxrate 10Mbit
        # low_rate_threshold 1Mbit refill_delay 4ms ce_threshold 5ms timer_slack 50us horizon 2s horizon_cap
        (
            "fq limit 5 flow_limit 7 quantum 100 initial_quantum 9000 maxrate 10mbit refill_delay 3ms "
            "low_rate_threshold 1mbit ce_threshold 5ms timer_slack 50us horizon 2s horizon_cap orphan_mask 255 "
            "buckets 64 nopacing",
            {"limit": 5, "flow_limit": 7, "orphan_mask": 255, "quantum": 256, "initial_quantum": 9000}
            | {"low_rate_threshold": 125_000, "timer_slack": 50_000, "horizon": 2_000 * MS, "horizon_drop": False}
            | {"pacing": False, "max_rate": 1_250_000, "ce_threshold": 5 * MS},
        ),
        # bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0
        (
            "cake",
            {"rate": None, "tin_rate": None, "isolation": "triple_isolate", "ack_filter": "none", "split_gso": True}
            | {"interval": 100 * MS, "target": 5 * MS, "memory_limit": None, "ingress": False}
            | {"link": link(0, raw=True)},
        ),
        # bandwidth unlimited diffserv3 dual-srchost nonat wash ingress ack-filter no-split-gso rtt 10ms raw ptm
        # overhead 0 memlimit 1Mb
        (
            "cake metro dual-srchost ack-filter memlimit 1mb no-split-gso wash ingress ptm",
            {"isolation": "dual_srchost", "ack_filter": "filter", "memory_limit": 1 << 20, "split_gso": False}
            | {"interval": 10 * MS, "target": 500_000, "ingress": True, "link": link(0, raw=True, framing="ptm")},
        ),
        # bandwidth 20Mbit besteffort … noatm overhead 38 mpu 84
        ("cake bandwidth 20mbit overhead 38 mpu 84 besteffort", {"rate": 2_500_000, "link": link(38, least=84)}),
        # noatm overhead 38 mpu 84
        ("cake ethernet", {"link": link(38, least=84)}),
        # noatm overhead 10 mpu 84
        ("cake bandwidth 20mbit ethernet overhead 10", {"link": link(10, least=84)}),
        # raw overhead 0 mpu 84
        ("cake overhead 10 ethernet raw", {"link": link(0, raw=True, least=84)}),
        # raw overhead 10
        ("cake raw overhead 10", {"link": link(10, raw=True)}),
        # atm overhead 10
        ("cake conservative overhead 10", {"link": link(10, framing="atm")}),
        # raw overhead 0
        ("cake conservative raw", {"link": link(0, raw=True)}),
        # diffserv8 flowblind … rtt 30ms: DSCP 0 goes to the third of eight tins, which gets 49/64 of the rate
        (
            "cake bandwidth 64mbit rtt 30ms diffserv8 flowblind",
            {"rate": 8_000_000, "tin_rate": 6_125_000, "interval": 30 * MS, "target": 1_500_000}
            | {"isolation": "flowblind"},
        ),
        # hosts … rtt 100ms; rtt 80ms; rtt 10ms; rtt 10us; bandwidth unlimited: the last argument counts
        ("cake unlimited triple-isolate flows hosts", {"isolation": "hosts"}),
        ("cake metro rtt 80ms", {"interval": 80 * MS, "target": 4 * MS}),
        ("cake rtt 80ms metro", {"interval": 10 * MS, "target": 500_000}),
        ("cake rtt 10us", {"interval": 10_000, "target": 1_000}),
        ("cake bandwidth 20mbit unlimited", {"rate": None}),
        # limit 1000000b min 83333b max 250000b ewma 6 probability 0.02 Scell_log 16
        (
            "red limit 1000000 avpkt 1000",
            {"limit": 10**6, "min": 83_333, "max": 250_000, "wlog": 6, "scell_log": 16, "max_p": int(0.02 * 2**32)},
        ),
        # limit 60Kb min 5Kb max 15Kb ecn ewma 1 probability 0.1 Scell_log 8
        (
            "red limit 60kb min 5kb max 15kb avpkt 1000 burst 6 probability 0.1 ecn bandwidth 80mbit",
            {"limit": 61_440, "min": 5_120, "max": 15_360, "ecn": True, "wlog": 1, "scell_log": 8, "adaptive": False},
        ),
        # limit 400000b min 30000b max 90000b adaptive ewma 5 probability 0.02 Scell_log 16
        (
            "red limit 400000 min 30000 max 90000 avpkt 1514 bandwidth 10mbit probability 0.02 adaptive",
            {"wlog": 5, "scell_log": 16, "adaptive": True, "ecn": False},
        ),
        # limit 1000000b min 1000b max 1000b ewma 1 probability 0.02 Scell_log 11
        ("red limit 1000000 min 1000 max 1000 avpkt 1000", {"wlog": 1, "plog": 0, "scell_log": 11}),
        # limit 1000000b min 83333b max 250000b ewma 6 probability 0.635745 Scell_log 16: 2³² does not fit
        ("red limit 1000000 avpkt 1000 probability 1", {"max_p": 0, "plog": 18}),
    ],
)
def test_numbers_equal_the_kernel_s(arguments: str, expected: dict[str, Any]) -> None:
    got = config(arguments)
    assert {key: got[key] for key in expected} == expected


def test_red_s_idle_damping_table_is_increasing() -> None:
    damping = config("red limit 1000000 avpkt 1000")["idle_damping"]
    assert (len(damping), damping[0], damping[-1]) == (256, 0, 31)
    assert damping == sorted(damping)


def test_fq_codel_marks_by_default() -> None:
    assert config("fq_codel")["codel"]["ecn"] is True
    assert config("fq_codel noecn")["codel"]["ecn"] is False


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # delay 4us, 99us, 10ms, 2us (of 3us), 0us (of 1us), 69us: whole ticks of 64 ns, shown in microseconds
        ("5us", 4_992),
        ("100us", 99_968),
        ("10ms", 10 * MS),
        ("3us", 2_944),
        ("1us", 960),
        ("70us", 69_952),
    ],
)
def test_netem_s_delays_are_whole_ticks(arguments: str, expected: int) -> None:
    assert config(f"netem delay {arguments}")["delay"] == expected


def shares(**values: float) -> dict[str, int]:
    return {key: round(value * PER_CENT) for key, value in values.items()}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # limit 1000
        ("netem", {"limit": 1000, "delay": 0, "loss": "none", "gap": 0, "rate": None, "distribution": "uniform"}),
        # limit 1000 delay 10ms loss 1%
        ("netem delay 10ms loss 1", {"delay": 10 * MS, "loss": {"random": shares(chance=1, correlation=0)}}),
        # delay 10ms  3ms 25% loss gemodel p 1% r 10% 1-h 70% 1-k 0.1%
        (
            "netem delay 10ms 3ms 25% distribution normal loss gemodel 1% 10% 70% 0.1%",
            {
                "jitter": 3 * MS,
                "delay_correlation": round(25 * PER_CENT),
                "distribution": "normal",
                "loss": {"gemodel": shares(p=1, r=10, k1=0.1) | {"h": ALWAYS - round(70 * PER_CENT)}},
            },
        ),
        # loss state p13 1% p31 99% p32 0% p23 100% p14 0%
        ("netem loss state 1%", {"loss": {"state": shares(p13=1, p31=99, p32=0, p23=100, p14=0)}}),
        # loss state p13 1% p31 20% p32 5% p23 60% p14 2%
        ("netem loss state 1% 20% 5% 60% 2%", {"loss": {"state": shares(p13=1, p31=20, p32=5, p23=60, p14=2)}}),
        # loss gemodel p 2% r 98% 1-h 100% 1-k 0%
        ("netem loss gemodel 2%", {"loss": {"gemodel": shares(p=2, r=98, h=0, k1=0)}}),
        # delay 5ms reorder 25% 50% gap 1
        ("netem delay 5ms reorder 25% 50%", {"reorder": shares(chance=25, correlation=50), "gap": 1}),
        # delay 5ms reorder 25% gap 5
        ("netem delay 5ms reorder 25% gap 5", {"gap": 5}),
        ("netem loss 1% seed 7", {"seed": 7}),
        ("netem slot 5ms", {"slot": {"least": 5 * MS, "most": 5 * MS, "packets": 2**31 - 1, "bytes": 2**31 - 1}}),
        (
            "netem slot 2ms 6ms packets 8 bytes 9000",
            {"slot": {"least": 2 * MS, "most": 6 * MS, "packets": 8, "bytes": 9000}},
        ),
        # duplicate 1% 10% corrupt 0.1% 5% rate 1Mbit packetoverhead 20 cellsize 100 celloverhead 5
        (
            "netem duplicate 1% 10% corrupt 0.1% 5% rate 1mbit 20 100 5",
            {
                "duplicate": shares(chance=1, correlation=10),
                "corrupt": shares(chance=0.1, correlation=5),
                "rate": {"rate": 125_000, "packet_overhead": 20, "cell_size": 100, "cell_overhead": 5},
            },
        ),
    ],
)
def test_netem_s_numbers_equal_the_kernel_s(arguments: str, expected: dict[str, Any]) -> None:
    got = config(arguments)
    assert {key: got[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        # tc or the kernel refuses each of these too.
        ("red limit 1000 avpkt 1000", "red's burst of 0 packets is too small"),
        ("red limit 60000 min 30000 max 45000 avpkt 1000 burst 2", "at least 31"),
        ("red limit 60000 avpkt 1000 nodrop", "nodrop needs ecn"),
        ("red avpkt 1000", "red needs 'limit' and 'avpkt'"),
        ("netem delay 1500ns", "no time in nanoseconds"),
        ("codel target 500ns", "no time in nanoseconds"),
        ("netem gap 5", "gap needs a reorder"),
        ("netem reorder 5%", "reorder needs a delay"),
        ("netem delay 5ms distribution normal", "needs a delay and a jitter"),
        ("netem loss random", "loss without a share"),
        ("netem loss gemodel 1% 2% 3% 4% 5%", "too many shares"),
        ("tbf rate 80mbit burst 1514 limit 3000 latency 5ms", "either 'limit' or 'latency'"),
        ("tbf rate 80mbit burst 1514", "needs a 'limit' or a 'latency' above 0"),
        ("tbf rate 80mbit limit 3000", "tbf needs 'rate' and 'burst'"),
        ("tbf rate 80mbit burst 1514 limit 3000 peakrate 90mbit", "'peakrate' needs 'mtu'"),
        ("tbf rate 80mbit burst 1514 limit 3000 peakrate 70mbit mtu 1514", "peakrate is not above its rate"),
        ("fq_codel flows 65537", "1 to 65536 flows"),
        ("dualpi2 coupling_factor 0", "coupling_factor is from 1 to 255"),
        ("dualpi2 alpha 0.001", "alpha is out of range"),
        ("dualpi2 max_rtt 100ms target 15ms", "both max_rtt and target"),
        ("dualpi2 max_rtt 10ms typical_rtt 20ms", "typical_rtt is longer than its max_rtt"),
        ("dualpi2 max_rtt 100s", "so long that dualpi2's gains become 0"),
        ("fq initial_quantum 2000000", "initial_quantum is above"),
        ("fq buckets 1", "2 to 262144 buckets"),
        ("fq maxrate 40gbit", "does not fit 32 bits"),
        ("cake nat", "tracks connections"),
        ("cake datacentre lan", "one of datacentre and lan"),
        ("cake overhead 300", "out of range"),
        # Linux supports these, the simulator does not.
        ("netem packets 5", "packets must be right behind a slot's times"),
        ("netem slot 5ms 2ms", "most is below their least"),
        ("skbprio", "the simulator has no 'skbprio'"),
        ("cake bandwidth 80mbit autorate-ingress", "the simulator's cake has no 'autorate-ingress'"),
        ("cake bandwidth 80mbit fwmark 255", "the simulator's cake has no 'fwmark'"),
        ("netem loss 1% ecn", "the simulator's netem has no 'ecn'"),
        ("tbf rate 80mbit burst 1514 limit 3000 mpu 64", "the simulator's tbf has no 'mpu'"),
    ],
)
def test_invalid_arguments_are_refused(arguments: str, message: str) -> None:
    with pytest.raises(Wrong) as raised:
        config(arguments)
    assert message in str(raised.value)


HTB = "qdisc add dev v0 root handle 1: htb default 30 r2q 10"


def classes(*lines: str) -> dict[int, dict[str, Any]]:
    tree = reader(HTB, *(f"class add dev v0 {line}" for line in lines)).root
    assert tree is not None
    return {each["minor"]: each for each in tree["config"]["classes"]}


def test_htb_s_classes_equal_the_kernel_s() -> None:
    """A bucket that is not written holds 1600 bytes where timers are fine; tc shows `burst 0b` at 10 Gbit/s."""
    got = classes(
        "parent 1: classid 1:1 htb rate 10gbit",
        "parent 1:1 classid 1:10 htb rate 5gbit",
        "parent 1:1 classid 1:20 htb rate 80mbit ceil 100mbit",
        "parent 1:1 classid 1:30 htb rate 80mbit burst 1514 cburst 1514 quantum 1514 prio 3",
        "parent 1: classid 1:2 htb rate 8kbit mtu 9000",
    )
    assert list(got) == [0x1, 0x10, 0x20, 0x30, 0x2]
    assert [each["parent"] for each in got.values()] == [0, 1, 1, 1, 0]
    buckets = [(each["rate"], each["burst"]) for each in got.values()] + [(12_500_000, got[0x20]["cburst"])]
    assert [int(burst * 10**6 // rate * 1000 / 64) for rate, burst in buckets] == [
        15,
        31,
        2_500,
        2_359,
        140_625_000,
        2_000,
    ]
    assert got[0x30]["burst"] == 1514
    assert [each["quantum"] for each in got.values()] == [200_000, 200_000, 200_000, 1_514, 1_000]
    assert [each["prio"] for each in got.values()] == [0, 0, 0, 3, 0]


def test_htb_s_default_is_hexadecimal_and_filters_have_the_kernel_s_order() -> None:
    """tc filter show: pref 3 flower, pref 7 fw, pref 49150 fw, pref 49151 u32, pref 49152 u32."""
    device = reader(
        HTB,
        "filter add dev v0 parent 1: protocol ip u32 match ip dport 5201 0xffff flowid 1:10",
        "filter add dev v0 parent 1: protocol ip u32 match ip dport 5202 0xffff flowid 1:20",
        "filter add dev v0 parent 1: protocol ip handle 5 fw flowid 1:30",
        "filter add dev v0 parent 1: protocol ip prio 7 handle 6 fw flowid 1:30",
        "filter add dev v0 protocol ip prio 3 flower ip_proto tcp dst_port 5205 classid 1:10",
    )
    tree = device.root
    assert tree is not None
    assert (tree["config"]["default"], tree["config"]["direct_limit"]) == (0x30, 1000)
    assert tree["config"]["filters"] == [
        {"port": {"port": 5205, "minor": 0x10}},
        {"mark": {"mark": 6, "minor": 0x30}},
        {"mark": {"mark": 5, "minor": 0x30}},
        {"port": {"port": 5202, "minor": 0x20}},
        {"port": {"port": 5201, "minor": 0x10}},
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("filter add dev v0 root protocol ip u32 match ip dport 1 0xffff flowid 1:1", "no filter with 'root'"),
        ("filter add dev v0 parent 1: protocol ip route flowid 1:1", "no filter with 'route'"),
        ("filter add dev v0 parent 1:1 protocol ip handle 1 fw flowid 1:1", "on a discipline itself only"),
        ("filter add dev v0 parent 1: protocol ipv6 handle 1 fw flowid 1:1", "no filter for protocol 'ipv6'"),
        ("filter add dev v0 parent 1: protocol ip u32 match ip sport 1 0xffff flowid 1:1", "a server's port only"),
        ("filter add dev v0 parent 1: protocol ip u32 match ip dport 1 0xff flowid 1:1", "a server's port only"),
        ("filter add dev v0 parent 1: protocol ip handle 70000 fw flowid 1:1", "does not fit 16 bits"),
        ("filter add dev v0 parent 1: protocol ip handle 7 fw", "names no class"),
        ("class change dev v0 classid 1:7 htb rate 1mbit", "no class 1:7 to change"),
        ("class add dev v0 parent 1:7 classid 1:8 htb rate 1mbit", "no class 1:7 to be the parent"),
        ("class add dev v0 parent 1: classid 1:1 drr", "no drr at '1:1'"),
        ("class add dev v0 parent 2: classid 2:1 htb rate 1mbit", "no htb at '2:1'"),
        ("qdisc add dev v0 root handle 2: pfifo", "a discipline at 'root' already"),
        ("qdisc add dev v0 parent 1:7 handle 2: pfifo", "no class 1:7"),
        ("qdisc add dev v0 parent 3: handle 2: pfifo", "no discipline of handle 3:"),
        ("qdisc change dev v0 root handle 1: htb default 10", "can't be changed"),
        ("qdisc change dev v0 root handle 1: pfifo limit 5", "no pfifo to change"),
    ],
)
def test_commands_that_the_kernel_refuses_are_refused(line: str, message: str) -> None:
    with pytest.raises(Wrong) as raised:
        reader(HTB, line)
    assert message in str(raised.value)


def test_disciplines_nest_as_in_tc() -> None:
    tree = reader(
        "qdisc add dev v0 root handle 1:0 netem delay 10ms",
        "qdisc add dev v0 parent 1:1 handle 10: tbf rate 80mbit burst 1514 limit 3000",
        "qdisc add dev v0 parent 10: handle 20: codel",
    ).root
    assert tree is not None
    inner = tree["config"]["inner"]
    assert (tree["handle"], inner["handle"], inner["config"]["inner"]["handle"]) == ("1:", "10:", "20:")
    with pytest.raises(Wrong, match="a codel holds no other discipline"):
        reader("qdisc add dev v0 root handle 1: codel", "qdisc add dev v0 parent 1:1 handle 2: pfifo")


def test_a_class_with_classes_below_it_holds_no_packets() -> None:
    parent, leaf = (
        "class add dev v0 parent 1: classid 1:1 htb rate 1mbit",
        "qdisc add dev v0 parent 1:1 handle 5: pfifo",
    )
    child = "class add dev v0 parent 1:1 classid 1:2 htb rate 1mbit"
    tree = reader(HTB, parent, leaf, child).root
    assert tree is not None
    assert tree["config"]["classes"][0]["leaf"] is None
    with pytest.raises(Wrong, match="has classes below it"):
        reader(HTB, parent, child, leaf)


def test_a_changed_cake_and_fq_keep_unspecified_attributes() -> None:
    """The kernel's `cake_change` and `fq_change` apply only the attributes that tc sends."""
    device = reader("qdisc add dev v0 root handle 1: cake bandwidth 20mbit ethernet metro dual-srchost")
    got = changed(device, "qdisc change dev v0 root handle 1: cake bandwidth 10mbit rtt 50ms")
    assert (got["rate"], got["interval"], got["isolation"]) == (1_250_000, 50 * MS, "dual_srchost")
    assert got["link"] == link(38, least=84)
    got = changed(device, "qdisc change dev v0 root handle 1: cake metro unlimited")
    assert (got["rate"], got["interval"]) == (None, 10 * MS)
    device = reader("qdisc add dev v0 root handle 1: fq nopacing maxrate 10mbit horizon_cap")
    got = changed(device, "qdisc change dev v0 root handle 1: fq pacing limit 7")
    assert (got["pacing"], got["max_rate"], got["limit"], got["horizon_drop"]) == (True, 1_250_000, 7, False)


FIRST = "qdisc add dev v0 root handle 1: netem delay 10ms 2ms 25% distribution normal loss 5% 10% reorder 25% 50% "
FIRST += "duplicate 3% rate 1mbit limit 50"


def test_a_changed_netem_keeps_attributes_that_tc_does_not_send() -> None:
    """Comments quote the guest's `tc qdisc show` after each change."""
    device = reader(FIRST)
    # limit 1000 delay 20ms reorder 25% 50% rate 1Mbit
    got = changed(device, "qdisc change dev v0 root handle 1: netem delay 20ms")
    assert (got["limit"], got["delay"], got["jitter"], got["loss"], got["gap"]) == (1000, 20 * MS, 0, "none", 0)
    assert (got["duplicate"]["chance"], got["rate"]["rate"]) == (0, 125_000)
    assert got["reorder"] == shares(chance=25, correlation=50)
    # delay 20ms  3ms 25% loss gemodel p 1% r 10% 1-h 100% 1-k 0% reorder 25% 50% rate 1Mbit
    got = changed(device, "qdisc change dev v0 root handle 1: netem delay 20ms 3ms loss gemodel 1% 10%")
    assert (got["delay_correlation"], got["distribution"]) == (round(25 * PER_CENT), "normal")
    assert got["loss"] == {"gemodel": shares(p=1, r=10, h=0, k1=0)}
    tree = device.root
    assert tree is not None
    assert tree["config"] == got


def test_a_changed_codel_keeps_unspecified_attributes() -> None:
    device = reader("qdisc add dev v0 root handle 1: codel limit 7 ecn")
    got = changed(device, "qdisc change dev v0 root handle 1: codel target 3ms noecn")
    assert (got["limit"], got["target"], got["ecn"]) == (7, 3 * MS, False)


def test_a_changed_class_is_reset_except_for_its_leaf() -> None:
    """class htb 1:30 parent 1:1 prio 0 quantum 200000 rate 40Mbit ceil 40Mbit burst 21600b cburst 21600b."""
    one = "class add dev v0 parent 1: classid 1:1 htb rate 80mbit burst 1514 cburst 1514 quantum 1514 prio 3"
    device = reader(HTB, one, "qdisc add dev v0 parent 1:1 handle 10: pfifo limit 5")
    change = change_of(device, "class change dev v0 classid 1:1 htb rate 40mbit")
    made = change["class"]["class"]
    assert (change["class"]["htb"], made["prio"], made["quantum"], made["burst"]) == ("1:", 0, 200_000, 1_600)
    tree = device.root
    assert tree is not None
    assert tree["config"]["classes"][0]["leaf"]["handle"] == "10:"
    assert tree["config"]["classes"][0]["rate"] == 5_000_000


def changed(device: Tree, line: str) -> dict[str, Any]:
    got: dict[str, Any] = change_of(device, line)["discipline"]["config"]
    return got
