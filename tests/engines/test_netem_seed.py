"""netems with the same seed lose the same packets on the simulator and on the kernel."""

from pathlib import Path

import polars as pl
import pytest

from dumbbell.engines import Request
from dumbbell.engines.base import engine_called
from dumbbell.results import result
from dumbbell.spec import parse

pytestmark = pytest.mark.kernel

PACKETS = """
duration = "10s"
sample = "100ms"
probes = []
[path]
rtt = "20ms"
loss = "{loss}"
delay = "10ms"
jitter = "3ms"
[path.bottleneck]
rate = "50mbit"
[[flows]]
name = "steady"
kind = "udp"
rate = "8mbit"
"""


def drops(folder: Path, engine: str, loss: str, seed: int = 1) -> list[int]:
    """Packets that the path's netem had dropped at each sample."""
    case = parse(PACKETS.format(loss=loss), folder / "packets.toml")[0]
    request = Request("packets", case, seed, folder / f"{engine}-{seed}")
    run = result.load(engine_called(engine, None).run(request, lambda _: None))
    return run.queues.filter(pl.col("queue") == "path-netem")["drops_packets"].to_list()


@pytest.mark.slow(keep="3%")
@pytest.mark.parametrize("loss", ["3%", "gemodel 1% 10% 70% 0.1%", "state 1% 20% 5% 60% 2%"])
def test_both_engines_lose_the_same_packets(loss: str, tmp_path: Path) -> None:
    on_kernel = drops(tmp_path, "kernel", loss)
    assert drops(tmp_path, "sim", loss) == on_kernel
    assert on_kernel[-1] > 100


@pytest.mark.slow
def test_another_seed_loses_other_packets(tmp_path: Path) -> None:
    assert drops(tmp_path, "kernel", "3%", seed=1) != drops(tmp_path, "kernel", "3%", seed=2)
