"""Start cluster workers as Slurm jobs, through dask-jobqueue.

The scheduler runs in this process: start the sweep on a host that can submit jobs. The workers end with it.
"""

import shutil
import signal
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.errors import ClusterError

__all__ = ["Slurm", "parse_jobs", "script", "started"]


class Slurm(BaseModel):
    """The resources of a job, and the number of jobs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cores: int = Field(default=1, ge=1)
    """Cores per job; each core runs one worker."""
    memory: str = "4GB"
    """Memory per job."""
    walltime: str = "01:00:00"
    """Time limit of a job; its unfinished tasks go to other workers."""
    workers: int = Field(default=1, ge=1, le=100_000)
    """Number of jobs."""
    queue: str | None = None
    """Slurm partition."""
    account: str | None = None
    interface: str | None = None
    """Network interface through which workers reach this host, for example ib0."""
    extra: tuple[str, ...] = ()
    """Further #SBATCH options, for example --exclusive."""


def parse_jobs(text: str) -> Slurm:
    """Parse `slurm:cores=16,memory=32GB`, or a TOML file with these keys in `[slurm]`. Raises `ClusterError`."""
    source = text if text.endswith(".toml") else "--cluster"
    options = _file(Path(text)) if text.endswith(".toml") else _listed(text.partition(":")[2])
    try:
        return Slurm.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ClusterError(f"{source}: {key}: {first['msg']}; known keys: {', '.join(Slurm.model_fields)}") from None


def started(slurm: Slurm) -> Any:
    """Submit the jobs and return the cluster. Raises `ClusterError` if Slurm isn't installed."""
    if shutil.which("sbatch") is None:
        raise ClusterError(
            "'sbatch' is not installed, so no job can be submitted; "
            "run this on a Slurm login node, or start workers yourself and use --cluster tcp://…"
        )
    cluster = _cluster(slurm)
    cluster.scale(jobs=slurm.workers)
    return cluster


def script(slurm: Slurm) -> str:
    """The job script."""
    cluster = _cluster(slurm)
    try:
        return str(cluster.job_script())
    finally:
        cluster.close()


def _cluster(slurm: Slurm) -> Any:
    return _cluster_class()(
        cores=slurm.cores, processes=slurm.cores, memory=slurm.memory, walltime=slurm.walltime, queue=slurm.queue,
        account=slurm.account, interface=slurm.interface, job_extra_directives=[*slurm.extra],
        job_name="dumbbell", job_script_prologue=["export POLARS_MAX_THREADS=1"],
        # No dashboard, and any free port: several sweeps may run on one host.
        scheduler_options={"dashboard": False, "dashboard_address": ":0"},
    )  # fmt: skip


def _cluster_class() -> Any:
    """Import dask-jobqueue's class. Its import makes Ctrl-C exit with status 0; the previous handler is restored."""
    before = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import SLURMCluster  # noqa: PLC0415 — an optional dependency
    except ImportError:
        raise ClusterError("Slurm needs dask-jobqueue, which is not installed here; "
                           "type: pip install 'dumbbell[cluster]'") from None  # fmt: skip
    finally:
        if before is not None and signal.getsignal(signal.SIGINT) != before:
            signal.signal(signal.SIGINT, before)
    return SLURMCluster


def _listed(text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key.strip() in options:
            right = "such as slurm:workers=8,cores=16,memory=32GB,walltime=02:00:00,queue=short"
            raise ClusterError(f"--cluster: invalid or duplicate option '{part}'; {right}")
        options[key.strip()] = tuple(value.split("+")) if key.strip() == "extra" else _number(value.strip())
    return options


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _file(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ClusterError(f"{path}: can't be read: {error}") from None
    if set(document) != {"slurm"} or not isinstance(document["slurm"], dict):
        raise ClusterError(f"{path}: must have exactly one table, [slurm], with the keys cores, memory, …")
    return document["slurm"]
