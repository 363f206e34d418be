"""The reader of tc commands for AQMs, fair queues, bands, fifos and policers, against tc in a guest.

A comment above each case quotes the output of `tc -d qdisc show` (`class show`, `filter show`): iproute2 6.1.0,
Linux 6.12, a veth with an MTU of 1500. Values that the kernel does not show are from tc's source.
"""

from pathlib import Path
from typing import Any

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import make
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.units import Wrong
from plan.tc_reader import MS, change_of, config, reader
from spec.scripts import read_script


def tree(*lines: str) -> dict[str, Any]:
    found = reader(*lines).root
    assert found is not None
    config: dict[str, Any] = found["config"]
    return config


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # limit 1000p target 15ms tupdate 16ms alpha 2 beta 20: four jiffies
        (
            "pie",
            {"limit": 1000, "target": 15 * MS, "tupdate": 4, "alpha": 2, "beta": 20, "ecn": False, "bytemode": False},
        ),
        # limit 50p target 5ms tupdate 8ms alpha 4 beta 16 ecn bytemode
        (
            "pie target 5ms tupdate 7ms limit 50 alpha 4 beta 16 ecn bytemode",
            {"limit": 50, "target": 5 * MS, "tupdate": 2, "alpha": 4, "beta": 16, "ecn": True, "bytemode": True},
        ),
        # limit 1000p target 1ms tupdate 16ms alpha 2 beta 20 dq_rate_estimator
        ("pie dq_rate_estimator target 1ms", {"target": MS, "dq_rate_estimator": True, "mtu": 1514}),
        # limit 10240p flows 1024 … quantum 1514b memory_limit 32Mb ecn_prob 10
        ("fq_pie", {"limit": 10_240, "flows": 1024, "quantum": 1514, "ecn_prob": 10}),
        # limit 5p flows 64 … quantum 256b memory_limit 32Mb ecn_prob 30 ecn
        (
            "fq_pie quantum 100 flows 64 limit 5 ecn ecn_prob 30",
            {"limit": 5, "flows": 64, "quantum": 256, "ecn_prob": 30},
        ),
        # limit 127p quantum 1514b depth 127 flows 128 divisor 1024
        (
            "sfq",
            {"limit": 127, "quantum": 1514, "depth": 127, "flows": 128, "divisor": 1024, "perturb": 0, "red": None},
        ),
        # limit 2400p quantum 3000b depth 40 headdrop flows 60 divisor 256 perturb 10sec
        (
            "sfq limit 5000 depth 40 flows 60 divisor 256 perturb 10 headdrop quantum 3000",
            {"limit": 2400, "quantum": 3000, "depth": 40, "headdrop": True, "flows": 60, "divisor": 256, "perturb": 10},
        ),
        # limit 127p quantum 1514b depth 127 flows 500 divisor 1024
        ("sfq flows 500", {"limit": 127, "flows": 500}),
        # pfifo_head_drop limit 1000p; limit 7p
        ("pfifo_head_drop", {"kind": "pfifo_head_drop", "limit": 1000}),
        ("pfifo_head_drop limit 7", {"limit": 7}),
        # bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
        ("pfifo_fast", {"kind": "pfifo_fast", "limit": 1000}),
        ("prio", {"bands": [None] * 3, "default": 1, "rules": [], "band_limit": 1000}),
        # bands 4 priomap 3 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1
        ("prio bands 4 priomap 3 2", {"bands": [None] * 4, "default": 3}),
        ("drr", {"classes": [], "rules": [], "class_limit": 1000}),
        # bands 3 strict 1 quanta 3028 256 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
        ("ets strict 1 quanta 3028 100", {"strict": 1, "quanta": [1514, 3028, 256], "bands": [None] * 3, "default": 2}),
        # bands 4 quanta 1514 1514 1514 1514 priomap 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3
        ("ets bands 4", {"strict": 0, "quanta": [1514] * 4, "default": 3, "band_limit": 1000}),
        # bands 5 strict 2 quanta 1048576 1514 1514 priomap 1 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4
        (
            "ets bands 5 strict 2 quanta 2000000 priomap 1",
            {"strict": 2, "quanta": [1514, 1514, 1 << 20, 1514, 1514], "default": 1},
        ),
        # rehash 600s db 60s limit 1000p max 25p target 20p increment 0.000503548 decrement 4.57771e-05
        # penalty_rate 10pps penalty_burst 20p
        (
            "sfb",
            {"rehash": 150_000, "warmup": 15_000, "limit": 1000, "max": 25, "target": 20, "increment": 33}
            | {"decrement": 3, "penalty_rate": 10, "penalty_burst": 20},
        ),
        # limit 5p max 7p target 6p
        ("sfb limit 5 max 7", {"limit": 5, "max": 7, "target": 6}),
        # rehash 1s db 8ms … max 9p target 7p increment 0.00999466 decrement 1 penalty_rate 0pps penalty_burst 5p
        (
            "sfb target 7 rehash 1001 db 6 increment 0.01 decrement 1 penalty_rate 0 penalty_burst 5",
            {"rehash": 251, "warmup": 2, "max": 9, "increment": 655, "decrement": 65_535, "penalty_rate": 0}
            | {"penalty_burst": 5},
        ),
        # limit 1000p quantum 1514b hh_limit 2048 reset_timeout 40ms admit_bytes 128Kb evict_timeout 1s non_hh_weight 2
        (
            "hhf",
            {"limit": 1000, "quantum": 1514, "hh_limit": 2048, "reset_timeout": 10, "admit_bytes": 131_072}
            | {"evict_timeout": 250, "non_hh_weight": 2},
        ),
        # limit 5p quantum 256b hh_limit 3 reset_timeout 4ms admit_bytes 9b evict_timeout 8ms non_hh_weight 7
        (
            "hhf limit 5 quantum 100 hh_limit 3 reset_timeout 1ms admit_bytes 9 evict_timeout 5ms non_hh_weight 7",
            {"limit": 5, "quantum": 256, "hh_limit": 3, "reset_timeout": 1, "admit_bytes": 9, "evict_timeout": 2}
            | {"non_hh_weight": 7},
        ),
        # vqs 3 default 2 grio limit 1514000b
        ("gred setup DPs 3 default 2 grio", {"limit": 1_514_000, "default": 2, "queues": []}),
    ],
)
def test_numbers_equal_the_kernel_s(arguments: str, expected: dict[str, Any]) -> None:
    got = config(arguments)
    assert {key: got[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        # limit 200p min 16p max 50p ewma 4 probability 0.02 Scell_log 13
        ("choke limit 200 bandwidth 20mbit", {"min": 16, "max": 50, "wlog": 4, "scell_log": 13, "ecn": False}),
        # limit 1000p min 83p max 250p ecn ewma 5 probability 0.1 Scell_log 16
        (
            "choke limit 1000 bandwidth 10mbit min 83 max 250 burst 100 probability 0.1 avpkt 1500 ecn",
            {"min": 83, "max": 250, "wlog": 5, "scell_log": 16, "ecn": True, "max_p": int(0.1 * 2**32)},
        ),
        # ewma 6 min 8000b max 60000b probability 0.1 ecn
        (
            "sfq redflowlimit 100000 min 8000 max 60000 probability 0.1 ecn",
            {"min": 8000, "max": 60_000, "wlog": 6, "ecn": True, "harddrop": False, "max_p": int(0.1 * 2**32)},
        ),
    ],
)
def test_numbers_of_an_inner_red_equal_the_kernel_s(arguments: str, expected: dict[str, Any]) -> None:
    got = config(arguments)["red"]
    assert {key: got[key] for key in expected} == expected


