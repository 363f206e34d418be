"""What programs' qlogs say of their flows: columns of the table `flows`, facts of the manifest.

A QUIC flow of the plan has the log of its server. Another program's logs go to its UDP flows: each flow has the
connection that began nearest to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _sim
from dumbbell.errors import ImportProblem
from dumbbell.late import Late
from dumbbell.plan import Plan
from dumbbell.results.result import framed

if TYPE_CHECKING:
    from dumbbell import qlog
    from dumbbell.results.columns import Table
    from dumbbell.results.keys import RunManifest
else:
    qlog = Late("dumbbell.qlog")

__all__ = ["Qlogs", "read_qlogs"]


@dataclass(frozen=True)
class Qlogs:
    """What the logs say."""

    flows: "Table"
    """With the columns that they fill."""
    facts: Mapping[str, Mapping[str, Any]]
    """Keys of the manifest by flow."""
    warnings: Sequence[str]

    def stated(self, manifest: "RunManifest") -> "RunManifest":
        """The manifest with these facts."""
        if not self.facts:
            return manifest
        flows = [flow.with_keys(self.facts.get(flow.name, {})) for flow in manifest.flows]
        return manifest.with_keys({"flows": flows})


def read_qlogs(flows: "Table", folder: Path, plan: Plan, end: _sim.End, entries: Sequence[Mapping[str, Any]]) -> Qlogs:
    """Read the logs in a result's folder. `plan` has programs' flows too; `entries` are the programs' of the manifest.

    A log that can't be read is a warning: the flow has its packets.
    """
    if not any(program.qlog for program in plan.programs):
        return Qlogs(flows, {}, [])
    facts: dict[str, Mapping[str, Any]] = {}
    warnings: list[str] = []
    frame, begun = flows.frame(), _begun(plan, end)
    sent = {flow.name: int(report["data_segs_out"]) for flow, report in zip(plan.flows, end.flows, strict=True)}
    for number, (program, entry) in enumerate(zip(plan.programs, entries, strict=True)):
        if program.qlog is None or entry["started_s"] is None:
            continue
        traces = list(_traces(folder, program, entry, warnings))
        if not traces:
            continue
        for name, first_ns in begun.get(number, []):
            trace = qlog.sender_of(traces, first_ns, end.start_epoch_ns)
            if trace is None:
                warnings.append(f"program '{program.name}': its qlogs have no connection that sends for flow '{name}'")
                continue
            traces.remove(trace)
            times = frame.filter(flow=name)["time_ns"]
            frame = qlog.fill(frame, name, qlog.sampled(trace, times, first_ns, end.start_epoch_ns))
            facts[name] = _facts(trace, sent[name])
    return Qlogs(framed(frame), facts, warnings)


def _begun(plan: Plan, end: _sim.End) -> dict[int, list[tuple[str, int]]]:
    """By program its flows, with the time of their first datagram, in that order."""
    found: dict[int, list[tuple[str, int]]] = {}
    servers = {program.flow: n for n, program in enumerate(plan.programs) if program.flow is not None and program.qlog}
    first = {flow.flow: flow.first_ns for flow in end.udp_flows if flow.flow is not None}
    by_name = {program.name: number for number, program in enumerate(plan.programs)}
    for number, flow in enumerate(plan.flows):
        if flow.transport == "quic" and number in first:
            found.setdefault(servers[number], []).append((flow.name, first[number]))
        elif flow.transport == "udp" and flow.group in by_name:
            found.setdefault(by_name[flow.group], []).append((flow.name, flow.start_ns))
    return {number: sorted(flows, key=lambda flow: flow[1]) for number, flows in found.items()}


def _traces(
    folder: Path, program: _sim.Program, entry: Mapping[str, Any], warnings: list[str]
) -> "Iterator[qlog.Trace]":
    own = folder / entry["folder"] if "folder" in entry else None
    files = sorted(path for path in own.rglob("*") if path.is_file()) if own else []
    logs = [path for path in files if own and program.is_qlog(str(path.relative_to(own)))]
    if not logs:
        warnings.append(f"program '{program.name}' wrote no qlog '{program.qlog}'")
    for path in logs:
        try:
            traces, problems = qlog.read_qlog(path)
        except ImportProblem as problem:
            warnings.append(f"program '{program.name}': {problem}".replace(f"{folder}/", ""))
            continue
        warnings.extend(f"program '{program.name}': {each}".replace(f"{folder}/", "") for each in problems)
        yield from traces


def _facts(trace: "qlog.Trace", datagrams: int) -> dict[str, Any]:
    """Where the stack logs no packets, their number is that of datagrams on the network."""
    return {
        "retransmits": trace.lost if trace.says_lost else None,
        "data_segs_out": trace.out.packets or datagrams,
        "seen": qlog.facts_of(trace),
    }
