"""What a plan warns of: a valid run that may not be what was meant."""

from pathlib import Path

import pytest

from dumbbell.plan import make
from dumbbell.spec import parse
from dumbbell.spec.attachments import read_attachments

FLOW = '[[flows]]\ncc = "cubic"\n'


def warnings_of(path: str, rest: str = FLOW, *, probes: str = "probes = []") -> list[str]:
    case = parse(f'duration = "10s"\n{probes}\n[path]\nrtt = "20ms"\n{path}\n{rest}', Path("mine.toml"))[0]
    return make(case.experiment, read_attachments(case), 1).warnings


def bottleneck(rate: str = "10mbit", qdisc: str = "pfifo limit 100") -> str:
    return f'[path.bottleneck]\nrate = "{rate}"\nqdisc = "{qdisc}"\n'


def script(*lines: str) -> str:
    commands = ", ".join(f'"tc {line}"' for line in lines)
    return f'[path.tc]\ninterface = "d"\ncommands = [{commands}]\n'


@pytest.mark.parametrize(
    ("path", "rest", "wanted"),
    [
        (script("qdisc add dev d root netem loss 1%"), FLOW, ["path.loss"]),
        (script("qdisc add dev d root netem loss 1%", "qdisc del dev d root"), FLOW, []),
        (bottleneck(), FLOW + 'host_qdisc = "netem loss 1%"\n', ["path.loss"]),
        (bottleneck(), FLOW + 'host_qdisc = "tbf rate 5mbit burst 5kb limit 50kb"\n', ["path.bottleneck or access"]),
        (bottleneck(), FLOW + 'host_qdisc = "fq"\n', []),
        ('loss = "random 1% 25%"\n' + bottleneck(), FLOW, ["gemodel"]),
        ('loss = "random 1%"\n' + bottleneck(), FLOW, []),
        ('loss = "gemodel 1% 25%"\n' + bottleneck(), FLOW, []),
        (bottleneck("1gbit", "netem delay 100ms"), FLOW, ["limit of 1000 packets is below rate × delay, 8256"]),
        (bottleneck("1gbit", "netem delay 100ms limit 9000"), FLOW, []),
        (script("qdisc add dev d root netem delay 100ms"), FLOW, ["above 121120kbit"]),
        (
            script("qdisc add dev d root handle 1: netem delay 10ms",
                   "qdisc add dev d parent 1: handle 2: tbf rate 80mbit burst 50kb limit 225000b"),
            FLOW, [],
        ),
    ],
)  # fmt: skip
def test_losses_and_limits_that_mislead_have_a_warning(path: str, rest: str, wanted: list[str]) -> None:
    found = [text for text in warnings_of(path, rest) if "as in the script" not in text]
    assert len(found) == len(wanted), found
    assert all(text in warning for text, warning in zip(wanted, found, strict=True)), found


@pytest.mark.parametrize(("rate", "warns"), [("5kbit", True), ("780kbit", True), ("1mbit", False)])
def test_pings_of_one_per_cent_of_the_bottleneck_have_a_warning(rate: str, *, warns: bool) -> None:
    found = warnings_of(bottleneck(rate), probes="")
    assert ["probes = []" in warning for warning in found] == [True] * warns
