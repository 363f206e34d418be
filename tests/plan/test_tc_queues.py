"""The reader of tc commands for pie, fq_pie, sfq, choke, prio, drr, fifos and policers, against tc in a guest.

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
from dumbbell.spec.script import read_script
from dumbbell.spec.units import Wrong
from plan.tc_reader import MS, change_of, config, reader


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
    assert config("fq_codel ce_threshold 1ms ce_threshold_selector 0x01/0x03")["codel"]["ce_selector"] == [1, 3]
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


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((PRIO, "qdisc change dev v0 root handle 1: prio bands 4"), "can't change the number"),
        ((PRIO, "qdisc add dev v0 parent 1:4 handle 2: pie"), "no band 1:4"),
        ((PRIO, "class add dev v0 parent 1: classid 1:1 htb rate 1mbit"), "no htb at '1:1'"),
        ((*DRR, "qdisc change dev v0 root handle 1: drr"), "a drr can't be changed"),
        ((*DRR, "class add dev v0 parent 1: classid 1:2 drr quantum 0"), "a quantum of 0"),
        (("qdisc add dev v0 root handle 1: sfq", "qdisc change dev v0 root handle 1: sfq"), "a sfq can't be changed"),
        (("qdisc add dev v0 root handle 1: pie", "filter add dev v0 parent 1: matchall flowid 1:1"), "no htb or drr"),
        ((PRIO, "filter add dev v0 parent 1: matchall flowid 1:1 action mirred"), "no action but police"),
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
            "policers on a prio or drr only",
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
    assert read_script([filter_line], "eth0").lines[0][-1] == "drop"
    for line, message in [
        (filter_line.replace("police", "mirred"), "the one action"),
        (filter_line.replace("10mbit", "$(reboot)"), "characters that tc commands"),
        (filter_line.replace("drop", "exec"), "police has no option 'exec'"),
        (filter_line.replace("20kb", "1bdp"), "tc has no sizes in bdp"),
        ("tc qdisc add dev eth0 root handle 1: police rate 1mbit burst 9kb", "an action of a filter"),
    ]:
        with pytest.raises(Wrong, match="line 1") as raised:
            read_script([line], "eth0")
        assert message in str(raised.value)
