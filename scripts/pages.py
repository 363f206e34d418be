"""Measures what the pages of controllers and queues show: replaces all behind their mark by a table and a figure.

    python scripts/pages.py [NAME...]

Every controller meets the same few paths, every queue the same few loads, on each engine that has them; the
experiments stand in `docs/controllers/measured.toml` and `docs/queues/measured.toml`, so that anybody can run them.
`make pages` calls this.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dumbbell as db
from dumbbell.cli.learn import entries
from dumbbell.spec.pages import KINDS, pages

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- measured -->"
FIGURE = {"controllers": ("throughput", "cwnd", "queue"), "queues": ("throughput", "rtt", "queue")}
NEEDS: dict[str, dict[str, Any]] = {
    "dctcp": {"path.bottleneck.qdisc": "codel ce_threshold 1ms", "tcp.ecn": True},
    "prague": {"path.bottleneck.qdisc": "dualpi2", "tcp.ecn": True},
    "hpcc": {"path.telemetry": True},
    "fixed": {"flows.0.cc_parameters": {"cwnd": 60}},
}
"""What a controller can't do without: its path or its numbers."""
ARGUMENTS = {
    "tbf": "rate 20mbit burst 5kb limit 100000",
    "netem": "delay 0 rate 20mbit limit 67",
    "bfifo": "limit 100000",
    "pfifo": "limit 67",
    "red": "limit 400000 avpkt 1000 bandwidth 20mbit",
    "choke": "limit 300 bandwidth 20mbit",
    "cake": "bandwidth 20mbit",
}
"""What tc can't do without, for a link of 20 Mbit/s and 40 ms."""
SHAPES = ("tbf", "netem", "cake")
ELSEWHERE = {"htb": "classes", "prio": "classes", "drr": "classes", "police": "a filter"}
"""Kinds that say nothing alone; their pages show an experiment of their own."""


def main(asked: list[str]) -> int:
    """Measure the pages that were asked for, or all."""
    has = {entry["name"]: entry["engines"] for kind in KINDS for entry in entries(kind)}
    todo = [
        (kind, name, file)
        for kind in KINDS
        for name, file in pages(kind).items()
        if (name in asked or not asked) and has.get(name) and name not in ELSEWHERE
    ]
    if unknown := set(asked) - {name for _, name, _ in todo}:
        sys.stderr.write(f"no page to measure: {', '.join(sorted(unknown))}\n")
        return 2
    with ThreadPoolExecutor(2) as pool:
        for name in pool.map(lambda each: measure(*each, engines=has[each[1]]), todo):
            sys.stderr.write(f"{name}\n")
    return 0


def measure(kind: str, name: str, file: Path, engines: list[str]) -> str:
    """Run the page's cases, draw its figure, write its last section."""
    lines = [MARK, "", f"`docs/{kind}/measured.toml`, seed 1: `make pages` runs it.", ""]
    lines += ["| case | engine | Mbit/s | share | retransmits | queue, ms (mean, p95) | ping p95, ms | utilisation |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    shown = None
    for title, case in experiment(kind, name):
        for engine in engines:
            run = db.run(case, engine=engine)
            lines.append(row(title, engine, run.summary, run.valid))
            if title.startswith("joined") and (shown is None or engine == "kernel"):
                shown = run
    if shown is not None:
        picture = file.with_suffix(".svg")
        shown.plot(*FIGURE[kind]).save(picture)
        lines += ["", f"![{name}: {', '.join(FIGURE[kind])}]({picture.name})", "", caption(shown)]
    head = file.read_text(encoding="utf-8").partition(MARK)[0]
    file.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return name


def experiment(kind: str, name: str) -> Iterator[tuple[str, Any]]:
    """The page's cases by title."""
    base = db.experiment(ROOT / "docs" / kind / "measured.toml")
    for case in base.cases:
        one = base.case(case)
        if kind == "controllers":
            one = one.set(**{"flows.0.cc": name} | NEEDS.get(name, {}))
        else:
            one = one.set(**{"path.bottleneck.qdisc": f"{name} {ARGUMENTS.get(name, '')}".strip()})
        yield case, one


def row(case: str, engine: str, numbers: dict[str, Any], valid: bool) -> str:
    """A case on an engine."""
    name, group = next(iter(numbers["groups"].items()))
    retransmits = sum(flow["retransmits"] for flow in numbers["flows"] if flow["group"] == name)
    cells = (
        case,
        engine if valid else f"{engine} (invalid)",
        number(group["throughput_mbps"]),
        number(group["share"]),
        number(retransmits),
        f"{number(numbers['queue']['delay_ms']['mean'])}, {number(numbers['queue']['delay_ms']['p95'])}",
        number(numbers["ping_ms"]["p95"]),
        number(numbers["utilisation"]),
    )
    return f"| {' | '.join(cells)} |"


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def caption(run: Any) -> str:
    """What the figure is of."""
    where = "the kernel" if run.birth["engine"] == "kernel" else "the simulator"
    return f"*{run.birth['title']}: {run.birth['case']}, on {where}.*"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
