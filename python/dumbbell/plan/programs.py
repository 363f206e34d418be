"""Programs and the hosts that they get; what an engine does with them is its own affair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ExperimentError
from dumbbell.plan.layout import Command, Layout
from dumbbell.spec.model import Experiment
from dumbbell.spec.programs import Program, Zeros

if TYPE_CHECKING:
    from dumbbell.plan.building import Building

__all__ = ["ProgramPlan", "ends_when_done", "hosts_file", "program_plans", "program_settings"]

ENDS = ("sender", "receiver")


@dataclass(frozen=True)
class ProgramPlan:
    """One program."""

    name: str
    host: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]
    """Files of its working folder."""
    zeros: tuple[tuple[str, int], ...]
    """Files of so many zero bytes."""
    writable: tuple[str, ...]
    start_ns: int
    stop_ns: int | None
    stays: bool
    serves: int | None
    ends: bool
    cc: str | None
    expect_status: int

    def for_agent(self) -> dict[str, Any]:
        """As `crates/agent/src/programs/plan.rs` reads it; an engine may add links and say that the user typed it."""
        bare = {"text": None, "bytes": None, "link": None}
        return {
            "name": self.name,
            "host": self.host,
            "argv": list(self.argv),
            "env": dict(self.env),
            "files": [bare | {"path": path, "text": text} for path, text in self.texts]
            + [bare | {"path": path, "bytes": size} for path, size in self.zeros],
            "writable": list(self.writable),
            "typed": False,
            "start_ns": self.start_ns,
            "stop_ns": self.stop_ns,
            "stays": self.stays,
            "serves": self.serves,
            "ends": self.ends,
        }


def program_plans(building: "Building") -> tuple[ProgramPlan, ...]:
    """Every program with its host; raises `ExperimentError` for a host that is not there."""
    experiment = building.experiment
    return tuple(
        ProgramPlan(
            name=program.name,
            host=_host(building, number, program),
            argv=program.run,
            env=tuple(program.env.items()),
            texts=tuple((path, text) for path, text in program.files.items() if isinstance(text, str)),
            zeros=tuple((path, file.bytes) for path, file in program.files.items() if isinstance(file, Zeros)),
            writable=program.writable,
            start_ns=program.start,
            stop_ns=program.stop if isinstance(program.stop, int) else None,
            stays=program.stays,
            serves=program.serves,
            ends=program.ends,
            cc=program.cc,
            expect_status=program.expect_status,
        )
        for number, program in enumerate(experiment.programs)
    )


def program_settings(programs: Sequence[ProgramPlan]) -> list[Command]:
    """The controllers that hosts give to sockets that ask for none.

    Raises `ExperimentError` where two programs of a host want different ones.
    """
    wanted: dict[str, ProgramPlan] = {}
    for number, program in enumerate(programs):
        other = wanted.get(program.host, program)
        if program.cc is not None and other.cc != program.cc:
            raise ExperimentError(
                f"'{program.name}' and '{other.name}' share host '{program.host}', which has one default controller",
                key=f"programs.{number}.cc",
                value=program.cc,
                right=f"{other.cc} for both, or different hosts",
            )
        if program.cc is not None:
            wanted[program.host] = program
    return [
        Command.of(host, f"sysctl -w net.ipv4.tcp_congestion_control={program.cc}") for host, program in wanted.items()
    ]


def hosts_file(layout: Layout) -> str:
    """The text of `/etc/hosts`: every host by its name, at the end that data is sent from or goes to."""
    addresses = {
        host.name: host.rights[0].left_address if host.rights else host.lefts[0].right_address
        for host in layout.hosts.values()
    }
    lines = [f"{address}\t{name}" for name, address in addresses.items()]
    # A name for the first of each kind, whatever its host is called.
    for end in ENDS:
        first = next((name for name in addresses if name.startswith(end)), None)
        if end not in addresses and first is not None:
            lines.append(f"{addresses[first]}\t{end}")
    return "\n".join(["127.0.0.1\tlocalhost", *lines]) + "\n"


def ends_when_done(experiment: Experiment, flows_are_sized: bool) -> bool:
    """Does a run end before its time: all flows sized, and at least one flow?"""
    waited_for = any(not program.stays for program in experiment.programs) or any(f.count for f in experiment.flows)
    return flows_are_sized and waited_for


def _host(building: "Building", number: int, program: Program) -> str:
    group = building.experiment.group_names.index(program.group) if program.group else 0
    ends: Mapping[str, str] = {"sender": building.senders[group], "receiver": building.receivers[group]}
    host = ends.get(program.on, program.on)
    if host not in building.layout.hosts:
        raise ExperimentError(
            "no host is called that", key=f"programs.{number}.on", value=program.on,
            right="there is: " + ", ".join(dict.fromkeys([*ENDS, *building.layout.hosts])),
        )  # fmt: skip
    if program.group and program.on not in ENDS:
        raise ExperimentError(
            "'group' chooses whose sender or receiver is meant", key=f"programs.{number}.group", value=program.group,
            right=f"leave it out beside on = '{program.on}'",
        )  # fmt: skip
    return host
