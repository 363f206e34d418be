"""A plan as the simulator reads it: hosts, links, tc commands, flows, probes, changes.

A pure function from a `Plan` to the JSON of `crates/sim/src/plan.rs`. What the simulator lacks is an
`ExperimentError` that names the key, and the engine that has it; which controllers there are, the engine asks.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any, TypeVar

from dumbbell.errors import ExperimentError
from dumbbell.plan.inside import Place
from dumbbell.plan.lacks import Lacks
from dumbbell.plan.layout import Command
from dumbbell.plan.model import FlowPlan, Plan
from dumbbell.plan.sysctl import Sysctls, read_sysctls
from dumbbell.plan.tc import Device, Tree, handle, major
from dumbbell.spec.units import Wrong, duration_ns, rate_bps

__all__ = ["ELSEWHERE", "as_world"]

ELSEWHERE = "or run it with --engine kernel"
TOO = "the kernel refuses that too"

ETHERNET_BYTES = 14
HEADER_BYTES = 20 + 20 + 12
"""IPv4, TCP, and TCP's timestamps."""
INITIAL_WINDOW = 10
SUPER_PACKET_BYTES = 65_536
"""A veth's `gso_max_size`."""
LEAST_SNDBUF, LEAST_RCVBUF = 4_608, 2_304
"""SOCK_MIN_SNDBUF and SOCK_MIN_RCVBUF (include/net/sock.h)."""
MOST_BUFFER = 2**31 - 1
MOST_MARK = 2**16 - 1

T = TypeVar("T")


def as_world(plan: Plan, seed: int, *, capture: Place | None = None) -> dict[str, Any]:
    """The simulator's plan, as JSON's values; what passes the device `capture` is captured.

    Raises `ExperimentError` for what the simulator lacks.
    """
    ends = _ends(plan)
    devices: dict[Place, _Device] = {}
    for command in plan.setup:
        if command.argv[0] == "tc":
            _execute(plan, devices, command)
    set_up = [
        {"at": ends[place], "facts": asdict(device.facts), "commands": device.commands} | _stamps(plan, place)
        for place, device in devices.items()
    ]
    sysctls = _named(lambda: ("tcp.sysctl", dict(plan.net.tcp.sysctl)), lambda: read_sysctls(plan.net.tcp.sysctl))
    return {
        "seed": seed,
        "duration": plan.duration_ns,
        "sample": plan.sample_ns,
        "ends_when_done": plan.ends_when_done,
        "every_change": plan.every_change,
        "hosts": list(plan.hosts),
        "wires": [{"left": wire.left_host, "right": wire.right_host} for wire in plan.net.wires],
        "devices": set_up,
        "flows": [_flow(plan, flow, sysctls) for flow in plan.flows],
        "probes": [
            {
                "name": f"{probe.kind}-{number}",
                "sender": probe.sender,
                "receiver": probe.receiver,
                "start": probe.start_ns,
                "interval": probe.interval_ns,
                "payload": probe.payload,
                "port": probe.port,
            }
            for number, probe in enumerate(plan.probes, start=1)
        ],
        "changes": [
            {"at": change.at_ns, "device": ends[_place(change.command)], "command": change.command.argv[1:]}
            for change in plan.changes
            if _execute(plan, devices, change.command, is_setup=False)
        ],
        "queues": [
            {
                "name": queue.name,
                "at": ends[queue.host, queue.device],
                "handle": handle(queue.handle),
                "under_test": queue.under_test,
            }
            for queue in plan.queues
        ],
        "capture": {"at": ends[capture]} if capture else None,
    }


def _stamps(plan: Plan, place: Place) -> dict[str, bool]:
    """A link with a rate stamps what passes, where the path has telemetry."""
    rated = any((queue.host, queue.device) == place and queue.rates for queue in plan.queues)
    return {"telemetry": True} if plan.telemetry and rated else {}


def _ends(plan: Plan) -> dict[Place, dict[str, Any]]:
    """Every device as an end of a wire."""
    ends: dict[Place, dict[str, Any]] = {}
    for number, wire in enumerate(plan.net.wires):
        ends[wire.left_host, wire.left_device] = {"wire": number, "side": "left"}
        ends[wire.right_host, wire.right_device] = {"wire": number, "side": "right"}
    return ends


def _place(command: Command) -> Place:
    return command.host, command.argv[command.argv.index("dev") + 1]


class _Device:
    """A device with the commands that set it up."""

    def __init__(self, facts: Device) -> None:
        self.facts = facts
        self.tree = Tree(facts)
        self.commands: list[tuple[str, ...]] = []


def _execute(plan: Plan, devices: dict[Place, _Device], command: Command, *, is_setup: bool = True) -> bool:
    """Execute a command, to find what is wrong with it; did it change a running qdisc?"""
    place = _place(command)
    if place not in devices:
        seeds = {major(each.handle): each.seed for each in plan.netem_seeds if (each.host, each.device) == place}
        devices[place] = _Device(Device(plan.net.mtu + ETHERNET_BYTES, seeds=seeds))
    device, words = devices[place], command.argv[1:]
    change = _named(lambda: _origin(plan, place, command), lambda: device.tree.execute(words))
    if is_setup:
        device.commands.append(words)
    return change is not None


