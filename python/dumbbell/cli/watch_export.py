"""`watch` for other programs: sums by congestion control and destination, as one short object or for Prometheus.

Source of the text format: prometheus.io, exposition format 0.0.4. A label is a controller or a prefix, never a single
address, so that the number of series stays bounded.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import polars as pl

from dumbbell.analysis.destinations import prefix_of
from dumbbell.analysis.filter import Filter, matches
from dumbbell.analysis.live_sockets import Live
from dumbbell.control_characters import json_text
from dumbbell.errors import LocalHostError
from dumbbell.host.tcp_connections import Frame

__all__ = ["compact_json", "exposition", "serving", "sums"]

MOST_PREFIXES = 50
"""Destinations with series of their own, those with the most bits per second; the rest are one, `other`."""
OTHER = "other"
GAUGES = {
    "connections": ("dumbbell_tcp_connections", "Open TCP connections.", 1.0),
    "send_bps": ("dumbbell_tcp_send_bits_per_second", "Bits acknowledged per second in the last interval.", 1.0),
    "recv_bps": ("dumbbell_tcp_receive_bits_per_second", "Bits received per second in the last interval.", 1.0),
    "rtt_ms_p50": ("dumbbell_tcp_rtt_seconds_median", "Median of the connections' smoothed RTTs.", 1e-3),
    "rtt_ms_p95": ("dumbbell_tcp_rtt_seconds_p95", "95th percentile of the connections' smoothed RTTs.", 1e-3),
    "cwnd_packets_p50": ("dumbbell_tcp_cwnd_packets_median", "Median of the connections' congestion windows.", 1.0),
    "retransmits": ("dumbbell_tcp_retransmits", "Segments retransmitted in the last interval.", 1.0),
}


def sums(live: Live, filter_: Filter) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The newest sample by controller and by destination, the most connections and the most traffic first."""
    assert live.table is not None
    rows = live.table.filter(matches(filter_, live.table) & ~pl.col("closed"))
    by_cc = _summed(rows.with_columns(key=pl.col("cc").fill_null("unknown"))).sort("connections", descending=True)
    prefixes = rows["peer_address"].map_elements(lambda address: prefix_of(address) or OTHER, return_dtype=pl.String)
    by_prefix = _summed(rows.with_columns(key=prefixes)).sort(
        pl.col("send_bps").fill_null(0) + pl.col("recv_bps").fill_null(0), descending=True, maintain_order=True
    )
    kept = by_prefix["key"].head(MOST_PREFIXES).to_list()
    if by_prefix.height > len(kept):
        known = prefixes.is_in(kept)
        keys = pl.select(pl.when(known).then(prefixes).otherwise(pl.lit(OTHER))).to_series()
        by_prefix = _summed(rows.with_columns(key=keys))
    return (
        by_cc.rename({"key": "cc"}).to_dicts(),
        by_prefix.rename({"key": "destination"}).to_dicts(),
    )


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    rtt_ms = pl.col("rtt_ns").replace(0, None) / 1e6
    return rows.group_by("key", maintain_order=True).agg(
        connections=pl.len(), send_bps=pl.col("send_bps").sum(), recv_bps=pl.col("recv_bps").sum(),
        retransmits=pl.col("retrans_delta").sum(), rtt_ms_p50=rtt_ms.median(), rtt_ms_p95=rtt_ms.quantile(0.95),
        cwnd_packets_p50=pl.col("cwnd_packets").median(),
    )  # fmt: skip


def compact_json(frame: Frame, live: Live, filter_: Filter) -> str:
    """One short object: no connection, only sums."""
    by_cc, by_destination = sums(live, filter_)
    return json_text(
        {"format": 1, "time_s": frame.realtime_ns / 1e9, "filter": str(filter_), "totals": by_cc,
         "destinations": by_destination}
    )  # fmt: skip


def exposition(live: Live, filter_: Filter) -> str:
    """The newest sample in Prometheus's text format."""
    lines = []
    by_cc, by_destination = sums(live, filter_)
    for key, (name, about, scale) in GAUGES.items():
        lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
        for label, rows in (("cc", by_cc), ("destination", by_destination)):
            lines += [
                f'{name}{{{label}="{_escaped(row[label])}"}} {float(row[key]) * scale:.10g}'
                for row in rows
                if row[key] is not None
            ]
    return "\n".join(lines) + "\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class _Handler(BaseHTTPRequestHandler):
    """Answers `GET /metrics` with the newest text."""

    text: ClassVar[bytes] = b""
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self) -> None:
        """Answer one scrape."""
        found = self.path.partition("?")[0] == "/metrics"
        body = self.text if found else b"the metrics are at /metrics\n"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8" if found else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Standard error is for the user."""


class Exporter:
    """Serves the newest text; `port` is the one that it listens on."""

    def __init__(self, host: str, port: int) -> None:
        self._handler = type("Handler", (_Handler,), {})
        self.server = ThreadingHTTPServer((host, port), self._handler)
        self.server.daemon_threads = True
        self.port = int(self.server.server_address[1])

    def publish(self, text: str) -> None:
        """The text of scrapes from now on."""
        self._handler.text = text.encode()  # type: ignore[attr-defined]


@contextmanager
def serving(port: int, host: str = "127.0.0.1") -> Iterator[Exporter]:
    """Serve metrics of this host to programs of this host. Raises `LocalHostError` if the port is taken."""
    try:
        exporter = Exporter(host, port)
    except OSError as error:
        raise LocalHostError(
            f"--prometheus: port {port}: {error.strerror}; choose another, or 0 for a free one"
        ) from error
    thread = threading.Thread(target=exporter.server.serve_forever, name="prometheus", daemon=True)
    thread.start()
    try:
        yield exporter
    finally:
        exporter.server.shutdown()
        exporter.server.server_close()
        thread.join()
