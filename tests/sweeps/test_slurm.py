"""Workers requested from Slurm: options, the job script, and the error without `sbatch`."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ClusterError
from dumbbell.sweeps.slurm import Slurm, parse_jobs, script, started

OPTIONS = "slurm:workers=8,cores=16,memory=32GB,walltime=02:00:00,queue=short,extra=--exclusive+--constraint=fast"


def test_options_of_the_command_line_and_of_a_file_are_equal(tmp_path: Path) -> None:
    file = tmp_path / "big.toml"
    file.write_text(
        '[slurm]\nworkers = 8\ncores = 16\nmemory = "32GB"\nwalltime = "02:00:00"\nqueue = "short"\n'
        'extra = ["--exclusive", "--constraint=fast"]\n'
    )
    assert parse_jobs(OPTIONS) == parse_jobs(str(file))
    assert parse_jobs("slurm") == Slurm()


def test_the_script_requests_the_options_from_slurm() -> None:
    lines = script(parse_jobs(OPTIONS)).splitlines()
    assert {
        "#SBATCH -J dumbbell", "#SBATCH -p short", "#SBATCH --cpus-per-task=16", "#SBATCH --mem=30G",
        "#SBATCH -t 02:00:00", "#SBATCH --exclusive", "#SBATCH --constraint=fast", "export POLARS_MAX_THREADS=1",
    } <= set(lines)  # fmt: skip
    (command,) = [line for line in lines if "distributed.cli.dask_worker" in line]
    assert "--nworkers 16" in command
    assert "--nthreads 1" in command


SIGINT_HANDLERS = """
import signal
from dumbbell.sweeps.slurm import Slurm, script

before = signal.getsignal(signal.SIGINT)
script(Slurm())
assert signal.getsignal(signal.SIGINT) == before
"""


@pytest.mark.slow
def test_ctrl_c_still_interrupts_after_the_import_of_dask_jobqueue() -> None:
    """In a process of its own: a module is imported once."""
    subprocess.run([sys.executable, "-c", SIGINT_HANDLERS], check=True, timeout=120)


@pytest.mark.skipif(shutil.which("sbatch") is not None, reason="Slurm is here")
def test_without_slurm_the_error_gives_an_alternative() -> None:
    with pytest.raises(ClusterError, match=r"'sbatch' is not installed.*--cluster tcp://"):
        started(Slurm())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slurm:cores", "invalid or duplicate option 'cores'"),
        ("slurm:cores=1,cores=2", "invalid or duplicate option 'cores=2'"),
        ("slurm:cores=none", "cores: .*known keys: cores, memory"),
        ("slurm:colour=red", "colour: .*known keys: cores, memory"),
        ("none.toml", r"none\.toml: can't be read"),
    ],
)
def test_an_invalid_option_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
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
