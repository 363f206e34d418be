"""The columns of the list: name, width and priority on narrow screens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.cli.watching import cell_text

__all__ = ["BY_NAME", "COLUMNS", "SPARK", "Column", "fitting"]

Row = Mapping[str, Any]
LIMIT_WORDS = {"application": "app", "receiver": "rwnd", "buffer": "sndbuf", "cwnd": "cwnd", "pacing": "pacing"}


@dataclass(frozen=True)
class Column:
    """One column of the list."""

    name: str
    title: str
    width: int
    needs: tuple[str, ...]
    """Columns of `live`'s table; the first is the sort key."""
    text: Callable[[Row, int], str]
    rank: int
    """0 is always shown; the others in this order while they fit."""
    left: bool = False
    falling: bool = True
    """Sort the largest first."""


def _number(name: str, title: str, width: int, column: str, text: Callable[[Any], str], rank: int) -> Column:
    return Column(name, title, width, (column,), lambda row, _: text(row[column]), rank)


def _phase(row: Row, width: int) -> str:
    problem = row["ca_state"] if row["ca_state"] in ("recovery", "loss") else None
    return str(problem or row["phase"] or "")[:width]


def _gains(row: Row, _: int) -> str:
    pacing = row["bbr_pacing_gain"]
    return "" if pacing is None else f"{cell_text.gain(pacing)}/{cell_text.gain(row['bbr_cwnd_gain'])}"


SPARK = "spark"
COLUMNS = (
    Column("local", "local", 21, ("local_address", "local_port"),
           lambda row, width: cell_text.address(row["local_address"], row["local_port"], width), 6, left=True,
           falling=False),
    Column("port", "port", 6, ("local_port",), lambda row, _: f":{row['local_port']}", 0, left=True, falling=False),
    Column("peer", "peer", 21, ("peer_address", "peer_port"),
           lambda row, width: cell_text.address(row["peer_address"], row["peer_port"], width), 0, left=True,
           falling=False),
    Column("cc", "cc", 6, ("cc",), lambda row, width: (row["cc"] or "")[:width], 1, left=True, falling=False),
    Column("state", "state", 5, ("state",), lambda row, width: "ended" if row["closed"] else row["state"][:width], 12,
           left=True, falling=False),
    Column("phase", "phase", 10, ("phase", "ca_state"), _phase, 5, left=True, falling=False),
    _number("rate", "send", 5, "send_bps", cell_text.rate, 1),
    _number("recv", "recv", 5, "recv_bps", cell_text.rate, 4),
    _number("delivery", "deliv", 5, "delivery_rate_bps", cell_text.rate, 8),
    _number("pacing", "pace", 5, "pacing_rate_bps", cell_text.rate, 8),
    _number("rtt", "rtt", 6, "rtt_ns", cell_text.time, 1),
    _number("minrtt", "min", 6, "min_rtt_ns", cell_text.time, 7),
    _number("cwnd", "cwnd", 5, "cwnd_packets", cell_text.count, 2),
    _number("inflight", "infl", 5, "inflight_packets", cell_text.count, 6),
    _number("retrans", "retr", 4, "retrans_delta", cell_text.count, 2),
    _number("total", "total", 5, "retrans_packets", cell_text.count, 9),
    _number("bw", "bbrbw", 5, "bbr_bw_bps", cell_text.rate, 9),
    Column("gains", "gains", 9, ("bbr_pacing_gain", "bbr_cwnd_gain"), _gains, 10),
    _number("notsent", "wait", 5, "notsent_bytes", cell_text.count, 13),
    _number("lost", "lost", 4, "lost_packets", cell_text.count, 14),
    Column("limit", "limit", 6, ("limited_by",), lambda row, _: LIMIT_WORDS.get(row["limited_by"] or "", ""), 3,
           left=True, falling=False),
    Column(SPARK, "trend", 8, ("send_bps",), lambda _row, _width: "", 3, left=True),
)  # fmt: skip
BY_NAME = {column.name: column for column in COLUMNS}
WIDEST_SPARK = 30
LONG_ADDRESS = 47
"""An IPv6 address with its port."""
ALWAYS = ("closed", "cookie")


def fitting(width: int) -> list[tuple[Column, int]]:
    """The columns that fit this width, each with its width, in the order of the list."""
    chosen: set[str] = set()
    used = 0
    for column in sorted(COLUMNS, key=lambda column: column.rank):
        more = column.width + 1 - (BY_NAME["port"].width + 1 if column.name == "local" else 0)
        if column.rank == 0 or used + more <= width:
            chosen.add(column.name)
            used += more
    if "local" in chosen:
        chosen.discard("port")
    spare = max(width - used, 0)
    widths = {column.name: column.width for column in COLUMNS if column.name in chosen}
    if SPARK in widths:
        widths[SPARK] += (added := min(spare, WIDEST_SPARK - widths[SPARK]))
        spare -= added
    for name in ("peer", "local"):
        if name in widths:
            widths[name] += (added := min(spare, LONG_ADDRESS - widths[name]))
            spare -= added
    return [(column, widths[column.name]) for column in COLUMNS if column.name in widths]
