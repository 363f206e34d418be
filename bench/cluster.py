"""Measure sweeps on a cluster: speed-up over workers, tasks per second of the scheduler, overhead of a run.

`python bench/cluster.py` writes `bench/cluster.md`; scheduler and workers are processes of this host, over TCP.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from dumbbell.spec.sweep import Sweep, parse_sweep
from dumbbell.sweeps.cluster import Cluster
from dumbbell.sweeps.refinement import next_round
from dumbbell.sweeps.registry import WorkerRegistry, connected
from dumbbell.sweeps.runner import InProcessExecutor
from dumbbell.sweeps.task import base_of

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from dask_site import Site  # noqa: E402

RUNS = """
seeds = "1..{runs}"
metrics = ["groups.*"]
[experiment]
duration = "{duration}"
path.rtt = "40ms"
path.loss = "0.01%"
path.bottleneck.rate = "50mbit"
flows = [{{ name = "flow", cc = "{cc}" }}]
"""
PAGE = """# Sweeps on a cluster

`python bench/cluster.py {arguments}` on {cores} cores (load {load:.1f} at the start): a scheduler, its workers and the
sweep, all on this host, so that {cores} workers have no core each to themselves.
Runs: one flow of 10 s on 50 Mbit/s, 40 ms.

| executor | runs | wall time (s) | runs per second | against one process | per run beyond it (ms) |
| --- | --- | --- | --- | --- | --- |
{rows}

Trivial tasks (an experiment that is refused before the simulation): {trivial:.0f} a second through the scheduler
with two workers, {here:.0f} in one process without it.
"""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--workers", type=int, default=3)
    options.add_argument("--trivial", type=int, default=2000)
    options.add_argument("--out", type=Path, default=ROOT / "bench" / "cluster.md")
    options.add_argument("--folder", type=Path, default=Path("/tmp/dumbbell-bench-cluster"))
    arguments = options.parse_args()
    load = os.getloadavg()[0]
    folder = arguments.folder / str(os.getpid())
    folder.mkdir(parents=True)
    sweep = parse_sweep(RUNS.format(runs=arguments.runs, duration="10s", cc="cubic"), folder / "bench.toml")
    empty = parse_sweep(RUNS.format(runs=arguments.trivial, duration="10s", cc="cubic"), folder / "bench.toml")
    alone_s = timed(InProcessExecutor(), sweep)
    rows = [row("one process, no cluster", arguments.runs, alone_s, alone_s, 1)]
    with Site(folder) as site:
        for count in range(1, arguments.workers + 1):
            with site.workers(count), executor(site, count) as ours:
                rows.append(
                    row(f"{count} worker{'s' if count > 1 else ''}", arguments.runs, timed(ours, sweep), alone_s, count)
                )
        with site.workers(2), executor(site, 2) as ours:
            trivial = arguments.trivial / timed(ours, empty, cc="none-such")
    here = arguments.trivial / timed(InProcessExecutor(), empty, cc="none-such")
    options_text = f"--runs {arguments.runs} --trivial {arguments.trivial}"
    cores, table = len(os.sched_getaffinity(0)), "\n".join(rows)
    arguments.out.write_text(
        PAGE.format(arguments=options_text, cores=cores, load=load, rows=table, trivial=trivial, here=here),
        encoding="utf-8",
    )


def executor(site: Site, count: int) -> Cluster:
    """An executor whose workers have started and imported what they need."""
    ours = Cluster(WorkerRegistry(connected(site.address, print), site.address, print, 60.0))
    ours._registry.client.wait_for_workers(count, timeout=60)
    warm = parse_sweep(RUNS.format(runs=4 * count, duration="10s", cc="cubic"), site.folder / "bench.toml")
    timed(ours, warm)
    return ours


def timed(executor: Cluster | InProcessExecutor, sweep: Sweep, cc: str | None = None) -> float:
    """Seconds for all runs. With an unknown controller `cc` every run is refused."""
    base = base_of(sweep)
    tasks = next_round(sweep, [])
    if cc is not None:
        tasks = [type(task)(**vars(task) | {"settings": (("flows.flow.cc", cc),)}) for task in tasks]
    began = time.perf_counter()
    found = list(executor.rows(base, tasks))
    took_s = time.perf_counter() - began
    assert {each.status for each in found} == {"ok" if cc is None else "failed"}
    return took_s


def row(name: str, runs: int, took_s: float, alone_s: float, workers: int) -> str:
    cores = min(workers, len(os.sched_getaffinity(0)))
    beyond_ms = (took_s - alone_s / cores) / runs * 1e3
    return f"| {name} | {runs} | {took_s:.1f} | {runs / took_s:.1f} | {alone_s / took_s:.2f} | {beyond_ms:.1f} |"


if __name__ == "__main__":
    main()
