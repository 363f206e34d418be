"""Do real nginx and curl give what the agent's own generator gives, and what do they cost? Writes docs/programs.md.

Both run the same path on the kernel engine; the time of a transfer is curl's own, or the agent's flow's. A difference
is called noise when it is within its 95 % interval (Welch).
"""

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

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
    asked = parser.parse_args()
    for tool in ("nginx", "curl"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            sys.exit(f"{tool} is not on this machine: apt-get install nginx-light curl")
    began = time.strftime("%Y-%m-%d")
    parts = [HEAD.format(date=began, seeds=asked.seeds, jobs=asked.jobs)]
    for name in asked.scenarios:
        ours = measured(name, asked.seeds, asked.jobs)
        theirs = measured(PAIRS[name], asked.seeds, asked.jobs)
        parts.append(table(name, ours, theirs))
    asked.output.write_text("\n".join(parts), encoding="utf-8")


def measured(name: str, seeds: str, jobs: str) -> dict[str, Times]:
    """Every case with every seed, by the case's name."""
    found = {case.name: Times([], []) for case in load(find(name))}
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "runs"
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
    """As the generator itself tells it."""
    if "programs" in manifest:
        return float((folder / "programs" / "client.out").read_text())
    flows = json.loads(json.dumps(manifest["flows"]))
    return float(flows[0]["fct_s"])


def table(name: str, ours: dict[str, Times], theirs: dict[str, Times]) -> str:
    """One row a case."""
    lines = [f"## {name} against {PAIRS[name]}", "", *HEADINGS]
    for case, agent in ours.items():
        nginx = theirs[case]
        means = [statistics.fmean(each.transfer_s) for each in (agent, nginx)]
        spreads = [statistics.stdev(each.transfer_s) for each in (agent, nginx)]
        walls = [statistics.fmean(each.wall_s) for each in (agent, nginx)]
        lines.append(
            f"| {case} | {means[0]:.3f} ± {spreads[0]:.3f} | {means[1]:.3f} ± {spreads[1]:.3f} | "
            f"{100 * (means[1] / means[0] - 1):+.1f} % | {verdict(agent, nginx)} | {walls[0]:.1f} | {walls[1]:.1f} |"
        )
    return "\n".join([*lines, ""])


def verdict(agent: Times, nginx: Times) -> str:
    """The 95 % interval of the difference of means, in seconds, and whether zero is in it."""
    if statistics.stdev(agent.transfer_s) == statistics.stdev(nginx.transfer_s) == 0:
        return "no spread"
    low, high = interval(Sample(tuple(agent.transfer_s)), Sample(tuple(nginx.transfer_s))) or (math.nan, math.nan)
    return f"{low:+.3f} to {high:+.3f}" + (" (noise)" if low <= 0 <= high else "")


HEADINGS = [
    "| case | agent, s | nginx and curl, s | difference | 95 % interval, s | wall, agent | wall, nginx |",
    "| --- | --- | --- | --- | --- | --- | --- |",
]
HEAD = """# nginx and curl against the built-in sender

Written by `scripts/programs.py` (`make programs`) on {date}: seeds {seeds}, {jobs} guests in parallel on two shared
cores. Transfer times are means ± standard deviations over the seeds: of the agent's flow from connect to the
receiver's last byte, of curl `time_total`. Wall times are seconds of a whole run including boot; compare them
only with each other.
"""

if __name__ == "__main__":
    main()
