"""The keys of `run.json` and `sweep.json` that a reader relies on, each with its kind.

`reader`, `sweeps.folder` and the importers of our own exports check every file against these schemas. Keys that are
only displayed or copied may hold any value; `docs/result.md` lists all.
"""

from dumbbell.results.schema import ANY, LARGEST, Bool, Listed, Mapped, Number, Object, Row, Text

__all__ = ["FORMAT", "LONGEST_S", "RUN", "SWEEP"]


FORMAT = 1
"""Version of both folder formats; increased when an old reader would misread a new folder."""
LONGEST_S = 1e9
"""Thirty years; a recording may last as long as a host is up."""

TEXT, TEXT_OR_NULL, BOOL, TEXTS = Text(), Text(null=True), Bool(), Listed(Text())
TIME_S = Number("seconds", 0, LONGEST_S)
TIME_S_OR_NULL = Number("seconds", 0, LONGEST_S, null=True)
CLOCK_S = Number("seconds", -1e11, 1e11, null=True)
COUNT = Number("", 0, 2**62, whole=True)
COUNT_OR_NULL = Number("", 0, 2**62, whole=True, null=True)
TOOK_S = Number("seconds", -1, LONGEST_S, null=True)
"""May be slightly negative: the clocks of two real hosts differ."""
SEED = Number("", 0, 2**64, whole=True, null=True)
RATE_OR_NULL = Number("bits per second", 0, 1e15, null=True)
RATIO = Number("", 1e-9, 1e9, null=True)
VERSION = Number("", 1, FORMAT, whole=True)
FIGURE_OR_NULL = Number("", -LARGEST, LARGEST, null=True)

_FLOW = Object(
    {"name": TEXT, "group": TEXT, "kind": TEXT, "cc": TEXT_OR_NULL, "fct_s": TOOK_S},
    {
        "cc_asked": TEXT_OR_NULL, "start_s": TIME_S_OR_NULL, "stop_s": TIME_S_OR_NULL, "bytes_asked": COUNT_OR_NULL,
        "bytes_received": COUNT_OR_NULL, "retransmits": COUNT_OR_NULL, "data_segs_out": COUNT_OR_NULL,
        "connected": BOOL, "completed": BOOL, "intermittent": BOOL, "error": TEXT_OR_NULL,
        "exchanges_s": Listed(TIME_S_OR_NULL), "block": COUNT, "url": TEXT, "address": TEXT,
    },
)  # fmt: skip
_QUEUE = Object(
    {"name": TEXT, "kind": TEXT_OR_NULL, "qdisc": TEXT_OR_NULL},
    {
        "under_test": BOOL, "host": TEXT_OR_NULL,
        "device": TEXT_OR_NULL, "rates": Listed(Row((TIME_S, RATE_OR_NULL)), null=True), "drops": COUNT_OR_NULL,
        "marks": COUNT_OR_NULL, "sent_bytes": COUNT_OR_NULL, "sent_packets": COUNT_OR_NULL,
    },
)  # fmt: skip
_PROGRAM = Object(
    {
        "name": TEXT, "host": TEXT, "started_s": TIME_S_OR_NULL, "ended_s": TIME_S_OR_NULL,
        "status": Number("", -256, 256, whole=True, null=True), "signal": COUNT_OR_NULL, "stopped": BOOL,
        "fault": TEXT_OR_NULL,
    },
    {},
)  # fmt: skip
_SEEN = Object(
    {"what": TEXT},
    {
        "value": ANY, "low": FIGURE_OR_NULL, "high": FIGURE_OR_NULL, "unit": TEXT, "metric": TEXT_OR_NULL,
        "case": TEXT_OR_NULL,
    },
)  # fmt: skip
_SOURCE = Object({"title": TEXT, "seen": Listed(_SEEN)}, {"url": TEXT_OR_NULL, "note": TEXT_OR_NULL}, null=True)
_EXPERIMENT = Object(
    {},
    {
        "path": Object({}, {"mtu": Number("bytes", 1, 1e6, whole=True, null=True)}, null=True),
        "flows": Listed(Mapped(ANY), null=True),
    },
    null=True,
)
_KERNEL = Object(
    {},
    {
        "name": TEXT_OR_NULL, "release": TEXT_OR_NULL, "version": TEXT_OR_NULL, "config_sha256": TEXT_OR_NULL,
        "binary_sha256": TEXT_OR_NULL, "unseeded": BOOL,
    },
    null=True,
)  # fmt: skip
_PROGRAM_OF_OURS = Object({}, {"version": TEXT_OR_NULL, "sha256": TEXT_OR_NULL}, null=True)
_LOG = Object({"format": TEXT, "sha256": TEXT}, {"epoch_s": CLOCK_S, "begins_s": TIME_S})
_RATIO = Object(
    {"first": TEXT_OR_NULL, "second": TEXT_OR_NULL},
    {"ratio": RATIO, "interval": Row((RATIO, RATIO), null=True), "confidence": Number("", 0, 1)},
)

RUN = Object(
    {
        "format": VERSION, "name": TEXT_OR_NULL, "title": TEXT, "engine": TEXT, "seed": SEED,
        "duration_s": TIME_S, "wall_s": TIME_S_OR_NULL, "valid": BOOL, "invalid": TEXTS, "warnings": TEXTS,
        "source": _SOURCE, "flows": Listed(_FLOW, unique="name"), "queues": Listed(_QUEUE, unique="name"),
    },
    {
        "dumbbell": TEXT, "corrections": TEXTS, "case": TEXT_OR_NULL, "command": TEXT_OR_NULL,
        "asked_duration_s": TIME_S_OR_NULL,
        "phases_s": Mapped(TIME_S), "experiment": _EXPERIMENT, "expect": TEXTS, "host": ANY,
        "commands": Listed(TEXT, null=True), "generator": TEXT_OR_NULL, "bottleneck": TEXT_OR_NULL,
        "probes": Listed(Mapped(ANY)), "programs": Listed(_PROGRAM), "kernel": _KERNEL,
        "agent": _PROGRAM_OF_OURS, "simulator": _PROGRAM_OF_OURS, "import": Object({"files": Listed(_LOG)}, {}),
        "fetch": Object({"comparisons": Listed(_RATIO), "verdicts": TEXTS}, {}),
    },
)  # fmt: skip
"""`run.json`: required keys, then optional keys."""

_AXIS = Object({"key": TEXT, "scale": TEXT, "values": Listed(ANY)}, {"column": TEXT, "unit": TEXT_OR_NULL})
_COUNTS = Object({"ok": COUNT, "invalid": COUNT, "failed": COUNT}, {"wanted": COUNT})

SWEEP = Object(
    {"format": VERSION, "axes": Listed(_AXIS, unique="key"), "counts": _COUNTS},
    {
        "dumbbell": TEXT, "name": TEXT_OR_NULL, "title": TEXT_OR_NULL, "command": TEXT_OR_NULL, "seeds": Listed(COUNT),
        "metrics": TEXTS, "keep": TEXT_OR_NULL, "window": Row((COUNT, COUNT_OR_NULL), null=True),
        "engines": Mapped(ANY), "maps": Listed(Mapped(ANY)), "experiment": TEXT, "source": Mapped(ANY, null=True),
    },
)  # fmt: skip
"""`sweep.json`."""
