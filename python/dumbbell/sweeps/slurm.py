"""Workers that Slurm starts, through dask-jobqueue: what to ask for, and asking.

The scheduler runs in this process, so the sweep is started where jobs are submitted, and its workers end with it.
"""

import shutil
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from dumbbell.errors import ClusterError
from dumbbell.spec.strict import Strict

__all__ = ["Slurm", "asked", "script", "started"]


class Slurm(Strict):
    """One kind of job, and how many of them."""

    cores: int = Field(default=1, ge=1)
    """Of a job; each gets a worker of its own."""
    memory: str = "4GB"
    """Of a job."""
    walltime: str = "01:00:00"
    """A job ends after this; what it had goes to others."""
    workers: int = Field(default=1, ge=1, le=100_000)
    """Jobs."""
    queue: str | None = None
    """Slurm's partition."""
    account: str | None = None
    interface: str | None = None
    """The network device by which workers reach this machine, such as ib0."""
    extra: tuple[str, ...] = ()
    """More #SBATCH lines, such as --exclusive."""


def asked(text: str) -> Slurm:
    """From `slurm:cores=16,memory=32GB`, or from a TOML file with these keys in `[slurm]`. Raises `ClusterError`."""
    named = text if text.endswith(".toml") else "--cluster"
    options = _file(Path(text)) if text.endswith(".toml") else _listed(text.partition(":")[2])
    try:
        return Slurm.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ClusterError(f"{named}: {key}: {first['msg']}; there is: {', '.join(Slurm.model_fields)}") from None


def started(slurm: Slurm) -> Any:
    """A Slurm cluster with its jobs submitted. Raises `ClusterError` where there is no Slurm."""
    if shutil.which("sbatch") is None:
        raise ClusterError(
            "there is no sbatch on this machine, so no job can be submitted; "
            "right: run this where you submit jobs to Slurm, or start workers yourself and give --cluster tcp://…"
        )
    cluster = _cluster(slurm)
    cluster.scale(jobs=slurm.workers)
    return cluster


def script(slurm: Slurm) -> str:
    """What sbatch gets for each job."""
    cluster = _cluster(slurm)
    try:
        return str(cluster.job_script())
    finally:
        cluster.close()


def _cluster(slurm: Slurm) -> Any:
    try:
        from dask_jobqueue import SLURMCluster  # noqa: PLC0415 — only those who have Slurm need it
    except ImportError:
        raise ClusterError("Slurm needs dask-jobqueue, which is not installed here; "
                           "type: pip install 'dumbbell[cluster]'") from None  # fmt: skip
    return SLURMCluster(
        cores=slurm.cores, processes=slurm.cores, memory=slurm.memory, walltime=slurm.walltime, queue=slurm.queue,
        account=slurm.account, interface=slurm.interface, job_extra_directives=[*slurm.extra],
        job_name="dumbbell", job_script_prologue=["export POLARS_MAX_THREADS=1"],
        # Any free port: several sweeps may run on one machine, and nobody looks at the page.
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
    )  # fmt: skip


def _listed(text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key.strip() in options:
            right = "such as slurm:workers=8,cores=16,memory=32GB,walltime=02:00:00,queue=short"
            raise ClusterError(f"--cluster: '{part}' is no option, or one twice; {right}")
        options[key.strip()] = tuple(value.split("+")) if key.strip() == "extra" else _number(value.strip())
    return options


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _file(path: Path) -> dict[str, Any]:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ClusterError(f"{path}: can't be read: {error}") from None
    if set(told) != {"slurm"} or not isinstance(told["slurm"], dict):
        raise ClusterError(f"{path}: says something else than [slurm]; right: that table, with cores, memory, …")
    return told["slurm"]
