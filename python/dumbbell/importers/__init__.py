"""Import logs of other programs as runs.

Values that a log lacks are null, rounding is recorded, and unknown input is an error with its line. `dumbbell.analysis`
interprets the numbers; `dumbbell.exporters` writes them.
"""

from dumbbell.importers.import_files import FORMATS, import_files, read_run
from dumbbell.importers.log_model import Options

__all__ = ["FORMATS", "Options", "import_files", "read_run"]
