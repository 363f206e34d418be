"""Recordings of a path: captures, and logs that `dumbbell import` reads, result folders among them.

A capture shows single packets. A log shows samples: smoothed round trip times and counters, so the rate is known only
while the queue is busy, and a neighbour can't be seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File

import numpy as np
import polars as pl

from dumbbell.errors import ImportProblem
from dumbbell.identification.connection import Connection, read_connection
from dumbbell.identification.facts import Estimate, Facts, Level, facts_of
from dumbbell.identification.identify import MOST_MISSED, MOST_PACKETS, MOST_S
from dumbbell.identification.identify import of_connection as identified
from dumbbell.identification.nearest import UNKNOWN
from dumbbell.identification.round_trips import least_s
from dumbbell.importers import Options, read_run
from dumbbell.importers.log_source import open_source
from dumbbell.importers.pcap_file import is_capture
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.twin.readings import Readings, of_connection, of_flow

__all__ = ["Recording", "Source", "read_recording"]

FRAME = 1514 / 1448
"""Bytes on an Ethernet link per byte of payload, of a log, which does not state its segments."""
LEAST_SAMPLES = 10
LEAST_S = 3.0
BUSY = 1.2
"""The smoothed round trip time, in smallest ones, from which a queue is taken to be busy."""
LEAST_BUSY = 0.3
"""Share of the time."""


Source = Connection | tuple[Run, int, float]
"""A captured connection, or a run, the number of a flow in it, and the second from which on it counts."""


@dataclass(frozen=True)
class Recording:
    """One flow of one file."""

    file: File
    label: str
    cc: str
    """The controller that sent it."""
    cc_known: str
    """How that is known."""
    facts: Facts
    readings: Readings
    duration_s: float
    source: Source
    """What was recorded."""
    sample_s: float | None
    """Time between the samples of a log."""
    from_start: bool
    """Does it begin with the connection?"""
    ecn: bool
    warnings: Sequence[str]

    @property
    def flow(self) -> Connection | None:
        """The captured connection; None for a log of samples."""
        return self.source if isinstance(self.source, Connection) else None

    def first(self, packets: int) -> "Recording":
        """The part that has so many data segments; itself if it has no more, or is a log."""
        flow = self.flow
        if flow is None or flow.time.size <= packets:
            return self
        part = flow.until(max(float(flow.time[packets]), least_s(self.facts.rtt_s.value or 0.0)))
        readings = of_connection(part, self.facts.at_sender)
        return replace(self, source=part, readings=readings, duration_s=part.duration_s)


def read_recording(file: File, cc: str | None = None, flow: str | None = None) -> Recording:
    """Read a file and what it shows.

    Raises `ImportProblem` for what can't be read, is too short, or doesn't show its controller when `cc` is None.
    """
    if file.is_dir() and (file / "run.json").exists():
        return _of_run(file, result.load(file), cc, flow)
    source = open_source(file) if not file.is_dir() else None
    if source is not None and is_capture(source.data):
        return _of_capture(file, cc, flow)
    imported = read_run([file], Options())
    return _of_run(file, Run(file, imported.manifest, **imported.tables), cc, flow)


def _of_capture(file: File, cc: str | None, name: str | None) -> Recording:
    flow, warnings = read_connection(file, name)
    if flow.missed > MOST_MISSED:
        raise ImportProblem(
            f"the capture lacks {100 * flow.missed:.2g} % of the data that was acknowledged", file=str(file),
            value=flow.label, right="one without drops, such as tcpdump -B 65536 -s 128 writes",
        )  # fmt: skip
    whole, lasted = flow, flow.duration_s
    flow = flow.until(MOST_S) if lasted > MOST_S else flow
    if flow.time.size > MOST_PACKETS:
        flow = flow.until(float(flow.time[MOST_PACKETS]))
    if flow.duration_s < lasted:
        warnings = [*warnings, f"only the first {flow.duration_s:.3g} of {lasted:.3g} s count"]
    facts = facts_of(flow, str(file))
    if facts.rate_bps.value is None and facts.policed_bps is None:
        raise ImportProblem(
            "the bottleneck's rate can't be told: no rate is common among its acknowledgements", file=str(file),
            value=flow.label, right="a recording of a bulk transfer that fills the path at times",
        )  # fmt: skip
    known = "as given"
    if cc is None:
        found = identified(whole, str(file))
        if found.verdict == UNKNOWN:
            raise ImportProblem(
                "the controller that sent it can't be told", file=str(file), value=flow.label,
                right="name it with --cc-recorded, such as --cc-recorded cubic",
            )  # fmt: skip
        cc, known = found.verdict, f"identified (confidence {100 * found.confidence:.0f} %)"
    return Recording(
        file, flow.label, cc, known, facts, of_connection(flow, facts.at_sender), flow.duration_s, flow, None,
        flow.handshake, flow.ecn, warnings,
    )  # fmt: skip


def _of_run(file: File, run: Run, cc: str | None, name: str | None) -> Recording:
    number = _chosen(file, run, name)
    entry = run.manifest.flows[number]
    label = str(entry["name"])
    if entry.get("kind", "tcp") != "tcp":
        raise ImportProblem("no TCP flow", file=str(file), value=label, right="a bulk transfer by TCP")
    own = cc or entry.get("cc")
    if own is None:
        raise ImportProblem(
            "the log does not state the controller", file=str(file), value=label,
            right="name it with --cc-recorded, such as --cc-recorded cubic",
        )  # fmt: skip
    table = run.flows.filter(pl.col("flow") == label).sort("time_ns")
    # Of a fetched or watched connection the log knows when it began, in its own time.
    facts, step, from_start = _sampled(file, label, table, float(entry.get("start_s") or 0.0))
    readings = of_flow(run, number)
    warnings = [
        "samples show a lower bound of the rate and no neighbour: the model holds if the flow was alone; a capture "
        "(tcpdump -s 128) shows more"
    ]
    duration = (float(table["time_ns"][-1]) - float(table["time_ns"][0])) / 1e9
    known = "as given" if cc else "as the log states"
    return Recording(
        file, label, str(own), known, facts, readings, duration, (run, number, 0.0), step,
        from_start=from_start, ecn=False, warnings=warnings,
    )  # fmt: skip


def _chosen(file: File, run: Run, wanted: str | None) -> int:
    names = [str(each.name) for each in run.manifest.flows]
    if wanted is not None and wanted in names:
        return names.index(wanted)
    listed = ", ".join(f"'{each}'" for each in names[:10])
    if wanted is not None:
        raise ImportProblem(
            "no flow of this name", file=str(file), place="--flow", value=wanted, right=f"there is: {listed}"
        )
    if len(names) != 1:
        raise ImportProblem(f"{len(names)} flows", file=str(file), right=f"choose one with --flow: {listed}")
    return 0


def _sampled(file: File, label: str, table: pl.DataFrame, start_s: float) -> tuple[Facts, float, bool]:
    """The facts of samples, the time between them, and whether they begin with the connection."""
    delivered = next(
        (name for name in ("bytes_received", "bytes_acked", "bytes_sent") if table[name].null_count() < table.height),
        None,
    )
    known = table.filter(pl.col("rtt_ns").is_not_null() & (pl.col("rtt_ns") > 0))
    if delivered is None or known.height < LEAST_SAMPLES:
        what = "bytes" if delivered is None else "round trip times"
        raise ImportProblem(
            f"{known.height} samples with {what} are too few" if delivered else "its samples have no count of bytes",
            file=str(file), value=label,
            right=f"at least {LEAST_SAMPLES}: a loop of `ss -tin`, `iperf3 -J -i 0.1`, or a capture (tcpdump -s 128)",
        )  # fmt: skip
    time = known["time_ns"].to_numpy() / 1e9
    if time[-1] - time[0] < LEAST_S:
        raise ImportProblem(
            f"{time[-1] - time[0]:.3g} s are too short to say", file=str(file), value=label,
            right=f"at least {LEAST_S:g} s of a bulk transfer",
        )  # fmt: skip
    rtt = known["rtt_ns"].to_numpy() / 1e9
    least = known["min_rtt_ns"].drop_nulls().to_numpy() / 1e9
    base = float(min(rtt.min(), least.min() if least.size else np.inf))
    step = float(np.median(np.diff(time)))
    gained = np.diff(known[delivered].to_numpy().astype(np.float64))
    busy = np.minimum(rtt[1:], rtt[:-1]) > BUSY * base
    if not np.isfinite(gained).all() or busy.mean() < LEAST_BUSY:
        raise ImportProblem(
            f"the queue was busy in only {100 * busy.mean():.0f} % of the samples, so they do not show the rate",
            file=str(file), value=label, right="a capture of the transfer (tcpdump -s 128), which shows more",
        )  # fmt: skip
    rate = float(gained[busy].sum() * 8 * FRAME / np.diff(time)[busy].sum())
    queue = float(rtt.max()) - base
    lost = known["retrans_packets"].drop_nulls()
    seen = rate * queue / 8
    overflowed = bool(lost.len() and lost[-1] > lost[0])
    buffer = Estimate(
        seen if overflowed else None, seen, 2 * seen if overflowed else None,
        "largest smoothed round trip time, with losses" if overflowed else "largest smoothed round trip time",
    )  # fmt: skip
    facts = Facts(
        rtt_s=Estimate(base, None, base, f"smallest of {known.height} samples"),
        rate_bps=Estimate(rate, rate, None, f"delivered while the queue was busy: {busy.sum()} of {busy.size} samples"),
        queue_s=Estimate(queue, queue, None, "largest smoothed round trip time"),
        buffer_bytes=buffer,
        loss=Estimate(None, None, None, "samples do not show single losses"),
        window_bytes=Estimate(None, None, None, "samples do not show it"), loss_run=1.0,
        levels=(Level(0.0, rate),), levels_buffer_bytes=seen, policed_bps=None,
        others_start_s=None,
        share=1.0, at_sender=True, sampled=True,
    )  # fmt: skip
    # What was sent before the first sample fits into the time before it, or the log begins in mid-flow.
    before = float(known[delivered][0]) * 8 * FRAME / rate
    return facts, step, before <= time[0] - start_s + 2 * step + 2 * base
