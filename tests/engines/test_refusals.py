"""The kernel engine refuses or runs the options that the simulator refuses; the message states which."""

from pathlib import Path

import pytest

from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.errors import DumbbellError, ExperimentError
from dumbbell.spec import parse

TEXT = (
    'duration = "20ms"\n[path]\nrtt = "1ms"\n[path.tc]\ninterface = "eth0"\ncommands = """\nLINES"""\n'
    '[[flows]]\ncc = "cubic"\n'
)
ROOT = "tc qdisc add dev eth0 root handle 1: "
FILTER = "tc filter add dev eth0 parent 1: protocol ip prio 1 "
KERNEL_RUNS = [
    "tbf rate 1mbit burst 3kb limit 10kb overhead 10",
    "netem loss 1% ecn",
    "skbprio",
    f"prio\n{FILTER}handle 70000 fw flowid 1:1",
    f"prio\n{FILTER}matchall flowid 1:1 action police rate 1mbit burst 10kb",
    f"prio\n{FILTER}u32 match ip src 10.0.0.1 flowid 1:1",
    f"htb\n{FILTER}matchall action police rate 1mbit burst 10kb drop",
]
KERNEL_REFUSES = [
    "prio bands 20",
    "tbf rate 1mbit limit 10kb",
    "fq_codel flows 70000",
    "choke limit 100",
    "netem delay 10ms distribution normal",
    "red limit 1000 avpkt 1000",
    "red limit 400000 min 90000 max 30000 avpkt 1000 burst 55",
    f"prio\n{FILTER}handle 1 fw",
    f"prio\n{FILTER}handle 1 u32 match ip dport 70000 0xffff flowid 1:1",
    "pfifo limit 3\ntc qdisc add dev eth0 root handle 2: pfifo limit 10",
]


def refusal(engine: Engine, folder: Path, qdisc: str) -> DumbbellError | None:
    """The engine's error, if any."""
    (case,) = parse(TEXT.replace("LINES", f"{ROOT}{qdisc}\n"), folder / "experiment.toml")
    try:
        engine.run(Request("experiment", case, 1, folder / "run"), lambda _seconds: None)
    except DumbbellError as error:
        return error
    return None


@pytest.mark.slow(keep="tbf rate 1mbit burst 3kb limit 10kb overhead 10")
@pytest.mark.kernel
@pytest.mark.parametrize("qdisc", KERNEL_RUNS)
def test_the_simulator_refers_to_the_kernel_engine(tmp_path: Path, qdisc: str) -> None:
    error = refusal(Simulator(), tmp_path, qdisc)
    assert isinstance(error, ExperimentError)
    assert error.right.endswith("run it with --engine kernel")
    assert refusal(KernelEngine(), tmp_path, qdisc) is None


@pytest.mark.slow(keep="prio bands 20")
@pytest.mark.kernel
@pytest.mark.parametrize("qdisc", KERNEL_REFUSES)
def test_options_that_both_engines_refuse(tmp_path: Path, qdisc: str) -> None:
    error = refusal(Simulator(), tmp_path, qdisc)
    assert isinstance(error, ExperimentError)
    assert "--engine" not in error.right
    on_kernel = str(refusal(KernelEngine(), tmp_path, qdisc))
    if "the kernel refused" in on_kernel:
        assert error.right.startswith("the kernel refuses that too")
    else:  # The script's reader knows it before any engine starts.
        assert on_kernel == str(error)
