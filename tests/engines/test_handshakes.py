"""A flow without a connection is a fault only if it had time to connect."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell import _sim
from dumbbell.engines.run_manifest import judge_flows
from dumbbell.linux import QUEUE_RECORD
from dumbbell.plan import Plan, Queue, make
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments
from engines import measured
from engines.measured import CUBIC, ENGINES, experiment

TWO = '[[flows]]\ncc = "cubic"\nname = "first"\n[[flows]]\ncc = "reno"\nname = "second"\naccess = { delay = "80ms" }\n'
S = 10**9
BITS_PER_NS = 8_000_000
"""A rate at which a byte takes a microsecond."""


def planned(flows: str = TWO, duration: str = "20s") -> Plan:
    text = experiment(flows, rtt="20ms", duration=duration)
    return make(parse(text, Path("known.toml"))[0].experiment, Attachments(), 1)


def report(started_ns: int | None, connected_ns: int | None = None, error: str | None = None) -> dict[str, Any]:
    return {"started_ns": started_ns, "connected_ns": connected_ns, "error": error}


def judged(
    *reports: dict[str, Any], plan: Plan | None = None, delays_ns: dict[str, list[int | None]] | None = None
) -> tuple[list[str], list[str]]:
    """Why the run is invalid, and flows that came too late. `delays_ns`: samples of each queue."""
    plan, delays_ns = plan or planned(), delays_ns or {}
    named, rows = [], []
    for number, (name, delays) in enumerate(delays_ns.items()):
        limits = () if None in delays else ((0, BITS_PER_NS),)
        named.append(Queue(name, "router", "right", f"{number}:", "", rates=limits))
        rows += [(number, delay or 0) for delay in delays]
    records = np.zeros(len(rows), QUEUE_RECORD)
    for record, (number, delay) in zip(records, rows, strict=True):
        record["queue"], record["backlog"] = number, delay // 1000
    queues = plan.queue_table(records.tobytes(), named, ["pfifo"] * len(named))
    verdict = judge_flows(plan, _sim.End({"flows": reports}), named, queues)
    return verdict.invalid, verdict.too_late


NEVER: tuple[list[str], list[str]] = (["flow 'second' never connected"], [])
LATE: tuple[list[str], list[str]] = ([], ["second"])


CONNECTED = report(0, 1)


@pytest.mark.parametrize(
    ("started_ns", "never"),
    [(0, True), (13 * S - 100_000_000, True), (13 * S - 99_999_999, False), (20 * S - 1, False)],
)
def test_a_flow_needs_three_retransmissions_and_its_rtt(started_ns: int, never: bool) -> None:
    """The RTT has the access link's delay: 100 ms."""
    assert judged(CONNECTED, report(started_ns)) == (NEVER if never else LATE)


def test_a_handshake_that_failed_is_never_too_late() -> None:
    assert judged(CONNECTED, report(20 * S - 1, error="refused")) == (["flow 'second' never connected: refused"], [])


@pytest.mark.parametrize(("started_ns", "never"), [(18 * S, True), (19 * S, False)])
def test_one_retransmission_is_enough_if_no_flow_connected(started_ns: int, never: bool) -> None:
    found = (["flow 'first' never connected"], []) if never else ([], ["first"])
    assert judged(report(started_ns), report(None)) == found


def test_a_long_queue_makes_handshakes_longer() -> None:
    """The longest delay of each queue counts, added over queues; a queue without a rate has none."""
    delays_ns: dict[str, list[int | None]] = {"bottleneck": [4 * S, S], "reverse": [2 * S], "netem": [None]}
    assert judged(CONNECTED, report(7 * S - 100_000_000), delays_ns=delays_ns) == NEVER
    assert judged(CONNECTED, report(7 * S - 99_999_999), delays_ns=delays_ns) == LATE


def test_a_flow_that_stops_has_no_longer_time() -> None:
    plan = planned(TWO + 'stop = "5s"\n')
    assert judged(CONNECTED, report(0), plan=plan) == LATE


def test_a_change_of_the_rtt_counts() -> None:
    plan = planned(CUBIC + '[[changes]]\nat = "1s"\nrtt = "3s"\n')
    assert [flow.rtt_ns for flow in plan.flows] == [3 * S]


ARRIVALS = CUBIC + '[[flows]]\ncc = "reno"\nname = "late"\nstart = "1.999s"\nbytes = "1kB"\n'
BLOCKED = CUBIC + '[[flows]]\ncc = "reno"\nname = "blocked"\naccess = { loss = "100%" }\n'


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "chosen", request.param)


@pytest.mark.usefixtures("engine")
def test_a_flow_near_the_end_leaves_a_run_valid(tmp_path: Path) -> None:
    manifest = measured.measure(tmp_path, experiment(ARRIVALS)).run.manifest
    assert (manifest["valid"], manifest["invalid"], manifest["too_late"]) == (True, [], 1)
    assert "flow 'late' came too late to connect before the end" in manifest["warnings"]
    assert not any("not done" in warning for warning in manifest["warnings"])
    assert [flow["connected"] for flow in manifest["flows"]] == [True, False]


@pytest.mark.usefixtures("engine")
def test_a_flow_that_cannot_connect_makes_a_run_invalid(tmp_path: Path) -> None:
    manifest = measured.measure(tmp_path, experiment(BLOCKED, duration="8s")).run.manifest
    assert (manifest["invalid"], manifest["too_late"]) == (["flow 'blocked' never connected"], 0)
