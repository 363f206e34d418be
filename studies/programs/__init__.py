"""nginx and curl against the agent's own sender: a section of docs/guides/programs.md.

Both transfer over the same path on the kernel engine. A transfer's time is curl's own, or that of the agent's flow. A
difference is called noise when its 95 % interval (Welch) contains zero.
"""

import math
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from dumbbell.analysis.difference import Sample, interval
from dumbbell.results.result import Run
from studies.study import DOCS, fill, loaded, parser, ran, rendered, table, write_figures

PAIRS = {"lossy-download-plain": "lossy-download-nginx", "lossy-lan-plain": "lossy-lan-nginx"}
HEAD = "case | >agent, s | >nginx and curl, s | >difference | >95 % interval, s | >wall, agent | >wall, nginx"


@dataclass(frozen=True)
class Times:
    """One generator in one case, a number for each seed."""

    transfer_s: list[float]
    wall_s: list[float]


def main(given: list[str]) -> None:
    """Run all, write the page."""
    arguments = parser(__doc__)
    arguments.add_argument("scenarios", nargs="*", default=list(PAIRS))
    arguments.add_argument("--seeds", default="1..5")
    options = arguments.parse_args(given)
    for tool in ("nginx", "curl"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            sys.exit(f"{tool} is not installed: apt-get install nginx-light curl")
    pairs = {name: (measured(name, options.seeds), measured(PAIRS[name], options.seeds)) for name in options.scenarios}
    found = {"date": time.strftime("%Y-%m-%d"), "seeds": options.seeds, **counted(pairs)}
    tables = [(f"{name} against {PAIRS[name]}", table(HEAD, rows(*times))) for name, times in pairs.items()]
    fill(
        DOCS / "guides" / "programs.md",
        "study of programs",
        rendered(Path(__file__).with_name("section.md"), tables=tables, **found),
    )
    write_figures("programs", found | {"scenarios": {name: figures_of(*times) for name, times in pairs.items()}})


def measured(name: str, seeds: str) -> dict[str, Times]:
    """Every case with every seed, by the case's name."""
    found: dict[str, Times] = {}
    for run in loaded(ran(name, "--seed", seeds, "--set", "sample=100ms")):
        if not run.manifest.valid:
            sys.exit(f"{name}, {run.manifest.case}, seed {run.manifest.seed}: {run.manifest.invalid}")
        times = found.setdefault(str(run.manifest.case), Times([], []))
        times.transfer_s.append(transfer_s(run))
        times.wall_s.append(run.manifest["wall_s"])
    return found


def transfer_s(run: Run) -> float:
    """Seconds of the transfer as curl printed it, or of the flow."""
    if "programs" in run.manifest:
        return float((run.folder / "programs" / "client.out").read_text())
    return float(run.manifest.flows[0]["fct_s"])


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


def rows(ours: dict[str, Times], theirs: dict[str, Times]) -> list[list[str]]:
    """One row a case."""
    found = []
    for case, agent in ours.items():
        both = (agent, theirs[case])
        means = [fmean(each.transfer_s) for each in both]
        times = [f"{mean:.3f} ± {stdev(each.transfer_s):.3f}" for mean, each in zip(means, both, strict=True)]
        walls = [f"{fmean(each.wall_s):.1f}" for each in both]
        found.append([case, *times, f"{100 * (means[1] / means[0] - 1):+.1f} %", verdict(*both), *walls])
    return found


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
