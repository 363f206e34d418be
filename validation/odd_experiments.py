"""Odd experiments: the edges of keys, one and two at a time, on both engines; what differs, and arithmetic.

    python validation/odd_experiments.py [--seed N] [--experiments 300] [--only NUMBER]... [-o target/odd.md]

`random_experiments` draws what an experimenter would choose; this draws what nobody would: a window of one packet, a
queue of one, a round trip of a second, times of a millisecond, local queues, UDP, tc scripts with deletions. None of
them has randomness, so both engines must send the same bytes and packets through every queue and drop as many there.
Every run must also add up: no queue lets more through than its rate times the time, no flow receives more than was
sent, a UDP flow sends what its rate and its pauses say. Exit status: 1 if a sum is wrong or an experiment is far off.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dumbbell import _sim
from dumbbell.analysis.summary import summary
from dumbbell.engines import Engine, KernelEngine, Request, Simulator
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.results import result
from dumbbell.results.result import Run
from dumbbell.spec import Case, parse

__all__ = ["Compared", "compare", "drawn"]

DURATION_S = 5
TINY_QUEUE = (
    "not known: where the bottleneck holds two packets or so, the order of an arrival and a departure decides about a "
    "drop. With reno over 10 Mbit/s, 20 ms and pfifo limit 2 three packets arrive at 283.7 ms and one leaves; the "
    "simulator drops one of them, the kernel none"
)
TBF_AT_THE_SENDER = "a tbf on the sender's own device: the engines release back-pressure at different times"
Document = dict[str, Any]

CONTROLLERS = ("cubic", "reno", "vegas")
"""They draw no random numbers, unlike BBR."""
PATHS: tuple[Document, ...] = (
    {}, {"rtt": "100us"}, {"rtt": "1s"}, {"mtu": 576}, {"mtu": 9000}, {"offloads": True},
    {"reverse": {"rate": "64kbit", "qdisc": "pfifo limit 2"}}, {"delay": "20ms"},
)  # fmt: skip
BOTTLENECKS: tuple[Document, ...] = (
    {}, {"rate": "64kbit"}, {"rate": "1gbit"}, *({"qdisc": text} for text in (
        "pfifo limit 1", "pfifo limit 2", "bfifo limit 1514", "bfifo limit 5000", "bfifo limit 0.1bdp", "codel",
        "codel target 1us interval 1us", "fq_codel flows 1", "fq limit 2", "fq flow_limit 2", "pfifo_head_drop limit 3",
        "cake unlimited", "prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
    )), *({"qdisc": text, "rate": None} for text in (
        "tbf rate 5mbit burst 1600 limit 5000", "tbf rate 5mbit burst 60000 limit 60000",
        "police rate 5mbit burst 20000", "netem rate 5mbit limit 20", "cake bandwidth 5mbit",
    )),
)  # fmt: skip
TCP: tuple[Document, ...] = (
    {}, {"sndbuf": "5000b"}, {"sndbuf": "40000b"}, {"rcvbuf": "3000b"}, {"rcvbuf": "50000b"}, {"initial_window": 1},
    {"initial_window": 100}, {"count": 20}, {"count": 3, "stagger": "1ms"}, {"start": "4.9s"}, {"stop": "1ms"},
    {"stop": "2s"}, {"on": "1ms", "off": "1ms"}, {"on": "500ms", "off": "1500ms"}, {"bytes": "1b"},
    {"bytes": "1449b"}, {"bytes": "100000b"}, {"request": "1b", "response": "1b"},
    {"request": "16384b", "response": "100000b", "think": "10ms"}, {"pacing_rate": "64kbit"},
    {"pacing_rate": "1gbit"}, {"delayed_ack": False}, {"prompt_reads": True}, {"ecn": "classic"},
    {"access": {"delay": "5ms", "rate": "2mbit", "qdisc": "pfifo limit 2"}}, {"host_qdisc": "fq"},
    {"host_qdisc": "pfifo limit 3"}, {"host_qdisc": "fq_codel"}, {"host_qdisc": "netem delay 5ms limit 1000"},
)  # fmt: skip
UDP: tuple[Document, ...] = (
    {}, {"rate": "20mbit"}, {"packet": 16, "rate": "64kbit"}, {"packet": 1472}, {"on": "1ms", "off": "1ms"},
    {"on": "500ms", "off": "1s"}, {"on": "1us", "off": "10ms"}, {"count": 3}, {"port": 5201}, {"ecn": "classic"},
    {"sndbuf": "3000b", "host_qdisc": "tbf rate 1mbit burst 2000 limit 90000"},
    {"rate": "9mbit", "host_qdisc": "tbf rate 2mbit burst 2000 limit 900000"}, {"host_qdisc": "pfifo limit 1"},
    {"rcvbuf": "3000b", "access": {"delay": "1ms", "slot": "10ms"}}, {"start": "1s", "stop": "1.001s"},
    {"access": {"delay": "50ms", "rate": "1mbit", "qdisc": "bfifo limit 3000"}},
)  # fmt: skip
SCRIPTS: tuple[tuple[str, ...], ...] = (
    ("qdisc add dev d root tbf rate 5mbit burst 3000 limit 30000",),
    ("qdisc add dev d root netem loss 10%", "qdisc replace dev d root tbf rate 3mbit burst 3000 limit 9000"),
    ("qdisc add dev d root handle 1: tbf rate 9mbit burst 3000 limit 30000", "qdisc del dev d root",
     "qdisc add dev d root handle 1: tbf rate 2mbit burst 3000 limit 30000"),
    ("qdisc add dev d root handle 1: htb default 10", "class add dev d parent 1: classid 1:10 htb rate 5mbit",
     "qdisc add dev d parent 1:10 handle 10: netem loss 10%", "qdisc del dev d parent 1:10"),
    ("qdisc add dev d root handle 1: htb default 20", "class add dev d parent 1: classid 1:10 htb rate 1mbit",
     "class add dev d parent 1: classid 1:20 htb rate 5mbit", "class change dev d classid 1:20 htb rate 2mbit",
     "class del dev d classid 1:10"),
    ("qdisc add dev d root handle 1: tbf rate 5mbit burst 3000 limit 30000",
     "qdisc add dev d parent 1:1 handle 2: prio", "qdisc add dev d parent 2:2 handle 20: pfifo limit 5",
     "filter add dev d parent 2: protocol ip prio 1 u32 match ip dport 5201 0xffff flowid 2:2",
     "filter del dev d parent 2: prio 1", "qdisc change dev d parent 2:2 handle 20: pfifo limit 50"),
    ("qdisc add dev d root handle 1: tbf rate 5mbit burst 3000 limit 30000",
     "qdisc add dev d parent 1:1 handle 10: fq_codel", "qdisc replace dev d parent 1:1 handle 11: pfifo limit 9"),
)  # fmt: skip


def drawn(seed: int, number: int) -> Case:
    """The experiment of that number of a seed."""
    draw = random.Random(f"odd:{seed}:{number}")
    while True:
        document = _document(draw) | {"title": f"odd {seed}:{number}"}
        try:
            case = parse(_sim.write_toml(document), Path(f"odd-{seed}-{number}.toml"))[0]
            plan_case(case, 1)
        except DumbbellError:
            continue
        return case


def _document(draw: random.Random) -> Document:
    """One edge or two; everything else is usual."""
    kinds = draw.sample(("path", "bottleneck", "tcp", "tcp", "udp", "script"), draw.choice((1, 2, 2)))
    path: Document = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": "pfifo limit 50"}}
    flows: list[Document] = []
    for kind in kinds:
        if kind == "path":
            path |= draw.choice(PATHS)
        elif kind == "bottleneck":
            changed = path["bottleneck"] | draw.choice(BOTTLENECKS)
            path["bottleneck"] = {key: value for key, value in changed.items() if value is not None}
        elif kind == "tcp":
            flows.append({"cc": draw.choice(CONTROLLERS)} | draw.choice(TCP))
        elif kind == "udp":
            flows.append({"kind": "udp", "rate": "2mbit"} | draw.choice(UDP))
        else:
            commands = [f"tc {line}" for line in draw.choice(SCRIPTS)]
            path["tc"] = {"interface": "d", "commands": "\n".join(commands)}
    if "tc" in path:
        path.pop("bottleneck")
    return {"duration": f"{DURATION_S}s", "path": path, "flows": flows or [{"cc": draw.choice(CONTROLLERS)}]}


@dataclass
class Compared:
    """What both engines made of an experiment."""

    case: Case
    refused: str = ""
    """Why the simulator can't run it."""
    wrong: list[str] = field(default_factory=list)
    """Sums that don't add up, and runs that are not valid."""
    differences: list[tuple[str, float, float]] = field(default_factory=list)
    """What, on the kernel, on the simulator."""

    @property
    def far_off(self) -> list[tuple[str, float, float]]:
        """Differences above 3 % and a few packets: more than one drop at another time makes."""
        return [each for each in self.differences if abs(each[1] - each[2]) > max(_few(each[0]), 0.03 * each[1])]

    @property
    def reason(self) -> str:
        """Why the engines differ, where that is known."""
        scripts = self.case.experiment.path.tc
        is_tbf = any(" tbf " in line for tc in scripts for line in tc.commands)
        has_tcp = any(flow.kind == "tcp" for flow in self.case.experiment.flows)
        if is_tbf and has_tcp:
            return TBF_AT_THE_SENDER
        path = self.case.experiment.path
        segments = [path.bottleneck, path.reverse, *(flow.access for flow in self.case.experiment.flows)]
        return TINY_QUEUE if any(_is_tiny(each.qdisc.text) for each in segments if each and each.qdisc) else ""

    @property
    def answer(self) -> str:
        """In a word or two."""
        if self.refused:
            return "refused by the simulator"
        if self.wrong:
            return "does not add up"
        if self.far_off:
            return "far off"
        return "close" if self.differences else "equal"


