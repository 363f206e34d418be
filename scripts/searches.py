"""Runs the searches of docs/results/search and writes that page: how long each took, and the smallest experiment.

    python scripts/searches.py [NAME …]

Each `NAME.toml` there states the bounds, `NAME-worst.toml` is what the search saved. Trials are not taken from the
cache of sweeps, so that times are those of the search. With names it runs only these and keeps the page's other rows.
`make page NAME=searches` calls this.
"""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "results" / "search"
PAGE, FIGURES = FOLDER / "index.md", FOLDER / "figures.json"
COMMAND = ROOT / ".venv" / "bin" / "dumbbell"
ENGINES = {"sim": "simulator", "kernel": "kernel"}


@dataclass(frozen=True)
class Check:
    """One change that tells why an experiment fails: with it the effect is gone."""

    what: str
    metric: str
    settings: tuple[str, ...] = ()
    start: str | None = None


@dataclass(frozen=True)
class Known:
    """A search, what it must find, and who found it first."""

    name: str
    known: str
    why: str
    checks: tuple[Check, ...]
    options: tuple[str, ...] = ()


SEARCHES = (
    Known(
        "bbr-stuck", "BBRv1 sticks at a low rate",
        "BBR keeps the smallest round-trip time of the last 10 s. The path became longer, so the window of two "
        "bandwidth-delay products is too small until that time has passed. (CC-Fuzz's stall, HotNets 2022, comes from "
        "particular lost packets. Two searches of 200 trials over up to six lost packets, on 12 Mbit/s and 40 ms, "
        "found none that costs utilization after the first second.)",
        (Check("at the change", "utilization", start="6s"),
         Check("the next 10 s, in a run of 30 s", "utilization", ("duration=30s",), "17s")),
    ),
    Known(
        "bbr-starved", "BBR starves BBR (Arun et al., SIGCOMM 2022)",
        "One flow's access link releases packets in batches; with the same link on both, the shares are nearly equal. "
        "Why the other flow takes so much more is not traced.",
        (Check("other's share", "groups.other.share"),
         Check("other's share with the same delay on both", "groups.other.share", ("flows.other.access={access}",)),
        ),
        ("--threshold", "0.12"),
    ),
    Known(
        "copa-starved",
        "Copa starves Copa under jitter (Arun et al., SIGCOMM 2022)",
        "One flow's packets arrive in batches. Copa computes its rate from the queueing delay that it sees, and the "
        "wait for a batch looks like one.",
        (
            Check("one's share", "groups.one.share"),
            Check("one's share without batches", "groups.one.share", ("flows.one.access={}",)),
        ),
        ("--threshold", "0.12"),
    ),
    Known(
        "cubic-slow-start", "CUBIC leaves slow start early under jitter (HyStart)",
        "ACKs come in batches, so all samples of a round may be late by a batch. HyStart takes that for a queue and "
        "ends slow start far below the bandwidth-delay product.",
        (Check("with HyStart", "utilization", start="2s"),
         Check("with `hystart = 0`", "utilization", ("flows.cubic.cc_parameters={ hystart = 0 }",), "2s")),
    ),
    Known(
        "vegas-share", "Vegas yields to CUBIC",
        "Vegas reduces its window when round trips get longer, CUBIC fills the queue.",
        (Check("Vegas' share", "groups.vegas.share"),
         Check("Vegas' share with `fq_codel`", "groups.vegas.share", ("path.bottleneck.qdisc=fq_codel",))),
    ),
    Known(
        "bbr-cliff", "BBRv1 collapses near 20 % of losses (Cardwell et al., 2016; Cao et al., IMC 2019)",
        "A probe sends 25 % more than the estimate, so up to 20 % of losses leave the measured rate as it was; above, "
        "every estimate is lower than the last. Retransmissions and ACKs lower that somewhat.",
        (Check("with this loss", "utilization", start="5s"),
         Check("with 10 %", "utilization", ("path.loss=10%",), "5s")),
        ("--threshold", "0.2"),
    ),
    Known(
        "lost-tail", "A lost tail waits for a timer (Flach et al., SIGCOMM 2013)",
        "The last segment has no later one whose ACK would reveal its loss, so TCP waits for a timer: 353 ms on a path "
        "of 40 ms. The first segment's loss ends slow start at once, and another one adds a round trip.",
        (Check("with these losses", "flows.0.fct_s"),
         Check("without them", "flows.0.fct_s", ("path.packets=[]",))),
    ),
)  # fmt: skip

