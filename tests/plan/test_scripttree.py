"""The rates that a tc script's disciplines and classes allow."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import Queue, make
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments

CLASSES = """
tc qdisc add dev eth0 root handle 1: htb
tc class add dev eth0 parent 1: classid 1:1 htb rate 10gbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 5gbit ceil 6gbit
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 12gbit
tc qdisc add dev eth0 parent 1:10 handle 10: netem delay 10ms
tc qdisc add dev eth0 parent 1:20 handle 20: pfifo limit 10
"""
CHAIN = """
tc qdisc add dev eth0 root handle 1:0 netem delay 10ms limit 1000
tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 70mbit buffer 1mbit limit 1000mbit
tc qdisc add dev eth0 parent 10:1 handle 100: tbf rate 80mbit burst .05mbit limit 225000b
tc qdisc add dev eth0 parent 100:1 handle 1000: pfifo limit 10
"""


EXPERIMENT = """
duration = "1s"
[path]
rtt = "1ms"
[path.tc]
interface = "eth0"
commands = '''
{}
'''
[[flows]]
cc = "cubic"
"""


def queue(text: str, handle: str) -> Queue:
    """The queue of a script with this handle."""
    plan = make(parse(EXPERIMENT.format(text), Path("mine.toml"))[0].experiment, Attachments(), 1)
    return [queue for queue in plan.queues if queue.name == f"tc-{handle}".rstrip(":")][-1]


@pytest.mark.parametrize(
    ("text", "handle", "mbps", "holds"),
    [
        (CHAIN, "1:", None, True),
        (CHAIN, "10:", 70, False),
        (CHAIN, "100:", 70, False),
        (CHAIN, "1000:", 70, False),
        (CLASSES, "1:", 10_000, True),
        (CLASSES, "10:", 6000, True),
        (CLASSES, "20:", 10_000, False),
        ("tc qdisc add dev eth0 root handle 0A: htb", "0A:", None, False),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 2kb limit 9kb", "db00:", 1, False),
    ],
)
def test_a_rate_is_capped_by_its_own_and_all_parents(text: str, handle: str, mbps: int | None, *, holds: bool) -> None:
    found = queue(text, handle)
    assert found.limits == ([] if mbps is None else [(0, mbps * 10**6)])
    assert found.holds_netem is holds


def test_a_class_below_itself_is_refused() -> None:
    with pytest.raises(ExperimentError, match="no class 1:10 to be the parent"):
        queue(CLASSES.replace("parent 1: classid 1:1 ", "parent 1:10 classid 1:1 "), "10:")


def test_a_class_without_an_id_is_refused() -> None:
    with pytest.raises(ExperimentError, match="a class without a classid"):
        queue(CLASSES.replace("classid 1:20 ", ""), "10:")


def test_the_queue_to_report_must_be_left() -> None:
    script = 'interface = "eth0"\nqueue = "10:"'
    text = EXPERIMENT.replace('interface = "eth0"', script)
    deleted = CLASSES + "tc qdisc del dev eth0 parent 1:10\n"
    left, gone = (parse(text.format(commands), Path("mine.toml"))[0].experiment for commands in (CLASSES, deleted))
    assert make(left, Attachments(), 1).bottleneck == "tc-10"
    with pytest.raises(ExperimentError, match="no discipline of this handle is there") as caught:
        make(gone, Attachments(), 1)
    assert (caught.value.key, caught.value.right) == ("path.tc.queue", "one of: 1:, 20:")
