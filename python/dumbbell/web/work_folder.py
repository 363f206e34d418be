"""The one folder that a server writes into: private, in the machine's place for such, and gone with the server."""

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

__all__ = ["WorkFolder"]


class WorkFolder:
    """Made when first needed; every path in it is given once."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._gone: weakref.finalize[..., WorkFolder] | None = None
        self._given = 0
        self._lock = threading.Lock()

    def new(self, name: str) -> Path:
        """A path that nobody else gets and that doesn't exist, with this name as its last part."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="dumbbell-ui-"))
                # Also when nobody closes it: at the interpreter's end.
                self._gone = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._given += 1
            place = self._folder / str(self._given)
            place.mkdir()
        return place / name

    def close(self) -> None:
        """Remove everything."""
        with self._lock:
            if self._gone is not None:
                self._gone()
            self._folder = self._gone = None
