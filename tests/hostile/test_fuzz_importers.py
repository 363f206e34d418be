"""Almost valid logs: each gives a result that can be read, or an error that names the file."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st

from dumbbell.analysis.summary import summary
from dumbbell.errors import ImportProblem
from dumbbell.importers import Options, import_files
from dumbbell.results.result import load
from hostile.fuzzing import search
from hostile.logs import FORMATS, almost_valid_log


@pytest.mark.parametrize("format_", FORMATS)
def test_fuzz_an_almost_valid_log_is_a_result_or_an_error(format_: str, good_run: Path, tmp_path: Path) -> None:
    def check(seed: int) -> None:
        # A long search draws a seed more than once, and no result is ever overwritten.
        with TemporaryDirectory(dir=tmp_path) as folder:
            import_almost_valid_log(format_, seed, good_run, Path(folder))

    search(st.integers(0, 2**63), check, examples=20)


def import_almost_valid_log(format_: str, seed: int, run: Path, folder: Path) -> str:
    """Import a log and read its result; returns the message of the error, if there is one."""
    rng = random.Random(seed)
    file = almost_valid_log(format_, run, folder, rng)
    options = Options(
        interval_ns=rng.choice((None, 10**8)),
        mss_bytes=rng.choice((None, 1448)),
        size_bytes=rng.choice((None, 10**6)),
    )
    try:
        out = import_files([file], folder / "out", options)
    except ImportProblem as problem:
        message = str(problem)
        message.encode()
        assert message.startswith((str(file), "these files")), message
        return message
    assert summary(load(out))["duration_s"] >= 0
    return ""
