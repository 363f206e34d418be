"""The simulator's extension module: Arrow tables, exceptions, parallel runs, signals."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dumbbell import _sim
from dumbbell.plan import plan_case
from dumbbell.spec import parse

UDP = 'name = "u"\nkind = "udp"\npacket = 1000\nrate = "16mbit"'
"""A datagram each half millisecond."""


def plan(
    seed: int = 1, duration: str = "50ms", sample: str = "10ms", flow: str = UDP, rate: str = "100gbit", **more: Any
) -> _sim.SimulatorPlan:
    """A flow over a link."""
    text = (
        f'duration = "{duration}"\nsample = "{sample}"\nprobes = []\n[path]\nrtt = "0ms"\n[path.bottleneck]\n'
        f'rate = "{rate}"\nqdisc = "pfifo"\n[[flows]]\n{flow}\n'
    )
    return plan_case(parse(text, Path("x.toml"))[0], seed).for_simulator(seed, **more)


def long() -> _sim.SimulatorPlan:
    """Ten days of a flow."""
    return plan(duration="900000s", sample="900000s", flow='cc = "cubic"', rate="10mbit")


def test_tables_are_arrow_data() -> None:
    flows, queues, probes, end, _ = _sim.simulate(plan())
    table = pl.DataFrame(flows)
    assert len(flows) == table.height == 5
    assert table["time_ns"].to_list() == [10_000_000 * number for number in range(1, 6)]
    assert table["flow"].cast(pl.String).unique().to_list() == ["u"]
    assert table["bytes_received"].to_list() == [1000 * (20 * number + 1) for number in range(1, 6)]
    assert table["cwnd_packets"].null_count() == 5
    assert {*pl.DataFrame(queues)["queue"].cast(pl.String)} == {"bottleneck", "bottleneck-shaper"}
    assert len(probes) == 0
    assert end.flows[0]["bytes_received"] == 101_000


def test_a_table_is_valid_after_its_run_and_can_be_read_twice() -> None:
    flows = _sim.simulate(plan())[0]
    first, second = pl.DataFrame(flows), pl.DataFrame(flows)
    del flows
    assert first.equals(second)


def test_progress_is_reported_during_a_run() -> None:
    reported: list[float] = []

    class Stop(Exception):
        pass

    def progress(seconds: float) -> None:
        reported.append(seconds)
        if len(reported) == 3:
            raise Stop

    with pytest.raises(Stop):
        _sim.simulate(long(), progress)
    assert reported == sorted(reported)
    assert reported[0] > 0


def test_parallel_runs_equal_single_runs() -> None:
    single = [pl.DataFrame(_sim.simulate(plan(seed=seed, duration="2s"))[0]) for seed in range(4)]
    parallel: dict[int, pl.DataFrame] = {}

    def one(seed: int) -> None:
        parallel[seed] = pl.DataFrame(_sim.simulate(plan(seed=seed, duration="2s"))[0])

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(parallel[seed].equals(single[seed]) for seed in range(4))


def test_the_gil_is_released_during_a_run() -> None:
    stop = threading.Event()

    def progress(_seconds: float) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    failed: list[BaseException] = []

    def run() -> None:
        try:
            _sim.simulate(long(), progress)
        except KeyboardInterrupt as interrupt:
            failed.append(interrupt)

    thread = threading.Thread(target=run)
    thread.start()
    assert sum(range(100_000)) == 4_999_950_000
    stop.set()
    thread.join(timeout=60)
    assert [type(each) for each in failed] == [KeyboardInterrupt]


def test_ctrl_c_ends_a_run_without_a_progress_callback() -> None:
    program = (
        "from dumbbell import _sim\nfrom test_extension import long\n"
        "made = long()\nprint('started', flush=True)\n_sim.simulate(made)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    assert stderr.strip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


def test_a_capture_is_a_pcap_file(tmp_path: Path) -> None:
    file = tmp_path / "x.pcap"
    _sim.simulate(plan(capture=("sender", "right")), capture=file)
    assert file.read_bytes()[:4] == b"\x4d\x3c\xb2\xa1"  # Nanoseconds, little endian.
    assert file.stat().st_size > 100 * 42


def test_an_unwritable_capture_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        _sim.simulate(plan(), capture=tmp_path / "nowhere" / "x.pcap")
