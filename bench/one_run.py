"""One run of an experiment on an engine of ours, in a process of its own: what it cost and what it measured, as JSON.

    python bench/one_run.py sim|kernel NAME SEED [--set KEY=VALUE]...

`wall_s` of the simulator is the simulation with its tables; of the kernel engine the whole run: planning, guest,
decoding, writing. What the figures are held against is `peers.py`'s.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from experiments import bench

from dumbbell import result
from dumbbell.analysis import measures
from dumbbell.engine import KernelEngine, Request
from dumbbell.engine.sim import Simulator
from dumbbell.result import Run

Figures = dict[str, Any]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("engine", choices=("sim", "kernel"))
    arguments.add_argument("name")
    arguments.add_argument("seed", type=int)
    arguments.add_argument("--set", action="append", default=[], dest="sets")
    asked = arguments.parse_args()
    case = bench(asked.name).case(*asked.sets)
    with tempfile.TemporaryDirectory() as folder:
        request = Request(asked.name, case, asked.seed, Path(folder) / "run")
        print(json.dumps((on_simulator if asked.engine == "sim" else on_kernel)(request)))
    return 0


def on_simulator(request: Request) -> Figures:
    ready = Simulator().prepare(request)
    before_mib = peak_mib()
    lived = ready.carried_out()
    after_mib = peak_mib()
    run = lived.run()
    cost = {"wall_s": lived.simulated_s, "events": run.birth["simulated"]["events"]}
    return counted(run) | cost | {"process_mib": after_mib, "run_mib": after_mib - before_mib}


def on_kernel(request: Request) -> Figures:
    run = result.load(KernelEngine().run(request, lambda _: None))
    peak = run.birth["guest_peak_bytes"] / 2**20
    return counted(run) | {"wall_s": run.birth["wall_s"], "events": None, "process_mib": None, "run_mib": peak}


def counted(run: Run) -> Figures:
    """What is said of every engine. An invalid run is no benchmark."""
    if not run.birth["valid"]:
        sys.exit(f"an invalid run: {run.birth['invalid']}")
    bottleneck = next(queue for queue in run.birth["queues"] if queue["name"] == "bottleneck")
    length_s = run.birth["duration_s"]
    return {"packets": bottleneck["sent_packets"], "reached_s": length_s, "measures": measures(run)}


def peak_mib() -> float:
    """The most memory that this program has held. What getrusage tells may be that of the process which started it."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status doesn't say VmHWM")


if __name__ == "__main__":
    sys.exit(main())
