"""Makes docs/results/evaluate/index.md: verdicts of the simulator's controllers, and all against all.

    python scripts/evaluations.py [--runs N] [--write | --check] [CONTROLLER …]

`make page` calls this. With names it evaluates only these and keeps the other tables; `pairs` is that of all
against all. A budget in runs makes the verdicts repeatable. The tables are kept as JSON and CSV next
to the page; `--write` writes the page from them without runs, `--check` finds where it differs from them.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import mean
from typing import Any

import polars as pl
from generated import write_or_check

import dumbbell as db
from dumbbell.analysis.flows import harm

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "results" / "evaluate"
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "prague", "copa", "dctcp")
AGAINST = "cubic,bbr,reno"
RATES_MBPS = (8, 50)
BUFFERS_BDP = (1, 4)
SEEDS = (1, 2)
SIGNS = {"pass": "pass", "fail": "**fail**", "not known": "?"}


def main() -> int:
    """Measure, write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=700, help="budget of each controller")
    arguments.add_argument("--write", action="store_true", help="write the page from the existing tables, without runs")
    arguments.add_argument(
        "--check", action="store_true", help="find where the page differs from the tables; 1 if it does"
    )
    parts = (*CONTROLLERS, "pairs")
    arguments.add_argument("parts", nargs="*", metavar="CONTROLLER", help=f"default: {', '.join(parts)}")
    options = arguments.parse_args()
    if unknown := sorted(set(options.parts) - set(parts)):
        arguments.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(parts)}")
    wanted = options.parts or parts
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not options.write and not options.check:
        for name in (name for name in CONTROLLERS if name in wanted):
            (FOLDER / f"{name}.json").write_text(json.dumps(evaluated(name, options.runs), indent=1) + "\n")
        if "pairs" in wanted:
            pairs().write_csv(FOLDER / "pairs.csv")
    found = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in CONTROLLERS}
    text = page(found, pl.read_csv(FOLDER / "pairs.csv"))
    return write_or_check({FOLDER / "index.md": text}, "scripts/evaluations.py --write")


def evaluated(name: str, runs: int) -> dict[str, Any]:
    """What the page needs of `dumbbell evaluate NAME --json`."""
    command = [
        str(Path(sys.executable).with_name("dumbbell")), "evaluate", name, "--against", AGAINST,
        "--runs", str(runs), "--json",
    ]  # fmt: skip
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    (found,) = json.loads(text)["evaluations"]
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
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col(pl.Float64).round(3))
    return table.sort(names[:4]).unique(names[:4], keep="first", maintain_order=True)


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
    table = db.sweep(document, axes, seeds=list(SEEDS), metrics=wanted, window="from 10s").runs
    found: dict[tuple[int, int, str, str], list[tuple[float, float]]] = {}
    for row in table.iter_rows(named=True):
        rate = int(row["path.bottleneck.rate"].removesuffix("mbit"))
        buffer = int(row["path.bottleneck.qdisc"].removeprefix("bfifo limit ").removesuffix("bdp"))
        key = (rate, buffer, row["flows.mine.cc"], row["flows.theirs.cc"])
        rates = (row["groups.mine.throughput_mbps"], row.get("groups.theirs.throughput_mbps") or 0.0)
        found.setdefault(key, []).append(rates)
    return {key: (mean(r[0] for r in rates), mean(r[1] for r in rates)) for key, rates in found.items()}


def page(found: Mapping[str, Mapping[str, Any]], table: pl.DataFrame) -> str:
    """The page."""
    parts = [
        "# Evaluations\n",
        "`make page NAME=evaluations` runs [`dumbbell evaluate`](../../evaluate.md) for seven controllers of the "
        "simulator and writes this page. Against "
        + AGAINST.replace(",", ", ")
        + ". `?`: not known within the budget of runs, or because "
        "runs are invalid: among many flows some of Prague and DCTCP connect "
        "without ECN and run as `prague-reno` and `dctcp-reno`, so those runs judge nothing.\n",
        _counts(found),
        _verdicts(found),
        _all(table),
    ]
    return "\n".join(parts)


def _counts(found: Mapping[str, Mapping[str, Any]]) -> str:
    rows = []
    for name, each in found.items():
        verdicts = [criterion["verdict"] for criterion in each["criteria"]]
        rows.append((name, *(str(verdicts.count(word)) for word in SIGNS), str(each["runs"])))
    return _markdown(("controller", "pass", "fail", "not known", "runs"), rows, "Verdicts by controller")


def _verdicts(found: Mapping[str, Mapping[str, Any]]) -> str:
    first = next(iter(found.values()))
    rows = []
    for at, criterion in enumerate(first["criteria"]):
        limit = f"{criterion['limit']} {criterion['unit']}".strip()
        cells = [_cell(each["criteria"][at]) for each in found.values()]
        rows.append((criterion["section"], f"`{criterion['name']}`: {criterion['title']}", limit, *cells))
    head = ("section", "criterion", "limit", *found)
    note = "A cell has the verdict and the median over the seeds. Sections of RFC 9743 that are missing are not tested."
    return _markdown(head, rows, "Verdicts by criterion", note)


def _cell(criterion: Mapping[str, Any]) -> str:
    median = criterion["median"]
    shown = "" if median is None else f" {median:.3g}"
    return f"{SIGNS[criterion['verdict']]}{shown}"


def _all(table: pl.DataFrame) -> str:
    texts = [
        "## All against all\n",
        f"Two flows, 50 ms, 60 s, from 10 s on; means of {len(SEEDS)} seeds. A row's controller takes this share "
        "from the column's; in parentheses its harm to the other's throughput, (alone − shared) ÷ alone (Ware et al., "
        "HotNets 2019). Two equal flows: share 0.5, harm 0.5.\n",
    ]
    for (rate, buffer), part in table.group_by(["rate_mbps", "buffer_bdp"], maintain_order=True):
        rows = []
        for mine in CONTROLLERS:
            cells = [_pair(part, mine, theirs) for theirs in CONTROLLERS]
            rows.append((mine, *cells))
        texts.append(_markdown(("", *CONTROLLERS), rows, f"{rate} Mbit/s, buffer of {buffer} BDP", level=3))
    return "\n".join(texts)


def _pair(part: pl.DataFrame, mine: str, theirs: str) -> str:
    (row,) = part.filter((pl.col("controller") == mine) & (pl.col("other") == theirs)).iter_rows(named=True)
    return f"{row['share']:.2f} ({row['harm']:.2f})".replace("-", "−")


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], title: str, note: str = "", level: int = 2) -> str:
    lines = [f"{'#' * level} {title}\n", *([f"{note}\n"] if note else [])]
    lines += ["| " + " | ".join(each) + " |" for each in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
