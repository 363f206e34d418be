"""Programs of a run: the agent's plan for them; their output, files and exit status; their connections as flows.

Output is read while a program runs from the files in which the agent stores it, only for programs whose command the
user typed.

A connection's two sockets are joined to a flow. The sender is the end that sent more payload. The flow is named after
the program that owns the sender's socket, and belongs to the group of that name. Each socket has its own records
(`linux.FLOW_RECORD`).
"""

import os
import shutil
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.engines.run_manifest import Verdict, seconds
from dumbbell.linux import FLOW_RECORD
from dumbbell.plan import Flow, Plan, Program

__all__ = [
    "Connections",
    "OutputListener",
    "OutputTail",
    "Typed",
    "output_tails",
    "program_entries",
    "program_problems",
    "program_settings",
    "read_connections",
    "typed_programs",
    "unlinked",
]


OutputListener = Callable[[str, bytes], None]
"""Called with the stream, `out` or `err`, and its new output."""


class OutputTail:
    """Reads the two output streams of program `number`."""

    def __init__(self, run_folder: Path, number: int, on_output: OutputListener) -> None:
        self._on_output = on_output
        self._files = {stream: run_folder / "programs" / f"{number}.{stream}" for stream in ("out", "err")}
        self._passed_bytes = dict.fromkeys(self._files, 0)

    def pass_on(self) -> None:
        """Pass on new output."""
        for stream, file in self._files.items():
            if new := _beyond(file, self._passed_bytes[stream]):
                self._passed_bytes[stream] += len(new)
                self._on_output(stream, new)


