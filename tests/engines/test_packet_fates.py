"""Packets of given numbers are dropped or delayed, the same ones on the simulator and on the kernel."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dumbbell.engines import Request
from dumbbell.engines.base import engine_called
from dumbbell.engines.kernel import KernelEngine
from dumbbell.errors import ExperimentError
from dumbbell.identification.connection import read_flows
from dumbbell.importers.log_source import open_source
from dumbbell.results import result
from dumbbell.spec import parse

ENGINES = ["sim", pytest.param("kernel", marks=pytest.mark.kernel)]
DROPPED, LATE, DELAY_MS = (1, 12, 300, 301), 400, 7
FATES = "".join(f"[[path.packets]]\nnumber = {number}\n" for number in (*DROPPED, LATE)) + f'delay = "{DELAY_MS}ms"\n'
PATH = """
duration = "1s"
sample = "1ms"
probes = []
[path]
rtt = "20ms"
[path.bottleneck]
rate = "20mbit"
"""
STEADY = '[[flows]]\nname = "steady"\nkind = "udp"\nrate = "8mbit"\n'
CUBIC = '[[flows]]\ncc = "cubic"\n'


def crossed(folder: Path, engine: str, text: str) -> np.ndarray:
    """Packets that had left the bottleneck at each sample."""
    case = parse(text, folder / "packets.toml")[0]
    request = Request("packets", case, 1, folder / f"{engine}-{len(list(folder.iterdir()))}")
    run = result.load(engine_called(engine, None).run(request, lambda _: None))
    assert run.manifest.valid, run.manifest.invalid
    return run.queues.filter(pl.col("queue") == "bottleneck")["sent_packets"].to_numpy()


@pytest.mark.slow(keep="sim")
@pytest.mark.parametrize("engine", ENGINES)
def test_these_packets_are_dropped_or_late_and_others_keep_their_times(engine: str, tmp_path: Path) -> None:
    """A link with room for all: a packet that is missing moves no other."""
    before = crossed(tmp_path, engine, PATH + STEADY)
    after = crossed(tmp_path, engine, PATH + FATES + STEADY)
    missing = (before[:, None] >= np.array(DROPPED)).sum(axis=1)
    due = int(np.argmax(before >= LATE))
    assert before[-1] > LATE
    missing[due : due + DELAY_MS] += 1
    assert after.tolist() == (before - missing).tolist()


@pytest.mark.kernel
def test_the_same_packets_of_tcp_die_on_both_engines(tmp_path: Path) -> None:
    """The segments that cross the bottleneck, in order: what is missing there, and how TCP reacts."""
    text = PATH + 'qdisc = "pfifo limit 50"\n' + FATES.replace("number = 1\n", "number = 3\n")
    case = parse(text + CUBIC, tmp_path / "packets.toml")[0]

    def segments(engine: str) -> list[tuple[int, int]]:
        capture = tmp_path / f"{engine}.pcap"
        request = Request("packets", case, 1, tmp_path / engine, capture=capture)
        engine_called(engine, None).run(request, lambda _: None)
        found, flows, _ = read_flows(open_source(capture))
        data = found.conversation == flows[0][0]
        seq = found.seq[data]
        return list(zip(((seq - seq[0]) % 2**32).tolist(), found.payload_bytes[data].tolist(), strict=True))

    on_kernel = segments("kernel")
    assert segments("sim") == on_kernel
    sequences = [seq for seq, payload in on_kernel if payload]
    assert len(sequences) > 600
    # Packets 1 and 2 are the handshake's: 3 is the first segment, which arrives after the second one.
    size = dict(on_kernel)[1]
    assert sequences[0] == 1 + size
    assert 1 in sequences


@pytest.mark.kernel
def test_a_kernel_whose_netem_takes_no_seed_is_refused(tmp_path: Path) -> None:
    engine = KernelEngine()
    engine.kernel, engine.is_named = replace(engine.kernel, unseeded=True), True
    case = parse(PATH + FATES + STEADY, tmp_path / "packets.toml")[0]
    with pytest.raises(ExperimentError, match="takes no seed") as refused:
        engine.check(Request("packets", case, 1, tmp_path / "out"))
    assert refused.value.key == "path.packets"
