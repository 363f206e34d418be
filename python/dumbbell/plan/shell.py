"""A plan as a script that a person can read and run on a Linux box."""

import shlex
from collections import Counter
from collections.abc import Sequence

from dumbbell.control_characters import HIDDEN
from dumbbell.plan.layout import Command
from dumbbell.plan.model import FlowPlan, Plan
from dumbbell.spec.model import Tcp
from dumbbell.spec.tcp_defaults import TCP_DEFAULTS

__all__ = ["as_script", "buffers_note", "comments", "iperf3_client", "wait_for"]


def as_script(plan: Plan, title: str, notes: Sequence[str] = ()) -> str:
    """A shell script with the same commands that the engines run, and iperf3 and ping for the traffic.

    Title and notes become comments at its top, a line each.
    """
    parts = [
        "#!/bin/sh",
        *comments([title, *notes]),
        "# Needs root, iproute2, ethtool, iperf3 and ping; every host is a network namespace.",
        "set -e",
        "trap 'for n in " + " ".join(plan.hosts) + "; do ip netns del $n; done' EXIT",
        "",
        *_setup(plan),
        *_marks(plan),
        "",
        *_receivers(plan),
        *_changes(plan),
        *_probes(plan),
        *_senders(plan),
        *_programs(plan),
        "wait",
        "",
        "# What the queues did",
        *[f"tc -n {host} -s qdisc show" for host in dict.fromkeys(queue.host for queue in plan.queues)],
    ]
    return "\n".join(parts) + "\n"


def comments(texts: Sequence[str]) -> list[str]:
    """Each text as one line of comment, whatever it holds."""
    return [f"# {' '.join(text.split())}" for text in texts]


def buffers_note(tcp: Tcp) -> str:
    """Which defaults of TCP's buffers a run has, and what the experiment sets instead."""
    limits = TCP_DEFAULTS[tcp.defaults]
    parts = []
    for key, name in (("rmem_max", "net.ipv4.tcp_rmem"), ("wmem_max", "net.ipv4.tcp_wmem")):
        if name in tcp.sysctl:
            parts.append(f"{name} = {tcp.sysctl[name]} by tcp.sysctl")
        else:
            own = "" if getattr(tcp, key) == getattr(limits, key) else f" by tcp.{key}"
            parts.append(f"{name} up to {getattr(tcp, key)} bytes{own}")
    return f'TCP buffers: tcp.defaults = "{tcp.defaults}": {", ".join(parts)}'


def iperf3_client(flow: FlowPlan, port: int, duration_ns: int) -> str:
    """The command of a flow's sender."""
    if flow.bytes is not None:
        amount = f"-n {flow.bytes}"
    else:
        amount = f"-t {((flow.stop_ns or duration_ns) - flow.start_ns) / 1e9:g}"
    if flow.packet is not None and flow.interval_ns:
        how = f"-u -b {flow.packet * 8 * 10**9 // flow.interval_ns} -l {flow.packet}"
    else:
        how = f"-C {flow.cc}"
    return f"iperf3 -c {flow.address} -p {port} {how} {amount}"


def wait_for(flow: FlowPlan) -> str:
    """What stands before it, until the flow starts."""
    return f"sleep {flow.start_ns / 1e9:g}; " if flow.start_ns else ""


def _setup(plan: Plan) -> list[str]:
    lines: list[str] = []
    host = None
    for command in (*plan.module_writes(), *plan.setup):
        if not command.host and command.argv[0] == "sysctl":
            continue  # What only a guest's infinite CPU and small memory need; it would change the whole machine.
        if command.host != host:
            host = command.host
            lines.append(f"\n# {host}" if host else "\n# namespaces and wires")
        lines.append(_line(command))
    return lines


def _line(command: Command) -> str:
    words = list(command.argv)
    if words[0] == "write":
        return f"echo {shlex.quote(words[2])} > {words[1]}"
    if command.host and words[0] in ("ip", "tc"):
        words[1:1] = ["-n", command.host]
    elif command.host:
        words[:0] = ["ip", "netns", "exec", command.host]
    return shlex.join(words)


