"""The measured tables and figures of the pages of controllers and queues.

    python -m studies controllers [NAME...]

Every controller runs on the same paths, every queue with the same loads, on each engine that has them. The experiments
are in `docs/controllers/measured.toml` and `docs/queues/measured.toml`, so that users can run them. A queue that needs
classes or a faster link in front of it has its own file, such as `docs/queues/htb.toml`.
"""

import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dumbbell as db
from dumbbell.analysis.summary import summary
from dumbbell.cli.list_commands import entries
from dumbbell.results import result
from dumbbell.spec.built_in import KINDS, pages
from studies.study import DOCS, ROOT, fill, number, table

TOGETHER = (20 * 10**9, 30 * 10**9)
"""From this time on two flows share the path in a steady state, in nanoseconds."""
HEAD = "case | engine | >Mbit/s | >share | >retransmits | >queue, ms (mean, p95) | >ping p95, ms | >utilization"
FIGURE = {"controllers": ("throughput", "cwnd", "queue"), "queues": ("throughput", "rtt", "queue")}
NEEDS: dict[str, dict[str, Any]] = {
    "dctcp": {"path.bottleneck.qdisc": "codel ce_threshold 1ms", "tcp.ecn": "classic"},
    "prague": {"path.bottleneck.qdisc": "dualpi2", "tcp.ecn": "classic"},
    "hpcc": {"path.telemetry": True},
}
"""Settings of the path that a controller requires."""
NUMBERS = {"fixed": {"cwnd": 60}}
"""Parameters that a controller requires."""
JOINED = "joined"
"""Prefix of the title of the case that the figure shows."""
BUFFER = "buffer of"
"""Prefix of the buffer in a case's title, where the queue is not the page's subject."""
ARGUMENTS = {
    "tbf": "rate 20mbit burst 5kb limit 100000",
    "netem": "delay 0 rate 20mbit limit 67",
    "bfifo": "limit 100000",
    "pfifo": "limit 67",
    "red": "limit 400000 avpkt 1000 bandwidth 20mbit",
    "choke": "limit 300 bandwidth 20mbit",
    "cake": "bandwidth 20mbit",
}
"""Arguments that tc requires, for a link of 20 Mbit/s and 40 ms."""


def main(names: list[str]) -> int:
    """Measure the pages of `names`, or all."""
    has = {
        entry["name"]: [engine for engine in entry["engines"] if engine != "host"]
        for kind in KINDS
        for entry in entries(kind)
    }
    todo = [
        (kind, name, file, has[name])
        for kind in KINDS
        for name, file in pages(kind).items()
        if (name in names or not names) and has.get(name)
    ]
    if unknown := set(names) - {name for _, name, *_ in todo}:
        sys.stderr.write(f"no page to measure: {', '.join(sorted(unknown))}\n")
        return 2
    with ThreadPoolExecutor(2) as pool:
        for name in pool.map(lambda each: measure(*each), todo):
            sys.stderr.write(f"{name}\n")
    return 0


def measure(kind: str, name: str, file: Path, engines: list[str]) -> str:
    """Run the page's cases, draw its figure, write its last section."""
    source = experiments(kind, name).relative_to(ROOT)
    rows, shown = [], None
    for title, case in experiment(kind, name):
        for engine in engines:
            run = db.run(case, engine=engine)
            joined = title.startswith(JOINED)
            numbers = summary(result.load(run.folder), TOGETHER if joined else None)
            rows.append(row(f"{title}: from 20 s" if joined else title, engine, numbers))
            if joined and (shown is None or engine == "kernel"):
                shown = run
    text = f"\n`{source}`, seed 1, run by `make page NAME=controllers`.\n\n{table(HEAD, rows)}"
    if shown is not None:
        figure = file.with_suffix(".svg")
        shown.plot(*FIGURE[kind]).save(figure)
        text += f"\n\n![{name}: {', '.join(FIGURE[kind])}]({figure.name})\n\n{caption(shown)}"
    fill(file, "measured", text)
    return name


def experiments(kind: str, name: str) -> Path:
    """The file with the page's cases."""
    own = DOCS / kind / f"{name}.toml"
    return own if own.exists() else own.with_name("measured.toml")


def experiment(kind: str, name: str) -> Iterator[tuple[str, Any]]:
    """The page's cases by title."""
    file = experiments(kind, name)
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    own: dict[str, Any] = {}
    if kind == "queues" and file.stem != name:
        own = {"path.bottleneck.qdisc": f"{name} {ARGUMENTS.get(name, '')}".strip()}
    elif kind == "controllers":
        own = NEEDS.get(name, {})
        _set_it(document, {"cc": name} | ({"cc_parameters": NUMBERS[name]} if name in NUMBERS else {}))
    qdisc = own.get("path.bottleneck.qdisc", "")
    base = db.experiment(document)
    for case in base.cases:
        where, _, buffer = case.partition(BUFFER)
        if kind == "queues" or not (qdisc and buffer):
            yield case, base.case(case).set(**own)
        elif buffer == base.cases[0].partition(BUFFER)[2]:
            yield f"{where}{qdisc}", base.case(case).set(**own)


def figures() -> Iterator[tuple[Path, dict[str, db.Experiment]]]:
    """The case that each page's figure shows."""
    for kind in KINDS:
        for name, page in pages(kind).items():
            if (figure := page.with_suffix(".svg")).exists():
                yield figure, {"": next(case for title, case in experiment(kind, name) if title.startswith(JOINED))}


def _set_it(node: Any, settings: dict[str, Any]) -> None:
    """Set the keys of `settings` in every group named `it` of the document."""
    if isinstance(node, dict):
        if node.get("name") == "it":
            node.update(settings)
        for inner in node.values():
            _set_it(inner, settings)
    elif isinstance(node, list):
        for inner in node:
            _set_it(inner, settings)


def row(case: str, engine: str, numbers: dict[str, Any]) -> list[str]:
    """A case on an engine."""
    name, group = next(iter(numbers["groups"].items()))
    retransmits = sum(flow["retransmits"] for flow in numbers["flows"] if flow["group"] == name)
    delay_ms = numbers["queue"]["delay_ms"]
    return [
        case,
        engine if numbers["valid"] else f"{engine} (invalid)",
        number(group["throughput_mbps"]),
        number(group["share"]),
        number(retransmits),
        f"{number(delay_ms['mean'])}, {number(delay_ms['p95'])}",
        number(numbers["ping_ms"]["p95"]),
        number(numbers["utilization"]),
    ]


def caption(run: Any) -> str:
    """The figure's caption."""
    where = "the kernel" if run.manifest.engine == "kernel" else "the simulator"
    return f"*{run.manifest['title']}: {run.manifest['case']}, on {where}.*"