def _beyond(path: Path, passed_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(passed_bytes)
            return file.read()
    except FileNotFoundError:
        return b""


STREAMS = ("out", "err")
MOST_LINKS = 1000
"""Must equal the limit in `crates/agent/src/programs/sandbox.rs`."""
MOST_NAMED = 3
KEPT = "64 MiB, 1,000 files"
ENTERED = "folders are copied up to 64 levels deep and 1,024 bytes of path"
"""The limits in `crates/agent/src/programs/artifacts.rs`."""
OUTPUT_TAIL_BYTES = 300


@dataclass(frozen=True)
class Typed:
    """Programs whose commands the user typed, not an experiment's file: they see the user's files."""

    names: frozenset[str]
    folder: Path
    """The current folder: its entries appear as links in the working folder."""
    path: str
    """Search path for commands."""
    listener: tuple[str, OutputListener] | None = None
    """A program and the callback for its output while it runs."""
    powers: bool = False
    """Do they keep all capabilities of root in the guest? Then they can write the user's files."""


@dataclass(frozen=True)
class ProgramSettings:
    """What all programs see of the machine."""

    homes: list[str]
    """Home directories, visible only to typed programs."""
    shown: list[str]
    """Folders of Dumbbell's installation."""
    commands: str | None
    """Folder of the command `dumbbell`."""


def program_settings() -> ProgramSettings:
    """What programs see of this machine."""
    homes = [folder for folder in _homes() if Path(folder).is_dir()]
    return ProgramSettings(homes, _installation(), sysconfig.get_path("scripts"))


@dataclass(frozen=True)
class TypedPrograms:
    """Typed programs as the agent is told of them."""

    names: frozenset[str]
    folder: str
    path: str
    powers: bool
    links: list[tuple[str, str]]
    """Entries of the folder as links in the working folder: name and target."""


def typed_programs(typed: Typed) -> TypedPrograms:
    """What the agent is told of typed programs."""
    links = [(name, str(typed.folder / name)) for name in _names(typed.folder)[:MOST_LINKS]]
    return TypedPrograms(typed.names, str(typed.folder.absolute()), typed.path, typed.powers, links)


def output_tails(plan: Plan, typed: Typed | None, run_folder: Path) -> OutputTail | None:
    """The output to pass on while the guest in `run_folder` runs, if any."""
    if typed is None or typed.listener is None:
        return None
    name, on_output = typed.listener
    return OutputTail(run_folder, next(n for n, program in enumerate(plan.programs) if program.name == name), on_output)


def unlinked(typed: Typed | None) -> list[str]:
    """A warning if a folder has more entries than a working folder gets links."""
    if typed is None or (more := len(_names(typed.folder)) - MOST_LINKS) <= 0:
        return []
    return [f"{typed.folder} has {more:,} entries more than the {MOST_LINKS:,} that programs can see"]


def program_entries(
    run_folder: Path, folder: Path, plan: Plan, reports: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Move the programs' output to the result folder; returns their manifest entries."""
    stored = folder / "programs"
    if plan.programs:
        stored.mkdir()
    entries = []
    for number, (program, report) in enumerate(zip(plan.programs, reports, strict=True)):
        files = {}
        for stream in STREAMS:
            output, name = run_folder / "programs" / f"{number}.{stream}", f"{program.name}.{stream}"
            if output.exists():
                shutil.move(output, stored / name)
                files[f"std{stream}"] = f"programs/{name}"
        if report["files"]["kept"]:
            shutil.move(run_folder / "programs" / f"{number}.files", stored / program.name)
            files["folder"] = f"programs/{program.name}"
        entries.append(_entry(program, report) | files)
    return entries


def program_problems(plan: Plan, entries: Sequence[Mapping[str, Any]], folder: Path) -> Verdict:
    """Where programs deviated from the experiment."""
    invalid, warnings = [], []
    for program, entry in zip(plan.programs, entries, strict=True):
        who = f"program '{program.name}'"
        if entry["fault"]:
            invalid.append(f"{who} did not start: {entry['fault']}" + _output_tail(folder, entry))
        elif entry["started_s"] is None:
            warnings.append(f"{who} had not started when the experiment ended")
        elif entry["stopped"]:
            if not program.stays and program.stop_ns is None:
                warnings.append(f"{who} was not done when the experiment ended")
        elif entry["signal"] is not None:
            invalid.append(f"{who} was killed by signal {entry['signal']}" + _output_tail(folder, entry))
        elif entry["status"] != program.expect_status:
            wrong = f"{who} exited with status {entry['status']}, not {program.expect_status}"
            invalid.append(wrong + _output_tail(folder, entry))
        elif program.stays:
            warnings.append(f"{who} exited before the experiment ended")
        if lost := entry["lost_files"]:
            more = len(lost[MOST_NAMED:]) + entry["lost_more"]
            named = ", ".join(lost[:MOST_NAMED]) + (f" and {more:,} more" if more else "")
            deep = f"; {ENTERED}" if any(name.endswith("/") for name in lost) else ""
            warnings.append(f"{who} wrote more files than are copied ({KEPT}); lost: {named}{deep}")
        if any(entry["dropped_bytes"]):
            warnings.append(f"{who} wrote more output than is stored: {sum(entry['dropped_bytes']):,} bytes are lost")
    return Verdict(invalid, warnings)


def _entry(program: Program, report: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: report[key] for key in ("status", "signal", "stopped", "fault", "dropped_bytes")}
    return {
        "name": program.name,
        "host": program.host,
        "command": list(program.argv),
        "cc": program.cc,
        "started_s": seconds(report, "started_ns"),
        "ended_s": seconds(report, "ended_ns"),
        "expect_status": program.expect_status,
        **plain,
        "lost_files": report["files"]["lost"],
        "lost_more": report["files"]["lost_more"],
    }


def _output_tail(folder: Path, entry: Mapping[str, Any]) -> str:
    """The last line of its standard error."""
    if "stderr" not in entry:
        return ""
    text = (folder / entry["stderr"]).read_bytes()[-OUTPUT_TAIL_BYTES:].decode(errors="replace").strip()
    return f"; its last output: {text.splitlines()[-1]}" if text else ""


def _homes() -> list[str]:
    """Folders with users' files: home directories, including this user's."""
    return list(dict.fromkeys(["/home", "/root", os.path.expanduser("~")]))  # noqa: PTH111 — Path.home() raises where there is none


def _installation() -> list[str]:
    """Folders that the command `dumbbell` needs: its environment, that environment's Python, this package."""
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    return sorted({str(each) for folder in folders for each in (folder, folder.resolve())})


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []


@dataclass(frozen=True)
class Connections:
    """Flows added by programs' connections."""

    plan: Plan
    """The plan with these flows added."""
    reports: list[dict[str, Any]]
    """The flows' reports with the agent's keys, in order."""
    records: np.ndarray
    """Records in the layout of `flows.bin`, numbered after the plan's own flows."""


@dataclass(frozen=True)
class _End:
    """One socket: the agent's report and its records by time."""

    socket: Mapping[str, Any]
    records: np.ndarray

    @property
    def sent_bytes(self) -> int:
        """Payload bytes sent, without retransmissions."""
        return int(_payload(self.records)[-1]) if len(self.records) else 0


def read_connections(file: Path, plan: Plan, end: Mapping[str, Any]) -> Connections:
    """Read `connections.bin` and the reports in `end.json`, at the run's sampling times."""
    records = np.fromfile(file, FLOW_RECORD) if file.exists() else np.zeros(0, FLOW_RECORD)
    duration_ns = end["duration_ns"]
    step_ns = np.uint64(plan.sample_ns)
    # Unsigned: a negated time would wrap.
    on_grid = (records["time_ns"] + (step_ns - np.uint64(1))) // step_ns * step_ns
    # The last record is taken when a socket is destroyed; move it to the next sampling time.
    records["time_ns"] = np.minimum(on_grid, np.uint64(duration_ns))
    sockets = end["connections"]
    ends = [_End(each, rows) for each, rows in zip(sockets, _by_end(records, len(sockets)), strict=True)]
    made = [_flow(*_sender_first(pair), plan, duration_ns) for pair in pair_up(ends)]
    named = _unique_names([flow for flow, _, _ in made], {flow.name for flow in plan.flows})
    for number, (_, _, rows) in enumerate(made, start=len(plan.flows)):
        rows["flow"] = number
    return Connections(
        plan.with_flows(named),
        [report for _, report, _ in made],
        np.concatenate([np.zeros(0, FLOW_RECORD), *(rows for _, _, rows in made)]),
    )


def pair_up(ends: Sequence[_End]) -> list[tuple[_End, _End | None]]:
    """The two ends of each connection, in the order in which they were seen; the peer may be unknown.

    A port may be reused by later connections, so an end is paired with the first end that has no peer yet.
    """
    waiting: dict[tuple[str, str], list[int]] = {}
    pairs: list[tuple[_End, _End | None]] = []
    for end in sorted(ends, key=lambda end: (end.socket["seen_ns"], end.socket["local"], end.socket["remote"])):
        peers = waiting.get((end.socket["remote"], end.socket["local"]))
        if peers:
            position = peers.pop(0)
            pairs[position] = (pairs[position][0], end)
        else:
            waiting.setdefault((end.socket["local"], end.socket["remote"]), []).append(len(pairs))
            pairs.append((end, None))
    return pairs


def _sender_first(pair: tuple[_End, _End | None]) -> tuple[_End, _End | None]:
    """Sender and receiver."""
    first, second = pair
    return (second, first) if second is not None and second.sent_bytes > first.sent_bytes else (first, second)


def _flow(sender: _End, receiver: _End | None, plan: Plan, duration_ns: int) -> tuple[Flow, dict[str, Any], np.ndarray]:
    """The flow, its report and its records."""
    socket, rows = sender.socket, _rows(sender, receiver)
    address, port = _address(socket["remote"])
    group = _program(socket, plan)
    started_ns = min(end.socket["seen_ns"] for end in (sender, receiver) if end is not None)
    peer_host = receiver.socket["host"] if receiver is not None else address
    # The congestion control is unknown if no sample found the socket.
    cc = socket["cc"]
    flow = Flow.of_connection(group, group, socket["host"], peer_host, address, port, cc, started_ns)
    last = sender.records["info"][-1] if len(sender.records) else np.zeros(1, FLOW_RECORD)["info"][0]
    got = _received(receiver, sender) if receiver is not None else int(rows["bytes_received"].max(initial=0))
    closed_ns = socket["gone_ns"]
    return flow, {
        "name": group, "cc": cc, "started_ns": started_ns, "connected_ns": started_ns, "completed_ns": None,
        "stopped_ns": duration_ns if closed_ns is None else closed_ns, "bytes_received": got,
        "retransmits": int(last["total_retrans"]), "data_segs_out": int(last["data_segs_out"]),
        "exchanges_ns": [], "error": None,
    }, rows  # fmt: skip


def _rows(sender: _End, receiver: _End | None) -> np.ndarray:
    """The sender's records with the bytes that the receiver had in order."""
    rows = sender.records.copy()
    most = _payload(rows)
    if receiver is None or not len(receiver.records):
        # Acknowledged bytes were received; the counter includes the sequence numbers of SYN and FIN.
        rows["bytes_received"] = np.minimum(rows["info"]["bytes_acked"], most)
        rows["rcv_space"] = 0
        return rows
    position = np.searchsorted(receiver.records["time_ns"], rows["time_ns"], side="right").astype(np.int64) - 1
    for column in ("bytes_received", "rcv_space"):
        rows[column] = np.where(position >= 0, receiver.records[column][np.maximum(position, 0)], 0)
    rows["bytes_received"] = np.minimum(rows["bytes_received"], most)
    return rows


def _received(receiver: _End, sender: _End) -> int:
    """Bytes received in order at the end; the kernel's counter includes the FIN's sequence number."""
    got = int(receiver.records["bytes_received"].max(initial=0))
    return min(got, sender.sent_bytes) if len(sender.records) else got


def _payload(records: np.ndarray) -> np.ndarray:
    """Bytes sent, without retransmissions."""
    sent: np.ndarray = records["info"]["bytes_sent"] - records["info"]["bytes_retrans"]
    return sent


def _by_end(records: np.ndarray, ends: int) -> list[np.ndarray]:
    """The records of each end by time; only the last of those with equal times."""
    records = records[np.lexsort((records["time_ns"], records["flow"]))]
    last = np.ones(len(records), dtype=bool)
    last[:-1] = (np.diff(records["time_ns"].astype(np.int64)) != 0) | (np.diff(records["flow"].astype(np.int64)) != 0)
    kept = records[last]
    return np.split(kept, np.searchsorted(kept["flow"], np.arange(1, ends)))[:ends]


def _program(socket: Mapping[str, Any], plan: Plan) -> str:
    """The program that owns the socket, or the host's programs if that is ambiguous."""
    if socket["program"] is not None:
        return plan.programs[int(socket["program"])].name
    here = [program for program in plan.programs if program.host == socket["host"]]
    port = _address(socket["local"])[1]
    likely = here if len(here) == 1 else [program for program in here if program.serves == port]
    return likely[0].name if likely else f"programs of {socket['host']}"


def _unique_names(flows: Sequence[Flow], taken: set[str]) -> list[Flow]:
    """The flows with names: the group's, numbered if there are several."""
    sizes = Counter(flow.group for flow in flows)
    numbers: Counter[str] = Counter()
    named = []
    for flow in flows:
        name = flow.group if sizes[flow.group] == 1 else ""
        while not name or name in taken:
            numbers[flow.group] += 1
            name = f"{flow.group}-{numbers[flow.group]}"
        taken.add(name)
        named.append(flow.named(name))
    return named


def _address(text: str) -> tuple[str, int]:
    ip, _, port = text.rpartition(":")
    return ip, int(port)