def test_a_ce_threshold_selector_without_a_mask_is_none() -> None:
    """ce_threshold 999us ce_threshold_selector 0x1/0x3: shown in CoDel's own unit of 1024 ns."""
    assert config("fq_codel ce_threshold 1ms ce_threshold_selector 0x01/0x03")["codel"]["ce_selector"] == (1, 3)
    assert "ce_selector" not in config("fq_codel ce_threshold_selector 0x00/0x00")["codel"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("pie alpha 33", "alpha is above 32"),
        ("fq_pie flows 65537", "1 to 65536 flows"),
        ("fq_pie ecn_prob 100", "below 100 %"),
        ("choke limit 200", "needs 'limit' and 'bandwidth'"),
        ("choke limit 200000 bandwidth 10mbit", "at most 131071 packets"),
        ("choke limit 200 bandwidth 10mbit min 90 max 80", "min is not below its max"),
        ("choke limit 20 bandwidth 10mbit max 80", "max is above its limit"),
        ("sfq divisor 1000", "no power of two"),
        ("sfq limit 1", "below 2 packets"),
        ("sfq depth 1 flows 1 limit 10", "one packet of limit"),
        ("sfq ecn", "needs 'redflowlimit'"),
        ("prio bands 17", "2 to 16 bands"),
        ("prio bands 2", "priomap names band 2 of 2"),
        ("pfifo_fast limit 10", "no option 'limit'"),
        ("ets", "1 to 16 bands"),
        ("ets bands 17", "1 to 16 bands"),
        ("ets strict 2 quanta 1 bands 2", "1 to 16 bands"),
        ("ets quanta 0", "a quantum of 0"),
        ("ets bands 2 priomap 2", "priomap names band 2 of 2"),
        ("ets bands 2 strict 1 bands 3", "'bands' twice"),
        ("sfb rehash 60s", "'rehash' takes a count, got '60s'"),
        ("sfb increment 1.5", "increment is above 1"),
        ("hhf hh_limit 2049", "at most 2048 heavy hitters"),
        ("hhf quantum 2147483647", "above 2147483647"),
        ("hhf quantum 3kb", "'quantum' takes a count, got '3kb'"),
        ("gred DP 0 limit 400000 min 30000 max 90000 avpkt 1000 burst 55", "needs a setup"),
        ("gred setup DPs 17 default 0", "1 to 16 virtual queues"),
        ("gred setup default 0 DPs 3", "1 to 16 virtual queues"),
        ("gred setup DPs 3 default 3", "a default below their number"),
        ("gred setup DPs 3 default 0 min 5kb", "gred's setup has no option 'min'"),
        ("gred DP 0 grio", "a virtual queue of gred has no option 'grio'"),
        ("gred DP 0 limit 400000 min 30000 max 90000", "needs DP"),
    ],
)
def test_arguments_that_tc_or_the_kernel_refuses_are_refused(arguments: str, message: str) -> None:
    with pytest.raises(Wrong) as raised:
        config(arguments)
    assert message in str(raised.value)


