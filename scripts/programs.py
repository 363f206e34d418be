"""Compares nginx and curl with the agent's own sender: writes docs/programs.md and validation/results/programs.json.

Both transfer over the same path on the kernel engine. A transfer's time is curl's own, or that of the agent's flow. A
difference is called noise when its 95 % interval (Welch) contains zero.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from generated import write_figures

from dumbbell.analysis.difference import Sample, interval
from dumbbell.results.result import load_manifest
from dumbbell.spec import find, load

ROOT = Path(__file__).parents[1]
PAIRS = {"lossy-download-plain": "lossy-download-nginx", "lossy-lan-plain": "lossy-lan-nginx"}


@dataclass(frozen=True)
class Times:
    """One generator in one case, a number for each seed."""

    transfer_s: list[float]
    wall_s: list[float]


def main() -> None:
    """Run all, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=list(PAIRS))
    parser.add_argument("--seeds", default="1..5")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "programs.md")
    options = parser.parse_args()
    for tool in ("nginx", "curl"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            sys.exit(f"{tool} is not installed: apt-get install nginx-light curl")
    began = time.strftime("%Y-%m-%d")
    pairs = {
        name: (measured(name, options.seeds, options.jobs), measured(PAIRS[name], options.seeds, options.jobs))
        for name in options.scenarios
    }
    counts = counted(pairs)
    head = HEAD.format(date=began, seeds=options.seeds, jobs=options.jobs, **counts)
    parts = [head, *(table(name, ours, theirs) for name, (ours, theirs) in pairs.items())]
    options.output.write_text("\n".join(parts), encoding="utf-8")
    figures = {name: figures_of(*times) for name, times in pairs.items()}
    write_figures("programs", {"date": began, "seeds": options.seeds, **counts, "scenarios": figures})


def measured(name: str, seeds: str, jobs: str) -> dict[str, Times]:
    """Every case with every seed, by the case's name."""
    found = {case.name: Times([], []) for case in load(find(name))}
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "runs"
        command = [sys.executable, "-m", "dumbbell", "run", name, "--engine", "kernel", "--seed", seeds, "--jobs", jobs]
        command += ["--set", "sample=100ms", "--out", str(out), "--json"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 2:
            sys.exit(done.stderr)
        for folder in sorted(path.parent for path in out.rglob("run.json")):
            manifest = load_manifest(folder)
            if not manifest["valid"]:
                sys.exit(f"{name}, {manifest['case']}, seed {manifest['seed']}: {manifest['invalid']}")
            times = found[manifest["case"]]
            times.transfer_s.append(transfer_s(manifest, folder))
            times.wall_s.append(manifest["wall_s"])
    return found


def transfer_s(manifest: dict[str, object], folder: Path) -> float:
    """Seconds of the transfer as curl printed it, or of the flow."""
    if "programs" in manifest:
        return float((folder / "programs" / "client.out").read_text())
    flows = json.loads(json.dumps(manifest["flows"]))
    return float(flows[0]["fct_s"])


def figures_of(ours: dict[str, Times], theirs: dict[str, Times]) -> dict[str, Any]:
    """Mean seconds of each case, and whether the difference is noise."""
    return {
        case: {
            "agent_s": fmean(agent.transfer_s),
            "programs_s": fmean(theirs[case].transfer_s),
            "differs": differs(agent, theirs[case]),
        }
        for case, agent in ours.items()
    }


def counted(pairs: dict[str, tuple[dict[str, Times], dict[str, Times]]]) -> dict[str, float]:
    """The number of cases, of those whose means differ by more than noise, and the largest of these differences."""
    both = [(agent, theirs[case]) for ours, theirs in pairs.values() for case, agent in ours.items()]
    apart = [abs(fmean(agent.transfer_s) - fmean(nginx.transfer_s)) for agent, nginx in both if differs(agent, nginx)]
    return {"cases": len(both), "differ": len(apart), "differ_most_ms": round(1000 * max(apart, default=0), 3)}


def table(name: str, ours: dict[str, Times], theirs: dict[str, Times]) -> str:
    """One row a case."""
    lines = [f"## {name} against {PAIRS[name]}", "", *HEADINGS]
    for case, agent in ours.items():
        nginx = theirs[case]
        means = [fmean(each.transfer_s) for each in (agent, nginx)]
        spreads = [stdev(each.transfer_s) for each in (agent, nginx)]
        walls = [fmean(each.wall_s) for each in (agent, nginx)]
        lines.append(
            f"| {case} | {means[0]:.3f} ± {spreads[0]:.3f} | {means[1]:.3f} ± {spreads[1]:.3f} | "
            f"{100 * (means[1] / means[0] - 1):+.1f} % | {verdict(agent, nginx)} | {walls[0]:.1f} | {walls[1]:.1f} |"
        )
    return "\n".join([*lines, ""])


def verdict(agent: Times, nginx: Times) -> str:
    """The 95 % interval of the difference of means, in seconds, and whether zero is in it."""
    found = difference(agent, nginx)
    if found is None:
        return "no spread"
    return f"{found[0]:+.3f} to {found[1]:+.3f}" + ("" if differs(agent, nginx) else " (noise)")


def differs(agent: Times, nginx: Times) -> bool:
    """True if zero is outside the interval; without spread, if the printed means differ."""
    found = difference(agent, nginx)
    if found is None:
        return round(agent.transfer_s[0], 3) != round(nginx.transfer_s[0], 3)
    return not found[0] <= 0 <= found[1]


def difference(agent: Times, nginx: Times) -> tuple[float, float] | None:
    """The 95 % interval of the difference of means, if either has a spread."""
    if stdev(agent.transfer_s) == stdev(nginx.transfer_s) == 0:
        return None
    return interval(Sample(tuple(agent.transfer_s)), Sample(tuple(nginx.transfer_s))) or (math.nan, math.nan)


HEADINGS = [
    "| case | agent, s | nginx and curl, s | difference | 95 % interval, s | wall, agent | wall, nginx |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
]
HEAD = """# nginx and curl against the built-in sender

Written by `scripts/programs.py` (`make page NAME=programs`) on {date}: seeds {seeds}, {jobs} guests in parallel on two
shared cores. Transfer times are means ± standard deviations over the seeds. The agent's flow is timed from connect to
the receiver's last byte, curl by its `time_total`. Wall times are seconds of a whole run including boot; compare them
only with each other.

In {differ} of the {cases} cases the means differ by more than random variation, by at most {differ_most_ms:.1f} ms.
"""

if __name__ == "__main__":
    main()
