"""What docs/experiment.md says that no engine supports is refused, and the message names it."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import plan_case
from dumbbell.spec import read

PAGE = (Path(__file__).parents[2] / "docs" / "experiment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("qdisc", "named", "in_page"),
    [
        ("hfsc", "'hfsc'", "`hfsc`"),
        ("ingress", "'ingress'", "`ingress`"),
        ("pfifo limit 10 stab overhead 10", "'stab'", "`stab`"),
        ("netem limit 10kb", "'limit' takes a packets, got '10kb'", "netem's `limit` in bytes"),
        ("netem slot 1ms 2ms bytes 10k", "'bytes' takes a count, got '10k'", "`slot … bytes`"),
        ("netem slot distribution normal 1ms 1ms", "'slot' takes a time, got 'distribution'", "`slot distribution`"),
        ("tbf rate 10mbit burst 10kb lat 50ms", "'lat'", "`lat`"),
        ("tbf rate 10mbit burst 10kb/8 latency 50ms", "'burst' takes a size, got '10kb/8'", "`burst 10kb/8`"),
    ],
)
def test_what_no_engine_supports_is_refused_by_name(qdisc: str, named: str, in_page: str) -> None:
    document = {"duration": "1s", "path": {"rtt": "20ms", "bottleneck": {"qdisc": qdisc}}, "flows": [{"cc": "cubic"}]}
    with pytest.raises(ExperimentError) as error:
        read(document, Path("mine.toml"))
    assert named in str(error.value)
    assert "path.bottleneck.qdisc" in str(error.value)
    assert in_page in PAGE


@pytest.mark.parametrize(
    ("line", "named", "instead"),
    [
        ("tc qdisc add dev eth0 root handle 1: hfsc default 1", "hfsc", "htb"),
        ("tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 1mbit ul rate 2mbit", "hfsc", "ceil"),
        ("tc qdisc add dev eth0 root stab linklayer atm overhead 10 tbf rate 1mbit", "stab", "cake bandwidth"),
        ("tc qdisc add dev eth0 handle ffff: ingress", "ingress", "path.reverse.qdisc"),
        ("tc qdisc add dev eth0 clsact", "clsact", 'host = "router"'),
        ("tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0", "mirred", "reverse"),
        ("tc qdisc add dev ifb0 root fq_codel", "ifb", "reverse"),
        ("ip link add name ifb0 type ifb", "ifb", "reverse"),
        ("sudo ip link add ifb0 type ifb", "ifb", "reverse"),
    ],
)
def test_what_scripts_have_and_no_engine_runs_is_named_with_what_to_write(line: str, named: str, instead: str) -> None:
    tc = {"interface": "eth0", "commands": line}
    document = {"duration": "1s", "path": {"rtt": "20ms", "tc": tc}, "flows": [{"cc": "cubic"}]}
    with pytest.raises(ExperimentError) as error:
        plan_case(read(document, Path("mine.toml"))[0], 1)
    assert "line 1" in str(error.value)
    assert "not supported, on no engine" in str(error.value)
    assert named in str(error.value)
    assert instead in str(error.value)


def test_several_scripts_are_refused_as_such() -> None:
    tc = [{"interface": "eth0", "commands": ""}, {"interface": "eth0", "host": "router", "commands": ""}]
    document = {"duration": "1s", "path": {"rtt": "20ms", "tc": tc}, "flows": [{"cc": "cubic"}]}
    with pytest.raises(ExperimentError, match=r"path\.tc: a list of tables .* one table with the keys interface, host"):
        read(document, Path("mine.toml"))