DRR = ("qdisc add dev v0 root handle 1: drr", "class add dev v0 parent 1: classid 1:1 drr")
PRIO = "qdisc add dev v0 root handle 1: prio"


def test_drr_s_classes_have_the_kernel_s_quanta_and_inner_disciplines() -> None:
    """class drr 1:1 root quantum 1514b; class drr 1:2 root quantum 256b."""
    got = tree(
        *DRR, "class add dev v0 parent 1: classid 1:2 drr quantum 100", "qdisc add dev v0 parent 1:2 handle 2: codel"
    )
    assert [(each["minor"], each["quantum"]) for each in got["classes"]] == [(1, 1514), (2, 256)]
    assert [each["leaf"] and each["leaf"]["handle"] for each in got["classes"]] == [None, "2:"]


def test_a_changed_drr_class_keeps_unspecified_attributes() -> None:
    device = reader(*DRR, "class add dev v0 parent 1: classid 1:2 drr quantum 3000")
    assert device.execute("class change dev v0 classid 1:2 drr".split())
    change = change_of(device, "class change dev v0 classid 1:1 drr quantum 500")
    assert [each["quantum"] for each in change["discipline"]["config"]["classes"]] == [500, 3000]


def test_a_prio_s_bands_have_disciplines_and_its_filters_may_police() -> None:
    """police 0x1 rate 10Mbit burst 20Kb mtu 1514b action drop; without an mtu 2Kb, and means 2040."""
    got = tree(
        PRIO,
        "qdisc add dev v0 parent 1:2 handle 20: pfifo limit 9",
        "filter add dev v0 parent 1: protocol ip prio 2 u32 match ip dport 5201 0xffff flowid 1:3",
        "filter add dev v0 parent 1: prio 1 matchall classid 1:1 action police rate 10mbit burst 20kb drop",
        "filter add dev v0 parent 1: protocol ip prio 3 handle 7 fw flowid 1:1 "
        "action police rate 8mbit burst 15000 mtu 1514 peakrate 16mbit conform-exceed drop/ok",
    )
    assert [band and band["handle"] for band in got["bands"]] == [None, "20:", None]
    first, second, third = got["rules"]
    # 20,480 bytes at 10 Mbit/s take 16,384 µs: 256,000 ticks.
    assert first == {
        "filter": {"all": {"minor": 1}},
        "police": {"rate": 1_250_000, "burst": 16_384_000, "mtu": 2_040, "peak": None},
    }
    assert second == {"filter": {"port": {"port": 5201, "minor": 3}}, "police": None}
    assert third["police"] == {"rate": 10**6, "burst": 15 * MS, "mtu": 1514, "peak": 2 * 10**6}


