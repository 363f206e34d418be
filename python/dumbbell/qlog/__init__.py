"""qlogs of QUIC stacks: read in pieces, event by event, and put on the clock of an experiment.

`importers.qlog` makes results of them; engines fill the columns of a run's flows with them.
"""

from dumbbell.qlog.file import QlogFile, QlogSource, is_qlog
from dumbbell.qlog.records import read_traces
from dumbbell.qlog.sampling import facts_of, fill, on_clock, read_qlog, sampled, sender_of
from dumbbell.qlog.trace import EXTRA, Trace

__all__ = [
    "EXTRA",
    "QlogFile",
    "QlogSource",
    "Trace",
    "facts_of",
    "fill",
    "is_qlog",
    "on_clock",
    "read_qlog",
    "read_traces",
    "sampled",
    "sender_of",
]
