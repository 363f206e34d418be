"""A burst arrives at one instant, because a policer has no line behind it: the receiving program reads after it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engines import measured
from engines.measured import experiment, measure

RENO = '[[flows]]\ncc = "reno"\nname = "reno"\n'


@pytest.fixture(autouse=True, params=measured.ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two engines."""
    monkeypatch.setattr(measured, "chosen", request.param)


def at_ms(folder: Path, millis: int, flow: str = RENO) -> dict[str, Any]:
    """The flow's sample at this time, behind a policer that passes 13 packets at once."""
    text = experiment(
        flow,
        rate=None,
        rtt="57.693ms",
        qdisc="police rate 9232kbit burst 20000",
        duration="200ms",
        top='sample = "1ms"',
    )
    rows = measure(folder, text).run.flows.filter(pl.col("time_ns") == millis * 1_000_000)
    return rows.row(0, named=True)


def test_the_window_shrinks_by_what_the_burst_holds(tmp_path: Path) -> None:
    """Ten unread packets: a program that read each one at once would see 81,920 bytes."""
    assert at_ms(tmp_path, 116)["snd_wnd_bytes"] == 79_872


def test_a_woken_reader_runs_before_the_senders_tasklet(tmp_path: Path) -> None:
    """The sender's tasklet would send the rest of the burst; the program reads the four packets that came before it.

    Autotuning sees 14 packets since the start: 10 of the first round trip and these.
    """
    assert at_ms(tmp_path, 116)["rcv_space_bytes"] == 14 * 1_448


def test_a_burst_behind_a_delay_is_read_at_once(tmp_path: Path) -> None:
    """netem passes the burst without the sender: 13 packets arrive, of which autotuning counts the first 12 that share
    a buffer, less the 13th.
    """
    late = at_ms(tmp_path, 168, RENO + 'access = { delay = "17.308ms" }\n')
    assert late["rcv_space_bytes"] == 21 * 1_448
