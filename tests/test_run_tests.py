"""`scripts/run_tests.py`: each test file runs in a part of `make test-all`."""

import itertools
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from run_tests import PARTS  # noqa: E402 — a script's folder is no package.


def test_every_test_file_is_in_a_part() -> None:
    named: set[Path] = set()
    for part in PARTS.values():
        words = [word for command in part.commands for word in shlex.split(command)]
        left_out = {ROOT / after for word, after in itertools.pairwise(words) if word == "--ignore"}
        paths = {ROOT / word for word in words if word.startswith(("tests", "validation"))} - left_out
        for path in paths:
            files = [path] if path.suffix == ".py" else path.rglob("test_*.py")
            named |= {file for file in files if file not in left_out}
    every = {file for folder in ("tests", "validation") for file in (ROOT / folder).rglob("test_*.py")}
    assert every - named == set()
    assert named - every - {ROOT / "validation" / "webassembly.py"} == set()