def _receivers(plan: Plan) -> list[str]:
    # One server a flow: an iperf3 server serves one client at a time.
    ports = _ports(plan)
    servers = [
        f"ip netns exec {flow.receiver} iperf3 -s -D -1 -p {port}" for flow, port in zip(plan.flows, ports, strict=True)
    ]
    return ["# receivers", *servers, "sleep 1", ""]


def _senders(plan: Plan) -> list[str]:
    ports = _ports(plan)
    return ["# flows", *(_sender(plan, flow, port) for flow, port in zip(plan.flows, ports, strict=True))]


def _sender(plan: Plan, flow: FlowPlan, port: int) -> str:
    client = iperf3_client(flow, port, plan.duration_ns)
    return f"({wait_for(flow)}exec ip netns exec {flow.sender} {client}) &"


def _programs(plan: Plan) -> list[str]:
    """Each in a folder of its own with its files; a box's own files are not guarded as a guest's are."""
    lines = ["", "# programs: here they run as root of this machine, so read what they do"] if plan.programs else []
    for program in plan.programs:
        folder = f'"$(mktemp -d)/{program.name}"'
        lines.append(f'folder={folder}; mkdir -p "$folder"; cd "$folder"')
        for path, text in program.texts:
            lines += _made(path, f"{_printed(text)} > {shlex.quote(path)}")
        for path, size in program.zeros:
            lines += _made(path, f"truncate -s {size} {shlex.quote(path)}")
        wait = "" if program.serves is not None or not program.start_ns else f"sleep {program.start_ns / 1e9:g}; "
        env = shlex.join(["env", *(f"{key}={text}" for key, text in program.env)]) + " " if program.env else ""
        lines.append(f"({wait}exec ip netns exec {program.host} {env}{shlex.join(program.argv)}) &")
        if program.stays or program.stop_ns is not None:
            until_ns = program.stop_ns or plan.duration_ns
            lines.append(f"(p=$!; sleep {until_ns / 1e9:g}; kill $p) &")
        if program.serves is not None:
            lines.append("sleep 1")
    names = ["# their /etc/hosts:", *(f"#   {line}" for line in plan.hosts_file.splitlines())]
    return [*lines[:2], *names, *lines[2:]] if lines else []


def _printed(text: str) -> str:
    """A command that prints the text; what a reader of the script couldn't see is written in octal."""
    if not HIDDEN.search(text):
        return f"printf %s {shlex.quote(text)}"
    octal = HIDDEN.sub(
        lambda found: "".join(f"\\0{byte:03o}" for byte in found[0].encode()), text.replace("\\", "\\\\")
    )
    return f"printf %b {shlex.quote(octal)}"


def _made(path: str, command: str) -> list[str]:
    folder, slash, _ = path.rpartition("/")
    return [f"mkdir -p {shlex.quote(folder)}", command] if slash else [command]


def _ports(plan: Plan) -> list[int]:
    """iperf3 needs a port for each flow; alone in its group a flow keeps its own."""
    alike = Counter(flow.port for flow in plan.flows)
    return [flow.port if alike[flow.port] == 1 else 20_000 + number for number, flow in enumerate(plan.flows)]


def _marks(plan: Plan) -> list[str]:
    """A script's marks by port, as the rules that they were."""
    marked = dict.fromkeys((flow.sender, flow.port, flow.mark) for flow in plan.flows if flow.mark is not None)
    return [
        f"ip netns exec {sender} iptables -A OUTPUT -t mangle -p tcp --dport {port} -j MARK --set-mark {mark}"
        for sender, port, mark in marked
    ]


def _probes(plan: Plan) -> list[str]:
    pings = [
        f"ip netns exec {probe.sender} ping -q -i {probe.interval_ns / 1e9:g} -s {probe.payload} "
        f"-w {max(plan.duration_ns // 10**9, 1)} {probe.address} &"
        for probe in plan.probes
        if probe.kind == "ping"
    ]
    return ["# probes", *pings, ""] if pings else []


def _changes(plan: Plan) -> list[str]:
    if not plan.changes:
        return []
    lines, now_ns = ["# changes, at their times", "("], 0
    for change in plan.changes:
        if change.at_ns > now_ns:
            lines.append(f"  sleep {(change.at_ns - now_ns) / 1e9:g}")
            now_ns = change.at_ns
        lines.append(f"  {_line(change.command)}")
    return [*lines, ") &", ""]