def _origin(plan: Plan, place: Place, command: Command) -> tuple[str, str]:
    """Where the experiment asks for what this command sets up, and how it says so."""
    mine = [queue for queue in plan.queues if (queue.host, queue.device) == place and queue.key]
    named = [queue for queue in mine if _handle_of(command) == handle(queue.handle)]
    if not mine:
        return "path", command.line
    found = (named or mine)[0]
    verbatim = found.key.startswith("path.tc")
    return ("path.tc" if verbatim else found.key), (command.line if verbatim else found.text)


def _handle_of(command: Command) -> str:
    words = command.argv
    return handle(words[words.index("handle") + 1]) if "handle" in words[:-1] and words[1] == "qdisc" else ""


def _named(origin: Callable[[], tuple[str, object]], read: Callable[[], T]) -> T:
    """What `read` gives; its complaint with the experiment's key and value, as `origin` finds them."""
    try:
        return read()
    except Wrong as wrong:
        key, value = origin()
        if isinstance(wrong, Lacks):
            right = f"{wrong.right}; {ELSEWHERE}" if wrong.right else ELSEWHERE.removeprefix("or ")
        else:
            right = f"{TOO}: {wrong.right}" if wrong.right else TOO
        raise ExperimentError(wrong.problem, key=key, value=value, right=right) from None


def _flow(plan: Plan, flow: FlowPlan, sysctls: Sysctls) -> dict[str, Any]:
    if flow.mark is not None and flow.mark > MOST_MARK:
        raise ExperimentError(
            "a mark that does not fit 16 bits", key="path.tc", value=flow.mark, right=f"a smaller one, {ELSEWHERE}"
        )
    return {
        "name": flow.name,
        "sender": flow.sender,
        "receiver": flow.receiver,
        "start": flow.start_ns,
        "stop": flow.stop_ns,
        "port": flow.port,
        "mark": flow.mark or 0,
        "traffic": {"udp": {"payload": flow.packet, "interval": flow.interval_ns}}
        if flow.transport == "udp"
        else {"tcp": _tcp(plan, flow, sysctls)},
    }


def _tcp(plan: Plan, flow: FlowPlan, sysctls: Sysctls) -> dict[str, Any]:
    sender = next(sender for sender in plan.net.senders if sender.host == flow.sender)
    prompt = flow.prompt_reads or flow.exchange is not None
    both = {
        "mss": plan.net.mtu - HEADER_BYTES,
        "initial_window": INITIAL_WINDOW,
        # A listening end agrees to ECN when it is asked (`tcp_ecn` is 2).
        "ecn": (plan.net.tcp.ecn or sender.ecn) if sysctls.ecn is None else sysctls.ecn,
        "gso_max_bytes": SUPER_PACKET_BYTES if plan.net.offloads else None,
        "quickack": False,
        "slow_start_after_idle": plan.net.tcp.slow_start_after_idle
        if sysctls.slow_start_after_idle is None
        else sysctls.slow_start_after_idle,
        "rmem_max": plan.net.tcp.rmem_max,
        "rcvbuf": None,
        "wmem_max": plan.net.tcp.wmem_max,
        "sndbuf": None,
        "max_pacing_rate": None,
        "prompt_reads": prompt,
    }
    if sysctls.min_tso_segs is not None:
        both["min_tso_segments"] = sysctls.min_tso_segs
    sends: Mapping[str, Any] = {
        "initial_window": sender.initial_window or INITIAL_WINDOW,
        "sndbuf": _buffer(flow.sndbuf, LEAST_SNDBUF),
        "max_pacing_rate": flow.pacing_rate,
    }
    receives: Mapping[str, Any] = {"quickack": sender.quickack, "rcvbuf": _buffer(flow.rcvbuf, LEAST_RCVBUF)}
    made = {"cc": flow.cc, "sender": {**both, **sends}, "receiver": {**both, **receives}, "work": _work(flow)}
    if flow.cc_parameters:
        made["parameters"] = {name: _setting(value) for name, value in flow.cc_parameters}
    return made


def _setting(value: int | str) -> int | str:
    """A controller's parameter: a time in nanoseconds, a rate in bits per second, or else as it is written."""
    if isinstance(value, str):
        for parse in (duration_ns, rate_bps):
            with suppress(Wrong):
                return parse(value)
    return value


def _work(flow: FlowPlan) -> Any:
    if flow.exchange is not None and flow.on_off_ns is not None:
        raise ExperimentError(
            "a flow with both requests and on/off times",
            key="flows",
            value=flow.group,
            right=f"one of the two, {ELSEWHERE}",
        )
    if flow.exchange is not None:
        rules = flow.exchange
        return {"exchange": {"request": rules.request, "response": rules.response, "think": rules.think_ns}}
    if flow.on_off_ns is not None:
        on, off = flow.on_off_ns
        return {"on_off": {"on": on, "off": off, "bytes": flow.bytes}}
    return "bulk" if flow.bytes is None else {"sized": {"bytes": flow.bytes}}


def _buffer(asked: int | None, least: int) -> int | None:
    """A socket's buffer as the kernel keeps it: twice what was asked (net/core/sock.c)."""
    return None if asked is None else max(2 * min(asked, MOST_BUFFER // 2), least)