def _is_tiny(qdisc: str) -> bool:
    """Whether a queue holds three packets or fewer, or none (police)."""
    kind, *words = qdisc.split()
    limits = [int(words[words.index(name) + 1]) for name in ("limit", "flow_limit") if name in words]
    most = 5_000 if kind in {"bfifo", "tbf"} else 3
    return kind == "police" or any(limit <= most for limit in limits)


def _few(what: str) -> float:
    return 15_000 if "bytes" in what else 10


def compare(case: Case, folder: Path) -> Compared:
    """Run an experiment on both engines."""
    compared = Compared(case)
    runs: dict[str, Run] = {}
    for name, engine in (("sim", Simulator()), ("kernel", KernelEngine())):
        try:
            runs[name] = _run(engine, case, folder / name)
        except DumbbellError as error:
            compared.refused = f"{name}: {error}"
            return compared
        compared.wrong += [f"{name}: {text}" for text in _sums(runs[name], case)]
    kernel, sim = _figures(runs["kernel"]), _figures(runs["sim"])
    compared.differences = [
        (what, kernel.get(what, 0), sim.get(what, 0))
        for what in sorted(kernel.keys() | sim.keys())
        if kernel.get(what, 0) != sim.get(what, 0)
    ]
    return compared


def _run(engine: Engine, case: Case, folder: Path) -> Run:
    return result.load(engine.run(Request("odd", case, 1, folder), lambda _seconds: None))


