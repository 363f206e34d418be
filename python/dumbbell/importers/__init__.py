"""Import logs of other programs as runs.

```text
import_files       import_files: files in, a result folder out
formats            recognise the format of a file
log_source         a file as bytes, lines or JSON, with errors that name the position
log_model          Log, FlowLog, QueueLog: the result of every reader; Options: the user's additions
merge              several logs on one clock, with names, groups and a manifest
tables             rows as tables with exactly a result's columns
quantity, timestamps, checked_json, interval_counters, queue_samples
                   numbers, times, JSON, iperf's intervals, tc's samples

iperf3_text, iperf3_json, iperf2, ss, ping, tcp_probe, tc_text, tc_json, flent, timing, capture   one per format
dumbbell_export    runs written by dumbbell export
recording          samples of live connections
import_manifest    the manifest of an import
```

Values that a log lacks are null, rounding is recorded, and unknown input is an error with its line. `dumbbell.analysis`
interprets the numbers; `dumbbell.exporters` writes them.
"""

from dumbbell.importers.formats import FORMATS
from dumbbell.importers.import_files import import_files, read_run
from dumbbell.importers.log_model import Options

__all__ = ["FORMATS", "Options", "import_files", "read_run"]
