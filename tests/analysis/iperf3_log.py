"""A run in the format of iperf3's client: intervals, three digits per size, no RTT."""

import numpy as np

from dumbbell.analysis.sample_arrays import by_flow
from dumbbell.analysis.time_series import bytes_counters, counters
from dumbbell.results.result import Run

__all__ = ["iperf3_text", "printed"]

NS = 1_000_000_000
HEAD = """iperf3 -c 10.0.0.2 -C {cc} -i {every}
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
"""


def printed(size: float) -> str:
    """Like `unit_snprintf` of iperf3: three digits and the fitting unit."""
    power = 0
    while size >= 1024 and power < 3:
        size, power = size / 1024, power + 1
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{size:.{digits}f} {['', 'K', 'M', 'G'][power]}Bytes"


def iperf3_text(run: Run, name: str, every_s: float = 1.0) -> str:
    """One flow's log."""
    ends = np.arange(every_s, run.manifest.duration_s + every_s / 2, every_s)
    edges = np.concatenate([[0.0], ends]) * NS
    sent = np.diff(bytes_counters(run)[name].at(edges))
    retransmits = np.diff(np.round(counters(run, "retrans_packets")[name].at(edges)))
    times, windows = by_flow(run, "cwnd_bytes")[name]
    cwnd = windows[np.clip(np.searchsorted(times, edges[1:], side="right") - 1, 0, None)]
    cc = next(flow.cc for flow in run.manifest.flows if flow.name == name)
    rows = [
        f"[  5]  {end - every_s:6.2f}-{end:<6.2f} sec  {printed(count)}  {8 * count / every_s / 1e6:.1f} Mbits/sec"
        f"  {int(lost)}   {printed(window)}       \n"
        for end, count, lost, window in zip(ends, sent, retransmits, cwnd, strict=True)
    ]
    return HEAD.format(cc=cc, every=every_s) + "".join(rows)
