"""A plan for real hosts as a script that a person can read: every command, and the machine that runs it.

`dumbbell run` does the same by an agent on each machine, which also puts everything back; here a trap does, and iperf3
and ping make the traffic.
"""

import shlex
from collections.abc import Sequence

from dumbbell.plan.layout import Command
from dumbbell.plan.model import FlowPlan
from dumbbell.plan.remote import RemotePlan
from dumbbell.plan.shell import comments, iperf3_client, wait_for

__all__ = ["as_remote_script"]


def as_remote_script(remote: RemotePlan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script for the machine that one sits at; title and notes become comments at its top."""
    plan = remote.plan
    parts = [
        "#!/bin/sh",
        *comments([title, *notes]),
        "# Runs on real hosts, which need root, iproute2, ethtool, iperf3 and ping.",
        "# At the end offloads are on, whatever they were, and settings (sysctl) stay; dumbbell run puts all back.",
        "set -e",
        *(f'{machine.role}() {{ ssh -n -- {shlex.quote(machine.ssh)} "$@"; }}' for machine in remote.machines),
        "restore() {",
        *(
            "  " + _on(machine.role, _undone(remote, machine.role, device)) + " || true"
            for machine in remote.machines
            for device in machine.devices
        ),
        "}",
        "trap restore EXIT",
    ]
    for machine in remote.machines:
        parts += ["", f"# {machine.role}: {machine.ssh}"]
        parts += [_line(command) for command in plan.setup if command.host == machine.role]
    parts += ["", "# receivers"]
    parts += [_on("receiver", f"iperf3 -s -D -1 -p {flow.port}") for flow in plan.flows]
    parts += ["sleep 1", ""]
    parts += _changes(remote)
    parts += ["# probes and flows"]
    for probe in plan.probes:
        if probe.kind == "ping":
            interval, seconds = f"{probe.interval_ns / 1e9:g}", max(plan.duration_ns // 10**9, 1)
            parts.append(_on("sender", f"ping -q -i {interval} -s {probe.payload} -w {seconds} {probe.address}") + " &")
    parts += [_sender(remote, flow) for flow in plan.flows]
    shown = {(queue.host, queue.device) for queue in plan.queues}
    parts += ["wait", "", "# What the queues did"]
    parts += [_on(host, f"tc -s qdisc show dev {device}") for host, device in sorted(shown)]
    return "\n".join(parts) + "\n"


def _undone(remote: RemotePlan, role: str, device: str) -> str:
    shaped = any((queue.host, queue.device) == (role, device) for queue in remote.plan.queues)
    return (f"tc qdisc del dev {device} root; " if shaped else "") + f"ethtool -K {device} tso on gso on gro on"


def _line(command: Command) -> str:
    # Nothing of a plan holds a quote; a setting of several numbers holds spaces.
    return _on(command.host, " ".join(f'"{word}"' if " " in word else word for word in command.argv))


def _on(role: str, line: str) -> str:
    return f"{role} {shlex.quote(line)}"


def _changes(remote: RemotePlan) -> list[str]:
    if not remote.plan.changes:
        return []
    lines, now_ns = ["# changes, at their times", "("], 0
    for change in remote.plan.changes:
        if change.at_ns > now_ns:
            lines.append(f"  sleep {(change.at_ns - now_ns) / 1e9:g}")
            now_ns = change.at_ns
        lines.append(f"  {_line(change.command)}")
    return [*lines, ") &", ""]


def _sender(remote: RemotePlan, flow: FlowPlan) -> str:
    client = _on("sender", iperf3_client(flow, flow.port, remote.plan.duration_ns))
    return f"({wait_for(flow)}{client}) &"
