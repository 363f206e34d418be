"""Workers requested from Slurm: options, the job script, and the error without `sbatch`."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ClusterError
from dumbbell.sweeps.slurm import Slurm, parse_jobs, script, started

ASKED = "slurm:workers=8,cores=16,memory=32GB,walltime=02:00:00,queue=short,extra=--exclusive+--constraint=fast"


def test_options_in_a_line_and_in_a_file_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "big.toml"
    file.write_text(
        '[slurm]\nworkers = 8\ncores = 16\nmemory = "32GB"\nwalltime = "02:00:00"\nqueue = "short"\n'
        'extra = ["--exclusive", "--constraint=fast"]\n'
    )
    assert parse_jobs(ASKED) == parse_jobs(str(file))
    assert parse_jobs("slurm") == Slurm()


def test_the_script_asks_slurm_for_it() -> None:
    lines = script(parse_jobs(ASKED)).splitlines()
    assert {
        "#SBATCH -J dumbbell", "#SBATCH -p short", "#SBATCH --cpus-per-task=16", "#SBATCH --mem=30G",
        "#SBATCH -t 02:00:00", "#SBATCH --exclusive", "#SBATCH --constraint=fast", "export POLARS_MAX_THREADS=1",
    } <= set(lines)  # fmt: skip
    (command,) = [line for line in lines if "distributed.cli.dask_worker" in line]
    assert "--nworkers 16" in command
    assert "--nthreads 1" in command


@pytest.mark.skipif(shutil.which("sbatch") is not None, reason="Slurm is here")
def test_without_slurm_the_error_says_what_to_do_instead() -> None:
    with pytest.raises(ClusterError, match=r"'sbatch' is not installed.*--cluster tcp://"):
        started(Slurm())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("slurm:cores", "invalid or duplicate option 'cores'"),
        ("slurm:cores=1,cores=2", "invalid or duplicate option 'cores=2'"),
        ("slurm:cores=none", "cores: .*known keys: cores, memory"),
        ("slurm:colour=red", "colour: .*known keys: cores, memory"),
        ("none.toml", r"none\.toml: can't be read"),
    ],
)
def test_a_slip_is_named(text: str, told: str) -> None:
    with pytest.raises(ClusterError, match=told):
        parse_jobs(text)


@given(st.text())
def test_any_text_is_options_or_an_error(text: str) -> None:
    try:
        assert isinstance(parse_jobs(f"slurm:{text}"), Slurm)
    except ClusterError as error:
        assert str(error)  # noqa: PT017 — either will do


@given(st.binary())
def test_any_file_is_options_or_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    with pytest.raises(ClusterError, match=r"any\.toml: "):
        parse_jobs(str(file))
