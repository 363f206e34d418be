"""Other people's logs as runs of ours: one file a format, one closed value between, one verb.

```text
reading   import_files: files in, a result folder out
formats   which format a file is
source    a file as bytes, lines or JSON, with errors that say where
model     Log, FlowLog, QueueLog: what every reader gives; Options: what a person adds
merge     several logs on one clock, with names, groups and a certificate
tables    rows as tables with exactly a result's columns
quantity, clock, checked, intervals, samples   numbers, times, JSON, iperf's intervals, tc's samples

iperf3_text, iperf3_json, iperf2, ss, ping, tcp_probe, tc_text, tc_json, flent, timing, capture   a format each
ours      what dumbbell export wrote
recording looks at live connections, as they come
```

What a log can't say is null, what it rounds is said, and what isn't understood is an error with its line. What the
numbers mean is `dumbbell.analysis`; the way out is `dumbbell.export`.
"""

from dumbbell.importers.formats import FORMATS
from dumbbell.importers.model import Options
from dumbbell.importers.reading import import_files, read_run

__all__ = ["FORMATS", "Options", "import_files", "read_run"]