HEAD = """# Failures that the search finds by itself

Each search states bounds in a file of this folder and knows nothing of the failure.
[`dumbbell search`](../../search.md) tries points on the simulator, repeats the worst on Linux 6.12 (the kernel engine),
and saves the smallest experiment that still fails, which `dumbbell run` checks. Made by `make page NAME=searches` on
{cores} cores, which other work shared. The last three columns have the searched value of the unchanged experiment and
of the smallest one that fails.

| search | trials | first failure | trials' time | all of it | unchanged | simulator | kernel |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def main() -> int:
    """Search, check, write."""
    wanted = sys.argv[1:] or [each.name for each in SEARCHES]
    held: dict[str, Any] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for each in SEARCHES:
        if each.name in wanted:
            sys.stderr.write(f"{each.name}\n")
            held[each.name] = _searched(each)
            FIGURES.write_text(json.dumps(held, indent=1) + "\n")
    PAGE.write_text(_page(held))
    return 0


def _searched(each: Known) -> dict[str, Any]:
    with TemporaryDirectory() as work:
        out = Path(work) / "found"
        found = _json("search", f"{each.name}.toml", *each.options, "--no-cache", "--out", out)
        file = FOLDER / f"{each.name}-worst.toml"
        file.write_text((out / "worst.toml").read_text())
        checks = [[check.what, check.metric, _checked(check, file, engine, work)] for check in each.checks
                  for engine in ENGINES]  # fmt: skip
        runs = pl.read_parquet(out / "runs.parquet")
    return {
        "trials": runs["point"].n_unique(), "runs": runs.height, "first": found["first"], "took_s": found["wall_s"],
        "searched_s": found["trials_s"], "formula": found["objective"],
        "minimize": found["direction"] == "minimize", "unchanged": found["unchanged"]["mean"],
        "steps": len(found["smallest"]["steps"]), "confirmed": found["smallest"]["confirmed"],
        "simulated": found["smallest"]["simulated"], "kernel": found["smallest"]["kernel"], "checks": checks,
    }  # fmt: skip


def _checked(check: Check, file: Path, engine: str, work: str) -> float | None:
    """The check's metric in the first seed's run; None if the engine can't run it."""
    text = file.read_text()
    access = re.search(r"\[flows\.access\]\n((?:.+\n)+)", text)
    table = "{ " + ", ".join(access[1].strip().splitlines()) + " }" if access else ""
    settings = [word for each in check.settings for word in ("--set", each.replace("{access}", table))]
    out = Path(work) / f"run-{time.monotonic_ns()}"
    run = [COMMAND, "run", file, "--engine", engine, "--seed", "1", "--out", out, *settings]
    subprocess.run(run, check=False, capture_output=True)
    if not (out / "run.json").exists():
        return None
    value: Any = _json("stats", out, *(["--from", check.start] if check.start else []))
    for key in check.metric.split("."):
        value = value[int(key) if key.isdecimal() else key]
    return float(value)


def _json(*arguments: str | Path) -> dict[str, Any]:
    done = subprocess.run([COMMAND, *arguments, "--json"], cwd=FOLDER, check=True, stdout=-1, text=True)
    return dict(json.loads(done.stdout))


def _page(held: dict[str, Any]) -> str:
    text = HEAD.format(cores=len(os.sched_getaffinity(0)))
    there = [each for each in SEARCHES if each.name in held]
    for each in there:
        row = held[each.name]
        cells = [
            f"[{each.known}](#{each.name})", str(row["trials"]), f"trial {row['first']}", f"{row['searched_s']:.0f} s",
            f"{row['took_s']:.0f} s", _number(row["unchanged"]), _mean(row["simulated"]), _mean(row["kernel"]),
        ]  # fmt: skip
        text += f"| {' | '.join(cells)} |\n"
    return text + "".join(_section(each, held[each.name]) for each in there)


def _section(each: Known, row: dict[str, Any]) -> str:
    file = f"{each.name}-worst.toml"
    body = (FOLDER / file).read_text().partition("[source]")[0].strip()
    options = " ".join(("", *each.options))
    extreme = "Least" if row.get("minimize", True) else "Largest"
    kernel = row["kernel"]
    confirmed = "the kernel confirms it" if row["confirmed"] else f"not on the kernel: {kernel and kernel['reason']}"
    lines = [
        f"\n## {each.name}\n", f"{each.known}. {each.why}\n",
        f"{extreme} `{row['formula']}`; `dumbbell search {each.name}.toml{options}` ([bounds]({each.name}.toml)). "
        f"The smallest experiment ([file]({file})) is {row['steps']} steps from the worst point; {confirmed}.\n",
        f"```toml\n{body}\n```\n", "| why | simulator | kernel |", "| --- | ---: | ---: |",
    ]  # fmt: skip
    pairs = zip(row["checks"][::2], row["checks"][1::2], strict=True)
    lines += [f"| `{sim[1]}`, {sim[0]} | {_number(sim[2])} | {_number(kernel[2])} |" for sim, kernel in pairs]
    return "\n".join(lines) + "\n"


def _mean(checked: dict[str, Any] | None) -> str:
    return "not run" if checked is None else _number(checked["mean"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
