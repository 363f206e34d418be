"""A patch of one of Linux's congestion controls: which file it changes, and that file with the change."""

import re
import subprocess
import tempfile
from pathlib import Path

from dumbbell.errors import KernelError

__all__ = ["patched_content", "patched_file"]

_TARGET = re.compile(r"^\+\+\+ (?:[ab]/)?(\S+)", re.MULTILINE)
_CONTROLLER = re.compile(r"net/ipv4/(tcp_\w+\.c)\Z")


def patched_file(text: str, file: str) -> str:
    """The one file of net/ipv4 that a unified diff changes: `tcp_cubic.c`.

    Raises KernelError if it changes nothing, several files, or another part of Linux.
    """
    targets = list(dict.fromkeys(_TARGET.findall(text)))
    if not targets:
        raise KernelError(f"{file}: not a unified diff; use what `git diff` or `git format-patch` writes")
    found = _CONTROLLER.match(targets[0])
    if len(targets) > 1 or found is None:
        raise KernelError(
            f"{file}: changes {', '.join(targets)}; --patch takes a change of one congestion control, "
            "net/ipv4/tcp_NAME.c; for others patch a source tree and use: dumbbell kernel build --source DIR"
        )
    return found[1]


def patched_content(original: bytes, patch: bytes, name: str, file: str) -> bytes:
    """The file with the change, made by patch(1). Raises KernelError, with its message, if a hunk doesn't apply."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-") as folder:
        source, change = Path(folder, name), Path(folder, "change")
        source.write_bytes(original)
        change.write_bytes(patch)
        command = ["patch", "--batch", "--forward", "--posix", "--input", str(change), str(source)]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except FileNotFoundError as problem:
            raise KernelError("patch(1) is missing; install it, such as: apt install patch") from problem
        if done.returncode:
            said = " ".join(line for line in done.stdout.splitlines() if "Hunk" in line or "previously" in line)
            raise KernelError(f"{file}: does not apply to the kernel's {name}: {said or done.stderr.strip()}")
        return source.read_bytes()
