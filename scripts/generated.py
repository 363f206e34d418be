"""Files generated from other files: write them, or check that they are up to date."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def write_or_check(files: dict[Path, str], command: str) -> int:
    """Write the texts; with `--check` on the command line only compare them. Returns the exit status.

    `command` is the command that updates the files.
    """
    if "--check" not in sys.argv[1:]:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    old = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    sys.stderr.writelines(f"{path.relative_to(ROOT)}:1: out of date; run {command}\n" for path in old)
    return int(bool(old))