def _figures(run: Run) -> dict[str, float]:
    """Bytes of every flow; packets, bytes and drops of every queue."""
    figures = {f"{flow['name']} bytes": float(flow["bytes_received"] or 0) for flow in run.manifest["flows"]}
    for queue in run.manifest["queues"]:
        for key in ("sent_packets", "sent_bytes", "drops"):
            figures[f"{queue['name']} {key.replace('sent_', '')}"] = float(queue[key] or 0)
    return figures


def _sums(run: Run, case: Case) -> list[str]:
    """What does not add up."""
    manifest, wrong = run.manifest, [f"invalid: {reason}" for reason in run.manifest["invalid"]]
    time_s = float(manifest["duration_s"])
    mtu = case.experiment.path.mtu + 14
    for queue in manifest["queues"]:
        rates = queue["rates"] or []
        if len(rates) == 1 and rates[0][1]:
            most = rates[0][1] * time_s / 8 + _burst(queue["qdisc"] or "", mtu)
            if (queue["sent_bytes"] or 0) > most:
                wrong.append(f"{queue['name']} sent {queue['sent_bytes']} bytes, more than {most:.0f} by its rate")
    # A bucket that was full at the start, and an end before the last sample.
    utilization = summary(run)["utilization"]
    bottleneck = case.experiment.path.bottleneck
    burst = _burst(bottleneck.qdisc.text if bottleneck else "", mtu)
    rate = next((row[1] for queue in manifest["queues"] for row in queue["rates"] or [] if row[1]), None)
    if utilization is not None and rate and utilization > 1 + burst * 8 / (rate * time_s):
        wrong.append(f"utilization is {utilization}")
    sent = run.flows.group_by("flow").agg(pl.col("bytes_sent").max(), pl.col("bytes_received").max())
    for name, sent_bytes, received in sent.iter_rows():
        if sent_bytes is not None and received is not None and received > sent_bytes:
            wrong.append(f"{name} received {received} bytes of {sent_bytes} that were sent")
    return wrong + _datagrams(run, case, sent)


