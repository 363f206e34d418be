"""Run an experiment on one of our engines and print its cost and metrics as JSON.

    python bench/one_run.py sim|kernel NAME SEED [--set KEY=VALUE]...

`wall_s` covers the simulation with its tables, or the whole run of the kernel engine: planning, guest, decoding,
writing. `peers.py` starts this program for each run.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from experiments import bench

from dumbbell.analysis.summary import measures
from dumbbell.engines import KernelEngine, Request
from dumbbell.engines.sim import Simulator
from dumbbell.results import result
from dumbbell.results.result import Run

Figures = dict[str, Any]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("engine", choices=("sim", "kernel"))
    arguments.add_argument("name")
    arguments.add_argument("seed", type=int)
    arguments.add_argument("--set", action="append", default=[], dest="sets")
    options = arguments.parse_args()
    case = bench(options.name).case(*options.sets)
    with tempfile.TemporaryDirectory() as folder:
        request = Request(options.name, case, options.seed, Path(folder) / "run")
        print(json.dumps((on_simulator if options.engine == "sim" else on_kernel)(request)))
    return 0


def on_simulator(request: Request) -> Figures:
    ready = Simulator().prepare(request)
    before_mib = peak_mib()
    lived = ready.run_simulation()
    after_mib = peak_mib()
    run = lived.run()
    cost = {"wall_s": lived.simulated_s, "events": run.manifest["simulated"]["events"]}
    return counted(run) | cost | {"process_mib": after_mib, "run_mib": after_mib - before_mib}


def on_kernel(request: Request) -> Figures:
    run = result.load(KernelEngine().run(request, lambda _: None))
    peak = run.manifest["guest_peak_bytes"] / 2**20
    return counted(run) | {"wall_s": run.manifest["wall_s"], "events": None, "process_mib": None, "run_mib": peak}


def counted(run: Run) -> Figures:
    """Figures of every engine. An invalid run is an error."""
    if not run.manifest["valid"]:
        sys.exit(f"an invalid run: {run.manifest['invalid']}")
    bottleneck = next(queue for queue in run.manifest["queues"] if queue["name"] == "bottleneck")
    length_s = run.manifest["duration_s"]
    return {"packets": bottleneck["sent_packets"], "reached_s": length_s, "measures": measures(run)}


def peak_mib() -> float:
    """Peak memory of this process. (getrusage may return the peak of the process that started it.)"""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status has no VmHWM")


if __name__ == "__main__":
    sys.exit(main())
