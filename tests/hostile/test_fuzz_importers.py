"""Logs that are almost right: each becomes a result that can be read, or an error that names the file."""

import random
from pathlib import Path

import pytest
from hypothesis import strategies as st

from dumbbell.analysis import summary
from dumbbell.errors import ImportProblem
from dumbbell.importers import Options, import_files
from dumbbell.results.result import load
from hostile.fuzzing import search
from hostile.logs import FORMATS, almost


@pytest.mark.parametrize("format_", FORMATS)
def test_fuzz_an_almost_right_log_is_a_result_or_an_error(format_: str, good_run: Path, tmp_path: Path) -> None:
    def check(seed: int) -> None:
        place = tmp_path / str(seed)
        place.mkdir(exist_ok=True)
        read_almost(format_, seed, good_run, place)

    search(st.integers(0, 2**63), check, examples=20)


def read_almost(format_: str, seed: int, run: Path, place: Path) -> str:
    """Import it and read what came of it; the error's text, if there is one."""
    rng = random.Random(seed)
    file = almost(format_, run, place, rng)
    options = Options(
        interval_ns=rng.choice((None, 10**8)),
        mss_bytes=rng.choice((None, 1448)),
        size_bytes=rng.choice((None, 10**6)),
    )
    try:
        out = import_files([file], place / "out", options)
    except ImportProblem as problem:
        said = str(problem)
        said.encode()
        assert said.startswith((str(file), "these files")), said
        return said
    assert summary(load(out))["duration_s"] >= 0
    return ""