def test_a_changed_pie_keeps_unspecified_attributes() -> None:
    device = reader("qdisc add dev v0 root handle 1: pie limit 7 ecn bytemode")
    change = change_of(device, "qdisc change dev v0 root handle 1: pie target 3ms noecn nobytemode")
    got = change["discipline"]["config"]
    assert (got["limit"], got["target"], got["ecn"], got["bytemode"]) == (7, 3 * MS, False, False)


def test_a_changed_prio_keeps_its_bands_and_filters() -> None:
    device = reader(
        PRIO, "qdisc add dev v0 parent 1:1 handle 10: pie", "filter add dev v0 parent 1: matchall flowid 1:1"
    )
    change = change_of(device, "qdisc change dev v0 root handle 1: prio priomap 2")
    got = change["discipline"]["config"]
    assert (got["default"], got["bands"][0]["handle"], len(got["rules"])) == (2, "10:", 1)


def test_ets_s_classes_are_its_bands() -> None:
    """bands 5 strict 2 quanta 1048576 700 1514 priomap 1 4 …; then bands 5 strict 3 quanta 1514 1514 priomap 4 4 …."""
    device = reader(
        "qdisc add dev v0 root handle 1: ets bands 5 strict 2 quanta 2000000 priomap 1",
        "qdisc add dev v0 parent 1:5 handle 5: codel",
        "filter add dev v0 parent 1: matchall flowid 1:3 action police rate 10mbit burst 20kb drop",
    )
    change = change_of(device, "class change dev v0 classid 1:4 ets quantum 700")
    got = change["discipline"]["config"]
    assert (got["quanta"], got["default"]) == ([1514, 1514, 1 << 20, 700, 1514], 1)
    assert ([band and band["handle"] for band in got["bands"]], len(got["rules"])) == ([None] * 4 + ["5:"], 1)
    change = change_of(device, "qdisc change dev v0 root handle 1: ets bands 5 strict 3")
    got = change["discipline"]["config"]
    assert (got["strict"], got["quanta"][3:], got["default"]) == (3, [1514, 1514], 4)


def test_a_changed_hhf_keeps_unspecified_attributes() -> None:
    device = reader("qdisc add dev v0 root handle 1: hhf limit 5 non_hh_weight 7")
    got = change_of(device, "qdisc change dev v0 root handle 1: hhf quantum 3000")["discipline"]["config"]
    assert (got["limit"], got["non_hh_weight"], got["quantum"]) == (5, 7, 3000)


GRED = "qdisc add dev v0 root handle 1: gred setup DPs 3 default 2"
QUEUE = "qdisc change dev v0 root handle 1: gred DP {} limit 400000 min 30000 max 90000 avpkt 1000 burst 55"


