"""Verdicts of the simulator's controllers by RFC 9743, and all against all: docs/results/evaluate/index.md.

    python -m studies evaluations [--runs N] [--write | --check] [CONTROLLER …]

With names it evaluates only these and keeps the other tables; `pairs` is that of all against all. A budget in runs
makes the verdicts repeatable. The tables are kept as JSON and CSV next to the page; `--write` writes the page from them
without runs, `--check` finds where it differs from them.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl

import dumbbell as db
from dumbbell.analysis.flows import harm
from studies.study import DOCS, asked, parser, rendered, table, write

FOLDER = DOCS / "results" / "evaluate"
PAGE = FOLDER / "index.md"
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "prague", "copa", "dctcp")
AGAINST = "cubic,bbr,reno"
RATES_MBPS = (8, 50)
BUFFERS_BDP = (1, 4)
SEEDS = (1, 2)
SIGNS = {"pass": "pass", "fail": "**fail**", "not known": "?"}


def main(given: list[str]) -> int:
    """Measure, write."""
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=700, help="budget of each controller")
    arguments.add_argument("--write", action="store_true", help="write the page from the existing tables, without runs")
    arguments.add_argument("--check", action="store_true", help="1 if the page differs from the tables")
    choices = (*CONTROLLERS, "pairs")
    arguments.add_argument("parts", nargs="*", metavar="CONTROLLER", help=f"default: {', '.join(choices)}")
    options = arguments.parse_args(given)
    if unknown := sorted(set(options.parts) - set(choices)):
        arguments.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(choices)}")
    for name in () if options.write or options.check else options.parts or choices:
        if name == "pairs":
            pairs().write_csv(FOLDER / "pairs.csv")
        else:
            (FOLDER / f"{name}.json").write_text(json.dumps(evaluated(name, options.runs), indent=1) + "\n")
    text = page()
    if options.check and PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write("docs/results/evaluate/index.md:1: out of date; run python -m studies evaluations --write\n")
        return 1
    if not options.check:
        write(PAGE, text)
    return 0


def evaluated(name: str, runs: int) -> dict[str, Any]:
    """What the page needs of `dumbbell evaluate NAME --json`."""
    (found,) = asked("evaluate", name, "--against", AGAINST, "--runs", runs)["evaluations"]
    kept = ("name", "title", "limit", "unit", "verdict", "median", "interval", "seeds")
    criteria = [
        {"section": section["number"], **{key: each[key] for key in kept}}
        for section in found["sections"]
        for each in section["criteria"]
    ]
    return {"controller": name, "runs": found["runs"], "ended": found["ended"], "criteria": criteria}


def pairs() -> pl.DataFrame:
    """Throughput share and harm of each controller next to each other one."""
    solo = _rates(solo=True)
    rows = []
    for (rate, buffer, mine, theirs), both in _rates(solo=False).items():
        first, second = (mean(both), mean(both)) if mine == theirs else both
        for own, other, got, left in ((mine, theirs, first, second), (theirs, mine, second, first)):
            alone = solo[rate, buffer, other, other][0]
            rows.append((rate, buffer, own, other, got / (got + left), harm(alone, left)))
    names = ("rate_mbps", "buffer_bdp", "controller", "other", "share", "harm")
    found = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col(pl.Float64).round(3))
    return found.sort(names[:4]).unique(names[:4], keep="first", maintain_order=True)


def _rates(*, solo: bool) -> dict[tuple[int, int, str, str], tuple[float, float]]:
    """Mean Mbit/s of both flows from 10 s on, by rate, buffer and controllers."""
    both = combinations_with_replacement(CONTROLLERS, 2)
    couples = [(mine, theirs) for mine, theirs in both if not solo or mine == theirs]
    axes: dict[str | tuple[str, ...], Any] = {
        "path.bottleneck.rate": [f"{rate}mbit" for rate in RATES_MBPS],
        "path.bottleneck.qdisc": [f"bfifo limit {buffer}bdp" for buffer in BUFFERS_BDP],
        ("flows.mine.cc", "flows.theirs.cc"): couples,
    }
    flows = [
        {"name": "mine", "cc": "cubic", "start_jitter": "2s"},
        {"name": "theirs", "cc": "cubic", "start_jitter": "2s", "count": 0 if solo else 1},
    ]
    path = {"rtt": "50ms", "bottleneck": {"rate": "8mbit", "qdisc": "bfifo limit 1bdp"}}
    document = {"duration": "60s", "sample": "200ms", "path": path, "flows": flows}
    wanted = ["groups.*.throughput_mbps"]
    swept = db.sweep(document, axes, seeds=list(SEEDS), metrics=wanted, window="from 10s").runs
    found: dict[tuple[int, int, str, str], list[tuple[float, float]]] = {}
    for row in swept.iter_rows(named=True):
        rate = int(row["path.bottleneck.rate"].removesuffix("mbit"))
        buffer = int(row["path.bottleneck.qdisc"].removeprefix("bfifo limit ").removesuffix("bdp"))
        key = (rate, buffer, row["flows.mine.cc"], row["flows.theirs.cc"])
        rates = (row["groups.mine.throughput_mbps"], row.get("groups.theirs.throughput_mbps") or 0.0)
        found.setdefault(key, []).append(rates)
    return {key: (mean(r[0] for r in rates), mean(r[1] for r in rates)) for key, rates in found.items()}


def page() -> str:
    """The page, from the kept tables."""
    found = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in CONTROLLERS}
    verdicts = {name: [criterion["verdict"] for criterion in each["criteria"]] for name, each in found.items()}
    counts = [(name, *map(verdicts[name].count, SIGNS), each["runs"]) for name, each in found.items()]
    criteria = [
        (first["section"], f"`{first['name']}`: {first['title']}", f"{first['limit']} {first['unit']}".strip(),
         *(cell(each["criteria"][at]) for each in found.values()))
        for at, first in enumerate(found[CONTROLLERS[0]]["criteria"])
    ]  # fmt: skip
    return rendered(
        Path(__file__).with_name("page.md"),
        against=AGAINST.replace(",", ", "),
        counts=counts,
        columns=" | ".join(CONTROLLERS),
        criteria=criteria,
        seeds=len(SEEDS),
        grids=dict(grids(pl.read_csv(FOLDER / "pairs.csv"))),
    )


def cell(criterion: Mapping[str, Any]) -> str:
    """The verdict and the median over the seeds."""
    median = criterion["median"]
    return f"{SIGNS[criterion['verdict']]}{'' if median is None else f' {median:.3g}'}"


def grids(rows: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """By link a table of share and harm, all against all."""
    for (rate, buffer), part in rows.group_by(["rate_mbps", "buffer_bdp"], maintain_order=True):
        cells = {
            (row["controller"], row["other"]): f"{row['share']:.2f} ({row['harm']:.2f})".replace("-", "−")
            for row in part.iter_rows(named=True)
        }
        grid = [(mine, *(cells[mine, theirs] for theirs in CONTROLLERS)) for mine in CONTROLLERS]
        yield f"{rate} Mbit/s, buffer of {buffer} BDP", table(" | ".join(("", *CONTROLLERS)), grid)
