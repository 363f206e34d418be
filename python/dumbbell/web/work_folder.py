"""The only folder that a server writes: private, in the system's temporary folder, deleted with the server."""

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

__all__ = ["WorkFolder"]


class WorkFolder:
    """Created on first use. Every path in it is returned once."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._cleanup: weakref.finalize[..., WorkFolder] | None = None
        self._count = 0
        self._lock = threading.Lock()

    def new(self, name: str) -> Path:
        """Return a new unique path with this name as its last component. The path doesn't exist."""
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="dumbbell-ui-"))
                # Deletes the folder at the interpreter's end if `close` was not called.
                self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self._count += 1
            folder = self._folder / str(self._count)
            folder.mkdir()
        return folder / name

    def close(self) -> None:
        """Delete the folder."""
        with self._lock:
            if self._cleanup is not None:
                self._cleanup()
            self._folder = self._cleanup = None