def _burst(qdisc: str, mtu: int) -> float:
    """What a queue's bucket lets through at once, and a super-packet."""
    words = qdisc.split()
    return float(words[words.index("burst") + 1]) * 1.1 + mtu if "burst" in words else 65_536 + mtu


def _datagrams(run: Run, case: Case, sent: pl.DataFrame) -> list[str]:
    """A UDP flow alone whose buffer never fills sends at its rate, and nothing in its pauses."""
    groups = case.experiment.flows
    group = groups[0]
    if len(groups) > 1 or group.count > 1 or group.kind != "udp" or group.rate is None or group.host_qdisc is not None:
        return []
    interval_ns = group.payload * 8 * 10**9 // group.rate
    end_ns = min(group.stop or 10**18, int(run.manifest["duration_s"] * 1e9))
    time_ns, packets = group.start, 0
    on_ns, off_ns = group.on_time or 10**18, group.off_time or 0
    while time_ns < end_ns:
        packets += -(-min(on_ns, end_ns - time_ns) // interval_ns)
        time_ns += on_ns + off_ns
    got, expected = sent["bytes_sent"][0], packets * group.payload
    if abs(got - expected) <= 2 * group.payload:
        return []
    return [f"a UDP flow sent {got} bytes, {expected} by its rate"]


def page(compared: Sequence[Compared], seed: int) -> str:
    """The results in Markdown."""
    counts = Counter(each.answer for each in compared)
    lines = [
        "# Odd experiments", "",
        f"`python validation/odd_experiments.py --seed {seed} --experiments {len(compared)}`", "",
        "| answer | experiments |", "| --- | --- |", *(f"| {name} | {count} |" for name, count in counts.most_common()),
    ]  # fmt: skip
    for each in compared:
        if each.answer in ("equal", "refused by the simulator"):
            continue
        shown = [f"{what}: kernel {kernel:.0f}, simulator {sim:.0f}" for what, kernel, sim in each.differences[:6]]
        text = _sim.write_toml(each.case.experiment.document())
        lines += ["", f"## {each.case.experiment.title}: {each.answer}", "", "; ".join([*each.wrong, *shown])]
        lines += ["", f"Reason: {each.reason}."] if each.reason else []
        lines += ["", "```toml", text.strip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Draw, run, write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--experiments", type=int, default=300)
    arguments.add_argument("--only", type=int, action="append", metavar="NUMBER")
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    compared = []
    for number in options.only or range(options.experiments):
        with tempfile.TemporaryDirectory() as folder:
            compared.append(compare(drawn(options.seed, number), Path(folder)))
        print(f"{number}: {compared[-1].answer}", file=sys.stderr)
    text = page(compared, options.seed)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    is_wrong = (each.answer == "does not add up" or (each.answer == "far off" and not each.reason) for each in compared)
    return 1 if any(is_wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