def test_gred_s_virtual_queues_have_the_kernel_s_numbers() -> None:
    """vqs 3 default 2 grio limit 1514000b
    vq 1 prio 3 limit 60Kb min 5Kb max 15Kb ecn ewma 1 probability 0.1 Scell_log 8
    vq 2 prio 8 limit 400000b min 30000b max 90000b ewma 5 probability 0.02 Scell_log 15
    """
    device = reader(
        f"{GRED} grio",
        QUEUE.format(2),
        "qdisc change dev v0 root handle 1: gred DP 1 prio 3 limit 60kb min 5kb max 15kb avpkt 1000 burst 6 "
        "probability 0.1 ecn bandwidth 80mbit",
    )
    assert device.root is not None
    second, first = device.root["config"]["queues"]
    shown = ("limit", "min", "max", "ecn", "wlog", "scell_log", "max_p")
    assert (first["number"], first["prio"]) == (1, 3)
    assert [first["red"][key] for key in shown] == [61_440, 5120, 15_360, True, 1, 8, int(0.1 * 2**32)]
    assert (second["number"], second["prio"]) == (2, 8)
    assert [second["red"][key] for key in shown] == [400_000, 30_000, 90_000, False, 5, 15, int(0.02 * 2**32)]
    # vqs 2 default 0 limit 50Kb, then vq 1 prio 3 limit 60Kb …: a new limit does not bound it.
    got = change_of(device, "qdisc change dev v0 root handle 1: gred setup DPs 2 default 0 limit 50kb")
    got = got["discipline"]["config"]
    assert (got["limit"], [(queue["number"], queue["red"]["limit"]) for queue in got["queues"]]) == (
        51_200,
        [(1, 61_440)],
    )


def test_gred_s_limit_bounds_those_of_its_virtual_queues() -> None:
    """vqs 2 default 0 limit 9Kb ecn, then vq 0 prio 8 limit 9Kb min 30000b max 90000b ecn."""
    device = reader(
        "qdisc add dev v0 root handle 1: gred setup DPs 2 default 0 ecn limit 9kb", QUEUE.format(0) + " ecn"
    )
    assert device.root is not None
    (queue,) = device.root["config"]["queues"]
    assert (queue["red"]["limit"], queue["red"]["ecn"]) == (9216, True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((GRED, QUEUE.format(3)), "3 virtual queues, from 0"),
        ((f"{GRED} ecn", QUEUE.format(0)), "setup has them"),
        ((GRED, QUEUE.format(0) + " ecn", GRED.replace("add", "change") + " harddrop"), "have their own"),
        (("qdisc add dev v0 root handle 1: ets bands 2", "qdisc change dev v0 root ets bands 3"), "can't change the"),
        (("qdisc add dev v0 root handle 1: ets bands 2", "qdisc add dev v0 parent 1:3 handle 3: pie"), "no band 1:3"),
        (("qdisc add dev v0 root handle 1: ets strict 2", "class change dev v0 classid 1:1 ets quantum 9"), "strict"),
        (
            ("qdisc add dev v0 root handle 1: ets bands 2", "class change dev v0 classid 1:3 ets quantum 9"),
            "no class 3",
        ),
        (("qdisc add dev v0 root handle 1: ets bands 2", "class add dev v0 classid 1:1 ets quantum 9"), "a class 1:1"),
        (("qdisc add dev v0 root handle 1: sfb", "qdisc add dev v0 parent 1:1 handle 2: pfifo"), "only its own fifo"),
        ((PRIO, "qdisc change dev v0 root handle 1: prio bands 4"), "can't change the number"),
        ((PRIO, "qdisc add dev v0 parent 1:4 handle 2: pie"), "no band 1:4"),
        ((PRIO, "class add dev v0 parent 1: classid 1:1 htb rate 1mbit"), "no htb at '1:1'"),
        ((*DRR, "class add dev v0 parent 1: classid 1:2 drr quantum 0"), "a quantum of 0"),
        (
            ("qdisc add dev v0 root handle 1: sfq", "qdisc change dev v0 root handle 1: sfq limit 10"),
            "a sfq can't be changed",
        ),
        (
            ("qdisc add dev v0 root handle 1: pie", "filter add dev v0 parent 1: matchall flowid 1:1"),
            "no discipline that can have filters at '1:'",
        ),
        ((PRIO, "filter add dev v0 parent 1: matchall flowid 1:1 action mirred"), "no action of a filter"),
        ((PRIO, "filter add dev v0 parent 1: matchall flowid 1:1 action police rate 1mbit drop"), "'rate' and 'burst'"),
        (
            (PRIO, "filter add dev v0 parent 1: matchall flowid 1:1 action police rate 1mbit burst 9kb"),
            "without 'drop'",
        ),
        (
            (
                PRIO,
                "filter add dev v0 parent 1: matchall flowid 1:1 "
                "action police rate 1mbit burst 9kb peakrate 9mbit drop",
            ),
            "'peakrate' needs 'mtu'",
        ),
        (
            (
                "qdisc add dev v0 root handle 1: htb default 1",
                "filter add dev v0 parent 1: matchall flowid 1:1 action police rate 1mbit burst 9kb drop",
            ),
            "no policers on an htb",
        ),
    ],
)
def test_invalid_commands_are_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(Wrong) as raised:
        reader(*lines)
    assert message in str(raised.value)


def lines_of(qdisc: str, rate: str = "", mtu: int = 1500) -> list[str]:
    """The commands of a bottleneck."""
    text = (
        f'duration = "1s"\n[path]\nrtt = "40ms"\nmtu = {mtu}\n[path.bottleneck]\n{rate}\nqdisc = "{qdisc}"\n'
        '[[flows]]\ncc = "cubic"\n'
    )
    plan = make(parse(text, Path("mine.toml"))[0].experiment, Attachments(), 1)
    return [command.line for command in plan.setup if command.argv[0] == "tc" and "dev right " in command.line]


def test_an_experiment_s_policer_is_a_prio_with_one_filter() -> None:
    assert lines_of("police rate 10mbit burst 20kb") == [
        "tc qdisc add dev right root handle 10: prio",
        "tc filter add dev right parent 10: protocol all prio 1 matchall classid 10:1 "
        "action police rate 10mbit burst 20kb mtu 1514 drop",
    ]
    shaped = lines_of("police rate 10mbit burst 0.5bdp", 'rate = "20mbit"', mtu=9000)
    assert shaped[2] == "tc qdisc add dev right parent 1:1 handle 10: prio"
    assert shaped[3].endswith("action police rate 10mbit burst 50000 mtu 9014 drop")
    assert lines_of("police rate 10mbit burst 20kb mtu 600")[1].endswith("mtu 600 drop")


def test_a_policer_without_a_bucket_is_refused() -> None:
    with pytest.raises(ExperimentError, match="police needs 'rate' and 'burst'"):
        lines_of("police rate 10mbit")


def test_police_is_the_only_action_of_a_script() -> None:
    filter_line = (
        "tc filter add dev eth0 parent 1: matchall flowid 1:1 action police rate 10mbit burst 20kb mtu 1514 drop"
    )
    root = "tc qdisc add dev eth0 root handle 1: prio"
    assert read_script([root, filter_line], "eth0").commands[1].endswith(" drop")
    for line, message in [
        (filter_line.replace("police", "mirred"), "no action of a filter"),
        (filter_line.replace("10mbit", "$(reboot)"), "characters that tc commands"),
        (filter_line.replace("drop", "exec"), "police has no option 'exec'"),
        (filter_line.replace("20kb", "1bdp"), "tc has no sizes in bdp"),
        ("tc qdisc add dev eth0 root handle 1: police rate 1mbit burst 9kb", "an action of a filter"),
    ]:
        with pytest.raises(Wrong, match="line 1") as raised:
            read_script([line], "eth0")
        assert message in str(raised.value)
